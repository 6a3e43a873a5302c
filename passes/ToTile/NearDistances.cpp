//===- NearDistances.cpp - sums over keys per near distance ----------------===//
#include "passes/ToTile/NearDistances.h"

using namespace mlir;
using namespace mlir::tile;

NearDistances::NearDistances(pe::ContentAttr structure, pe::DifferenceRange range)
    : low(structure.getLow()), count(structure.getHigh() - structure.getLow() + 1),
      hasBelow(range.min < structure.getLow()), hasAbove(range.max > structure.getHigh()) {
  if (count == 1 && hasBelow && hasAbove) // no pair may be counted in both sums
    ++count;
  extent = std::to_string(count);
}

static Value sumBeyond(TileBuilder &t, Value value, arith::CmpIPredicate order, int64_t bound) {
  Value far =
      t.map({value, t.position("r"), t.position("c")}, {"r", "c"}, [&](Scalar &s, ValueRange in) {
        Value distance = s.sub(in[1], in[2]);
        Value isFar = s.create<arith::CmpIOp>(order, distance, s.index(bound));
        return s.select(isFar, in[0], s.number(0.0));
      });
  return t.reduce(Reduction::Add, "c", far);
}

SmallVector<Value> NearDistances::emitFarSums(TileBuilder &t, Value value) const {
  SmallVector<Value> sums;
  if (hasBelow)
    sums.push_back(sumBeyond(t, value, arith::CmpIPredicate::sle, low));
  if (hasAbove)
    sums.push_back(sumBeyond(t, value, arith::CmpIPredicate::sge, low + count - 1));
  return sums;
}

NearSums::NearSums(PlanContext &context, const NearDistances &distances, const std::string &name,
                   Operation *before)
    : distances(distances) {
  auto make = [&](StringRef word, ArrayRef<StringRef> extents) {
    Value buffer = context.temporary(name + "_" + word, extents, {}, /*zero=*/true);
    buffer.getDefiningOp()->moveBefore(before);
    return buffer;
  };
  pairs = make("sums", {"b", "hq", distances.extent, "r"});
  if (distances.hasBelow)
    below = make("below", {"b", "hq", "r"});
  if (distances.hasAbove)
    above = make("above", {"b", "hq", "r"});
}

void NearSums::emitNear(TileBuilder &t, Value value) const {
  t.create<NearGradOp>(value, pairs, distances.low);
}

void NearSums::store(TileBuilder &t, ValueRange farSums) const {
  if (below)
    t.store(farSums.front(), below);
  if (above)
    t.store(farSums.back(), above);
}

Value NearSums::at(Scalar &s, Value batch, Value head, Value vector, Value row) const {
  Value sum = readElement(s, pairs, {batch, head, vector, row});
  for (auto [fold, end] : {std::pair(below, int64_t(0)), std::pair(above, distances.count - 1)}) {
    if (!fold)
      continue;
    Value isEnd = s.create<arith::CmpIOp>(arith::CmpIPredicate::eq, vector, s.index(end));
    sum = s.select(isEnd, readElement(s, fold, {batch, head, row}), sum);
  }
  return sum;
}

void NearSums::rewrite(TileBuilder &t,
                       llvm::function_ref<Value(Scalar &, Value, ValueRange)> of) const {
  t.foreach ({distances.extent, "r"}, [&](Scalar &s, ValueRange at) {
    writeElement(s, of(s, readElement(s, pairs, at), at), pairs, at);
  });
}
