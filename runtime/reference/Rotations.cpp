//===- Rotations.cpp - Rotary embedding of queries and keys ---------------===//

#include "runtime/reference/Rotations.h"

#include <cmath>

namespace pe::reference {

static void turn(const std::vector<Rotation::Pair> &pairs, double *row, double position) {
  for (const Rotation::Pair &pair : pairs) {
    double angle = position * pair.frequency;
    double c = std::cos(angle), s = std::sin(angle);
    double a = row[pair.first], b = row[pair.second];
    row[pair.first] = a * c - b * s;
    row[pair.second] = b * c + a * s;
  }
}

void Rotation::apply(double *row, int64_t position) const {
  turn(pairs, row, static_cast<double>(position));
}

void Rotation::applyTransposed(double *row, int64_t position) const {
  turn(pairs, row, -static_cast<double>(position));
}

Expected<Rotation> buildRotation(const Definitions &definitions, ValueId value, int64_t headDim) {
  const Operation *operation = definitions[value];
  if (!operation)
    return makeError("expected a rotation made in the function, found an argument");
  if (operation->name != "pe.rotary")
    return operation->fail("is no rotation that the reference knows");
  if (Status status = operation->expectOnly({"base", "interleaved", "rotary_dims"}); !status)
    return status.takeError();
  auto base = operation->number("base", 10000.0);
  auto interleaved = operation->boolean("interleaved", false);
  auto dims = operation->integer("rotary_dims", headDim);
  if (!base)
    return base.takeError();
  if (!interleaved || !dims)
    return interleaved ? dims.takeError() : interleaved.takeError();
  if (*dims % 2 || *dims < 0 || *dims > headDim)
    return operation->fail("expected an even number of rotary dims of at most ", headDim,
                           ", found ", *dims);
  Rotation rotation;
  for (int64_t i = 0; i < *dims / 2; ++i) {
    double frequency = std::pow(*base, -2.0 * static_cast<double>(i) / *dims);
    if (*interleaved)
      rotation.pairs.push_back({2 * i, 2 * i + 1, frequency});
    else
      rotation.pairs.push_back({i, i + *dims / 2, frequency});
  }
  return rotation;
}

} // namespace pe::reference
