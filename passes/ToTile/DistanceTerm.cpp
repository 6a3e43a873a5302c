//===- DistanceTerm.cpp - functions of i - j as tables --------------------===//
//
// Any function of the distance becomes one table per head, regardless of its parameters. The kernel
// reads a contiguous window of it per key. In the backward pass, sums along diagonals are chained
// to the parameters by reverse mode of the one-dimensional function, which is exact.
//
// Tables are computed in float64 and rounded once: an angle of 10^6 radians or the logarithm of a
// distance has few accurate digits in f32. Values that do not depend on the head are computed once
// for all heads, stored in float64, and differentiated once:
//
//   r1[h] * sum_k cos(d w_k)      shared[t] = sum_k cos(d w_k)       table[h, t] = r1[h] shared[t]
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/Slice.h"
#include "passes/ToTile/DistanceEntries.h"
#include "passes/ToTile/Terms.h"
#include "passes/Transforms/ScalarVjp.h"
#include "passes/Transforms/SumEval.h"

#include "dialect/PE/PEScalars.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// A value of the part that all heads share, with its table over the distance.
struct Shared {
  Value value;
  pe::ScalarVjp vjp;
  Value table;
};

class DistanceTerm : public TermLowering {
public:
  DistanceTerm(PlanContext &context, pe::TermOp term, std::string name, int64_t minDistance)
      : TermLowering(context, term, std::move(name)), region(term.getPart(pe::TermPart::Distance)),
        entries(minDistance) {}

  bool isSharable() const override { return true; }
  LogicalResult prepare() override;
  Value emit(TileBuilder &t) override { return t.create<WindowOp>(t.type({"r", "c"}), table); }
  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) override;
  void finish() override;

private:
  SmallVector<Value> findShared();
  LogicalResult prepareShared();
  Value entryOf(Scalar &s, Value place) { return s.add(place, s.size(entries.first)); }
  IRMapping mappingAt(Scalar &s, Value head, Value entry);
  TileParameters wideParameters(Scalar &s);
  Value sumAt(Scalar &s, Value head, Value entry);
  SmallVector<Value> adjointsAt(Scalar &s, Value head, Value entry, Value sum, bool addsNothing);
  void finishShared(TileBuilder &t, size_t number);

  Block &region;
  std::optional<pe::ScalarVjp> vjp; // of the bias, given the shared values
  SmallVector<Shared> shared;
  bool isActive = false;    // true if a parameter has a gradient
  bool readsItself = false; // true if the bias reads parameters besides those of the shared values
  DistanceEntries entries;
  Value table;
  SmallVector<Value> sums; // one per attention
};

} // namespace

/// Returns true if the operation is too costly to repeat for every head and distance.
static bool isCostly(Operation *op) {
  return isa<pe::CosineSumEvalOp, pe::SumOp, pe::PiecewiseOpInterface>(op) ||
         (isa<math::MathDialect>(op->getDialect()) && !isa<math::AbsFOp, math::AbsIOp>(op));
}

static bool readsParameters(Operation *op) {
  auto read = dyn_cast<pe::ReadOp>(op);
  auto sum = dyn_cast<pe::SumOp>(op);
  return (read && isa<FloatType>(read.getResult().getType())) || (sum && pe::readsFloats(sum)) ||
         isa<pe::PiecewiseOpInterface>(op);
}

/// Returns the costly float values that depend on the distance but not on the head and are used by
/// values that depend on the head, or the bias itself.
SmallVector<Value> DistanceTerm::findShared() {
  Value root = term.getPartValue(pe::TermPart::Distance);
  llvm::DenseSet<Value> perHead = {region.getArgument(1)};
  auto isPerHead = [&](Value value) { return perHead.contains(value); };
  SmallVector<Operation *> slice = pe::collectSlice(root);
  for (Operation *op : slice)
    if (llvm::any_of(op->getOperands(), isPerHead))
      perHead.insert_range(op->getResults());
  llvm::SetVector<Value> found;
  auto consider = [&](Value value) {
    if (!isPerHead(value) && isa<FloatType>(value.getType()) &&
        llvm::any_of(pe::collectSlice(value), isCostly))
      found.insert(value);
  };
  consider(root);
  for (Operation *op : slice)
    if (isPerHead(op->getResult(0)))
      llvm::for_each(op->getOperands(), consider);
  return found.takeVector();
}

/// Maps the leaves of the region for an entry of the table; `head` may be null for shared values.
IRMapping DistanceTerm::mappingAt(Scalar &s, Value head, Value entry) {
  IRMapping mapping;
  Value distance = distanceOfEntry(s, entry);
  mapPart(mapping, pe::TermPart::Distance, s.index(0), head ? head : s.index(0), distance);
  return mapping;
}

TileParameters DistanceTerm::wideParameters(Scalar &s) {
  TileParameters params = parameters(pe::TermPart::Distance);
  params.compute = s.getF64Type();
  return params;
}

