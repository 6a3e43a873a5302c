//===- Activation.cpp - The activation of the feed-forward layer ----------===//
//
// The sources, embedded at build time, and the table of functions.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/kernels/Activation.h"

#include <map>

namespace pe::train {

static const std::map<std::string, std::string> &sources() {
  static const std::map<std::string, std::string> texts = {
      {
          "relu2",
#include "runtime/train/kernels/activations/relu2.inc"
      },
      {
          "gelu",
#include "runtime/train/kernels/activations/gelu.inc"
      },
      {
          "swiglu",
#include "runtime/train/kernels/activations/swiglu.inc"
      },
  };
  return texts;
}

const std::vector<std::string> &activationNames() {
  static const std::vector<std::string> names = {"relu2", "gelu", "swiglu"};
  return names;
}

const std::string *activationSource(const std::string &name) {
  auto found = sources().find(name);
  return found == sources().end() ? nullptr : &found->second;
}

Expected<ActivationKernels> bindActivation(const SymbolLookup &lookup, const std::string &name) {
  ActivationKernels kernels;
  auto bind = [&](const std::string &symbol, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(lookup(name + symbol));
    return function != nullptr;
  };
  const bool one = bind("_forward1", kernels.forward) && bind("_backward1", kernels.backward);
  const bool two =
      bind("_forward2", kernels.gatedForward) && bind("_backward2", kernels.gatedBackward);
  if (one == two)
    return makeError("expected func.func @", name, "(%x: f32) -> f32, or @", name,
                     "(%gate: f32, %up: f32) -> f32 for a layer with a gate, found ",
                     one ? "both" : "neither");
  return kernels;
}

} // namespace pe::train
