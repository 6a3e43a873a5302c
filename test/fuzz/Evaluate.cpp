//===- Evaluate.cpp - A second evaluation of a program --------------------===//

#include "fuzz/Evaluate.h"

#include "fuzz/BiasEvaluator.h"
#include "runtime/core/Error.h"
#include "runtime/core/Random.h"
#include "runtime/core/Tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace pe::fuzz {
namespace {

using Real = long double;
using Arrays = std::map<std::string, std::vector<Real>>;

int64_t elementsOf(const Parameter &parameter, const Sizes &sizes) {
  int64_t count = 1;
  for (int64_t dim : parameter.dims)
    count *= sizes.extentOf(dim);
  return count;
}

/// As conditionText of Print.cpp.
bool holds(int64_t kind, int64_t n, const Pair &pair) {
  const auto &[b, h, i, j, score] = pair;
  auto modulo = [&](int64_t x) { return (x % n + n) % n; };
  switch (kind) {
  case 0:
    return j < n;
  case 1:
    return j >= n;
  case 2:
    return j == n;
  case 3:
    return j <= i || j < n;
  case 4:
    return j < n || j > i;
  case 5:
    return j >= n && i + 3 > j;
  case 6:
    return std::abs(i - j) <= n;
  case 7:
    return modulo(i + j + h) == 0;
  case 8:
    return modulo(b + i) != 1;
  default:
    return modulo(i - j) == 0 && 2 * j - i < 7;
  }
}

bool allows(const Node &mask, const Pair &pair) {
  const int64_t i = pair.i, j = pair.j;
  switch (mask.op) {
  case Op::MaskFn:
    return holds(mask.integers[0], mask.integers[1], pair);
  case Op::Causal:
    return j <= i;
  case Op::StrictCausal:
    return j < i;
  case Op::Window:
    return (!mask.integers[0] || i - j < mask.integers[0]) &&
           (!mask.integers[1] || j - i < mask.integers[1]);
  case Op::MaskAnd:
    return allows(mask.children[0], pair) && allows(mask.children[1], pair);
  case Op::MaskOr:
    return allows(mask.children[0], pair) || allows(mask.children[1], pair);
  default:
    return true;
  }
}

//===----------------------------------------------------------------------===//
// Dense attention
//===----------------------------------------------------------------------===//

class DenseAttention {
public:
  explicit DenseAttention(const Program &program)
      : program(program), sizes(program.sizes),
        scale(program.scale.value_or(1.0 / std::sqrt(double(sizes.headDim)))) {}

  ParameterValues valuesOf(const Arrays &inputs) const;
  /// The sum of the biases of every pair; the values are those of the parameters in `inputs`.
  std::vector<Real> biasOf(const Arrays &inputs) const;
  /// "o", and always "lse", even if it is not a result.
  Arrays forward(const Arrays &inputs, const std::vector<Real> &bias) const;

private:
  std::vector<Real> rotate(const std::vector<Real> &rows, int64_t heads, int64_t length,
                           int64_t start, const ParameterValues &values) const;
  /// Probabilities of a row from its scores (nothing: masked), and its second result.
  Real normalize(std::vector<std::optional<Real>> &row, std::optional<Real> sink) const;
  /// What dropout multiplies a probability by.
  Real factorOf(const Arrays &inputs, int64_t b, int64_t h, int64_t i, int64_t j) const;

  const Program &program;
  const Sizes &sizes;
  Real scale;
};

ParameterValues DenseAttention::valuesOf(const Arrays &inputs) const {
  ParameterValues values;
  for (const Parameter &parameter : program.parameters)
    values.push_back(inputs.at(parameter.name));
  return values;
}

std::vector<Real> DenseAttention::biasOf(const Arrays &inputs) const {
  const ParameterValues values = valuesOf(inputs);
  BiasEvaluator evaluator(program, values);
  std::vector<Real> all;
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t h = 0; h < sizes.queryHeads; ++h)
      for (int64_t r = 0; r < sizes.queries; ++r)
        for (int64_t c = 0; c < sizes.keys; ++c) {
          Pair pair{b, h, program.queryStart() + r, program.positions.keyStart + c};
          Real sum = 0;
          for (const Node &bias : program.biases)
            sum += evaluator.evaluate(bias, pair);
          all.push_back(sum);
        }
  return all;
}

