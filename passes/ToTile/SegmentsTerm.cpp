//===- SegmentsTerm.cpp - piecewise linear functions of u(i - j) v(i) ------===//
//
// A ReLU network of one variable is piecewise linear with few pieces. The kernel sees
// slopes and offsets; the gradient of everything they depend on follows exactly from two sums per
// piece: with g the cotangent and t the coordinate, S0 = sum g and S1 = sum g t
// over a piece are reproduced by two points p, q inside it with cotangents
//   g_q = (S1 - S0 p) / (q - p),  g_p = S0 - g_q,
// because on one piece every derivative is affine in t. Reverse mode of the network runs at
// those points, away from the kinks, where every activation is decided.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Terms.h"
#include "passes/Transforms/ScalarVjp.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

class SegmentsTerm : public TermLowering {
public:
  using TermLowering::TermLowering;

  LogicalResult prepare() override {
    piecewise = term.getPartValue(pe::TermPart::Piece).getDefiningOp<pe::PiecewiseOpInterface>();
    if (failed(derive()))
      return failure();
    createBuffers();
    prepareFactors();
    TileBuilder t = beginStage(context.plan, name + "_find", Phase::Prepare, {});
    SmallVector<Value> layers;
    for (Value layer : piecewise.getParameters())
      layers.push_back(
          parameters(pe::TermPart::Piece).parameterOf(cast<BlockArgument>(layer)).buffer);
    t.create<FindSegmentsOp>(layers, u, v, knots, slope, offset, count);
    prepareUnits();
    return success();
  }

  Value emit(TileBuilder &t) override {
    return t.create<SegmentsOp>(t.type({"r", "c"}), u, v, knots, slope, offset, count);
  }

  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) override {
    if (llvm::none_of(std::array{&piece, &scale, &factor, &row},
                      [](auto *part) { return (*part)->isActive(); }))
      return {};
    auto sums = [&](StringRef what, ArrayRef<StringRef> extents) {
      Value buffer = context.temporary(name + "_" + what, extents, {}, /*zero=*/true);
      buffer.getDefiningOp()->moveBefore(u.getDefiningOp());
      return buffer;
    };
    moments = sums("moments", {"b", "hq", capacity, "2"});
    if (row->isActive())
      vSums = sums("rows", {"b", "hq", "r"});
    if (factor->isActive())
      uSums = sums("diagonals", {"b", "hq", "t"});
    t.create<SegmentsGradOp>(cotangent, u, v, knots, slope, count, moments, vSums, uSums);
    return {};
  }

  void finish() override {
    if (!moments)
      return;
    finishPieces();
    if (vSums)
      finishRows();
    if (uSums)
      finishDistances();
  }

