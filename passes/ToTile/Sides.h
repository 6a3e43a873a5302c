//===- Sides.h - stick-breaking on both sides or with a remainder ---------===//
//
// If the remaining mass goes to the query's own value, or if keys on both sides of a query are
// attended to, the output combines several streams. Every stream (a pass) writes an output and its
// remaining mass into separate buffers, and a loop after them computes the mean. With n passes, R_p
// their mass and v' the query's own value:
//
//   o_i = 1/n sum over p of (o_p + R_p v'_i)
//
// The backward pass first replaces dO by dO/n, and the initial value of U, 0, by <dO_i, v'_i>: the
// remainder acts as one more key after the farthest one, whose weight is all remaining mass. After
// the passes, their gradients are summed, and R_p dO_i is added to dv'_i.
//
// If the remainder is not used (the query's own key is masked, or the query is at a negative
// position), R_p is stored as -1 and v'_i is not read.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_SIDES_H
#define PE_PASSES_TOTILE_SIDES_H

#include "passes/ToTile/Attention.h"
#include "passes/ToTile/MaskFunction.h"
#include "passes/ToTile/PlanContext.h"

namespace mlir::tile {

class Sides {
public:
  /// `whole` has the buffers of the attention, queries and keys as the kernels read them;
  /// `predicate` is the scalar code of its mask, or null.
  Sides(PlanContext &context, const Attention &whole, bool hasTwoPasses, bool keepsRemainder,
        MaskFunction *predicate);
  /// Gives a pass separate buffers. All passes are added before any stage is emitted.
  void add(Attention &pass);
  /// Adds the stages that follow the forward passes.
  void emitForward();
  /// Adds the stages before and after the backward passes.
  void emitBackward();
  void finish();

private:
  struct Pass {
    std::string name;
    Value o, raw, rest; // raw: `rest` before masked queries are marked, if there may be any
    Value dQ, dK, dV;
  };
  bool mayBeMasked() const;
  void markMasked(const Pass &pass);
  Value sumOfPasses(Scalar &s, Value Pass::*buffer, ValueRange at);
  Value ownProduct(Scalar &s, Value rest, Value factor, ValueRange at);
  void addUp(StringRef suffix, ArrayRef<StringRef> over, Value Pass::*from, Value to);
  void emitValueGradient();
  Value emitRemainderGradient(Scalar &s, ValueRange at);

  PlanContext &context;
  const Attention whole;
  bool hasTwoPasses, keepsRemainder;
  MaskFunction *predicate;
  SmallVector<Pass> passes;
  Value share; // dO / n
  Value dRest; // <dO_i / n, v'_i>
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_SIDES_H
