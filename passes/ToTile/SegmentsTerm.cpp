//===- SegmentsTerm.cpp - piecewise polynomials of u(i - j) v(i) ----------===//
//
// A univariate function is divided into pieces, each a polynomial of degree n (0, 1 or 3), exact or
// within a tolerance (tile.find_segments). The kernel reads knots and coefficients. The gradient of
// everything that the pieces depend on follows from n + 1 sums per piece: with g the cotangent and
// x in [-1, 1] the place of the coordinate in its piece, S_m = sum g x^m. The piece is the
// polynomial through its values y_k at the Chebyshev points x_k, y = sum_k y_k L_k(x), so
//
//   the cotangent of y_k is sum g L_k(x) = sum_m L_km S_m,  L_k(x) = sum_m L_km x^m
//
// and reverse mode runs at these points, away from the kinks, where every function has one slope.
//
// If there are too many pieces for the tables, there are none: the function is then evaluated and
// differentiated for each score. Phases of cosines are computed in float64: f32 would be off by up
// to 2^-25 w radians in a phase w u v, and a cosine is steep at any phase.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Terms.h"
#include "passes/Transforms/ScalarVjp.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Coefficients [node][power] of the Lagrange polynomials of the Chebyshev points of [-1, 1]: each
/// is 1 at one point and 0 at the others.
struct NodeBasis {
  explicit NodeBasis(int64_t degree) {
    const int64_t count = degree + 1;
    for (int64_t k = 0; k < count; ++k)
      nodes.push_back(-std::cos((k + 0.5) * std::numbers::pi / count));
    for (double node : nodes) {
      SmallVector<double> product = {1.0};
      for (double other : nodes) {
        if (other == node)
          continue;
        product.push_back(0.0);
        for (size_t m = product.size(); m-- > 0;)
          product[m] = ((m ? product[m - 1] : 0.0) - other * product[m]) / (node - other);
      }
      coefficients.push_back(product);
    }
  }
  SmallVector<double> nodes;
  SmallVector<SmallVector<double>> coefficients;
};

/// Replaces float64 cosines by f32 cosines of their phases modulo whole turns.
void narrowCosines(Block &block) {
  block.walk([](math::CosOp op) {
    if (!op.getType().isF64())
      return;
    Scalar s(op.getLoc(), op);
    const double turn = 2 * std::numbers::pi;
    Value phase = op.getOperand();
    Value turns = s.create<math::RoundEvenOp>(s.mul(phase, s.number(1 / turn, op.getType())));
    Value rest = s.sub(phase, s.mul(turns, s.number(turn, op.getType())));
    Value cosine = s.create<math::CosOp>(s.create<arith::TruncFOp>(s.getF32Type(), rest));
    op.replaceAllUsesWith(s.create<arith::ExtFOp>(op.getType(), cosine).getResult());
    op.erase();
  });
}

class SegmentsTerm : public TermLowering {
public:
  SegmentsTerm(PlanContext &context, pe::TermOp term, std::string name)
      : TermLowering(context, term, std::move(name)) {}

  bool isSharable() const override { return true; }
  LogicalResult prepare() override {
    piecewise = term.getPartValue(pe::TermPart::Piece).getDefiningOp<pe::PiecewiseOpInterface>();
    if (failed(derive()))
      return failure();
    createBuffers();
    prepareFactors();
    TileBuilder t = beginStage(context.plan, name + "_find", Phase::Prepare, {});
    SmallVector<Value> links;
    SmallVector<StringRef> functions;
    for (const pe::ChainLink &link : piecewise.getChain()) {
      for (Value tensor : {link.weight, link.bias})
        links.push_back(
            parameters(pe::TermPart::Piece).parameterOf(cast<BlockArgument>(tensor)).buffer);
      functions.push_back(pe::stringifyActivation(link.function));
    }
    t.create<FindSegmentsOp>(links, u, v, knots, coefficients, count, t.getStrArrayAttr(functions),
                             APFloat(piecewise.getLogitTolerance()));
    prepareUnits();
    return success();
  }