private:
  LogicalResult derive() {
    auto make = [&](std::optional<pe::ScalarVjp> &vjp, pe::TermPart part,
                    ArrayRef<Value> inputs = {}) {
      FailureOr<pe::ScalarVjp> derived = pe::ScalarVjp::create(term.getPartValue(part), inputs);
      if (succeeded(derived))
        vjp.emplace(*derived);
      return succeeded(derived);
    };
    return success(make(piece, pe::TermPart::Piece, piecewise.getCoordinate()) &&
                   make(scale, pe::TermPart::Scale) && make(factor, pe::TermPart::Factor) &&
                   make(row, pe::TermPart::RowFactor));
  }

  void createBuffers() {
    // One kink per unit and cell of the layer before: the product of (width + 1).
    int64_t pieces = 1;
    ValueRange layers = piecewise.getParameters();
    for (size_t i = 0; i + 2 < layers.size(); i += 2)
      pieces *= cast<ShapedType>(layers[i].getType()).getDimSize(0) + 1;
    capacity = std::to_string(pieces);
    SmallVector<StringRef> uExtents = {"t"}, vExtents = {"r"};
    if (term.dependsOnHead(pe::TermPart::Factor))
      uExtents.insert(uExtents.begin(), "hq");
    if (term.dependsOnHead(pe::TermPart::RowFactor))
      vExtents.insert(vExtents.begin(), "hq");
    u = context.kept(name + "_u", uExtents);
    v = context.kept(name + "_v", vExtents);
    knots = context.kept(name + "_knots", {capacity});
    slope = context.kept(name + "_slope", {"hq", capacity});
    offset = context.kept(name + "_offset", {"hq", capacity});
    count = context.kept(name + "_count", {"1"}, context.plan.getI32Type());
  }

  void mapDistance(Scalar &s, IRMapping &mapping, Value head, Value entry) {
    Value distance = s.sub(entry, s.size("c - 1 - q_start + k_start"));
    mapPart(mapping, pe::TermPart::Factor, s.index(0), head, distance);
  }
  void mapRow(Scalar &s, IRMapping &mapping, Value head, Value r) {
    Value zero = s.index(0);
    // A row before position 0 sees no key; its factor only has to be finite.
    Value position = s.create<arith::MaxSIOp>(s.add(r, s.size("q_start")), zero);
    mapPart(mapping, pe::TermPart::RowFactor, zero, head, position);
  }

  /// The tables u over the distance and v over the row.
  void prepareFactors() {
    auto table = [&](StringRef suffix, Value buffer, pe::TermPart part, StringRef extent,
                     pe::ScalarVjp &vjp, auto map) {
      const bool perHead = term.dependsOnHead(part);
      SmallVector<StringRef> over;
      if (perHead)
        over.push_back("hq");
      TileBuilder t = beginStage(context.plan, (name + suffix).str(), Phase::Prepare, over);
      t.foreach ({extent}, [&](Scalar &s, ValueRange at) {
        TileParameters params = parameters(part);
        IRMapping mapping;
        map(s, mapping, perHead ? at[0] : s.index(0), at.back());
        writeElement(s, vjp.emitPrimal(s, mapping, params), buffer, at);
      });
    };
    // Includes the padding after the last distance: a range of u is taken over whole vectors.
    std::string distances = "r + c + " + std::to_string(kDistancePadding);
    table("_distances", u, pe::TermPart::Factor, distances, *factor,
          [&](Scalar &s, IRMapping &m, Value h, Value t) { mapDistance(s, m, h, t); });
    table("_rows", v, pe::TermPart::RowFactor, "r", *row,
          [&](Scalar &s, IRMapping &m, Value h, Value r) { mapRow(s, m, h, r); });
  }

  /// Slopes and offsets in units of log2, times the output scale.
  void prepareUnits() {
    TileBuilder t = beginStage(context.plan, name + "_units", Phase::Prepare, {"hq"});
    t.foreach ({capacity}, [&](Scalar &s, ValueRange at) {
      TileParameters params = parameters(pe::TermPart::Scale);
      IRMapping mapping;
      mapPart(mapping, pe::TermPart::Scale, s.index(0), at[0], {});
      Value unit = s.mul(s.number(kLog2E), scale->emitPrimal(s, mapping, params));
      for (Value buffer : {slope, offset})
        writeElement(s, s.mul(readElement(s, buffer, at), unit), buffer, at);
    });
  }

  /// Sum over the batch of one entry of per-(batch, head) sums, in float64.
  Value batchSum(Scalar &s, Value sums, ValueRange at) {
    return sumOver(s, {"b"}, [&](Scalar &x, ValueRange batch) {
      SmallVector<Value> indices = {batch[0]};
      indices.append(at.begin(), at.end());
      return readElement(x, sums, indices);
    });
  }

  /// Reverse mode of scale * piece at one point x, in float64.
  void emitPoint(Scalar &s, Value head, Value point, Value cotangent) {
    Type f64 = s.getF64Type();
    TileParameters inner = parameters(pe::TermPart::Piece);
    TileParameters outer = parameters(pe::TermPart::Scale);
    inner.compute = outer.compute = cast<FloatType>(f64);
    IRMapping innerMapping, outerMapping;
    mapPart(innerMapping, pe::TermPart::Piece, s.index(0), head, point);
    mapPart(outerMapping, pe::TermPart::Scale, s.index(0), head, {});
    Value value = piece->emitPrimal(s, innerMapping, inner, inner.compute);
    Value factor = scale->emitPrimal(s, outerMapping, outer, outer.compute);
    piece->emitAdjoint(s, innerMapping, s.mul(cotangent, factor), inner);
    scale->emitAdjoint(s, outerMapping, s.mul(cotangent, value), outer);
  }

  /// The range of u * v that can have occurred, for the ends of the first and the last piece: the
  /// box of the factors' extremes is enough, since any point inside a piece serves.
  Value findRange();
  void finishPieces();

  /// The end of a piece: knot number `index`, or `bound` where there is none.
  Value pieceEnd(Scalar &s, Value index, Value exists, Value bound) {
    Value knot = readElement(s, knots, {index}, /*inbounds=*/false);
    Value wide = s.create<arith::ExtFOp>(s.getF64Type(), knot);
    return s.select(exists, wide, bound);
  }

  void finishRows() {
    TileBuilder t = beginStage(context.plan, name + "_rows_finish", Phase::Finish, {});
    t.foreach ({"hq", "r"}, [&](Scalar &s, ValueRange at) {
      // v_grad was computed with slopes in log2 units.
      Value sum = s.mul(batchSum(s, vSums, at), s.number(1.0 / kLog2E, s.getF64Type()));
      ifNonZero(s, sum, [&](Scalar &x) {
        TileParameters params = parameters(pe::TermPart::RowFactor);
        IRMapping mapping;
        mapRow(x, mapping, at[0], at[1]);
        params.compute = x.getF64Type();
        row->emitPrimal(x, mapping, params, x.getF64Type());
        row->emitAdjoint(x, mapping, sum, params);
      });
    });
  }

  void finishDistances() {
    TileBuilder t = beginStage(context.plan, name + "_distances_finish", Phase::Finish, {});
    t.foreach ({"hq", "r + c - 1"}, [&](Scalar &s, ValueRange at) {
      Value sum = s.mul(batchSum(s, uSums, at), s.number(1.0 / kLog2E, s.getF64Type()));
      ifNonZero(s, sum, [&](Scalar &x) {
        TileParameters params = parameters(pe::TermPart::Factor);
        IRMapping mapping;
        mapDistance(x, mapping, at[0], at[1]);
        params.compute = x.getF64Type();
        factor->emitPrimal(x, mapping, params, x.getF64Type());
        factor->emitAdjoint(x, mapping, sum, params);
      });
    });
  }

  pe::PiecewiseOpInterface piecewise;
  std::optional<pe::ScalarVjp> piece, scale, factor, row;
  std::string capacity;
  Value u, v, knots, slope, offset, count;
  Value moments, vSums, uSums;
};

