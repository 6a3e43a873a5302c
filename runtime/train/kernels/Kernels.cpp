//===- Kernels.cpp - The compiled kernels of training ---------------------===//
//
// The source text, embedded at build time, and the table of functions.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/kernels/Kernels.h"

namespace pe::train {

const std::string &kernelSource() {
  static const std::string source =
#include "runtime/train/kernels/Source.inc"
      ;
  return source;
}

Expected<Kernels> bindKernels(const SymbolLookup &lookup) {
  Kernels kernels{};
  std::string missing;
  auto bind = [&](const char *symbol, auto &function) {
    void *address = lookup(symbol);
    if (!address && missing.empty())
      missing = symbol;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  bind("rms_norm_forward", kernels.rmsNorm.forward);
  bind("rms_norm_backward", kernels.rmsNorm.backward);
  bind("layer_norm_forward", kernels.layerNorm.forward);
  bind("layer_norm_backward", kernels.layerNorm.backward);
  bind("embedding_gather", kernels.embeddingGather);
  bind("embedding_scatter", kernels.embeddingScatter);
  bind("cross_entropy", kernels.crossEntropy);
  bind("sum_squares", kernels.sumSquares);
  bind("adamw", kernels.adamw);
  bind("muon_momentum", kernels.muonMomentum);
  bind("muon_update", kernels.muonUpdate);
  if (!missing.empty())
    return makeError("expected the compiled training kernels to define '", missing,
                     "', found no such symbol");
  kernels.norm = kernels.rmsNorm;
  return kernels;
}

} // namespace pe::train
