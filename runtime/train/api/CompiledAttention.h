//===- CompiledAttention.h - The compiled attention of a layer --*- C++ -*-===//
#ifndef PE_RUNTIME_TRAIN_API_COMPILEDATTENTION_H
#define PE_RUNTIME_TRAIN_API_COMPILEDATTENTION_H

#include "runtime/train/api/TrainedFunction.h"

namespace pe::train {

/// Creates the attention of one layer. It works in place on the model's memory: queries, outputs
/// and gradients are not copied. The tensors that a backward call needs from the forward call, and
/// the workspace, are kept between steps.
std::unique_ptr<AttentionFunction>
makeCompiledAttention(std::shared_ptr<const TrainedFunction> function, ParallelFor &pool);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_API_COMPILEDATTENTION_H
