//===- CompiledEmbedding.h - encodings of the token embedding, compiled ---===//
#ifndef PE_RUNTIME_TRAIN_API_COMPILEDEMBEDDING_H
#define PE_RUNTIME_TRAIN_API_COMPILEDEMBEDDING_H

#include "runtime/train/api/TrainedEncoding.h"

namespace pe::train {

/// An encoding that is added to tokens of `dim` numbers, on the model's memory.
std::unique_ptr<EmbeddingFunction>
makeCompiledEmbedding(std::shared_ptr<const TrainedFunction> function, int64_t dim,
                      ParallelFor &pool);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_API_COMPILEDEMBEDDING_H
