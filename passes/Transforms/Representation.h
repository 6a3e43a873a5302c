//===- Representation.h - known biases as progressive interpolation -*- C++ -*-===//
//
// Theorem 3.1 of Li et al. 2023 (arXiv 2310.04418): T5's buckets, ALiBi, Kerple and Sandwich are
// FIRE with particular parameters, for positions up to a length N. The rewrite replaces the ops and
// returns how each new parameter is derived from those of the old program:
//
//   %d = pe.distance
//   %b = pe.linear %d slope(%slopes : tensor<?xf32>) {factor = -1.0}
//   // ==> for N = 512, with w[h] = -512 slopes[h] and b[h] = 0
//   %t = pe.progressive threshold(%one : tensor<f32>) {initial_length = 512.0, epsilon = 0.0}
//   %b = pe.mlp %t layers(%w, %b : tensor<?xf32>, tensor<?xf32>)
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_TRANSFORMS_REPRESENTATION_H
#define PE_PASSES_TRANSFORMS_REPRESENTATION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <functional>
#include <string>
#include <vector>

namespace mlir::pe {

struct ParameterValues {
  std::vector<int64_t> shape;
  std::vector<float> numbers;
};

/// A parameter of the new function that the old one does not have.
struct DerivedParameter {
  using Source = llvm::function_ref<const ParameterValues &(StringRef name)>;
  std::string name;
  /// The parameters of the old function that it is derived from. Their axes of unknown size count
  /// heads.
  std::vector<std::string> sources;
  std::function<ParameterValues(Source)> derive;
};

/// Rewrites every bias of `function` as progressive interpolation that is equal for all positions
/// up to `length`. `heads` is the number of heads for slopes that follow a rule, or 0. Fails with
/// an error at a bias that the theorem does not cover.
FailureOr<std::vector<DerivedParameter>> representByInterpolation(func::FuncOp function,
                                                                  int64_t length, int64_t heads);

} // namespace mlir::pe

#endif // PE_PASSES_TRANSFORMS_REPRESENTATION_H
