//===- CompiledAttention.h - training's attention, compiled by pe ---===//
#ifndef PE_TOOLS_PE_COMPILEDATTENTION_H
#define PE_TOOLS_PE_COMPILEDATTENTION_H

#include "runtime/api/Compiler.h"
#include "runtime/train/model/AttentionFunction.h"
#include "runtime/train/session/Session.h"

namespace pe::cli {

/// An encoding file compiled for training: each call of a `factory` gives one layer its own
/// attention.
struct TrainedEncoding {
  std::shared_ptr<const jit::Description> description;
  std::shared_ptr<const api::CompiledFunction> function;
  /// For layers of `heads` query heads; calls run on `parallel`.
  train::AttentionFactory factory(int64_t heads, ParallelFor &parallel) const;
};

/// Compiles `file` ("none": causal attention without positions) for heads of `headDim`. Arguments
/// besides q, k and v must be parameters (f32, with a pe.init, shaped by heads and depths).
Expected<TrainedEncoding> compileEncoding(const std::string &file, int64_t headDim);

/// Loads OpenBLAS and compiles the kernels of training; both live until the process ends.
Expected<train::Kernels> prepareTraining();

} // namespace pe::cli

#endif // PE_TOOLS_PE_COMPILEDATTENTION_H
