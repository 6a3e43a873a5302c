//===- Rotation.cpp - rotating queries and keys outside the kernel ---===//
//
// Rotations are a preparation stage, so that the kernel reads keys directly from memory:
// x'_p = x_p cos - y_p sin, y'_p = y_p cos + x_p sin for the pairs of the rotation
// (docs/encodings.md). The gradient is rotated back by the opposite angle. Angles are products
// of the position and a frequency in float64; cos and sin of position 64 m + n come from
// those of 64 m and n by the addition theorem, so that a call evaluates few of them.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Rotation.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

constexpr int64_t kFine = 64;

/// Writes cos and sin of position * frequency for `count` positions start + step * index.
void writeAngles(TileBuilder &t, Value frequencies, Value table, StringRef start, int64_t step,
                 StringRef count, StringRef pairs) {
  t.foreach ({count, pairs}, [&](Scalar &s, ValueRange at) {
    Value position = s.mul(at[0], s.index(step));
    if (!start.empty())
      position = s.add(position, s.size(start));
    Value frequency = readElement(s, frequencies, {at[1]});
    Value angle = s.mul(s.toFloat(position, s.getF64Type()), frequency);
    writeElement(s, s.create<math::CosOp>(angle), table, {at[0], at[1], s.index(0)});
    writeElement(s, s.create<math::SinOp>(angle), table, {at[0], at[1], s.index(1)});
  });
}

} // namespace

RotationTables mlir::tile::prepareRotation(PlanContext &context, pe::RotationOpInterface rotation,
                                           StringRef name, bool queries) {
  RotationTables tables;
  tables.pairs = rotation.getRotatedDims(context.headDim) / 2;
  tables.interleaved = rotation.isInterleavedPairs();
  std::string pairs = std::to_string(tables.pairs);
  StringRef axis = queries ? "r" : "c", start = queries ? "q_start" : "k_start";
  Type f64 = context.plan.getF64Type();
  std::string blocks = ("ceildiv(" + axis + "," + Twine(kFine) + ")").str();
  Value frequencies = context.temporary(name + "_frequencies", {pairs}, f64);
  Value fine = context.temporary(name + "_fine", {std::to_string(kFine), pairs, "2"}, f64);
  Value coarse = context.temporary(name + "_coarse", {blocks, pairs, "2"}, f64);
  std::string padded = blocks + "*" + std::to_string(kFine);
  tables.cosine = context.kept(name + "_cosine", {padded, pairs});
  tables.sine = context.kept(name + "_sine", {padded, pairs});

  TileBuilder t = beginStage(context.plan, (name + "_angles").str(), Phase::Prepare, {});
  t.foreach ({"1"}, [&](Scalar &s, ValueRange) {
    for (int64_t pair = 0; pair < tables.pairs; ++pair)
      writeElement(s, s.number(rotation.getFrequency(pair, context.headDim), f64), frequencies,
                   {s.index(pair)});
  });
  writeAngles(t, frequencies, fine, "", 1, std::to_string(kFine), pairs);
  writeAngles(t, frequencies, coarse, start, kFine, blocks, pairs);

  double magnitude = rotation.getMagnitude(context.headDim);
  TileBuilder combine =
      beginStage(context.plan, (name + "_tables").str(), Phase::Prepare, {blocks});
  combine.foreach ({std::to_string(kFine), pairs}, [&](Scalar &s, ValueRange at) {
    Value zero = s.index(0), one = s.index(1);
    Value ca = readElement(s, coarse, {at[0], at[2], zero});
    Value sa = readElement(s, coarse, {at[0], at[2], one});
    Value cb = readElement(s, fine, {at[1], at[2], zero});
    Value sb = readElement(s, fine, {at[1], at[2], one});
    SmallVector<Value> place = {s.add(s.mul(at[0], s.index(kFine)), at[1]), at[2]};
    Value scale = s.number(magnitude, f64);
    Value cosine = s.mul(scale, s.sub(s.mul(ca, cb), s.mul(sa, sb)));
    Value sine = s.mul(scale, s.add(s.mul(sa, cb), s.mul(ca, sb)));
    writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), cosine), tables.cosine, place);
    writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), sine), tables.sine, place);
  });
  return tables;
}

void mlir::tile::emitRotation(PlanContext &context, const RotationTables &tables, Value from,
                              Value to, StringRef name, Phase phase, bool inverse) {
  SmallVector<StringRef> extents;
  for (StringAttr extent : cast<BufferType>(from.getType()).getExtents())
    extents.push_back(extent.getValue());
  StringRef axis = extents[2];
  TileBuilder t = beginStage(context.plan, name, phase, {extents[0], extents[1]});
  std::string pairs = std::to_string(tables.pairs);
  int64_t rest = context.headDim - 2 * tables.pairs;
  auto element = [](ValueRange at, Value dim) {
    return SmallVector<Value>{at[0], at[1], at[2], dim};
  };
  t.foreach ({axis, pairs}, [&](Scalar &s, ValueRange at) {
    Value first = at[3], second;
    if (tables.interleaved) {
      first = s.mul(at[3], s.index(2));
      second = s.add(first, s.index(1));
    } else {
      second = s.add(first, s.index(tables.pairs));
    }
    Value x = s.widen(readElement(s, from, element(at, first))),
          y = s.widen(readElement(s, from, element(at, second)));
    Value cosine = readElement(s, tables.cosine, {at[2], at[3]});
    Value sine = readElement(s, tables.sine, {at[2], at[3]});
    if (inverse)
      sine = s.neg(sine);
    Value turnedX = s.sub(s.mul(x, cosine), s.mul(y, sine));
    writeElement(s, s.round(turnedX, elementOf(to)), to, element(at, first));
    Value turnedY = s.add(s.mul(y, cosine), s.mul(x, sine));
    writeElement(s, s.round(turnedY, elementOf(to)), to, element(at, second));
  });
  if (rest)
    t.foreach ({axis, std::to_string(rest)}, [&](Scalar &s, ValueRange at) {
      Value dim = s.add(at[3], s.index(2 * tables.pairs));
      Value same = s.widen(readElement(s, from, element(at, dim)));
      writeElement(s, s.round(same, elementOf(to)), to, element(at, dim));
    });
}
