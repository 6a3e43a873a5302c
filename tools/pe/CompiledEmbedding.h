//===- CompiledEmbedding.h - encodings of the token embedding, compiled ---===//
#ifndef PE_TOOLS_PE_COMPILEDEMBEDDING_H
#define PE_TOOLS_PE_COMPILEDEMBEDDING_H

#include "tools/pe/TrainedEncoding.h"

namespace pe::cli {

/// An encoding that is added to tokens of `dim` numbers, on the model's memory.
std::unique_ptr<train::EmbeddingFunction>
makeCompiledEmbedding(std::shared_ptr<const TrainedFunction> function, int64_t dim,
                      ParallelFor &pool);

} // namespace pe::cli

#endif // PE_TOOLS_PE_COMPILEDEMBEDDING_H