/// The angle per position of pair p of n, and what cosine and sine are multiplied by.
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
  return {plain, 1};
}

/// Pair p of n is rotated by position * base^(-2p/n), or by given numbers: adjacent elements, or
/// half the dims apart.
std::vector<Real> DenseAttention::rotate(const std::vector<Real> &rows, int64_t heads,
                                         int64_t length, int64_t start,
                                         const ParameterValues &values) const {
  std::vector<Real> turned = rows;
  if (!program.rotation)
    return turned;
  const Node &rotation = *program.rotation;
  const bool isTable = rotation.op == Op::RotationTable;
  const int64_t dims = rotation.integers[0] ? rotation.integers[0] : sizes.headDim;
  for (int64_t row = 0; row < sizes.batch * heads * length; ++row) {
    const int64_t position = start + row % length, head = row / length % heads;
    Real base = rotation.reals[0];
    if (!isTable && !rotation.parameters.empty()) {
      const std::vector<Real> &bases = values[rotation.parameters[0]];
      base = bases[bases.size() > 1 ? head : 0];
    }
    for (int64_t p = 0; p < dims / 2; ++p) {
      int64_t first = row * sizes.headDim + (rotation.flag ? 2 * p : p);
      int64_t second = rotation.flag ? first + 1 : first + dims / 2;
      Real c = 0, s = 0;
      if (isTable) {
        const int64_t at = std::max<int64_t>(position, 0) * (dims / 2) + p;
        c = values[rotation.parameters[0]][at];
        s = values[rotation.parameters[1]][at];
      } else {
        const auto [frequency, magnitude] =
            scaledFrequency(rotation, base, p, dims, program.positions.keyStart + sizes.keys);
        c = magnitude * std::cos(position * frequency);
        s = magnitude * std::sin(position * frequency);
      }
      turned[first] = rows[first] * c - rows[second] * s;
      turned[second] = rows[second] * c + rows[first] * s;
    }
  }
  return turned;
}

Real DenseAttention::factorOf(const Arrays &inputs, int64_t b, int64_t h, int64_t i,
                              int64_t j) const {
  if (program.dropout == 0)
    return 1;
  const Real real = inputs.at("seed")[program.hasSeedPerBatch ? b : 0];
  const auto seed = static_cast<uint64_t>(static_cast<int64_t>(real));
  // Arithmetic on words: j >> 2 and j & 3 are those of two's complement.
  const auto word = [](int64_t number) { return static_cast<uint32_t>(number); };
  const auto words = philox4x32({program.hasSeedPerBatch ? 0 : word(b),
                                 word(program.positions.headStart + h), word(i), word(j >> 2)},
                                {word(seed), word(seed >> 32)});
  return words[j & 3] >= program.dropout * 4294967296.0L ? 1 / (1 - Real(program.dropout)) : 0;
}

Real DenseAttention::normalize(std::vector<std::optional<Real>> &row,
                               std::optional<Real> sink) const {
  if (program.isStickBreaking) {
    Real left = 0; // the logarithm of the mass that later keys have left
    for (size_t c = row.size(); c-- > 0;)
      if (row[c]) {
        Real z = *row[c];
        Real softplus = z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
        row[c] = std::exp(z - softplus + left);
        left -= softplus;
      }
    return left;
  }
  Real highest = sink.value_or(-std::numeric_limits<Real>::infinity());
  for (const auto &z : row)
    highest = z ? std::max(highest, *z) : highest;
  Real sum = sink ? std::exp(*sink - highest) : 0;
  for (const auto &z : row)
    sum += z ? std::exp(*z - highest) : 0;
  for (auto &z : row)
    if (z)
      z = std::exp(*z - highest) / sum;
  return sum > 0 ? highest + std::log(sum) : highest;
}

