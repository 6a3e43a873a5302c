//===- ScalarVjp.h - reverse mode for scalars of bias regions ---*- C++ -*-===//
//
// The adjoint of a bias is derived from its region, not written manually. `ScalarVjp` takes one
// float value of a single-block region (arith, math, pe.read, pe.mlp_eval) and emits, for a given
// cotangent, code that adds to the gradient of every captured tensor element that was read and
// returns the adjoints of chosen inner values.
//
// Worked example: y = u * r with u, r values of the region and u = log(|c| * d + 1).
//
//   FailureOr<ScalarVjp> whole = ScalarVjp::create(y);        // down to the parameter c
//   FailureOr<ScalarVjp> outer = ScalarVjp::create(y, {u, r}); // u and r are inputs
//   ...
//   IRMapping mapping;                       // leaves: positions, and u and r for `outer`
//   Value primal = outer->emitPrimal(builder, mapping, params);
//   SmallVector<Value> adjoints = outer->emitAdjoint(builder, mapping, dy, params);
//   // adjoints = {dy * r, dy * u}; no parameter is touched
//   whole->emitPrimal(builder, mapping2, params);
//   whole->emitAdjoint(builder, mapping2, dy, params); // accumulates dy*r*d*sign(c)/(|c|*d+1)
//
// Rules at points without a derivative (docs/encodings): a tie of two maxima or minima gives half
// to each; clamp passes the cotangent at its bounds; abs'(0) = relu'(0) = 0; powers, square roots
// and cube roots have slope 0 at 0; ceil, floor, round, trunc and integers have slope 0. A
// cotangent of 0 gives adjoints of 0 even if a slope is infinite or undefined, so masked pairs and
// the branch that a select did not take contribute nothing.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_TRANSFORMS_SCALARVJP_H
#define PE_PASSES_TRANSFORMS_SCALARVJP_H

#include "passes/Transforms/ScalarEmitter.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::pe {

class ScalarVjp {
public:
  /// Prepares the derivative of `root`. `inputs` are float values of the same region that are
  /// treated as independent variables; the slice stops at them. Fails with an error at the user's
  /// line if the slice contains an operation of an unsupported dialect.
  static FailureOr<ScalarVjp> create(Value root, ArrayRef<Value> inputs = {});

  /// Returns true if the value depends differentiably on a captured tensor or an input.
  bool isActive() const { return active.contains(root); }

  /// Emits the value. `mapping` holds the leaves (positions, inputs) and receives every inner
  /// value, which `emitAdjoint` reads. `compute` is as for emitScalar.
  Value emitPrimal(OpBuilder &builder, IRMapping &mapping, ParameterAccess &params,
                   FloatType compute = {}) const;

  /// Emits the adjoint for `cotangent` of the value. The primal must have been emitted with the
  /// same mapping. Returns the adjoint of each input, in order, which is a zero constant for an
  /// input on which the value does not depend.
  SmallVector<Value> emitAdjoint(OpBuilder &builder, IRMapping &mapping, Value cotangent,
                                 ParameterAccess &params) const;

private:
  ScalarVjp(Value root, ArrayRef<Value> inputs);
  LogicalResult check() const;

  Value root;
  SmallVector<Value> inputs;
  SmallVector<Operation *> slice;
  llvm::DenseSet<Value> active;
};

} // namespace mlir::pe

#endif // PE_PASSES_TRANSFORMS_SCALARVJP_H
