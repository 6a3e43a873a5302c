//===- EvaluateProgram.cpp - A second evaluation of a program -------------===//

#include "fuzz/EvaluateProgram.h"

#include "fuzz/BiasEvaluator.h"
#include "fuzz/DenseEntry.h"
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

int64_t elementsOf(const Parameter &parameter, const Sizes &sizes) {
  int64_t count = 1;
  for (int64_t dim : parameter.dims)
    count *= sizes.extentOf(dim);
  return count;
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

Expected<std::vector<Real>> elementsOf(const Tensor &tensor) {
  const Tensor whole = tensor.contiguous();
  auto list = [](const auto &values) { return std::vector<Real>(values.begin(), values.end()); };
  if (tensor.dtype() == DType::I64) // a double cannot hold all bits of a seed
    return list(whole.values<int64_t>());
  if (tensor.dtype() == DType::I32)
    return list(whole.values<int32_t>());
  auto wide = convert(tensor, DType::F64);
  if (!wide)
    return wide.takeError();
  Tensor packed = wide->contiguous();
  auto values = packed.values<double>();
  return std::vector<Real>(values.begin(), values.end());
}

/// Returns the relative difference allowed between both evaluations. It covers float64 rounding,
/// which grows with the positions passed to trigonometric functions.
Real toleranceOf(const Program &program) {
  Real furthest = 0;
  for (int64_t start : {program.queryStart(), program.positions.keyStart})
    furthest = std::max<Real>(furthest, std::abs(start));
  for (const Node &numbers : program.given)
    furthest = std::max<Real>(furthest, program.parameters[numbers.parameters[0]].high);
  return 1e-9L + 4e-15L * furthest;
}

Status compareResult(const std::string &name, const std::vector<Real> &mine,
                     const std::vector<Real> &theirs, Real tolerance) {
  Real error = 0, norm = 0;
  if (mine.size() != theirs.size())
    return makeError("the second evaluation has ", mine.size(), " elements of '", name,
                     "', the reference has ", theirs.size());
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

/// Compares directional derivatives of the loss with the reference's gradients.
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
  DenseEntry dense;
  const Arrays &inputs;
  Real tolerance;
  std::vector<Real> bias;
};

Arrays GradientCheck::resultsAt(const Arrays &at, bool isParameter) const {
  return dense.forward(at, isParameter ? dense.biasOf(at) : bias);
}

/// Returns the difference of both losses, summed element by element. Subtracting the losses would
/// cancel: their rounding errors exceed the derivative of a bias that changes little.
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
  bool isParameter = name != "q" && name != "k" && name != "v";
  Random random(program.seed, "direction of " + name);
  std::vector<Real> direction(gradient.size());
  Real expected = 0, norm = 0;
  for (size_t e = 0; e < gradient.size(); ++e) {
    direction[e] = random.normal();
    expected += gradient[e] * direction[e];
    norm += gradient[e] * gradient[e];
  }
  const Real allowed = (1e-5L + 10 * tolerance) * (std::sqrt(norm) + 1e-4L);
  Real found = 0;
  // The first step is too short if the results are much larger than their change; the second is
  // too long if a third derivative is large.
  for (Real step : {0x1p-22L, 0x1p-17L}) {
    Arrays above = inputs, below = inputs;
    for (size_t e = 0; e < gradient.size(); ++e) {
      above[name][e] += step * direction[e];
      below[name][e] -= step * direction[e];
    }
    found =
        lossDifference(resultsAt(above, isParameter), resultsAt(below, isParameter)) / (2 * step);
    if (std::fabs(found - expected) <= allowed)
      return Status::success();
  }
  return makeError("the directional derivative of 'd_", name, "' of the reference is ",
                   double(expected), ", by central differences ", double(found));
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
    for (int64_t n = elementsOf(parameter, program.sizes); n > 0; --n) {
      const double drawn = random.uniform(parameter.low, parameter.high);
      elements.push_back(parameter.isWhole ? std::floor(drawn) : static_cast<float>(drawn));
    }
    if (parameter.dims != std::vector{kBoundaries} || elements.empty())
      continue;
    std::ranges::sort(elements);
    elements.front() = 0;
    elements.back() = parameter.high;
  }
  return values;
}

Expected<ParameterValues> parametersFrom(const Program &program, const TensorMap &tensors) {
  ParameterValues values;
  for (const Parameter &parameter : program.parameters) {
    if (parameter.isLeftOut) {
      values.emplace_back();
      continue;
    }
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

/// Returns the first index of [0, size), the last one, and some in between.
std::vector<int64_t> placesOf(int64_t size, int64_t count) {
  std::vector<int64_t> places;
  for (int64_t n = 0; n < std::min(size, count); ++n)
    places.push_back(count >= size ? n : n * (size - 1) / (count - 1));
  return places;
}

std::vector<Pair> samplePairs(const Program &program, const ParameterValues &values, int count) {
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
          pairs.push_back(pairAt(program, values, b, h, r, c));
  // Queries and keys are standard normal numbers.
  const double dim = program.sizes.headDim, scale = program.scale.value_or(1 / std::sqrt(dim));
  Random random(program.seed, "scores");
  const int64_t width = program.entry == Entry::Embed ? sizes.width : sizes.headDim;
  for (Pair &pair : pairs) {
    pair.score = 1.5 * scale * std::sqrt(dim) * random.normal();
    pair.dim = random.below(width);
  }
  return pairs;
}

} // namespace

Condition conditionOf(const Program &program, const Node &bias, const ParameterValues &values,
                      int pairs) {
  constexpr Real step = 0x1p-8L;
  ParameterValues above = values, below = values;
  Random random(program.seed, "direction");
  for (size_t p = 0; p < values.size(); ++p)
    for (size_t e = 0; e < values[p].size() && !program.parameters[p].isWhole; ++e) {
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
  for (const Pair &pair : samplePairs(program, values, pairs)) {
    BiasEvaluator exact(program, values);
    Real value = exact.evaluate(bias, pair), slope = derivative(pair, 0);
    condition.isDefined &= exact.isDefined() && std::isfinite(slope);
    if (!condition.isDefined)
      return condition;
    condition.magnitude = std::max(condition.magnitude, double(std::fabs(value)));
    largest = std::max(largest, std::fabs(slope));
    for (uint64_t noise : {1, 2}) {
      BiasEvaluator noisy(program, values, noise);
      Pair nearby = pair; // a score has the rounding error of a sum of products in f32
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

bool isDefined(const Program &program, const Node &mask, const ParameterValues &values, int pairs) {
  BiasEvaluator evaluator(program, values);
  for (const Pair &pair : samplePairs(program, values, pairs))
    evaluator.allows(mask, pair);
  return evaluator.isDefined();
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
