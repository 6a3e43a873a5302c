//===- LinePart.h - a bias's part that one position decides ---------------===//
//
// One number per query or per key of the call, as a vector over rows (r) or columns (c), with the
// batch and the head only where the number depends on them; the adjoint is a sum per row or per
// column. `VectorTerm` puts terms together from one or two of these.
//
// Parts are computed in float64. One that is added to scores by itself is rounded once and kept in
// log2 units. Where a row and a column part nearly cancel, the error of either would be much larger
// than their sum: both are then kept in natural units as a sum of two f32 (high and low), and
// subtracted before anything is scaled. A number read directly from a tensor has no low part.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_LINEPART_H
#define PE_PASSES_TOTILE_LINEPART_H

#include "passes/ToTile/Terms.h"
#include "passes/Transforms/ScalarVjp.h"

namespace mlir::tile {

class LinePart {
public:
  /// `part` is Row or Column.
  LinePart(PlanContext &context, pe::TermOp term, pe::TermPart part, std::string name,
           const Attention &attention);

  /// Adds up the rows of dS although they are known, so that what they are off by cancels against
  /// the columns'. Before `prepare`.
  void keepSums() { keepsSums = true; }
  /// The row part whose sums have the total that this column part's must have.
  void balanceBy(const LinePart &rowPart) { balance = &rowPart; }

  /// Adds the buffers and the stage that fills them; `isExact` if it is one of two parts.
  LogicalResult prepare(bool isExact);
  SpaceSet spaces() const { return rows ? SpaceSet{"r"} : SpaceSet{"c"}; }
  Value load(TileBuilder &t) const { return t.load(high, spaces()); }
  /// Null where there is none.
  Value loadLow(TileBuilder &t) const { return low ? t.load(low, spaces()) : Value(); }

  SmallVector<SpaceSet> gradientFolds() const;
  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent);
  void storeFolds(TileBuilder &t, ValueRange folds);
  void finish();

private:
  /// Where a number added to a row changes no weight, the sum of a row of dS is known
  /// (VectorTerm.cpp), so none is computed.
  bool hasKnownSums() const { return rows && attention.isShiftInvariant() && !keepsSums; }
  /// The sums that balance this part's, or null.
  Value rowSums() const { return balance ? balance->sums : Value(); }
  bool isFold() const { return rows || !perHead; }
  StringRef axis() const { return rows ? "r" : "c"; }
  /// The head that sums are kept for.
  StringRef sumHead() const { return isFold() && !rows ? "hkv" : "hq"; }
  /// The extents that the part depends on, without the axis.
  SmallVector<StringRef> heads() const;
  bool isStored();
  void emitSplit(Scalar &s, ValueRange at);
  void ifReadable(Scalar &s, llvm::function_ref<void(Scalar &)> body);
  Value emitPrimal(Scalar &s, IRMapping &mapping, ValueRange at);
  void chain(Scalar &s, ValueRange at, Value cotangent);
  Value knownSum(Scalar &s, Value batch, Value head, Value row);
  Value findRest();
  Value restAt(Scalar &s, Value rest, Value batch, Value head, Value place);

  PlanContext &context;
  pe::TermOp term;
  pe::TermPart part;
  bool rows;
  std::string name;
  const Attention &attention;
  bool perBatch, perHead;
  std::optional<pe::ScalarVjp> vjp;
  bool keepsSums = false;
  const LinePart *balance = nullptr;
  Value high, low, sums;
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_LINEPART_H
