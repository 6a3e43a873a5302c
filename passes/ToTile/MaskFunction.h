//===- MaskFunction.h - scalar code of a mask, evaluated per pair ---------===//
#ifndef PE_PASSES_TOTILE_MASKFUNCTION_H
#define PE_PASSES_TOTILE_MASKFUNCTION_H

#include "dialect/PE/PEMasks.h"
#include "passes/ToTile/Attention.h"
#include "passes/ToTile/PlanContext.h"

namespace mlir::tile {

class MaskFunction : public PairPredicate {
public:
  MaskFunction(PlanContext &context, pe::MaskFnOp op) : context(context), op(op) {}
  Value emit(TileBuilder &t) override;
  /// Returns true (i1) if the mask keeps the pair `point`.
  Value emitAt(Scalar &s, const pe::PairPoint &point);

private:
  PlanContext &context;
  pe::MaskFnOp op;
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_MASKFUNCTION_H
