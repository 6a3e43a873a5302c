//===- DenseEntry.cpp - Dense evaluation of a program ---------------------===//

#include "fuzz/DenseEntry.h"

#include "runtime/core/Random.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pe::fuzz {

using Real = long double;
constexpr Real infinity = std::numeric_limits<Real>::infinity();

DenseEntry::DenseEntry(const Program &program)
    : program(program), sizes(program.sizes),
      scale(program.scalesByDepth
                ? 1 / Real(sizes.headDim)
                : program.scale.value_or(1.0 / std::sqrt(double(sizes.headDim)))) {}

ParameterValues DenseEntry::valuesOf(const Arrays &inputs) const {
  ParameterValues values;
  for (const Parameter &parameter : program.parameters)
    values.push_back(parameter.isLeftOut ? std::vector<Real>() : inputs.at(parameter.name));
  return values;
}

std::vector<Real> DenseEntry::biasOf(const Arrays &inputs) const {
  if (program.entry != Entry::Attention)
    return {};
  const ParameterValues values = valuesOf(inputs);
  BiasEvaluator evaluator(program, values);
  std::vector<Real> all;
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t h = 0; h < sizes.queryHeads; ++h)
      for (int64_t r = 0; r < sizes.queries; ++r)
        for (int64_t c = 0; c < sizes.keys; ++c) {
          const Pair pair = pairAt(program, values, b, h, r, c);
          Real sum = 0;
          for (const Node &bias : program.biases)
            sum += evaluator.evaluate(bias, pair);
          all.push_back(sum);
        }
  return all;
}

//===----------------------------------------------------------------------===//
// Queries and keys
//===----------------------------------------------------------------------===//

/// Returns the angle per position of pair p of n, and the factor on cosine and sine.
static std::pair<Real, Real> scaledFrequency(const Node &rotary, Real base, Real p, Real n,
                                             Real length) {
  const Real pi = std::acos(Real(-1)), factor = rotary.reals[1], original = kOriginalLength;
  const std::string kind = kScalings[rotary.integers[1]];
  if (kind == "ntk")
    base *= std::pow(factor, n / (n - 2));
  if (kind == "dynamic_ntk" && length > original)
    base *= std::pow(1 + factor * (length / original - 1), n / (n - 2));
  const Real plain = std::exp(-2 * p / n * std::log(base));
  if (kind == "linear")
    return {plain / factor, 1};
  if (kind == "llama3") {
    const Real turns = original * plain / (2 * pi);
    const Real part = (turns - Real(kSlow)) / (Real(kFast) - Real(kSlow));
    const Real share = part < 0 ? 0 : part > 1 ? 1 : part;
    return {plain / factor + share * (plain - plain / factor), 1};
  }
  if (kind == "yarn") {
    auto pairTurning = [&](Real turns) {
      return n / 2 * std::log(original / (2 * pi * turns)) / std::log(base);
    };
    const Real first = std::max<Real>(0, std::floor(pairTurning(kFast)));
    const Real last = std::min<Real>(n - 1, std::ceil(pairTurning(kSlow)));
    const Real width = last - first < Real(0.001) ? Real(0.001) : last - first;
    const Real ramp = (p - first) / width, share = 1 - (ramp < 0 ? 0 : ramp > 1 ? 1 : ramp);
    return {plain / factor + share * (plain - plain / factor),
            factor > 1 ? 1 + std::log(factor) / 10 : 1};
  }
  if (kind == "longrope")
    return {plain / Real(pairFactor(static_cast<int64_t>(p), length > original)),
            Real(kAttentionFactor)};
  if (kind == "proportional")
    return {p < std::floor(Real(kRotatedShare) * n / 2) ? plain / factor : 0, 1};
  return {plain, 1};
}

