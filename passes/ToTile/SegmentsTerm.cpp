//===- SegmentsTerm.cpp - tables and values of piecewise polynomials ------===//
#include "passes/ToTile/SegmentsTerm.h"

#include "passes/ToTile/DistanceEntries.h"

using namespace mlir;
using namespace mlir::tile;

/// Returns true if a step precedes the last link, which then adds no kinks.
static bool hasStepBeforeLast(ArrayRef<pe::ChainLink> chain) {
  return llvm::any_of(chain.drop_back(), [](const pe::ChainLink &link) {
    return link.function == pe::Activation::Step;
  });
}

LogicalResult SegmentsTerm::derive() {
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
int64_t SegmentsTerm::findCapacity() {
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

void SegmentsTerm::createBuffers() {
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

void SegmentsTerm::mapDistance(Scalar &s, IRMapping &mapping, Value head, Value entry) {
  Value distance = distanceOfEntry(s, entry);
  mapPart(mapping, pe::TermPart::Factor, s.index(0), head, distance);
}
void SegmentsTerm::mapRow(Scalar &s, IRMapping &mapping, Value head, Value r) {
  Value zero = s.index(0);
  // A row before position 0 has no keys; its factor only has to be finite.
  Value position = s.create<arith::MaxSIOp>(s.add(r, s.size("q_start")), zero);
  mapPart(mapping, pe::TermPart::RowFactor, zero, head, position);
}

/// Prepares the tables u over the distance and v over the row.
void SegmentsTerm::prepareFactors() {
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
void SegmentsTerm::prepareUnits(TileBuilder &t) {
  t.foreach ({"hq", capacity, powers}, [&](Scalar &s, ValueRange at) {
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

LogicalResult SegmentsTerm::prepare() {
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
  prepareUnits(t);
  return success();
}

Value SegmentsTerm::emit(TileBuilder &t) {
  Value value = t.create<SegmentsOp>(t.type({"r", "c"}), u, v, knots, coefficients, count);
  return mayBeTooMany ? emitPairs(t, value) : value;
}

SmallVector<Value> SegmentsTerm::emitGradient(TileBuilder &t, Value cotangent) {
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

std::unique_ptr<TermLowering> mlir::tile::createSegmentsTerm(PlanContext &context, pe::TermOp term,
                                                             std::string name) {
  return std::make_unique<SegmentsTerm>(context, term, std::move(name));
}