  Value emit(TileBuilder &t) override {
    Value value = t.create<SegmentsOp>(t.type({"r", "c"}), u, v, knots, coefficients, count);
    if (!mayBeTooMany)
      return value;
    SmallVector<Value> inputs = t.pairPoint();
    inputs.push_back(value);
    const bool hasCosines = llvm::any_of(piecewise.getChain(), [](const pe::ChainLink &link) {
      return link.function == pe::Activation::Cos;
    });
    return t.map(inputs, {"r", "c"}, [&](Scalar &s, ValueRange at) {
      return ifNoPieces(s, at.back(), [&](Scalar &x) -> Value {
        Type f32 = x.getF32Type();
        PairCode pair(*this, x, at, cast<FloatType>(hasCosines ? x.getF64Type() : f32));
        Value value = x.mul(pair.value, pair.unit);
        narrowCosines(*x.getInsertionBlock()); // may replace pair.value
        value = x.mul(value, x.number(kLog2E, value.getType()));
        return hasCosines ? x.create<arith::TruncFOp>(f32, value).getResult() : value;
      });
    });
  }

  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) override {
    if (llvm::none_of(std::array{&piece, &scale, &factor, &row},
                      [](auto *part) { return (*part)->isActive(); }))
      return {};
    auto sums = [&](SmallVector<Value> &all, StringRef what, ArrayRef<StringRef> extents) {
      Value buffer = context.temporary(numbered(name + "_" + what.str(), all.size()), extents, {},
                                       /*zero=*/true);
      buffer.getDefiningOp()->moveBefore(u.getDefiningOp());
      all.push_back(buffer);
      return buffer;
    };
    Value rowSums, distanceSums;
    Value momentSums = sums(moments, "moments", {"b", "hq", capacity, powers});
    if (row->isActive() && degree > 0)
      rowSums = sums(vSums, "rows", {"b", "hq", "r"});
    if (factor->isActive() && degree > 0)
      distanceSums = sums(uSums, "diagonals", {"b", "hq", "t"});
    t.create<SegmentsGradOp>(cotangent, u, v, knots, coefficients, count, momentSums, rowSums,
                             distanceSums);
    if (mayBeTooMany)
      emitPairGradient(t, cotangent);
    return {};
  }

  void finish() override {
    if (moments.empty())
      return;
    finishPieces();
    if (!vSums.empty() && !uSums.empty())
      balanceSums();
    if (!vSums.empty())
      finishRows();
    if (!uSums.empty())
      finishDistances();
    for (CaptureSums &sums : captureSums)
      sums.finish();
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

  /// Returns the number of pieces to reserve. A link has one kink per unit and piece of the
  /// previous link, which gives the product of (width + 1). For kinks that differ per head and for
  /// smooth functions, the number is an estimate that is rarely too small.
  int64_t findCapacity() {
    const SmallVector<pe::ChainLink> chain = piecewise.getChain();
    mayBeTooMany = degree == 3 ||
                   (chain.back().function != pe::Activation::Identity && !hasStepBeforeLast(chain));
    if (mayBeTooMany)
      return degree == 3 && chain.size() <= 2 ? 128 : 512;
    int64_t pieces = 1;
    for (const pe::ChainLink &link : ArrayRef(chain).drop_back()) {
      pieces *= cast<ShapedType>(link.bias.getType()).getDimSize(0) + 1;
      if (link.function == pe::Activation::Step)
        break;
    }
    return pieces;
  }
  /// Returns true if a step precedes the last link, which then adds no kinks.
  static bool hasStepBeforeLast(ArrayRef<pe::ChainLink> chain) {
    return llvm::any_of(chain.drop_back(), [](const pe::ChainLink &link) {
      return link.function == pe::Activation::Step;
    });
  }

  void createBuffers() {
    degree = *piecewise.getDegree();
    const int64_t pieces = findCapacity();
    capacity = std::to_string(pieces);
    powers = std::to_string(degree + 1);
    SmallVector<StringRef> uExtents = {"t"}, vExtents = {"r"};
    if (term.dependsOnHead(pe::TermPart::Factor))
      uExtents.insert(uExtents.begin(), "hq");
    if (term.dependsOnHead(pe::TermPart::RowFactor))
      vExtents.insert(vExtents.begin(), "hq");
    u = context.kept(name + "_u", uExtents);
    v = context.kept(name + "_v", vExtents);
    knots = context.kept(name + "_knots", {std::to_string(pieces + 1)});
    coefficients = context.kept(name + "_coefficients", {"hq", capacity, powers});
    count = context.kept(name + "_count", {"1"}, context.plan.getI32Type());
  }

  void mapDistance(Scalar &s, IRMapping &mapping, Value head, Value entry) {
    Value distance = s.sub(entry, s.size("c - 1 - q_start + k_start"));
    mapPart(mapping, pe::TermPart::Factor, s.index(0), head, distance);
  }
  void mapRow(Scalar &s, IRMapping &mapping, Value head, Value r) {
    Value zero = s.index(0);
    // A row before position 0 has no keys; its factor only has to be finite.
    Value position = s.create<arith::MaxSIOp>(s.add(r, s.size("q_start")), zero);
    mapPart(mapping, pe::TermPart::RowFactor, zero, head, position);
  }

  /// Prepares the tables u over the distance and v over the row.
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
    table("_distances", u, pe::TermPart::Factor, "t", *factor,
          [&](Scalar &s, IRMapping &m, Value h, Value t) { mapDistance(s, m, h, t); });
    table("_rows", v, pe::TermPart::RowFactor, "r", *row,
          [&](Scalar &s, IRMapping &m, Value h, Value r) { mapRow(s, m, h, r); });
  }

  /// Converts the coefficients to units of log2 and multiplies them by the output scale.
  void prepareUnits() {
    TileBuilder t = beginStage(context.plan, name + "_units", Phase::Prepare, {"hq"});
    t.foreach ({capacity, powers}, [&](Scalar &s, ValueRange at) {
      TileParameters params = parameters(pe::TermPart::Scale);
      IRMapping mapping;
      mapPart(mapping, pe::TermPart::Scale, s.index(0), at[0], {});
      auto f64 = cast<FloatType>(s.getF64Type()); // so that only the product is rounded
      params.compute = f64;
      Value unit = s.mul(s.number(kLog2E, f64), scale->emitPrimal(s, mapping, params, f64));
      Value number = s.create<arith::ExtFOp>(f64, readElement(s, coefficients, at));
      writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), s.mul(number, unit)), coefficients,
                   at);
    });
  }

  /// Emits reverse mode of scale * piece at one point x, in float64.
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

  void finishPieces();
  SmallVector<Value> momentsOf(Scalar &s, ValueRange at);

  void finishRows() {
    TileBuilder t = beginStage(context.plan, name + "_rows_finish", Phase::Finish, {});
    t.foreach ({"hq", "r"}, [&](Scalar &s, ValueRange at) {
      // v_grad was computed with coefficients in log2 units.
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

  /// Returns u or v at one index in float64, instead of the rounded value of the table.
  Value exactFactor(Scalar &s, pe::TermPart part, ValueRange at) {
    const bool isRow = part == pe::TermPart::RowFactor;
    TileParameters params = parameters(part);
    params.compute = cast<FloatType>(s.getF64Type());
    IRMapping mapping;
    if (isRow)
      mapRow(s, mapping, at[0], at[1]);
    else
      mapDistance(s, mapping, at[0], at[1]);
    return (isRow ? row : factor)->emitPrimal(s, mapping, params, params.compute);
  }

  /// With g the cotangent of the product u v, rows have the sums of g u and distances those of g v.
  /// Both have the same total, the sum of g u v, except for rounding. Far from position 0 the
  /// gradient of a parameter of both factors is the small difference of two large sums, and their
  /// discrepancy would dominate it. This computes the discrepancy, which is compensated at one
  /// distance.
  void balanceSums() {
    Type f64 = context.plan.getF64Type();
    surplus = context.temporary(name + "_surplus", {"hq"}, f64, /*zero=*/true);
    TileBuilder t = beginStage(context.plan, name + "_balance", Phase::Finish, {});
    auto addTotal = [&](StringRef extent, ArrayRef<Value> sums, pe::TermPart part, double sign) {
      t.foreach ({"hq", extent}, [&](Scalar &s, ValueRange at) {
        Value sum = s.mul(batchSum(s, sums, at), s.number(sign, f64));
        ifNonZero(s, sum, [&](Scalar &x) {
          accumulateElement(x, x.mul(sum, exactFactor(x, part, at)), surplus, at.front());
        });
      });
    };
    addTotal("r", vSums, pe::TermPart::RowFactor, 1.0);
    addTotal("r + c - 1", uSums, pe::TermPart::Factor, -1.0);
  }

  /// Returns the correction that makes the sums over distances agree with those over rows. It is
  /// applied at the largest distance.
  Value surplusAt(Scalar &s, ValueRange at) {
    Type f64 = s.getF64Type();
    ValueRange place = term.dependsOnHead(pe::TermPart::Factor) ? at : at.drop_front();
    Value factor = s.create<arith::ExtFOp>(f64, readElement(s, u, place));
    Value isLast =
        s.create<arith::CmpIOp>(arith::CmpIPredicate::eq, at.back(), s.size("r + c - 2"));
    Value exists = s.create<arith::AndIOp>(
        isLast, s.create<arith::CmpFOp>(arith::CmpFPredicate::ONE, factor, s.number(0.0, f64)));
    Value divisor = s.select(exists, factor, s.number(1.0, f64));
    return s.select(exists, s.div(readElement(s, surplus, at.front()), divisor),
                    s.number(0.0, f64));
  }

  void finishDistances() {
    TileBuilder t = beginStage(context.plan, name + "_distances_finish", Phase::Finish, {});
    t.foreach ({"hq", "r + c - 1"}, [&](Scalar &s, ValueRange at) {
      Value sum = batchSum(s, uSums, at);
      if (surplus)
        sum = s.add(sum, surplusAt(s, at));
      sum = s.mul(sum, s.number(1.0 / kLog2E, s.getF64Type()));
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

  /// The term's value for one pair, computed in `type`, in natural units and without its scale, and
  /// the values that reverse mode needs.
  struct PairCode {
    PairCode(SegmentsTerm &term, Scalar &s, ValueRange at, FloatType type);
    SegmentsTerm &term;
    IRMapping factorMap, rowMap, pieceMap, scaleMap;
    TileParameters factorParams, rowParams, pieceParams, scaleParams;
    Value u, v, value, unit;
    void emitAdjoint(Scalar &s, Value cotangent);
  };
  Value ifNoPieces(Scalar &s, Value otherwise, llvm::function_ref<Value(Scalar &)> body);
  void emitPairGradient(TileBuilder &t, Value cotangent);

  pe::PiecewiseOpInterface piecewise;
  std::optional<pe::ScalarVjp> piece, scale, factor, row;
  int64_t degree = 1;
  bool mayBeTooMany = false;
  std::string capacity, powers;
  Value u, v, knots, coefficients, count;
  SmallVector<Value> moments, vSums, uSums; // one per attention
  Value surplus;
  SmallVector<CaptureSums> captureSums;
};

//===- Without pieces ----------------------------------------------------------------===//

SegmentsTerm::PairCode::PairCode(SegmentsTerm &term, Scalar &s, ValueRange at, FloatType type)
    : term(term), factorParams(term.parameters(pe::TermPart::Factor)),
      rowParams(term.parameters(pe::TermPart::RowFactor)),
      pieceParams(term.parameters(pe::TermPart::Piece)),
      scaleParams(term.parameters(pe::TermPart::Scale)) {
  for (TileParameters *params : {&factorParams, &rowParams, &pieceParams, &scaleParams})
    params->compute = type;
  Value zero = s.index(0), head = at[1];
  Value position = s.create<arith::MaxSIOp>(at[2], zero);
  term.mapPart(factorMap, pe::TermPart::Factor, zero, head, s.sub(at[2], at[3]));
  term.mapPart(rowMap, pe::TermPart::RowFactor, zero, head, position);
  term.mapPart(scaleMap, pe::TermPart::Scale, zero, head, {});
  u = term.factor->emitPrimal(s, factorMap, factorParams, type);
  v = term.row->emitPrimal(s, rowMap, rowParams, type);
  term.mapPart(pieceMap, pe::TermPart::Piece, zero, head, s.mul(u, v));
  value = term.piece->emitPrimal(s, pieceMap, pieceParams, type);
  unit = term.scale->emitPrimal(s, scaleMap, scaleParams, type);
}

void SegmentsTerm::PairCode::emitAdjoint(Scalar &s, Value cotangent) {
  Value x = term.piece->emitAdjoint(s, pieceMap, s.mul(cotangent, unit), pieceParams).front();
  term.scale->emitAdjoint(s, scaleMap, s.mul(cotangent, value), scaleParams);
  term.factor->emitAdjoint(s, factorMap, s.mul(x, v), factorParams);
  term.row->emitAdjoint(s, rowMap, s.mul(x, u), rowParams);
}

/// Emits a loop that runs once if there are no pieces, and otherwise not at all. Its result is that
/// of the body, or `otherwise` (if given) when the loop does not run.
Value SegmentsTerm::ifNoPieces(Scalar &s, Value otherwise,
                               llvm::function_ref<Value(Scalar &)> body) {
  Value zero = s.index(0), one = s.index(1);
  Value pieces = s.create<arith::IndexCastOp>(s.getIndexType(), readElement(s, count, {zero}));
  Value times = s.sub(one, s.create<arith::MinSIOp>(pieces, one));
  auto loop =
      s.create<scf::ForOp>(zero, times, one, otherwise ? ValueRange(otherwise) : ValueRange());
  if (!otherwise) {
    Scalar inner(s.getLoc(), OpBuilder::atBlockTerminator(loop.getBody()));
    body(inner);
    return {};
  }
  Scalar inner(s.getLoc(), OpBuilder::atBlockEnd(loop.getBody()));
  inner.create<scf::YieldOp>(body(inner));
  return loop.getResult(0);
}

void SegmentsTerm::emitPairGradient(TileBuilder &t, Value cotangent) {
  CaptureSums &sums = captureSums.emplace_back(context, term.getCaptures(),
                                               numbered(name + "_each", captureSums.size()));
  sums.create();
  SmallVector<Value> inputs = t.pairPoint();
  inputs.push_back(cotangent);
  t.eachPair(inputs, [&](Scalar &s, ValueRange at) {
    ifNoPieces(s, {}, [&](Scalar &x) -> Value {
      PairCode pair(*this, x, at, cast<FloatType>(x.getF32Type()));
      for (TileParameters *params :
           {&pair.factorParams, &pair.rowParams, &pair.pieceParams, &pair.scaleParams})
        sums.use(*params, at[0], at[1]);
      pair.emitAdjoint(x, at.back());
      return {};
    });
  });
}

//===- Moments -----------------------------------------------------------------------===//

/// Returns the sums of g x^m of a piece, m = 0 ... degree, over the batch, in float64.
SmallVector<Value> SegmentsTerm::momentsOf(Scalar &s, ValueRange at) {
  SmallVector<Value> sums;
  for (int64_t m = 0; m <= degree; ++m)
    sums.push_back(batchSum(s, moments, {at[0], at[1], s.index(m)}));
  return sums;
}

void SegmentsTerm::finishPieces() {
  const NodeBasis basis(degree);
  TileBuilder t = beginStage(context.plan, name + "_pieces_finish", Phase::Finish, {});
  t.foreach ({"hq", capacity, powers}, [&](Scalar &s, ValueRange at) {
    Type f64 = s.getF64Type();
    SmallVector<Value> sums = momentsOf(s, at);
    // Selects the constant of this node.
    auto ofNode = [&](auto constantOf) {
      Value chosen = s.number(constantOf(0), f64);
      for (int64_t node = 1; node <= degree; ++node) {
        Value isThis = s.create<arith::CmpIOp>(arith::CmpIPredicate::eq, at[2], s.index(node));
        chosen = s.select(isThis, s.number(constantOf(node), f64), chosen);
      }
      return chosen;
    };
    Value node = ofNode([&](int64_t k) { return basis.nodes[k]; });
    SmallVector<Value> weights;
    for (int64_t m = 0; m <= degree; ++m)
      weights.push_back(ofNode([&](int64_t k) { return basis.coefficients[k][m]; }));
    Value pieces =
        s.create<arith::IndexCastOp>(s.getIndexType(), readElement(s, count, {s.index(0)}));
    Value exists = s.create<arith::CmpIOp>(arith::CmpIPredicate::slt, at[1], pieces);
    Value some = s.number(0.0, f64);
    for (Value sum : sums)
      some = s.add(some, s.create<math::AbsFOp>(sum));
    ifNonZero(s, s.select(exists, some, s.number(0.0, f64)), [&](Scalar &x) {
      Value low = readElement(x, knots, {at[1]});
      Value high = readElement(x, knots, {x.add(at[1], x.index(1))});
      auto wide = [&](Value value) -> Value { return x.create<arith::ExtFOp>(f64, value); };
      Value half = x.mul(x.sub(wide(high), wide(low)), x.number(0.5, f64));
      // The center of the kernel's polynomials.
      Value middle = wide(x.mul(x.add(low, high), x.number(0.5)));
      Value isWide = x.greater(half, x.number(0.0, f64)), one = x.number(1.0, f64);
      Value unit = x.select(isWide, x.div(one, x.select(isWide, half, one)), x.number(0.0, f64));
      if (degree == 1) // its moments are of the coordinate itself
        sums[1] = x.sub(sums[1], x.mul(sums[0], middle));
      Value power = unit;
      for (int64_t m = 1; m <= degree; ++m, power = x.mul(power, unit))
        sums[m] = x.mul(sums[m], power);
      Value cotangent = x.number(0.0, f64);
      for (auto [sum, weight] : llvm::zip_equal(sums, weights))
        cotangent = x.add(cotangent, x.mul(sum, weight));
      emitPoint(x, at[0], x.add(middle, x.mul(half, node)), cotangent);
    });
  });
}

} // namespace

std::unique_ptr<TermLowering> mlir::tile::createSegmentsTerm(PlanContext &context, pe::TermOp term,
                                                             std::string name) {
  return std::make_unique<SegmentsTerm>(context, term, std::move(name));
}