/// Returns the angle per position of pair p of n by a formula of kFrequencies.
static Real frequencyByFormula(int64_t formula, Real base, Real factor, Real p, Real n) {
  const Real plain = std::exp(-p / n * std::log(base));
  if (formula == 0)
    return plain / factor;
  if (formula == 1)
    return p < std::floor(n / 2) ? plain * factor : 0;
  return plain * (1 - 1 / (1 + std::exp(2 - factor)) / 2);
}

/// Returns the axis of pair p of n, and changes its frequency if frequencies restart.
static int64_t axisOf(const Node &rotary, int64_t p, int64_t n, Real &frequency) {
  auto blockOf = [&](int64_t pair) {
    return 8 * pair < 3 * n ? int64_t(0) : 8 * pair < 5 * n ? int64_t(1) : int64_t(2);
  };
  if (rotary.integers[3] == kAlternating) {
    const int64_t axis = p % 3;
    return axis > 0 && 8 * p < 3 * kSections[axis] * n ? axis : 0;
  }
  const int64_t axis = blockOf(p);
  Real before = 0, count = 0;
  for (int64_t other = 0; other < n; ++other)
    if (blockOf(other) == axis) {
      count += 1;
      before += other < p ? 1 : 0;
    }
  if (rotary.integers[3] == kRestarting)
    frequency = std::exp(-before / count * std::log(Real(rotary.reals[0])));
  return axis;
}

/// Returns the cosine and the sine by which pair p of `dims` dims is rotated at a row or a column.
std::pair<long double, long double> DenseEntry::coefficients(const Node &rotation, const Pair &pair,
                                                             bool isQuery, int64_t p, int64_t dims,
                                                             const ParameterValues &values) const {
  const int64_t position = isQuery ? pair.i : pair.j;
  if (rotation.op == Op::RotationTable) {
    const std::vector<int64_t> &extents = program.parameters[rotation.parameters[0]].dims;
    const int64_t own = extents.size() == 3 ? pair.b * extents[1] : 0; // rows of this batch entry
    const int64_t at = (own + std::max<int64_t>(position, 0)) * (dims / 2) + p;
    return {values[rotation.parameters[0]][at], values[rotation.parameters[1]][at]};
  }
  const bool hasAxes = rotation.op == Op::Rotary && rotation.integers[3] != kNoAxes;
  Real base = rotation.reals[0];
  if (!hasAxes && !rotation.parameters.empty()) {
    const std::vector<Real> &bases = values[rotation.parameters[0]];
    const int64_t head = isQuery ? pair.h : pair.h / (sizes.queryHeads / sizes.keyHeads);
    base = bases[bases.size() > 1 ? head : 0];
  }
  if (rotation.op == Op::RotationFn) {
    const Real factor = values[rotation.parameters[1]][p];
    const Real angle =
        position * frequencyByFormula(rotation.integers[1], base, factor, Real(p), Real(dims / 2));
    return {rotation.reals[0] * std::cos(angle), rotation.reals[0] * std::sin(angle)};
  }
  auto [frequency, magnitude] =
      scaledFrequency(rotation, base, p, dims, program.positions.keyStart + sizes.keys);
  Real place = position;
  if (hasAxes) {
    const int64_t axis = axisOf(rotation, p, dims / 2, frequency);
    const int64_t rows = isQuery ? sizes.queries : sizes.keys;
    place = values[rotation.parameters[isQuery ? 0 : 1]]
                  [(axis * sizes.batch + pair.b) * rows +
                   (isQuery ? pair.row - program.queryStart()
                            : pair.column - program.positions.keyStart)];
  }
  return {magnitude * std::cos(place * frequency), magnitude * std::sin(place * frequency)};
}

