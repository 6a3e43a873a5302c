//===- BiasEvaluator.cpp - Evaluates a bias at one pair -------------------===//

#include "fuzz/BiasEvaluator.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace pe::fuzz {

using Real = long double;

/// Returns a value in [-1, 1) for a seed and a count (the finalizer of SplitMix64).
static Real noiseAt(uint64_t seed, uint64_t count) {
  uint64_t x = seed * 0x9e3779b97f4a7c15u + count * 0xd1342543de82ef95u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return static_cast<Real>(x >> 11) * 0x1p-52L - 1;
}

Real BiasEvaluator::rounded(Real x, bool isApproximate) {
  ++noiseCount;
  if (noiseSeed == 0 || (!isApproximate && static_cast<Real>(static_cast<float>(x)) == x))
    return x;
  return x * (1 + noiseAt(noiseSeed, noiseCount) * (isApproximate ? 0x1p-22L : 0x1p-24L));
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

int64_t BiasEvaluator::extent(int parameter, size_t axis) const {
  return program.sizes.extentOf(program.parameters[parameter].dims[axis]);
}

int64_t BiasEvaluator::placeOn(int64_t dim, int64_t index) const {
  const int64_t start = dim == kQueries ? program.queryStart()
                        : dim == kKeys  ? program.positions.keyStart
                                        : 0;
  // The index can be any 64-bit value, so the difference needs more bits.
  Wide place = Wide(index) - start;
  if (dim == kKeyHeads)
    place /= program.sizes.queryHeads / program.sizes.keyHeads;
  return static_cast<int64_t>(std::clamp<Wide>(place, 0, program.sizes.extentOf(dim) - 1));
}

Real BiasEvaluator::atHead(int parameter, Real absent) const {
  if (parameter == kNoParameter)
    return absent;
  const std::vector<Real> &all = values[parameter];
  return all.size() == 1 ? all[0] : all.at(pair.h);
}

Real BiasEvaluator::element(int parameter, int64_t row, int64_t column) const {
  int64_t rows = extent(parameter, 0), columns = extent(parameter, 1);
  row = std::clamp<int64_t>(row, 0, rows - 1);
  column = std::clamp<int64_t>(column, 0, columns - 1);
  return values[parameter].at(row * columns + column);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// Integers wrap to their type; real numbers must be representable.
BiasEvaluator::Value BiasEvaluator::convert(const Node &node, const Value &in) {
  Type from = node.children[0].type, to = node.type;
  Value out;
  if (isReal(from) && isReal(to)) {
    out.real = to == Type::F32 ? rounded(in.real) : in.real;
  } else if (isReal(from)) {
    Real whole = std::trunc(in.real);
    const bool fits = std::fabs(whole) < 0x1p30L;
    defined &= fits;
    out.integer = fits ? wrap(static_cast<Wide>(whole), bitsOf(to)) : 0;
  } else {
    Wide number = node.scalar->isUnsigned ? asUnsigned(in.integer, bitsOf(from)) : in.integer;
    if (isReal(to))
      out.real = to == Type::F32 ? rounded(static_cast<Real>(number)) : static_cast<Real>(number);
    else
      out.integer = wrap(number, bitsOf(to));
  }
  return out;
}

BiasEvaluator::Value BiasEvaluator::scalarRow(const Node &node, const Value *in) {
  const ScalarOperation &operation = *node.scalar;
  if (operation.form == Form::Convert)
    return convert(node, in[0]);
  Value out;
  if (operation.integer) {
    int bits = bitsOf(node.children[0].type);
    auto result = operation.integer(in[0].integer, in[1].integer, bits);
    defined &= result.has_value();
    out.integer = result ? wrap(*result, bitsOf(node.type)) : 0;
    return out;
  }
  Real operands[3] = {};
  for (size_t n = 0; n < node.children.size(); ++n)
    operands[n] = isReal(node.children[n].type) ? in[n].real : static_cast<Real>(in[n].integer);
  Real result = operation.real(operands[0], operands[1], operands[2]);
  if (operation.form == Form::RealCompare) {
    out.integer = result != 0 ? -1 : 0;
    return out;
  }
  defined &= std::isfinite(result);
  out.real = node.type == Type::F32 ? rounded(result, operation.isApproximate) : result;
  return out;
}

/// Axes of tokens are indexed by row and column, not by position.
BiasEvaluator::Value BiasEvaluator::read(const Node &node) {
  int parameter = node.parameters[0];
  if (program.parameters[parameter].isLeftOut)
    parameter = program.parameters[parameter].absent;
  int64_t place = 0;
  for (size_t axis = 0; axis < node.children.size(); ++axis) {
    const int64_t dim = program.parameters[parameter].dims[axis];
    const bool before = std::exchange(usesPlaces, usesPlaces || dim == kQueries || dim == kKeys);
    const int64_t at = scalar(node.children[axis]).integer;
    usesPlaces = before;
    place = place * program.sizes.extentOf(dim) + placeOn(dim, at);
  }
  const Real value = values[parameter].at(place);
  return {static_cast<int64_t>(value), value};
}

/// Returns the value of an index leaf, or 0 for other nodes.
BiasEvaluator::Value BiasEvaluator::index(const Node &node) const {
  switch (node.op) {
  case Op::Batch:
    return {pair.b};
  case Op::Head:
    return {pair.h};
  case Op::Query:
  case Op::Token:
    return {usesPlaces ? pair.row : pair.i};
  case Op::Key:
    return {usesPlaces ? pair.column : pair.j};
  case Op::HeadsTotal:
    return {program.headsTotal()};
  case Op::Dim:
    return {pair.dim};
  case Op::Width:
    return {program.entry == Entry::Embed ? program.sizes.width : program.sizes.headDim};
  case Op::End:
    return {program.queryStart() + program.sizes.queries};
  case Op::AxisSize:
    return {extent(node.parameters[0], node.integers[0])};
  default:
    return {};
  }
}

BiasEvaluator::Value BiasEvaluator::sum(const Node &node) {
  Value out;
  for (int64_t k = 0; k < node.integers[0]; ++k) {
    sumIndices[node.integers[1]] = k;
    out.real = rounded(out.real + scalar(node.children[0]).real);
  }
  sumIndices.erase(node.integers[1]);
  return out;
}

BiasEvaluator::Value BiasEvaluator::scalar(const Node &node) {
  if (node.op == Op::Sum)
    return sum(node);
  if (node.op == Op::Captured)
    return {0, coordinate(node.children[0])};
  if (node.op == Op::Read)
    return read(node);
  Value in[3];
  for (size_t n = 0; n < node.children.size(); ++n)
    in[n] = scalar(node.children[n]);
  Value out;
  switch (node.op) {
  case Op::Scalar:
    return scalarRow(node, in);
  case Op::Constant:
    return {node.integers[0], static_cast<Real>(node.reals[0])};
  case Op::Batch:
  case Op::Head:
  case Op::Query:
  case Op::Token:
  case Op::Key:
  case Op::HeadsTotal:
  case Op::Dim:
  case Op::Width:
  case Op::End:
  case Op::AxisSize:
    return index(node);
  case Op::GlobalHead:
    return {wrap(Wide(in[0].integer) + program.positions.headStart, 64)};
  case Op::Score:
    return {0, pair.score};
  case Op::SumIndex: {
    auto found = sumIndices.find(node.integers[1]);
    defined &= found != sumIndices.end();
    return {found == sumIndices.end() ? 0 : found->second};
  }
  case Op::Waves:
    out.real = rounded(pair.dim % 2 == 0 ? std::sin(in[0].real) : std::cos(in[0].real), true);
    return out;
  case Op::Square:
    out.real = rounded(in[0].real * in[0].real);
    return out;
  case Op::Select:
    return in[0].integer ? in[1] : in[2];
  case Op::ToReal:
    // The conversion of a literal is folded to an f32 constant.
    out.real = node.children[0].op == Op::Constant
                   ? static_cast<Real>(static_cast<float>(in[0].integer))
                   : rounded(static_cast<Real>(in[0].integer));
    return out;
  case Op::ToIndex: {
    const bool fits = std::fabs(in[0].real) < 0x1p30L;
    defined &= fits;
    out.integer = fits ? static_cast<int64_t>(in[0].real) : 0;
    return out;
  }
  default:
    defined = false;
    return out;
  }
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

Real BiasEvaluator::logOfScaled(Real c, Real x) {
  return rounded(std::log(1 + rounded(std::fabs(c * x))), true);
}

/// Evaluates a bucket. The logarithms are computed in f32, because rounding decides the boundaries
/// (docs/numerics.md).
Real BiasEvaluator::bucket(const Node &node) const {
  int64_t buckets = node.integers[0], relative = pair.i - pair.j, offset = 0;
  if (node.flag) {
    buckets /= 2;
    offset = relative < 0 ? buckets : 0;
    relative = std::abs(relative);
  }
  int64_t distance = std::max<int64_t>(relative, 0), exact = buckets / 2;
  if (distance < exact)
    return offset + distance;
  float above = std::log(static_cast<float>(distance) / static_cast<float>(exact));
  float whole = static_cast<float>(std::log(double(node.integers[1]) / double(exact)));
  float share = above / whole * static_cast<float>(buckets - exact);
  return offset + std::min<int64_t>(exact + static_cast<int64_t>(share), buckets - 1);
}

Real BiasEvaluator::coordinate(const Node &node) {
  Real distance = rounded(std::abs(pair.i - pair.j));
  switch (node.op) {
  case Op::Distance:
    return distance;
  case Op::Relative:
    return rounded(pair.i - pair.j);
  case Op::QueryPosition:
    return rounded(pair.i);
  case Op::KeyPosition:
    return rounded(pair.j);
  case Op::LogDistance:
    return logOfScaled(atHead(node.parameters[0]), distance);
  case Op::Progressive: {
    Real position = rounded(pair.i);
    if (node.parameters[1] != kNoParameter)
      position = std::max(position, rounded(std::fabs(atHead(node.parameters[1]) * node.reals[0])));
    if (node.parameters[0] != kNoParameter) {
      Real c = atHead(node.parameters[0]);
      distance = logOfScaled(c, distance);
      position = logOfScaled(c, position);
    }
    Real result = distance / (position + static_cast<Real>(node.reals[1]));
    defined &= std::isfinite(result);
    return rounded(result, true);
  }
  case Op::Bucket:
    return bucket(node);
  case Op::ClampedLog: {
    Real length = std::exp(atHead(node.parameters[0]));
    Real share = std::log(1 + distance) / std::log(1 + length);
    return std::clamp<Real>(rounded(share, true), 0, 1);
  }
  default:
    defined = false;
    return 0;
  }
}

//===----------------------------------------------------------------------===//
// Biases
//===----------------------------------------------------------------------===//

/// Returns the slope 2^(-8k/n) of the head. "interleaved" uses the slopes for the largest power of
/// two up to the number of heads, then every other slope for twice that power.
Real BiasEvaluator::slopeOfRule(int rule) const {
  Real head = pair.h + program.positions.headStart, heads = program.headsTotal();
  if (rule == 1)
    return std::exp2(-8 * (head + 1) / heads);
  Real power = 1;
  while (power * 2 <= heads)
    power *= 2;
  return head < power ? std::exp2(-8 * (head + 1) / power)
                      : std::exp2(-8 * (2 * (head - power) + 1) / (2 * power));
}

static Real activate(int activation, Real x) {
  switch (activation) {
  case 1:
    return x > 0 ? x : 0;
  case 2:
    return x / 2 * (1 + std::erf(x / std::numbers::sqrt2_v<Real>));
  case 3:
    return std::tanh(x);
  case 4:
    return x / (1 + std::exp(-x));
  case 5:
    return std::cos(x);
  case 6:
    return x > 0 ? 1 : x <= 0 ? 0 : x;
  default:
    return x;
  }
}

Real BiasEvaluator::mlp(const Node &node, Real x) {
  std::vector<Real> units = {x};
  const std::vector<int> &layers = node.parameters;
  for (size_t layer = 0; layer < layers.size(); layer += 2) {
    int weight = layers[layer], bias = layers[layer + 1];
    bool isFirst = layer == 0, isLast = layer + 2 == layers.size();
    int64_t rows = extent(weight, 0), first = 0;
    if (isLast) { // only this head's row
      first = rows == 1 ? 0 : pair.h;
      rows = 1;
    }
    std::vector<Real> next;
    for (int64_t row = first; row < first + rows; ++row) {
      Real sum = extent(bias, 0) == 1 ? values[bias][0] : values[bias].at(row);
      for (size_t unit = 0; unit < units.size(); ++unit)
        sum += units[unit] * (isFirst ? values[weight].at(row) : element(weight, row, unit));
      next.push_back(activate(isLast ? node.integers[1] : node.integers[0], rounded(sum, true)));
    }
    units = std::move(next);
  }
  return rounded(units[0], true);
}

Real BiasEvaluator::cosineSum(const Node &node, Real x) {
  Real sum = 0, terms = node.integers[0], base = node.reals[0];
  for (int64_t k = 1; k <= node.integers[0]; ++k)
    sum += std::cos(rounded(x / std::pow(base, k / terms), true));
  return rounded(atHead(node.parameters[0], 1) * sum, true);
}

/// Evaluates an element of a vector, which is 0 from the extent on, times the factor of the query.
Real BiasEvaluator::content(const Node &node) {
  if (node.integers[0] && std::abs(pair.i - pair.j) >= node.integers[0])
    return 0;
  const Real element = scalar(node.children[0]).real;
  return node.children.size() > 1 ? rounded(element * bias(node.children[1])) : element;
}

Real BiasEvaluator::bias(const Node &node) {
  if (node.op == Op::ContentRegion || node.op == Op::ContentFormula)
    return content(node);
  if (isRegion(node.op))
    return scalar(node.children[0]).real;
  switch (node.op) {
  case Op::Add:
    return rounded(bias(node.children[0]) + bias(node.children[1]));
  case Op::Scale:
    return rounded(bias(node.children[0]) * node.reals[0]);
  default:
    break;
  }
  Real x = coordinate(node.children[0]), factor = node.reals[0];
  auto parameter = [&](size_t n) { return node.parameters[n]; };
  switch (node.op) {
  case Op::Linear: {
    Real slope = node.integers[0] ? slopeOfRule(node.integers[0]) : atHead(parameter(0));
    return rounded(factor * slope * x + atHead(parameter(1)));
  }
  case Op::Table: {
    Real row = std::clamp<Real>(x, 0, extent(parameter(0), 0) - 1);
    return element(parameter(0), static_cast<int64_t>(row), pair.h);
  }
  case Op::Power: {
    Real power = x > 0 ? std::pow(x, atHead(parameter(0))) : 0;
    // The exponent's gradient is log(x) * power; near 1 the rounding of x dominates it.
    defined &= x == 1 || std::fabs(x - 1) > 0.02L;
    return rounded(factor * atHead(parameter(1)) * power, true);
  }
  case Op::Mlp:
    return mlp(node, x);
  case Op::CosineSum:
    return cosineSum(node, x);
  default:
    defined = false;
    return 0;
  }
}

Real BiasEvaluator::evaluate(const Node &node, const Pair &at) {
  pair = at;
  noiseCount = 0;
  Real value = bias(node);
  defined &= std::isfinite(value);
  return value;
}

} // namespace pe::fuzz