LogicalResult DistanceTerm::prepareShared() {
  for (auto [number, value] : llvm::enumerate(findShared())) {
    FailureOr<pe::ScalarVjp> derived = pe::ScalarVjp::create(value);
    if (failed(derived))
      return failure();
    Value memory =
        context.kept(name + "_shared" + std::to_string(number), {"t"}, context.plan.getF64Type());
    shared.push_back({value, *derived, memory});
  }
  if (shared.empty())
    return success();
  TileBuilder t = beginStage(context.plan, name + "_prepare_shared", Phase::Prepare, {});
  t.foreach ({entries.prepared}, [&](Scalar &s, ValueRange at) {
    Value entry = entryOf(s, at[0]);
    IRMapping mapping = mappingAt(s, {}, entry);
    TileParameters params = wideParameters(s);
    for (Shared &part : shared)
      writeElement(s, part.vjp.emitPrimal(s, mapping, params, s.getF64Type()), part.table, {entry});
  });
  return success();
}

LogicalResult DistanceTerm::prepare() {
  if (failed(prepareShared()))
    return failure();
  SmallVector<Value> inputs =
      llvm::map_to_vector(shared, [](const Shared &part) { return part.value; });
  FailureOr<pe::ScalarVjp> derived =
      pe::ScalarVjp::create(term.getPartValue(pe::TermPart::Distance), inputs);
  if (failed(derived))
    return failure();
  vjp.emplace(*derived);
  isActive = pe::ScalarVjp::create(term.getPartValue(pe::TermPart::Distance))->isActive();
  auto isShared = [&](Value value) { return llvm::is_contained(inputs, value); };
  readsItself = llvm::any_of(pe::collectSlice(term.getPartValue(pe::TermPart::Distance), isShared),
                             readsParameters);
  table = context.kept(name + "_table", {"hq", "t"});
  TileBuilder t = beginStage(context.plan, name + "_prepare", Phase::Prepare, {"hq"});
  t.foreach ({entries.prepared}, [&](Scalar &s, ValueRange at) {
    Value entry = entryOf(s, at[1]);
    IRMapping mapping = mappingAt(s, at[0], entry);
    for (Shared &part : shared)
      mapping.map(part.value, readElement(s, part.table, {entry}));
    TileParameters params = wideParameters(s);
    Value value = vjp->emitPrimal(s, mapping, params, s.getF64Type());
    Value scaled = s.mul(value, s.number(kLog2E, s.getF64Type()));
    writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), scaled), table, {at[0], entry});
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

SmallVector<Value> DistanceTerm::emitGradient(TileBuilder &t, Value cotangent) {
  if (!isActive)
    return {};
  Value sum = context.temporary(numbered(name + "_diagonals", sums.size()), {"b", "hq", "t"}, {},
                                /*zero=*/true);
  sum.getDefiningOp()->moveBefore(table.getDefiningOp());
  sums.push_back(sum);
  t.create<WindowGradOp>(cotangent, sum);
  return {};
}

/// Returns the cotangent of an entry, summed over the batch and over the attentions.
Value DistanceTerm::sumAt(Scalar &s, Value head, Value entry) {
  return batchSum(s, sums, {head, entry});
}

/// Returns the adjoints of the shared values for the cotangent `sum` of an entry. Adds to the
/// parameters that the bias reads directly unless `addsNothing`.
SmallVector<Value> DistanceTerm::adjointsAt(Scalar &s, Value head, Value entry, Value sum,
                                            bool addsNothing) {
  TileParameters params = wideParameters(s);
  params.addsNothing = addsNothing;
  IRMapping mapping = mappingAt(s, head, entry);
  for (Shared &part : shared)
    mapping.map(part.value, readElement(s, part.table, {entry}));
  vjp->emitPrimal(s, mapping, params, s.getF64Type());
  return vjp->emitAdjoint(s, mapping, sum, params);
}

/// Sums the adjoint of a shared value over the heads and chains it to the parameters once.
void DistanceTerm::finishShared(TileBuilder &t, size_t number) {
  Shared &part = shared[number];
  t.foreach ({entries.count}, [&](Scalar &s, ValueRange at) {
    Value entry = entryOf(s, at[0]);
    Value adjoint = sumOver(s, {"hq"}, [&](Scalar &x, ValueRange head) {
      Value sum = sumAt(x, head[0], entry);
      return adjointsAt(x, head[0], entry, sum, /*addsNothing=*/true)[number];
    });
    ifNonZero(s, adjoint, [&](Scalar &x) {
      TileParameters params = wideParameters(x);
      IRMapping mapping = mappingAt(x, {}, entry);
      part.vjp.emitPrimal(x, mapping, params, x.getF64Type());
      part.vjp.emitAdjoint(x, mapping, adjoint, params);
    });
  });
}

void DistanceTerm::finish() {
  if (sums.empty())
    return;
  TileBuilder t = beginStage(context.plan, name + "_finish", Phase::Finish, {});
  // Skipped if it adds nothing: the loop would still be divided among as many threads as entries.
  if (readsItself)
    t.foreach ({"hq", entries.count}, [&](Scalar &s, ValueRange at) {
      Value entry = entryOf(s, at[1]);
      Value sum = sumAt(s, at[0], entry);
      ifNonZero(s, sum,
                [&](Scalar &x) { adjointsAt(x, at[0], entry, sum, /*addsNothing=*/false); });
    });
  for (size_t number = 0; number < shared.size(); ++number)
    if (shared[number].vjp.isActive())
      finishShared(t, number);
}

std::unique_ptr<TermLowering> mlir::tile::createDistanceTerm(PlanContext &context, pe::TermOp term,
                                                             std::string name,
                                                             int64_t minDistance) {
  return std::make_unique<DistanceTerm>(context, term, std::move(name), minDistance);
}
