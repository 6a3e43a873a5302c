//===- Activation.h - The function of the feed-forward layer ----*- C++ -*-===//
//
// An activation is a function of one or two numbers, `func.func @activation` of a .mlir file: those
// of the folder activations, by name, or a user's. pe compiles it, and the derivative that it finds
// itself, into functions over arrays of any length (pass pe-elementwise-to-vectors).
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_KERNELS_ACTIVATION_H
#define PE_RUNTIME_TRAIN_KERNELS_ACTIVATION_H

#include "pe/Error.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pe::train {

using SymbolLookup = std::function<void *(const std::string &)>;

/// Of one number x, or of a gate and a number `up` that it lets through. Gradients may be written
/// over what they are computed from.
struct ActivationKernels {
  void (*forward)(const float *x, float *y, int64_t count) = nullptr;
  void (*backward)(const float *x, const float *dy, float *dx, int64_t count) = nullptr;
  void (*gatedForward)(const float *gate, const float *up, float *y, int64_t count) = nullptr;
  void (*gatedBackward)(const float *gate, const float *up, const float *dy, float *dGate,
                        float *dUp, int64_t count) = nullptr;

  bool isGated() const { return gatedForward != nullptr; }
};

/// The names of the activations that pe has.
const std::vector<std::string> &activationNames();
/// The text of the activation of that name; null for other names.
const std::string *activationSource(const std::string &name);

/// The compiled functions of @NAME; an error says what the file must define.
Expected<ActivationKernels> bindActivation(const SymbolLookup &lookup,
                                           const std::string &name = "activation");

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_KERNELS_ACTIVATION_H
