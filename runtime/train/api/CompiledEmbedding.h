//===- CompiledEmbedding.h - Compiled encodings of the token embedding -*- C++ -*-===//
#ifndef PE_RUNTIME_TRAIN_API_COMPILEDEMBEDDING_H
#define PE_RUNTIME_TRAIN_API_COMPILEDEMBEDDING_H

#include "runtime/train/api/TrainedFunction.h"

namespace pe::train {

/// Creates an encoding that is added to token embeddings of `dim` elements, in the model's memory.
std::unique_ptr<EmbeddingFunction>
makeCompiledEmbedding(std::shared_ptr<const TrainedFunction> function, int64_t dim,
                      ParallelFor &pool);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_API_COMPILEDEMBEDDING_H
