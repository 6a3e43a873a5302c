//===- LinePart.h - a part of a bias that depends on one position ---------===//
//
// A line part has one value per query or per key of the call. It is a vector over rows (r) or
// columns (c), with a batch or head axis only if the value depends on it; the adjoint is a sum per
// row or per column. `VectorTerm` combines one or two parts into a term.
//
// Parts are computed in float64. The only part of a term is rounded once and stored in log2 units.
// A row part and a column part of one term may nearly cancel, so that the error of either would be
// much larger than their sum. Both are then stored in natural units as a sum of two f32 (high and
// low) and combined before scaling. A value that is read directly from a tensor has no low part.
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

  /// Computes the row sums of dS although they are known, so that their errors cancel against those
  /// of the columns. Call before `prepare`.
  void keepSums() { keepsSums = true; }
  /// Sets the row part whose sums have the same total as the sums of this column part.
  void balanceBy(const LinePart &rowPart) { balance = &rowPart; }

  /// Adds the buffers and the stage that fills them; `isExact` if this is one of two parts.
  LogicalResult prepare(bool isExact);
  SpaceSet spaces() const { return rows ? SpaceSet{"r"} : SpaceSet{"c"}; }
  Value load(TileBuilder &t) const { return t.load(high, spaces()); }
  /// Returns null if there is no low part.
  Value loadLow(TileBuilder &t) const { return low ? t.load(low, spaces()) : Value(); }

  SmallVector<SpaceSet> gradientFolds() const;
  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent);
  void storeFolds(TileBuilder &t, ValueRange folds);
  void finish();

private:
  /// Returns true if a constant added to a row changes no weight. The sum of a row of dS is then
  /// known (VectorTerm.cpp) and not computed.
  bool hasKnownSums() const { return rows && attention.isShiftInvariant() && !keepsSums; }
  /// Returns the sums that balance the sums of this part, or null.
  Value rowSums() const { return balance ? balance->sums : Value(); }
  bool isFold() const { return rows || !perHead; }
  StringRef axis() const { return rows ? "r" : "c"; }
  /// Returns the head axis of the sums.
  StringRef sumHead() const { return isFold() && !rows ? "hkv" : "hq"; }
  /// Returns the batch and head extents that the part depends on.
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
