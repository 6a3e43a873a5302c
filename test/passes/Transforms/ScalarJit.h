//===- ScalarJit.h - runs the value and adjoint of a bias region *- C++ -*-===//
//
// Compiles a bias region's value and adjoint through ScalarVjp, in float or double, and calls them.
// All captured tensors are stored consecutively in one flat array; shapes are static.
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

/// Creates a context with every dialect that the emitted code needs.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// Parses the operations of a region over captured tensors. `captures` are their types; `body`
/// refers to them as %c0, %c1, ..., and to the point as %b, %h, %i, %j.
mlir::OwningOpRef<mlir::ModuleOp> parseRegion(mlir::MLIRContext &context,
                                              const std::vector<std::string> &captures,
                                              const std::string &body);
mlir::pe::BiasFnOp biasOf(mlir::ModuleOp module);

template <typename T> class ScalarJit {
public:
  /// With `chained` the derivative is computed in two steps: of the yielded operation with respect
  /// to its operands as inputs, and of each operand with respect to the parameters.
  explicit ScalarJit(mlir::pe::BiasFnOp bias, bool chained = false);

  T value(const std::vector<T> &params, const Point &point);
  /// Returns the gradient of every parameter for the cotangent.
  std::vector<T> gradient(const std::vector<T> &params, const Point &point, T cotangent = 1);

private:
  std::unique_ptr<mlir::ExecutionEngine> engine;
};

} // namespace pe::test

#endif // PE_TEST_PASSES_TRANSFORMS_SCALARJIT_H