Value SegmentsTerm::findRange() {
  Type f64 = context.plan.getF64Type();
  Value lows = context.temporary(name + "_lows", {"2"}, f64);
  Value highs = context.temporary(name + "_highs", {"2"}, f64);
  TileBuilder t = beginStage(context.plan, name + "_range", Phase::Finish, {});
  t.foreach ({"2"}, [&](Scalar &s, ValueRange at) {
    writeElement(s, s.number(1.0e300, f64), lows, at);
    writeElement(s, s.number(-1.0e300, f64), highs, at);
  });
  for (auto [place, buffer, extent] : {std::tuple(0, u, "r + c - 1"), std::tuple(1, v, "r")}) {
    SmallVector<StringRef> over;
    if (cast<BufferType>(buffer.getType()).has("hq"))
      over.push_back("hq");
    over.push_back(extent);
    t.foreach (over, [&, place = place, buffer = buffer](Scalar &s, ValueRange at) {
      Value x = s.create<arith::ExtFOp>(f64, readElement(s, buffer, at));
      accumulateElement(s, x, lows, s.index(place), Reduction::Min);
      accumulateElement(s, x, highs, s.index(place), Reduction::Max);
    });
  }
  Value range = context.temporary(name + "_ends", {"2"}, f64);
  TileBuilder ends = beginStage(context.plan, name + "_range_ends", Phase::Finish, {});
  ends.foreach ({"1"}, [&](Scalar &s, ValueRange) {
    Value low = s.number(1.0e300, f64), high = s.number(-1.0e300, f64);
    for (Value a : {lows, highs})
      for (Value b : {lows, highs}) {
        Value x = s.mul(readElement(s, a, s.index(0)), readElement(s, b, s.index(1)));
        low = s.min(low, x);
        high = s.max(high, x);
      }
    writeElement(s, low, range, s.index(0));
    writeElement(s, high, range, s.index(1));
  });
  return range;
}

void SegmentsTerm::finishPieces() {
  Value range = findRange();
  TileBuilder t = beginStage(context.plan, name + "_pieces_finish", Phase::Finish, {});
  t.foreach ({"hq", capacity}, [&](Scalar &s, ValueRange at) {
    Type f64 = s.getF64Type();
    Value z = at[1], zero = s.index(0), one = s.index(1);
    Value s0 = batchSum(s, moments, {at[0], z, zero}), s1 = batchSum(s, moments, {at[0], z, one});
    Value some = s.add(s.create<math::AbsFOp>(s0), s.create<math::AbsFOp>(s1));
    ifNonZero(s, some, [&](Scalar &x) {
      Value pieces = x.create<arith::IndexCastOp>(x.getIndexType(), readElement(x, count, {zero}));
      Value hasLow = x.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, z, zero);
      Value hasHigh = x.create<arith::CmpIOp>(arith::CmpIPredicate::slt, x.add(z, one), pieces);
      Value low = pieceEnd(x, x.sub(z, one), hasLow, readElement(x, range, {zero}));
      Value high = pieceEnd(x, z, hasHigh, readElement(x, range, {one}));
      Value quarter = x.mul(x.sub(high, low), x.number(0.25, f64));
      Value p = x.add(low, quarter), q = x.sub(high, quarter);
      Value wide = x.greater(quarter, x.number(0.0, f64));
      Value gap = x.select(wide, x.sub(q, p), x.number(1.0, f64));
      Value gq = x.select(wide, x.div(x.sub(s1, x.mul(s0, p)), gap), x.number(0.0, f64));
      Value gp = x.sub(s0, gq);
      for (auto [point, cotangent] : {std::pair{p, gp}, std::pair{q, gq}}) {
        emitPoint(x, at[0], point, cotangent);
      }
    });
  });
}

} // namespace

std::unique_ptr<TermLowering> mlir::tile::createSegmentsTerm(PlanContext &context, pe::TermOp term,
                                                             std::string name) {
  return std::make_unique<SegmentsTerm>(context, term, std::move(name));
}
