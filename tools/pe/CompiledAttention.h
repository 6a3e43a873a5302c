//===- CompiledAttention.h - training's attention, compiled by pe ---===//
#ifndef PE_TOOLS_PE_COMPILEDATTENTION_H
#define PE_TOOLS_PE_COMPILEDATTENTION_H

#include "tools/pe/TrainedEncoding.h"

namespace pe::cli {

/// The attention of one layer. It runs on the model's memory: queries, outputs and gradients are
/// where the model has them. What a backward call needs of the forward call, and the workspace, is
/// kept from step to step.
std::unique_ptr<train::AttentionFunction>
makeCompiledAttention(std::shared_ptr<const TrainedFunction> function, ParallelFor &pool);

} // namespace pe::cli

#endif // PE_TOOLS_PE_COMPILEDATTENTION_H