Arrays DenseAttention::forward(const Arrays &inputs, const std::vector<Real> &bias) const {
  const auto &[batch, heads, keyHeads, queries, keys, dim, valueDim] = sizes;
  const int64_t queryStart = program.queryStart(), keyStart = program.positions.keyStart;
  const ParameterValues values = valuesOf(inputs);
  std::vector<Real> q = rotate(inputs.at("q"), heads, queries, queryStart, values);
  std::vector<Real> k = rotate(inputs.at("k"), keyHeads, keys, keyStart, values);
  const std::vector<Real> &v = inputs.at("v");
  BiasEvaluator evaluator(program, values);
  Arrays results;
  std::vector<Real> &o = results["o"], &lse = results["lse"];
  for (int64_t row = 0; row < batch * heads * queries; ++row) {
    int64_t b = row / (heads * queries), h = row / queries % heads;
    int64_t keyBlock = (b * keyHeads + h / (heads / keyHeads)) * keys;
    int64_t i = queryStart + row % queries;
    std::vector<std::optional<Real>> weights(keys);
    for (int64_t c = 0; c < keys; ++c) {
      int64_t j = keyStart + c;
      bool isSeen = (i >= 0 || isUnplaced(program)) &&
                    (!program.mask || allows(*program.mask, {b, h, i, j})) &&
                    (!program.isStickBreaking || j < i);
      if (!isSeen)
        continue;
      Real dot = 0;
      for (int64_t n = 0; n < dim; ++n)
        dot += q[row * dim + n] * k[(keyBlock + c) * dim + n];
      Real score = scale * dot;
      if (program.score)
        score = evaluator.evaluate(*program.score, {b, h, i, j, score});
      weights[c] = score + bias[row * keys + c];
    }
    std::optional<Real> sink;
    if (program.sink)
      sink = values[program.sink->parameters[0]][h];
    lse.push_back(normalize(weights, sink));
    for (int64_t c = 0; c < keys; ++c)
      if (weights[c])
        *weights[c] *= factorOf(inputs, b, h, i, keyStart + c);
    for (int64_t n = 0; n < valueDim; ++n) {
      Real sum = 0;
      for (int64_t c = 0; c < keys; ++c)
        sum += weights[c] ? *weights[c] * v[(keyBlock + c) * valueDim + n] : 0;
      o.push_back(sum);
    }
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

Expected<std::vector<Real>> elementsOf(const Tensor &tensor) {
  if (tensor.dtype() == DType::I64) { // all bits of seeds
    Tensor whole = tensor.contiguous();
    auto values = whole.values<int64_t>();
    return std::vector<Real>(values.begin(), values.end());
  }
  auto wide = convert(tensor, DType::F64);
  if (!wide)
    return wide.takeError();
  Tensor packed = wide->contiguous();
  auto values = packed.values<double>();
  return std::vector<Real>(values.begin(), values.end());
}

/// The relative difference allowed between both evaluations: float64 rounding, which grows with the
/// positions passed to trigonometric functions.
Real toleranceOf(const Program &program) {
  Real furthest = 0;
  for (int64_t start : {program.queryStart(), program.positions.keyStart})
    furthest = std::max<Real>(furthest, std::abs(start));
  return 1e-9L + 4e-15L * furthest;
}

Status compareResult(const std::string &name, const std::vector<Real> &mine,
                     const std::vector<Real> &theirs, Real tolerance) {
  Real error = 0, norm = 0;
  if (mine.size() != theirs.size())
    return makeError("the second evaluation has ", mine.size(), " elements of '", name,
                     "', the reference ", theirs.size());
  for (size_t e = 0; e < mine.size(); ++e) {
    if (std::isinf(mine[e]) && mine[e] == theirs[e])
      continue;
    error += (mine[e] - theirs[e]) * (mine[e] - theirs[e]);
    norm += mine[e] * mine[e];
  }
  error = std::sqrt(error);
  norm = std::sqrt(norm);
  if (error <= tolerance * (norm + std::sqrt(Real(mine.size())) * 0.1L))
    return Status::success();
  return makeError("'", name, "' of the reference differs from the second evaluation by ",
                   double(error / norm), " of its norm");
}

/// The directional derivatives of the loss against the reference's gradients.
class GradientCheck {
public:
  GradientCheck(const Program &program, const Arrays &inputs, Real tolerance)
      : program(program), dense(program), inputs(inputs), tolerance(tolerance),
        bias(dense.biasOf(inputs)) {}

  Arrays results() const { return dense.forward(inputs, bias); }
  Status check(const std::string &name, const std::vector<Real> &gradient);

private:
  Arrays resultsAt(const Arrays &at, bool isParameter) const;
  Real lossDifference(const Arrays &above, const Arrays &below) const;

  const Program &program;
  DenseAttention dense;
  const Arrays &inputs;
  Real tolerance;
  std::vector<Real> bias;
};

Arrays GradientCheck::resultsAt(const Arrays &at, bool isParameter) const {
  return dense.forward(at, isParameter ? dense.biasOf(at) : bias);
}

/// The difference of both losses, element by element: the losses themselves are so much larger that
/// rounding them showed in the derivative of a bias that changes little.
Real GradientCheck::lossDifference(const Arrays &above, const Arrays &below) const {
  Real difference = 0;
  for (const auto &[name, values] : above) {
    auto cotangent = inputs.find("d_" + name);
    if (cotangent == inputs.end())
      continue;
    const std::vector<Real> &others = below.at(name);
    for (size_t e = 0; e < values.size(); ++e)
      if (std::isfinite(values[e]) && std::isfinite(others[e]))
        difference += (values[e] - others[e]) * cotangent->second[e];
  }
  return difference;
}

Status GradientCheck::check(const std::string &name, const std::vector<Real> &gradient) {
  constexpr Real step = 0x1p-22L;
  bool isParameter = name != "q" && name != "k" && name != "v";
  Random random(program.seed, "direction of " + name);
  Arrays above = inputs, below = inputs;
  Real expected = 0, norm = 0;
  for (size_t e = 0; e < gradient.size(); ++e) {
    Real direction = random.normal();
    above[name][e] += step * direction;
    below[name][e] -= step * direction;
    expected += gradient[e] * direction;
    norm += gradient[e] * gradient[e];
  }
  Real found =
      lossDifference(resultsAt(above, isParameter), resultsAt(below, isParameter)) / (2 * step);
  Real allowed = (1e-5L + 10 * tolerance) * (std::sqrt(norm) + 1e-4L);
  if (std::fabs(found - expected) <= allowed)
    return Status::success();
  return makeError("'d_", name, "' of the reference along a direction is ", double(expected),
                   ", central differences say ", double(found));
}

} // namespace

//===----------------------------------------------------------------------===//
// Parameters and conditions
//===----------------------------------------------------------------------===//

ParameterValues drawParameters(const Program &program, uint64_t seed) {
  ParameterValues values;
  for (const Parameter &parameter : program.parameters) {
    Random random(seed, parameter.name);
    std::vector<Real> &elements = values.emplace_back();
    for (int64_t n = elementsOf(parameter, program.sizes); n > 0; --n)
      elements.push_back(static_cast<float>(random.uniform(parameter.low, parameter.high)));
  }
  return values;
}

Expected<ParameterValues> parametersFrom(const Program &program, const TensorMap &tensors) {
  ParameterValues values;
  for (const Parameter &parameter : program.parameters) {
    auto elements = elementsOf(tensors.at(parameter.name));
    if (!elements)
      return elements.takeError();
    values.push_back(std::move(*elements));
  }
  return values;
}

bool Condition::isGood() const {
  return isDefined && magnitude <= 24 && error <= 4e-6 && derivativeError <= 8e-6;
}

namespace {

/// The first, the last and some indices in between, of `size`.
std::vector<int64_t> placesOf(int64_t size, int64_t count) {
  std::vector<int64_t> places;
  for (int64_t n = 0; n < std::min(size, count); ++n)
    places.push_back(count >= size ? n : n * (size - 1) / (count - 1));
  return places;
}

std::vector<Pair> samplePairs(const Program &program, int count) {
  const Sizes &sizes = program.sizes;
  std::vector<Pair> pairs;
  auto batches = placesOf(sizes.batch, 2), heads = placesOf(sizes.queryHeads, 4);
  int64_t perSide = 2;
  if (batches.empty())
    return pairs;
  while (int64_t(batches.size() * heads.size()) * (perSide + 1) * (perSide + 1) <= count)
    ++perSide;
  for (int64_t b : batches)
    for (int64_t h : heads)
      for (int64_t r : placesOf(sizes.queries, perSide))
        for (int64_t c : placesOf(sizes.keys, perSide))
          pairs.push_back({b, h, program.queryStart() + r, program.positions.keyStart + c});
  // Queries and keys are standard normal numbers.
  const double dim = program.sizes.headDim, scale = program.scale.value_or(1 / std::sqrt(dim));
  Random random(program.seed, "scores");
  for (Pair &pair : pairs)
    pair.score = 1.5 * scale * std::sqrt(dim) * random.normal();
  return pairs;
}

} // namespace

Condition conditionOf(const Program &program, const Node &bias, const ParameterValues &values,
                      int pairs) {
  constexpr Real step = 0x1p-8L;
  ParameterValues above = values, below = values;
  Random random(program.seed, "direction");
  for (size_t p = 0; p < values.size(); ++p)
    for (size_t e = 0; e < values[p].size(); ++e) {
      Real moved = step * random.uniform(0.5, 1.0);
      above[p][e] += moved;
      below[p][e] -= moved;
    }
  Condition condition;
  Real derivativeError = 0, largest = 0;
  auto derivative = [&](const Pair &pair, uint64_t noise) {
    BiasEvaluator upper(program, above, noise), lower(program, below, noise);
    Pair higher = pair, less = pair;
    higher.score += step;
    less.score -= step;
    return (upper.evaluate(bias, higher) - lower.evaluate(bias, less)) / (2 * step);
  };
  for (const Pair &pair : samplePairs(program, pairs)) {
    BiasEvaluator exact(program, values);
    Real value = exact.evaluate(bias, pair), slope = derivative(pair, 0);
    condition.isDefined &= exact.isDefined() && std::isfinite(slope);
    if (!condition.isDefined)
      return condition;
    condition.magnitude = std::max(condition.magnitude, double(std::fabs(value)));
    largest = std::max(largest, std::fabs(slope));
    for (uint64_t noise : {1, 2}) {
      BiasEvaluator noisy(program, values, noise);
      Pair nearby = pair; // a score is a sum of products in f32
      nearby.score *= noise == 1 ? 1 + 0x1p-22L : 1 - 0x1p-22L;
      Real moved = std::fabs(noisy.evaluate(bias, nearby) - value);
      condition.isDefined &= noisy.isDefined();
      condition.error = std::max(condition.error, double(moved));
      derivativeError = std::max(derivativeError, std::fabs(derivative(pair, noise) - slope));
    }
  }
  condition.derivativeError = largest > 0 ? double(derivativeError / largest) : 0.0;
  return condition;
}

int64_t pairsOf(const Program &program) {
  const Sizes &sizes = program.sizes;
  return sizes.batch * sizes.queryHeads * sizes.queries * sizes.keys;
}

Status checkReference(const Program &program, const TensorMap &inputs,
                      const reference::Results &results) {
  Arrays arrays;
  for (const auto &[name, tensor] : inputs) {
    auto elements = elementsOf(tensor);
    if (!elements)
      return elements.takeError();
    arrays[name] = std::move(*elements);
  }
  GradientCheck check(program, arrays, toleranceOf(program));
  Arrays mine = check.results();
  for (const auto &[name, tensor] : results.outputs)
    if (auto theirs = elementsOf(tensor); !theirs)
      return theirs.takeError();
    else if (Status status = compareResult(name, mine.at(name), *theirs, toleranceOf(program));
             !status)
      return status;
  for (const auto &[name, tensor] : results.gradients)
    if (auto gradient = elementsOf(tensor); !gradient)
      return gradient.takeError();
    else if (Status status = check.check(name.substr(2), *gradient); !status)
      return status;
  return Status::success();
}

} // namespace pe::fuzz
