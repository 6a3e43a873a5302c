//===- Sides.h - stick-breaking beyond the keys before a query ------------===//
//
// Where the mass that is left goes to the query's own value, or where keys on both sides of a query
// are attended to, the output is made of more than one stream gives. Every stream (a pass) writes
// an output and the mass it leaves into buffers of its own; a loop behind them takes the mean, with
// n passes, R_p their mass and v' the query's own value:
//
//   o_i = 1/n sum over p of (o_p + R_p v'_i)
//
// Backward, in front of the passes, dO/n takes the place of dO, and <dO_i, v'_i> that of the 0 at
// which U starts: the remainder is a key behind the farthest one whose weight is all that is left.
// Behind them their gradients are added up, and dv'_i gains R_p dO_i.
//
// Where nothing of the remainder is kept (the query's own key is masked, or the query is at a
// negative position), -1 stands in place of R_p: v'_i is not read.
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
  /// `predicate` is the code of its mask, if some of it is code.
  Sides(PlanContext &context, const Attention &whole, bool hasTwoPasses, bool keepsRemainder,
        MaskFunction *predicate);
  /// Gives a pass buffers of its own. All are added before anything is emitted.
  void add(Attention &pass);
  /// The stages behind the forward passes.
  void emitForward();
  /// The stages in front of the backward passes, and behind them.
  void emitBackward();
  void finish();

private:
  struct Pass {
    std::string name;
    Value o, raw, rest; // raw: before masked ones are marked, where there may be some
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
