//===- Rotations.cpp - Rotary embedding of queries and keys ---------------===//

#include "runtime/reference/Rotations.h"

#include "runtime/reference/RopeScaling.h"

#include <algorithm>
#include <cmath>

namespace pe::reference {

void Rotation::coefficients(size_t pair, int64_t position, int64_t head, double &c,
                            double &s) const {
  if (cosines) {
    const int64_t row = std::min(std::max<int64_t>(position, 0), cosines->dim(0) - 1);
    const size_t at = static_cast<size_t>(row) * pairs.size() + pair;
    c = cosines->data[at];
    s = sines->data[at];
    return;
  }
  const size_t first = heads > 1 ? static_cast<size_t>(head) * pairs.size() : 0;
  const double angle = static_cast<double>(position) * frequencies[first + pair];
  c = magnitude * std::cos(angle);
  s = magnitude * std::sin(angle);
}

void Rotation::turn(double *row, int64_t position, int64_t head, double direction) const {
  for (size_t n = 0; n < pairs.size(); ++n) {
    double c = 0, s = 0;
    coefficients(n, position, head, c, s);
    s *= direction;
    const double a = row[pairs[n].first], b = row[pairs[n].second];
    row[pairs[n].first] = a * c - b * s;
    row[pairs[n].second] = b * c + a * s;
  }
}

void Rotation::apply(double *row, int64_t position, int64_t head) const {
  turn(row, position, head, 1.0);
}

void Rotation::applyTransposed(double *row, int64_t position, int64_t head) const {
  turn(row, position, head, -1.0);
}

void Rotation::reverse(const Row &q, const Row &k, int64_t head, double factor, double noise,
                       ParameterGradients &gradients) const {
  const auto add = [&](int64_t place, double derivative) {
    gradients.sum[place] += factor * derivative;
    gradients.magnitude[place] += std::fabs(factor * derivative);
    gradients.noiseSquared[place] += noise * derivative * noise * derivative;
  };
  double byBase = 0;
  for (size_t n = 0; n < pairs.size(); ++n) {
    const auto [a, b] = pairs[n];
    const auto count = static_cast<int64_t>(pairs.size());
    if (base >= 0) {
      // The pair's share of the product depends on the angle of q minus that of k.
      const double byAngle = q.turned[a] * k.turned[b] - q.turned[b] * k.turned[a];
      const size_t first = heads > 1 ? static_cast<size_t>(head * count) : 0;
      byBase += static_cast<double>(q.position - k.position) * byAngle * slopes[first + n];
    } else {
      const auto byTables = [&](const Row &own, const Row &other, double &byCosine,
                                double &bySine) {
        byCosine = own.raw[a] * other.turned[a] + own.raw[b] * other.turned[b];
        bySine = own.raw[a] * other.turned[b] - own.raw[b] * other.turned[a];
      };
      double qc = 0, qs = 0, kc = 0, ks = 0;
      byTables(q, k, qc, qs);
      byTables(k, q, kc, ks);
      const int64_t i = q.position * count + static_cast<int64_t>(n);
      const int64_t j = k.position * count + static_cast<int64_t>(n);
      if (i == j) {
        add(cosinesAt + i, qc + kc);
        add(sinesAt + i, qs + ks);
        continue;
      }
      add(cosinesAt + i, qc);
      add(sinesAt + i, qs);
      add(cosinesAt + j, kc);
      add(sinesAt + j, ks);
    }
  }
  if (base >= 0)
    add(base + (heads > 1 ? head : 0), byBase);
}

void Rotation::addRounding(const Row &row, const double *d, int64_t origin, int64_t head,
                           double roundoff, ParameterGradients &gradients) const {
  const auto count = static_cast<int64_t>(pairs.size());
  const auto add = [&](int64_t place, double derivative) {
    gradients.roundingSquared[place] += roundoff * derivative * roundoff * derivative;
  };
  for (int64_t n = 0; n < count; ++n) {
    const auto [a, b] = pairs[n];
    if (base >= 0) {
      const double arm =
          static_cast<double>(row.position - origin) * slopes[(heads > 1 ? head * count : 0) + n];
      const int64_t place = base + (heads > 1 ? head : 0);
      add(place, arm * row.turned[a] * d[b]);
      add(place, arm * row.turned[b] * d[a]);
      continue;
    }
    const int64_t place = row.position * count + n;
    if (row.position < 0 || row.position >= cosines->dim(0))
      continue;
    add(cosinesAt + place, row.raw[a] * d[a]);
    add(cosinesAt + place, row.raw[b] * d[b]);
    add(sinesAt + place, row.raw[a] * d[b]);
    add(sinesAt + place, row.raw[b] * d[a]);
  }
}

static Expected<const Array *> tensorOf(const Operation &operation, const TensorValues &tensors,
                                        size_t operand) {
  auto found = tensors.find(operation.operands.at(operand));
  if (found == tensors.end())
    return operation.fail("expected its tensors to be arguments of the function");
  return &found->second;
}

static Status readTables(const Operation &operation, const TensorValues &tensors,
                         const plan::CallSizes &sizes, Rotation &rotation) {
  const int64_t end =
      std::max({int64_t(1), sizes.queryStart + sizes.queries, sizes.keyStart + sizes.keys});
  for (size_t n = 0; n < 2; ++n) {
    auto table = tensorOf(operation, tensors, n);
    if (!table)
      return table.takeError();
    const Shape &shape = (*table)->shape;
    if (shape.size() != 2 || shape[1] != static_cast<int64_t>(rotation.pairs.size()))
      return operation.fail("expected a tensor of ", rotation.pairs.size(),
                            " columns, found shape ", toString(shape));
    if (shape[0] < end || sizes.keyStart < 0)
      return operation.fail("expected rows for the positions from ", sizes.keyStart, " up to ", end,
                            ", found ", shape[0]);
    (n == 0 ? rotation.cosines : rotation.sines) = *table;
  }
  if (rotation.cosines->dim(0) != rotation.sines->dim(0))
    return operation.fail("expected cosines and sines of one length, found ",
                          rotation.cosines->dim(0), " and ", rotation.sines->dim(0));
  return Status::success();
}

static Status readFrequencies(const Operation &operation, const TensorValues &tensors,
                              const plan::CallSizes &sizes, Rotation &rotation) {
  auto fixed = operation.number("base", 10000.0);
  if (!fixed)
    return fixed.takeError();
  auto scaling = readScaling(operation);
  if (!scaling)
    return scaling.takeError();
  std::vector<double> bases = {*fixed};
  if (!operation.operands.empty()) {
    auto learned = tensorOf(operation, tensors, 0);
    if (!learned)
      return learned.takeError();
    bases = (*learned)->data;
    rotation.heads = static_cast<int64_t>(bases.size());
    if ((*learned)->rank() > 0 && (*learned)->dim(0) == sizes.queryHeads &&
        sizes.keyHeads != sizes.queryHeads && bases.size() > 1)
      return operation.fail("expected as many key heads as query heads, found ", sizes.keyHeads,
                            " and ", sizes.queryHeads);
  }
  const auto count = static_cast<int64_t>(rotation.pairs.size());
  for (double base : bases)
    for (int64_t pair = 0; pair < count; ++pair) {
      const Dual frequency =
          scaledFrequency(*scaling, {base, 1.0}, pair, 2 * count, sizes.keyStart + sizes.keys);
      rotation.frequencies.push_back(frequency.value);
      rotation.slopes.push_back(frequency.slope);
    }
  rotation.magnitude = attentionFactor(*scaling);
  return Status::success();
}

Expected<Rotation> buildRotation(const Definitions &definitions, ValueId value, int64_t headDim,
                                 const TensorValues &tensors, const plan::CallSizes &sizes) {
  const Operation *operation = definitions[value];
  if (!operation)
    return makeError("expected a rotation made in the function, found an argument");
  const bool isTable = operation->name == "pe.rotation_table";
  if (!isTable && operation->name != "pe.rotary")
    return operation->fail("is no rotation that the reference knows");
  if (Status status =
          isTable ? operation->expectOnly({"interleaved", "rotary_dims"})
                  : operation->expectOnly({"base", "interleaved", "rotary_dims", "scaling"});
      !status)
    return status.takeError();
  auto interleaved = operation->boolean("interleaved", false);
  auto dims = operation->integer("rotary_dims", headDim);
  if (!interleaved || !dims)
    return interleaved ? dims.takeError() : interleaved.takeError();
  if (*dims % 2 || *dims < 0 || *dims > headDim)
    return operation->fail("expected an even number of rotary dims of at most ", headDim,
                           ", found ", *dims);
  Rotation rotation;
  for (int64_t i = 0; i < *dims / 2; ++i)
    if (*interleaved)
      rotation.pairs.push_back({2 * i, 2 * i + 1});
    else
      rotation.pairs.push_back({i, i + *dims / 2});
  Status status = isTable ? readTables(*operation, tensors, sizes, rotation)
                          : readFrequencies(*operation, tensors, sizes, rotation);
  if (!status)
    return status.takeError();
  return rotation;
}

} // namespace pe::reference
