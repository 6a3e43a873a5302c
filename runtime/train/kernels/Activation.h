//===- Activation.h - The activation of the feed-forward layer --*- C++ -*-===//
//
// An activation is a function of one or two numbers, the `func.func @activation` of an .mlir file:
// a built-in one from the directory activations, selected by name, or a user's. pe derives its
// gradient and compiles both into functions over arrays of any length (pass
// pe-elementwise-to-vectors).
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

/// Kernels of a function of x, or of a gate and the value `up` that it multiplies. Gradients may
/// overwrite the inputs they are computed from.
struct ActivationKernels {
  void (*forward)(const float *x, float *y, int64_t count) = nullptr;
  void (*backward)(const float *x, const float *dy, float *dx, int64_t count) = nullptr;
  void (*gatedForward)(const float *gate, const float *up, float *y, int64_t count) = nullptr;
  void (*gatedBackward)(const float *gate, const float *up, const float *dy, float *dGate,
                        float *dUp, int64_t count) = nullptr;

  bool isGated() const { return gatedForward != nullptr; }
};

/// Returns the names of the built-in activations.
const std::vector<std::string> &activationNames();
/// Returns the source of the activation with this name, or null if there is none.
const std::string *activationSource(const std::string &name);

/// Returns the compiled functions of @NAME. An error names the functions that the file must define.
Expected<ActivationKernels> bindActivation(const SymbolLookup &lookup,
                                           const std::string &name = "activation");

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_KERNELS_ACTIVATION_H