/// Rotates pair p of n by position * base^(-2p/n), or by the cosine and sine of a table. The
/// elements of a pair are adjacent or half the dims apart.
std::vector<Real> DenseEntry::rotate(const std::vector<Real> &rows, bool areQueries,
                                     const ParameterValues &values,
                                     const std::optional<Node> &rotation, int64_t depth,
                                     int direction) const {
  std::vector<Real> turned = rows;
  if (!rotation)
    return turned;
  const int64_t dims = rotation->integers[0] ? rotation->integers[0] : depth;
  const int64_t heads = areQueries ? sizes.queryHeads : sizes.keyHeads;
  const int64_t length = areQueries ? sizes.queries : sizes.keys;
  const int64_t group = areQueries ? 1 : sizes.queryHeads / sizes.keyHeads;
  for (int64_t row = 0; row < sizes.batch * heads * length; ++row) {
    const int64_t b = row / (heads * length), head = row / length % heads, place = row % length;
    const Pair pair = areQueries ? pairAt(program, values, b, head, place, 0)
                                 : pairAt(program, values, b, head * group, 0, place);
    for (int64_t p = 0; p < dims / 2; ++p) {
      const int64_t begin = row * depth + (rotation->integers[2] ? depth - dims : 0);
      const int64_t first = begin + (rotation->flag ? 2 * p : p);
      const int64_t second = rotation->flag ? first + 1 : first + dims / 2;
      auto [c, s] = coefficients(*rotation, pair, areQueries, p, dims, values);
      s *= direction;
      turned[first] = rows[first] * c - rows[second] * s;
      turned[second] = rows[second] * c + rows[first] * s;
    }
  }
  return turned;
}

/// Adds the vector of its head to every query.
std::vector<Real> DenseEntry::shifted(const std::vector<Real> &rows, const Node &shift,
                                      const ParameterValues &values) const {
  std::vector<Real> moved = rows;
  const int64_t dim = sizes.headDim;
  for (size_t e = 0; e < rows.size(); ++e) {
    const int64_t head = static_cast<int64_t>(e) / dim / sizes.queries % sizes.queryHeads;
    moved[e] += values[shift.parameters[0]][head * dim + static_cast<int64_t>(e) % dim];
  }
  return moved;
}

