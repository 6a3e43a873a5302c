//===- ScalarJit.h - Runs the value and adjoint of a bias region -*- C++ -*-===//
//
// Compiles a bias region's value and adjoint through ScalarVjp, in float or double, and calls them.
// All captured tensors lie one after the other in one flat array; shapes are static.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_PASSES_TRANSFORMS_SCALARJIT_H
#define PE_TEST_PASSES_TRANSFORMS_SCALARJIT_H

#include "dialect/PE/PE.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include <string>
#include <vector>

namespace pe::test {

struct Point {
  int64_t h = 0, i = 0, j = 0;
};

/// A context with every dialect the emitted code needs.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// Parses the operations of a region over captured tensors. `captures` are their types, named
/// %c0, %c1, ... in `body`, beside %b, %h, %i, %j.
mlir::OwningOpRef<mlir::ModuleOp> parseRegion(mlir::MLIRContext &context,
                                              const std::vector<std::string> &captures,
                                              const std::string &body);
mlir::pe::BiasFnOp biasOf(mlir::ModuleOp module);

template <typename T> class ScalarJit {
public:
  /// With `chained` the derivative is taken in two steps: of the yielded operation by its operands
  /// as inputs, and of each operand by the parameters.
  explicit ScalarJit(mlir::pe::BiasFnOp bias, bool chained = false);

  T value(const std::vector<T> &params, const Point &point);
  /// The gradient of every parameter for the cotangent.
  std::vector<T> gradient(const std::vector<T> &params, const Point &point, T cotangent = 1);

private:
  std::unique_ptr<mlir::ExecutionEngine> engine;
};

} // namespace pe::test

#endif // PE_TEST_PASSES_TRANSFORMS_SCALARJIT_H
