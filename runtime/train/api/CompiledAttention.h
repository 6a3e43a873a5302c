//===- CompiledAttention.h - training's attention, compiled by pe ---===//
#ifndef PE_RUNTIME_TRAIN_API_COMPILEDATTENTION_H
#define PE_RUNTIME_TRAIN_API_COMPILEDATTENTION_H

#include "runtime/train/api/TrainedEncoding.h"

namespace pe::train {

/// The attention of one layer. It runs on the model's memory: queries, outputs and gradients are
/// where the model has them. What a backward call needs of the forward call, and the workspace, is
/// kept from step to step.
std::unique_ptr<AttentionFunction>
makeCompiledAttention(std::shared_ptr<const TrainedFunction> function, ParallelFor &pool);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_API_COMPILEDATTENTION_H
