//===- PanelTerm.cpp - content terms with a vector per distance -----------===//
//
//   prepare    panel[d, t] = P[d] at every distance of the call that the mask allows
//   kernel     adds <scale log2(e) q'_i, panel[., i - j]> to the score of (i, j)
//   backward   dq'_i = scale sum_j dS_ij panel[., i - j]
//              dP[t] = scale sum of dS_ij q'_i over i - j = t
//   finish     dP, summed over the batch (and the heads that share the vectors), through reverse
//              mode of the code
//
// This costs twice the arithmetic of the products of queries and keys, and O(N D) memory.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/ContentTerm.h"
#include "passes/ToTile/DistanceEntries.h"

#include "passes/Analysis/Dependence.h"

using namespace mlir;
using namespace mlir::tile;

/// The number of distances of the call, and of the table.
static constexpr StringLiteral kEntries = "max(0, r + c - 1)";
static constexpr StringLiteral kPrepared = "max(0, r + capacity - 1)";

namespace {

class PanelTerm : public ContentTerm {
public:
  PanelTerm(PlanContext &context, pe::ContentFnOp op, pe::DifferenceRange range,
            const ContentSite &site, std::string name);

  LogicalResult prepare() override;
  Value emit(TileBuilder &t) override;
  SmallVector<SpaceSet> gradientFolds() const override { return {{"r", depth()}}; }
  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) override;
  void storeFolds(TileBuilder &t, ValueRange folds) override {
    t.store(t.scaled(folds[0], scale), queries.gradient());
  }
  void finish() override;

private:
  /// Prepends "hq" to `extents` if every head has its own vectors.
  SmallVector<StringRef> withHeads(ArrayRef<StringRef> extents) const;
  /// Returns the head of indices that begin with one.
  Value headOf(Scalar &s, ValueRange at) { return isPerHead ? at[0] : s.index(0); }
  /// Returns a builder before the stream that `t` is in.
  static TileBuilder beforeStream(TileBuilder &t) {
    return t.at(OpBuilder(t.getInsertionBlock()->getParentOp()));
  }
  /// Loads the queries' rows once, before the stream.
  Value loadRows(TileBuilder &t);

  bool isPerHead;
  IntegerAttr low, high;   // the distances of vectors that are not 0, if the term has an extent
  DistanceEntries entries; // of `t`
  Value panel;             // [hq, d, t] or [d, t]
  Value sums;              // [b, hq, t, d]
};

} // namespace

PanelTerm::PanelTerm(PlanContext &context, pe::ContentFnOp op, pe::DifferenceRange range,
                     const ContentSite &site, std::string name)
    : ContentTerm(context, op, site, std::move(name)), entries(range.min) {
  Value root = cast<pe::YieldOp>(op.getBody().front().getTerminator()).getValues()[0];
  isPerHead = pe::RegionDependence(op.getBody()).of(root).has(pe::Dependence::Head);
  if (op.getExtent()) {
    const pe::DifferenceRange within = op.limit(range);
    low = context.plan.getI64IntegerAttr(within.min);
    high = context.plan.getI64IntegerAttr(std::max(within.min, within.max));
  }
}

SmallVector<StringRef> PanelTerm::withHeads(ArrayRef<StringRef> extents) const {
  SmallVector<StringRef> all;
  if (isPerHead)
    all.push_back("hq");
  llvm::append_range(all, extents);
  return all;
}

LogicalResult PanelTerm::prepare() {
  if (failed(function.derive()) ||
      failed(queries.prepare(context.operands.isTF32() ? Type() : context.operands)))
    return failure();
  panel = context.kept(name + "_panel", withHeads({depth(), "t"}));
  TileBuilder t =
      beginStage(context.plan, name + "_prepare_panel", Phase::Prepare, withHeads({depth()}));
  t.foreach ({kPrepared}, [&](Scalar &s, ValueRange at) {
    Value element = function.emitElement(s, headOf(s, at), distanceOfEntry(s, at.back()),
                                         at[isPerHead ? 1 : 0]);
    writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), element), panel, at);
  });
  return success();
}

Value PanelTerm::loadRows(TileBuilder &t) {
  TileBuilder before = beforeStream(t);
  return before.rounded(before.load(queries.rows(), {"r", depth()}), context.operands);
}

/// Emits the products. f32 rows are scaled before the contraction. Narrower rows are multiplied
/// unscaled, and the products are scaled.
Value PanelTerm::emit(TileBuilder &t) {
  Value rows = loadRows(t);
  const double factor = scale * kLog2E;
  const bool scalesRows = context.operands.isF32();
  if (scalesRows)
    rows = beforeStream(t).scaled(rows, factor);
  Value product = t.create<WindowDotOp>(t.type({"r", "c"}), rows, panel, low, high);
  return scalesRows ? product : t.scaled(product, factor);
}

SmallVector<Value> PanelTerm::emitGradient(TileBuilder &t, Value cotangent) {
  cotangent = t.rounded(cotangent, context.operands);
  if (function.isActive()) {
    sums = context.temporary(name + "_d_panel", {"b", "hq", "t", depth()}, {}, /*zero=*/true);
    sums.getDefiningOp()->moveBefore(panel.getDefiningOp());
    t.create<WindowOuterOp>(cotangent, loadRows(t), sums, low, high);
  }
  return {t.create<WindowSumOp>(t.type({"r", depth()}), cotangent, panel, low, high)};
}

void PanelTerm::finish() {
  queries.finish();
  if (!function.isActive())
    return;
  Type f64 = context.plan.getF64Type();
  Value total = context.temporary(name + "_d_vectors", withHeads({"t", depth()}), f64);
  total.getDefiningOp()->moveBefore(panel.getDefiningOp());
  TileBuilder t =
      beginStage(context.plan, name + "_finish_panel", Phase::Finish, withHeads({kEntries}));
  t.foreach ({depth()}, [&](Scalar &s, ValueRange at) {
    SmallVector<StringRef> over = {"b"};
    if (!isPerHead)
      over.push_back("hq");
    Value sum = sumOver(s, over, [&](Scalar &x, ValueRange in) {
      return readElement(x, sums, {in[0], isPerHead ? at[0] : in[1], at[at.size() - 2], at.back()});
    });
    writeElement(s, s.mul(sum, s.number(scale, f64)), total, at);
  });
  TileBuilder last = beginStage(context.plan, name + "_finish", Phase::Finish, {});
  last.foreach (withHeads({entries.count, depth()}), [&](Scalar &s, ValueRange at) {
    Value entry = s.add(at[at.size() - 2], s.size(entries.first));
    SmallVector<Value> place(at);
    place[at.size() - 2] = entry;
    Value sum = readElement(s, total, place);
    ifNonZero(s, sum, [&](Scalar &x) {
      function.emitAdjoint(x, headOf(x, at), distanceOfEntry(x, entry), at.back(), sum);
    });
  });
}

std::unique_ptr<ContentTerm> mlir::tile::createPanelTerm(PlanContext &context, pe::ContentFnOp op,
                                                         pe::DifferenceRange range,
                                                         const ContentSite &site,
                                                         std::string name) {
  return std::make_unique<PanelTerm>(context, op, range, site, std::move(name));
}