std::vector<Real> DenseEntry::contentRows(const std::vector<Real> &queries, const Node &content,
                                          const ParameterValues &values) const {
  if (content.parameters[2] != kNoParameter)
    return values[content.parameters[2]];
  const int64_t dim = sizes.headDim;
  std::vector<Real> rows =
      content.parameters[0] == kNoParameter ? queries : shifted(queries, content, values);
  if (content.parameters[1] == kNoParameter)
    return rows;
  const std::vector<Real> &matrix = values[content.parameters[1]];
  std::vector<Real> projected(rows.size(), 0);
  for (size_t e = 0; e < rows.size(); ++e) {
    const int64_t first = static_cast<int64_t>(e) / dim * dim, at = static_cast<int64_t>(e) % dim;
    for (int64_t n = 0; n < dim; ++n)
      projected[first + n] += rows[e] * matrix[at * dim + n];
  }
  return projected;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

Real DenseEntry::drawOf(const Arrays &inputs, const Pair &pair) const {
  if (program.dropout == 0)
    return 1;
  const Real real = inputs.at("seed")[program.hasSeedPerBatch ? pair.b : 0];
  const auto seed = static_cast<uint64_t>(static_cast<int64_t>(real));
  // j >> 2 and j & 3 are computed in two's complement.
  const auto word = [](int64_t number) { return static_cast<uint32_t>(number); };
  const auto words = philox4x32({program.hasSeedPerBatch ? 0 : word(pair.b),
                                 word(program.positions.headStart + pair.h), word(pair.row),
                                 word(pair.column >> 2)},
                                {word(seed), word(seed >> 32)});
  return words[pair.column & 3] >= program.dropout * 4294967296.0L ? 1 / (1 - Real(program.dropout))
                                                                   : 0;
}

/// Breaks a stick over the keys of each attended side, starting from the nearest key. Writes the
/// remainder into `kept` at column `own`, the query's own key. Returns the logarithm of the
/// remainder of the first stick.
Real DenseEntry::breakSticks(const Row &row, int64_t own, std::vector<Real> &weights,
                             std::vector<Real> &kept) const {
  const auto count = static_cast<int64_t>(row.size());
  const Real share = program.hasBothSides ? Real(0.5) : Real(1);
  Real left[2] = {0, 0}; // the logarithms of the remainders
  for (int side : {0, 1}) {
    const int64_t step = side ? 1 : -1;
    if (side && !program.hasBothSides)
      continue;
    int64_t c = program.attendsCurrent ? own : own + step;
    for (c = side ? std::max<int64_t>(c, 0) : std::min(c, count - 1); c >= 0 && c < count;
         c += step)
      if (row[c]) {
        const Real z = *row[c];
        const Real softplus = z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
        weights[c] += share * std::exp(z - softplus + left[side]);
        left[side] -= softplus;
      }
    if (program.keepsRemainder && own >= 0 && own < count && row[own])
      kept[own] += share * std::exp(left[side]);
  }
  return left[0];
}

Real DenseEntry::normalize(const Row &row, std::optional<Real> sink,
                           std::vector<Real> &weights) const {
  Real highest = sink.value_or(-infinity);
  for (const auto &z : row)
    highest = z ? std::max(highest, *z) : highest;
  Real sum = sink ? std::exp(*sink - highest) : 0;
  for (const auto &z : row)
    sum += z ? std::exp(*z - highest) : 0;
  for (size_t c = 0; c < row.size(); ++c)
    weights[c] = row[c] ? std::exp(*row[c] - highest) / sum : 0;
  return sum > 0 ? highest + std::log(sum) : highest;
}

/// Writes the weights of sigmoid or softpick.
void DenseEntry::weigh(const Row &row, std::vector<Real> &weights) const {
  Real highest = 0, sum = 0;
  for (const auto &z : row)
    highest = z ? std::max(highest, *z) : highest;
  auto excess = [&](Real z) {
    return z < 1 ? std::expm1(z) * std::exp(-highest) : std::exp(z - highest) - std::exp(-highest);
  };
  for (const auto &z : row)
    sum += z ? std::fabs(excess(*z)) : 0;
  for (size_t c = 0; c < row.size(); ++c)
    if (row[c])
      weights[c] = program.plainNormalizer == "sigmoid" ? 1 / (1 + std::exp(-*row[c]))
                   : *row[c] > 0                        ? excess(*row[c]) / sum
                                                        : 0;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

Arrays DenseEntry::attend(const Arrays &inputs, const std::vector<Real> &bias) const {
  const auto &[batch, heads, keyHeads, queries, keys, dim, valueDim, ignored, ends, width] = sizes;
  const ParameterValues values = valuesOf(inputs);
  const std::vector<Real> &given = inputs.at("q");
  const std::vector<Real> q =
      rotate(program.queryShift ? shifted(given, *program.queryShift, values) : given, true, values,
             program.rotation, dim);
  const std::vector<Real> k = rotate(inputs.at("k"), false, values, program.rotation, dim);
  const std::vector<Real> v =
      rotate(inputs.at("v"), false, values, program.valueRotation, valueDim);
  std::vector<std::vector<Real>> contentQueries;
  for (const Node &content : program.contents)
    contentQueries.push_back(contentRows(given, content, values));
  BiasEvaluator evaluator(program, values);
  Arrays results;
  std::vector<Real> &o = results["o"], &lse = results["lse"];
  for (int64_t row = 0; row < batch * heads * queries; ++row) {
    const int64_t b = row / (heads * queries), h = row / queries % heads, r = row % queries;
    const int64_t keyBlock = (b * keyHeads + h / (heads / keyHeads)) * keys;
    const int64_t place = program.queryStart() + r;
    Row logits(keys);
    std::vector<Real> factors(keys, 1), weights(keys, 0), kept(keys, 0);
    for (int64_t c = 0; c < keys && (place >= 0 || isUnplaced(program)); ++c) {
      Pair pair = pairAt(program, values, b, h, r, c);
      if (program.mask && !evaluator.allows(*program.mask, pair))
        continue;
      factors[c] = drawOf(inputs, pair);
      if (program.factor)
        factors[c] *= evaluator.evaluate(*program.factor, pair);
      for (int64_t n = 0; n < dim; ++n)
        pair.score += scale * q[row * dim + n] * k[(keyBlock + c) * dim + n];
      logits[c] = (program.score ? evaluator.evaluate(*program.score, pair) : pair.score) +
                  bias[row * keys + c];
      for (size_t n = 0; n < program.contents.size(); ++n) {
        const Node &content = program.contents[n];
        const int64_t depth = depthOf(program, content);
        const Real factor = content.parameters[2] == kNoParameter ? scale : 1;
        for (pair.dim = 0; pair.dim < depth; ++pair.dim)
          *logits[c] += factor * contentQueries[n][row * depth + pair.dim] *
                        evaluator.evaluate(content, pair);
      }
    }
    std::optional<Real> sink;
    if (program.sink)
      sink = values[program.sink->parameters[0]][h];
    if (!program.plainNormalizer.empty())
      weigh(logits, weights);
    else
      lse.push_back(program.isStickBreaking
                        ? breakSticks(logits, place - program.positions.keyStart, weights, kept)
                        : normalize(logits, sink, weights));
    for (int64_t n = 0; n < valueDim; ++n) {
      Real sum = 0;
      for (int64_t c = 0; c < keys; ++c)
        sum += (weights[c] * factors[c] + kept[c]) * v[(keyBlock + c) * valueDim + n];
      o.push_back(sum);
    }
  }
  o = rotate(o, true, values, program.valueRotation, valueDim, /*direction=*/-1);
  return results;
}

Arrays DenseEntry::merge(const Arrays &inputs) const {
  const std::vector<Real> *o[] = {&inputs.at("o1"), &inputs.at("o2")};
  const std::vector<Real> *lse[] = {&inputs.at("lse1"), &inputs.at("lse2")};
  Arrays results = {{"o", {}}, {"lse", {}}};
  for (size_t row = 0; row < lse[0]->size(); ++row) {
    const Real logs[] = {(*lse[0])[row], (*lse[1])[row]};
    Real shares[] = {1, std::exp(logs[0])}, all = logs[0] + logs[1];
    if (!program.isStickBreaking) {
      const int64_t h = static_cast<int64_t>(row) / sizes.queries % sizes.queryHeads;
      const Real s = program.sink
                         ? inputs.at(program.parameters[program.sink->parameters[0]].name)[h]
                         : -infinity;
      const Real highest = std::max({logs[0], logs[1], s});
      all = highest + std::log(std::exp(logs[0] - highest) + std::exp(logs[1] - highest) +
                               std::exp(s - highest));
      for (int n : {0, 1})
        shares[n] = std::exp(logs[n] - all);
    }
    results["lse"].push_back(all);
    for (int64_t e = 0; e < sizes.valueDim; ++e) {
      const size_t at = row * sizes.valueDim + e;
      results["o"].push_back(shares[0] * (*o[0])[at] + shares[1] * (*o[1])[at]);
    }
  }
  return results;
}

Arrays DenseEntry::embed(const Arrays &inputs) const {
  const ParameterValues values = valuesOf(inputs);
  BiasEvaluator evaluator(program, values);
  Arrays results = {{"y", inputs.at("x")}};
  for (size_t e = 0; e < results["y"].size(); ++e) {
    const auto place = static_cast<int64_t>(e) / sizes.width % sizes.queries;
    Pair pair{0, 0, program.queryStart() + place, 0};
    pair.dim = static_cast<int64_t>(e) % sizes.width;
    results["y"][e] += evaluator.evaluate(*program.embedding, pair);
  }
  return results;
}

Arrays DenseEntry::forward(const Arrays &inputs, const std::vector<Real> &bias) const {
  if (program.entry == Entry::Attention)
    return attend(inputs, bias);
  return program.entry == Entry::Merge ? merge(inputs) : embed(inputs);
}

} // namespace pe::fuzz
