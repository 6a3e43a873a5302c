//===- Attention.cpp - Attention of float64, row by row -------------------===//
//
// HeadWorker computes one (batch, head); attend and attendReverse run the workers of all heads on
// threads, a wave at a time, and add up their results in head order.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Attention.h"

#include "runtime/core/DType.h"
#include "runtime/core/Random.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <thread>
#include <utility>

namespace pe::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double dot(const double *a, const double *b, int64_t count) {
  double sum = 0.0;
  for (int64_t d = 0; d < count; ++d)
    sum += a[d] * b[d];
  return sum;
}

double rounded(double value, DType dtype) {
  const float single = static_cast<float>(value);
  if (dtype == DType::TF32)
    return roundToTf32(single);
  return dtype == DType::BF16 ? bf16ToFloat(floatToBf16(single)) : f16ToFloat(floatToF16(single));
}

/// The sum of |a_d b_d|.
double dotOfMagnitudes(const double *a, const double *b, int64_t count) {
  double sum = 0.0;
  for (int64_t d = 0; d < count; ++d)
    sum += std::fabs(a[d] * b[d]);
  return sum;
}

void addSquares(double *target, double factor, const double *source, int64_t count) {
  for (int64_t d = 0; d < count; ++d)
    target[d] += (factor * source[d]) * (factor * source[d]);
}

void addScaled(double *target, double factor, const double *source, int64_t count) {
  for (int64_t d = 0; d < count; ++d)
    target[d] += factor * source[d];
}

double normOf(const double *a, int64_t count) { return std::sqrt(dot(a, a, count)); }

/// log(1 / (1 + exp(-z))) without overflow.
double logSigmoid(double z) {
  return z >= 0.0 ? -std::log1p(std::exp(-z)) : z - std::log1p(std::exp(z));
}

/// What one head contributes to the gradients.
struct HeadGradients {
  std::vector<double> q;
  std::vector<double> qNoiseSquared;
  std::vector<double> k;
  std::vector<double> kNoiseSquared;
  std::vector<double> v;
  std::vector<double> vTerms;
  ParameterGradients parameters;
  ParameterGradients sink{1};
  double biasNoiseSquared = 0.0;
};

/// One (batch, query head).
class HeadWorker {
public:
  HeadWorker(const AttentionProblem &problem, const AttentionInputs &inputs, int64_t item);

  /// Writes the head's rows of `outputs`; returns the largest |logit| that counts.
  double forward(AttentionOutputs &outputs);
  HeadGradients reverse(const AttentionCotangents &cotangents);

private:
  /// Whether stick-breaking takes the keys after the query in place of those before it.
  enum class Side : uint8_t { Before, After };
  bool startRow(int64_t row, Side side);
  void findKeys(int64_t row, Side side);
  bool isOnSide(int64_t i, int64_t j, Side side) const;
  /// The sides whose mean is taken.
  std::vector<Side> sides() const {
    return problem.hasBothSides ? std::vector{Side::Before, Side::After}
                                : std::vector{Side::Before};
  }
  void rotate(std::vector<double> &rows, bool areQueries) const;
  void rotateBack(std::vector<double> &rows, bool areQueries) const;
  Token queryAt(int64_t row) const { return problem.positions.query(batch, row); }
  Token keyAt(int64_t column) const { return problem.positions.key(batch, column); }
  int64_t positionAt(bool isQuery, int64_t row) const {
    return (isQuery ? queryAt(row) : keyAt(row)).position;
  }
  /// The magnitude of the argument of the function of the score for key `n` of the row; 0 without
  /// one.
  double scoreBefore(int64_t row, size_t n) const {
    return score ? std::fabs(scaledScore(row, keys[n])) : 0.0;
  }
  double scaledScore(int64_t row, int64_t key) const {
    return problem.scale *
           dot(q.data() + row * sizes.headDim, k.data() + key * sizes.headDim, sizes.headDim);
  }
  double largestLogit() const;
  double normalizeSoftmax();
  double normalizeStickBreaking();
  double normalize() {
    double statistic =
        problem.normalizer == Normalizer::Softmax ? normalizeSoftmax() : normalizeStickBreaking();
    for (size_t n = 0; n < keys.size(); ++n)
      valueWeights[n] = weights[n] * factors[n];
    if (problem.rounding)
      for (std::vector<double> *list : {&weights, &valueWeights})
        roundAll(*list, *problem.rounding);
    return statistic;
  }
  double dropoutFactor(int64_t i, int64_t j) const;
  double roundMean(int64_t row, const double *dO);
  void reverseSoftmax(int64_t row, const double *dO, double statisticCotangent,
                      HeadGradients &gradients);
  void reverseStickBreaking(double statisticCotangent, double statisticNoise);
  void reverseRow(int64_t row, const std::vector<double> &dO, double statisticCotangent,
                  HeadGradients &gradients);
  void reverseValues(int64_t row, const double *dO, HeadGradients &gradients);
  void reverseScores(int64_t row, HeadGradients &gradients);

  void reverseShifts(int64_t key, double dScore, double noise, int64_t i,
                     ParameterGradients &gradients) const;
  double reverseParameters(int64_t row, size_t n, HeadGradients &gradients);
  void addRounding(ParameterGradients &gradients);

  const std::vector<double> *vectorOf(int64_t row, int64_t key);
  void addOutput(int64_t row, double statistic, double share, AttentionOutputs &outputs);

  const AttentionProblem &problem;
  const AttentionSizes &sizes;
  int64_t item;
  int64_t batch;
  int64_t head;
  std::optional<double> sink;
  double sinkWeight = 0.0;  ///< of the current row
  int64_t keyItem;          ///< index of (batch, key head)
  bool isLearned;           ///< a rotation has parameters
  std::vector<double> rawQ; ///< the same rows before the rotation, if it is learned
  std::vector<double> rawK;
  std::vector<double> q; ///< rotated rows of this head
  std::vector<double> k;
  std::vector<double> v;
  std::vector<double> valueNorms; ///< |v_j|
  std::optional<ScalarEvaluator> bias;
  std::optional<ScalarEvaluator> score;
  std::vector<ContentWorker> contents;
  std::optional<ContentVectors> valueContent;
  MaskEvaluator mask;

  // The current row: its unmasked keys in ascending order, and per key
  // (under stick-breaking from the farthest to the nearest)
  std::vector<int64_t> keys;
  std::optional<int64_t> ownKey; ///< what gets the remainder
  std::vector<double> logits;
  std::vector<double> weights;      ///< A
  std::vector<double> factors;      ///< f
  std::vector<double> valueWeights; ///< A f
  std::vector<double> dWeights;     ///< cotangent of A
  std::vector<double> dLogits;
  std::vector<double> dWeightNoise; ///< dWeights before its terms cancel, and the same of dLogits
  std::vector<double> dLogitNoise;
  double meanError = 0.0;       ///< of the sum of A_l dA_l, by rounding
  ParameterGradients rowShares; ///< what a unit of it gives the parameters
};

HeadWorker::HeadWorker(const AttentionProblem &problem, const AttentionInputs &inputs, int64_t item)
    : problem(problem), sizes(problem.sizes), item(item), batch(item / sizes.queryHeads),
      head(item % sizes.queryHeads),
      isLearned(std::any_of(problem.rotations.begin(), problem.rotations.end(),
                            [](const Rotation &rotation) { return rotation.isLearned(); })),
      mask(problem.mask, *problem.graph, *problem.parameters),
      rowShares(problem.rounding ? problem.parameterCount() : 0) {
  if (!problem.sinks.empty())
    sink = problem.sinks[head];
  keyItem = batch * sizes.keyHeads + head / (sizes.queryHeads / sizes.keyHeads);
  auto rowsOf = [&](const Array &array, int64_t index, int64_t count) {
    const double *first = array.data.data() + index * count;
    return std::vector<double>(first, first + count);
  };
  q = rowsOf(inputs.q, item, sizes.queries * sizes.headDim);
  k = rowsOf(inputs.k, keyItem, sizes.keys * sizes.headDim);
  v = rowsOf(inputs.v, keyItem, sizes.keys * sizes.valueDim);
  const ContentHead place = {batch,         head,          sizes.headStart + head, sizes.headsTotal,
                             sizes.queries, sizes.headDim, problem.scale};
  for (const ContentProblem &content : problem.contents)
    contents.emplace_back(*problem.graph, content, *problem.parameters, place, q);
  if (problem.valueContent)
    valueContent.emplace(*problem.graph, *problem.valueContent, *problem.parameters, place,
                         sizes.valueDim);
  for (int64_t shift : problem.queryShifts)
    for (size_t e = 0; e < q.size(); ++e)
      q[e] +=
          problem.parameters
              ->values()[shift + head * sizes.headDim + static_cast<int64_t>(e) % sizes.headDim];
  if (isLearned) {
    rawQ = q;
    rawK = k;
  }
  rotate(q, /*areQueries=*/true);
  rotate(k, /*areQueries=*/false);
  // Values are used as given, so 16-bit ones are not changed by this.
  if (problem.rounding)
    for (std::vector<double> *rows : {&q, &k, &v})
      roundAll(*rows, *problem.rounding);
  for (int64_t key = 0; key < sizes.keys; ++key)
    valueNorms.push_back(normOf(v.data() + key * sizes.valueDim, sizes.valueDim));
  for (auto [node, evaluator] : {std::pair(problem.bias, &bias), std::pair(problem.score, &score)})
    if (node) {
      evaluator->emplace(*problem.graph, *node, *problem.parameters);
      (*evaluator)->startHead(batch, head, sizes.headStart + head, sizes.headsTotal);
    }
  mask.startHead(batch, head, sizes.headStart + head, sizes.headsTotal);
}

void HeadWorker::rotate(std::vector<double> &rows, bool areQueries) const {
  int64_t count = sizes.headDim ? static_cast<int64_t>(rows.size()) / sizes.headDim : 0;
  for (const Rotation &rotation : problem.rotations)
    for (int64_t row = 0; row < count; ++row)
      rotation.apply(rows.data() + row * sizes.headDim, positionAt(areQueries, row), head);
}

void HeadWorker::rotateBack(std::vector<double> &rows, bool areQueries) const {
  int64_t count = sizes.headDim ? static_cast<int64_t>(rows.size()) / sizes.headDim : 0;
  for (size_t n = problem.rotations.size(); n-- > 0;)
    for (int64_t row = 0; row < count; ++row)
      problem.rotations[n].applyTransposed(rows.data() + row * sizes.headDim,
                                           positionAt(areQueries, row), head);
}

/// 1 / (1 - p) where word j mod 4 of the counter (b, head, i, floor(j / 4)) is at least p 2^32,
/// else 0.
double HeadWorker::dropoutFactor(int64_t i, int64_t j) const {
  if (problem.seeds.empty())
    return 1.0;
  const bool own = problem.hasSeedPerBatch;
  const auto seed = static_cast<uint64_t>(problem.seeds[own ? batch : 0]);
  const int64_t word = (j % 4 + 4) % 4;
  const std::array<uint32_t, 4> counter = {
      own ? 0 : static_cast<uint32_t>(batch), static_cast<uint32_t>(sizes.headStart + head),
      static_cast<uint32_t>(i), static_cast<uint32_t>((j - word) / 4)};
  const auto words =
      philox4x32(counter, {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const bool isKept = words[word] >= problem.dropout * 0x1p32;
  return isKept ? 1.0 / (1.0 - problem.dropout) : 0.0;
}

bool HeadWorker::isOnSide(int64_t i, int64_t j, Side side) const {
  if (problem.normalizer == Normalizer::Softmax)
    return true;
  if (i == j)
    return problem.attendsCurrent;
  return side == Side::Before ? j < i : j > i;
}

/// Finds the keys of the row and their logits. False if there is nothing to attend to, no sink
/// either: rows at negative positions have no keys.
bool HeadWorker::startRow(int64_t row, Side side) {
  for (auto *list : {&logits, &factors, &weights, &valueWeights})
    list->clear();
  keys.clear();
  ownKey.reset();
  int64_t i = sizes.queryStart + row;
  if (i < 0 && !problem.isUnplaced)
    return sink.has_value();
  for (std::optional<ScalarEvaluator> *evaluator : {&bias, &score})
    if (*evaluator)
      (*evaluator)->startRow(queryAt(row));
  mask.startRow(queryAt(row));
  const int64_t own = i - sizes.keyStart;
  if (problem.keepsRemainder && own >= 0 && own < sizes.keys && mask.allows(keyAt(own)))
    ownKey = own;
  findKeys(row, side);
  weights.assign(keys.size(), 0.0);
  valueWeights.assign(keys.size(), 0.0);
  return !keys.empty() || sink || ownKey;
}

void HeadWorker::findKeys(int64_t row, Side side) {
  const int64_t i = sizes.queryStart + row;
  for (int64_t key = 0; key < sizes.keys; ++key) {
    const int64_t j = sizes.keyStart + key;
    if (isOnSide(i, j, side) && mask.allows(keyAt(key)))
      keys.push_back(key);
  }
  if (side == Side::After)
    std::reverse(keys.begin(), keys.end());
  for (int64_t key : keys) {
    const int64_t j = sizes.keyStart + key;
    const Token token = keyAt(key);
    const double scaled = scaledScore(row, key);
    logits.push_back((score ? score->evaluate(token, scaled) : scaled) +
                     (bias ? bias->evaluate(token) : 0.0));
    for (ContentWorker &content : contents)
      logits.back() += content.score(row, i, j);
    factors.push_back(dropoutFactor(i, j));
  }
}

/// The largest logit of the row, that of the sink among them; NaN if one is.
double HeadWorker::largestLogit() const {
  double largest = sink.value_or(-infinity);
  for (double logit : logits)
    if (!(logit <= largest) && !std::isnan(largest))
      largest = logit;
  return largest;
}

/// Fills the weights; returns the log of the sum of exp(z).
double HeadWorker::normalizeSoftmax() {
  double largest = largestLogit();
  sinkWeight = 0.0;
  if (largest == -infinity)
    return -infinity;
  if (sink)
    sinkWeight = std::exp(*sink - largest);
  double sum = sinkWeight;
  for (size_t n = 0; n < keys.size(); ++n) {
    weights[n] = std::exp(logits[n] - largest);
    sum += weights[n];
  }
  for (double &weight : weights)
    weight /= sum;
  sinkWeight /= sum;
  return largest + std::log(sum);
}

/// Fills the weights, nearest key first; returns the log of the remaining mass.
double HeadWorker::normalizeStickBreaking() {
  double logRemaining = 0.0;
  for (size_t n = keys.size(); n-- > 0;) {
    weights[n] = std::exp(logSigmoid(logits[n]) + logRemaining);
    logRemaining += logSigmoid(-logits[n]);
  }
  return logRemaining;
}

void HeadWorker::addOutput(int64_t row, double statistic, double share, AttentionOutputs &outputs) {
  const int64_t place = item * sizes.queries + row;
  double *o = outputs.o.data.data() + place * sizes.valueDim;
  for (int64_t d = 0; sink && d < sizes.valueDim; ++d)
    o[d] += sinkWeight * 0.0; // its value; a NaN stays
  auto add = [&](int64_t key, double weight) {
    addScaled(o, share * weight, v.data() + key * sizes.valueDim, sizes.valueDim);
    outputs.oTerms.data[place] += share * (weight + kLeastWeight) * valueNorms[key];
  };
  for (size_t n = 0; n < keys.size(); ++n) {
    add(keys[n], valueWeights[n]);
    if (const std::vector<double> *vector = vectorOf(row, keys[n])) {
      addScaled(o, share * valueWeights[n], vector->data(), sizes.valueDim);
      outputs.oTerms.data[place] +=
          share * (valueWeights[n] + kLeastWeight) * normOf(vector->data(), sizes.valueDim);
    }
  }
  if (ownKey)
    add(*ownKey, std::exp(statistic));
}

/// What joins the value of the key, or null.
const std::vector<double> *HeadWorker::vectorOf(int64_t row, int64_t key) {
  return valueContent ? &valueContent->at(sizes.queryStart + row, sizes.keyStart + key) : nullptr;
}

double HeadWorker::forward(AttentionOutputs &outputs) {
  double maxLogit = 0.0;
  double *lse = outputs.lse.data.data() + item * sizes.queries;
  double *lseTerms = outputs.lseTerms.data.data() + item * sizes.queries;
  bool isSoftmax = problem.normalizer == Normalizer::Softmax;
  const std::vector<Side> all = sides();
  for (size_t n = 0; n < sizes.queries * all.size(); ++n) {
    const auto row = static_cast<int64_t>(n / all.size());
    lse[row] = isSoftmax ? -infinity : 0.0;
    if (!startRow(row, all[n % all.size()]))
      continue;
    lse[row] = normalize();
    if (isSoftmax && lse[row] == -infinity) // a bias of -inf has masked every key
      continue;
    if (isSoftmax) {
      double largest = largestLogit();
      lseTerms[row] = std::fabs(largest) + std::fabs(lse[row] - largest);
    }
    addOutput(row, lse[row], 1.0 / static_cast<double>(all.size()), outputs);
    if (sinkWeight >= kCountedWeight && std::isfinite(*sink))
      maxLogit = std::max(maxLogit, std::fabs(*sink));
    for (size_t n = 0; n < keys.size(); ++n)
      if (weights[n] >= kCountedWeight && std::isfinite(logits[n]))
        maxLogit = std::max({maxLogit, std::fabs(logits[n]), scoreBefore(row, n)});
  }
  return maxLogit;
}

/// What rounding adds to the sum of A_l dA_l of the current row: <dO, rounded o - o>. `meanError`
/// is by how much that may differ from kernel to kernel: each probability and each element of the
/// output is off by up to the roundoff, independently.
double HeadWorker::roundMean(int64_t row, const double *dO) {
  meanError = 0.0;
  if (!problem.rounding)
    return 0.0;
  double error = 0.0, squares = 0.0;
  std::vector<double> output(sizes.valueDim, 0.0);
  for (size_t n = 0; n < keys.size(); ++n) {
    squares += (weights[n] * dWeights[n]) * (weights[n] * dWeights[n]);
    addScaled(output.data(), valueWeights[n], v.data() + keys[n] * sizes.valueDim, sizes.valueDim);
    if (const std::vector<double> *vector = vectorOf(row, keys[n]))
      addScaled(output.data(), valueWeights[n], vector->data(), sizes.valueDim);
  }
  for (int64_t d = 0; roundsResults(*problem.rounding) && d < sizes.valueDim; ++d) {
    error += dO[d] * (rounded(output[d], *problem.rounding) - output[d]);
    squares += (dO[d] * output[d]) * (dO[d] * output[d]);
  }
  meanError = roundoffOf(*problem.rounding) * std::sqrt(squares);
  return error;
}

/// dz_j = A_j (dA_j - sum of A_l dA_l) + A_j dlse, and the same of the sink, whose dA is 0.
void HeadWorker::reverseSoftmax(int64_t row, const double *dO, double dLse,
                                HeadGradients &gradients) {
  double mean = roundMean(row, dO), meanNoise = 0.0;
  for (size_t n = 0; n < keys.size(); ++n) {
    mean += weights[n] * dWeights[n];
    meanNoise += weights[n] * dWeightNoise[n];
  }
  for (size_t n = 0; n < keys.size(); ++n) {
    dLogits[n] = weights[n] * (dWeights[n] - mean + dLse);
    dLogitNoise[n] = (weights[n] + kLeastWeight) * (dWeightNoise[n] + meanNoise + std::fabs(dLse));
  }
  if (!sink)
    return;
  const double dSink = sinkWeight * (dLse - mean);
  const double noise = (sinkWeight + kLeastWeight) * (meanNoise + std::fabs(dLse));
  gradients.sink.sum[0] += dSink;
  gradients.sink.magnitude[0] += std::fabs(dSink);
  gradients.sink.noiseSquared[0] += noise * noise;
  gradients.sink.roundingSquared[0] += (sinkWeight * meanError) * (sinkWeight * meanError);
}

/// log A_j = log sigma(z_j) + sum over l after j of log sigma(-z_l), and the log of the remaining
/// mass is the sum of all log sigma(-z_l). Hence dz_l = A_l dA_l sigma(-z_l) - sigma(z_l) (sum over
/// j before l of A_j dA_j + dlse).
void HeadWorker::reverseStickBreaking(double dRemaining, double dRemainingNoise) {
  double older = 0.0, olderNoise = 0.0;
  for (size_t n = 0; n < keys.size(); ++n) {
    double own = weights[n] * dWeights[n];
    double ownNoise = (weights[n] + kLeastWeight) * dWeightNoise[n];
    double taken = std::exp(logSigmoid(logits[n]));
    double passed = std::exp(logSigmoid(-logits[n]));
    dLogits[n] = own * passed - taken * (older + dRemaining);
    dLogitNoise[n] = ownNoise * passed + (taken + kLeastWeight) * (olderNoise + dRemainingNoise);
    older += own;
    olderNoise += ownNoise;
  }
}

/// Cotangents of the weights; the gradient of v needs nothing else.
void HeadWorker::reverseValues(int64_t row, const double *dO, HeadGradients &gradients) {
  for (auto *list : {&dWeights, &dWeightNoise, &dLogits, &dLogitNoise})
    list->assign(keys.size(), 0.0);
  const double size = normOf(dO, sizes.valueDim);
  for (size_t n = 0; n < keys.size(); ++n) {
    const double *value = v.data() + keys[n] * sizes.valueDim;
    dWeights[n] = factors[n] * dot(dO, value, sizes.valueDim);
    dWeightNoise[n] = factors[n] * dotOfMagnitudes(dO, value, sizes.valueDim);
    addScaled(gradients.v.data() + keys[n] * sizes.valueDim, valueWeights[n], dO, sizes.valueDim);
    gradients.vTerms[keys[n]] += (valueWeights[n] + kLeastWeight) * size;
    if (const std::vector<double> *vector = vectorOf(row, keys[n])) {
      dWeights[n] += factors[n] * dot(dO, vector->data(), sizes.valueDim);
      dWeightNoise[n] += factors[n] * dotOfMagnitudes(dO, vector->data(), sizes.valueDim);
      valueContent->reverse(sizes.queryStart + row, sizes.keyStart + keys[n], valueWeights[n],
                            kLeastWeight, dO);
    }
  }
}

/// What the cotangent of logit `n` gives the parameters, but those of content terms; returns the
/// derivative of the function of the score.
double HeadWorker::reverseParameters(int64_t row, size_t n, HeadGradients &gradients) {
  const int64_t queryOffset = row * sizes.headDim, keyOffset = keys[n] * sizes.headDim;
  double slope = 1.0;
  auto reverse = [&](auto &evaluator) {
    evaluator.reverse(dLogits[n], dLogitNoise[n], gradients.parameters);
    if (meanError > 0.0)
      evaluator.reverse(weights[n], 0.0, rowShares);
  };
  if (score) {
    score->evaluate(keyAt(keys[n]), scaledScore(row, keys[n]));
    reverse(*score);
    slope = score->scoreDerivative();
  }
  if (bias) {
    bias->evaluate(keyAt(keys[n]));
    reverse(*bias);
  }
  auto reverseQuery = [&](double dLogit, double noise, ParameterGradients &into) {
    const double dScore = problem.scale * dLogit * slope;
    const double scoreNoise = problem.scale * noise * std::fabs(slope);
    for (const Rotation &rotation : problem.rotations)
      if (rotation.isLearned())
        rotation.reverse({rawQ.data() + queryOffset, q.data() + queryOffset, queryAt(row).position},
                         {rawK.data() + keyOffset, k.data() + keyOffset, keyAt(keys[n]).position},
                         head, dScore, scoreNoise, into);
    if (!problem.queryShifts.empty())
      reverseShifts(keys[n], dScore, scoreNoise, queryAt(row).position, into);
  };
  reverseQuery(dLogits[n], dLogitNoise[n], gradients.parameters);
  if (meanError > 0.0)
    reverseQuery(weights[n], 0.0, rowShares);
  return slope;
}

/// An error of the row's sum of A_l dA_l reaches all its logits.
void HeadWorker::addRounding(ParameterGradients &gradients) {
  for (size_t e = 0; meanError > 0.0 && e < rowShares.sum.size(); ++e) {
    const double error = meanError * std::exchange(rowShares.sum[e], 0.0);
    gradients.roundingSquared[e] += error * error;
  }
}

void HeadWorker::reverseScores(int64_t row, HeadGradients &gradients) {
  int64_t queryOffset = row * sizes.headDim;
  const double *query = q.data() + queryOffset;
  for (size_t n = 0; n < keys.size(); ++n) {
    int64_t keyOffset = keys[n] * sizes.headDim;
    const double *key = k.data() + keyOffset;
    // A bias of -inf masks its pair: its inputs get nothing, not even 0 times infinity.
    const bool isMasked = logits[n] == -infinity && dLogits[n] == 0.0;
    const double slope = isMasked ? (score ? 0.0 : 1.0) : reverseParameters(row, n, gradients);
    double dScore = problem.scale * dLogits[n] * slope;
    double noise = problem.scale * dLogitNoise[n] * std::fabs(slope);
    addScaled(gradients.q.data() + queryOffset, dScore, key, sizes.headDim);
    addSquares(gradients.qNoiseSquared.data() + queryOffset, noise, key, sizes.headDim);
    addScaled(gradients.k.data() + keyOffset, dScore, query, sizes.headDim);
    addSquares(gradients.kNoiseSquared.data() + keyOffset, noise, query, sizes.headDim);
    if (isMasked)
      continue;
    for (ContentWorker &content : contents)
      content.reverse(row, sizes.queryStart + row, sizes.keyStart + keys[n], dLogits[n],
                      dLogitNoise[n]);
    if (bias || score || isLearned || problem.hasVectors())
      gradients.biasNoiseSquared += dLogitNoise[n] * dLogitNoise[n];
  }
  addRounding(gradients.parameters);
}

/// One side of a row that has been started.
void HeadWorker::reverseRow(int64_t row, const std::vector<double> &dO, double dStatistic,
                            HeadGradients &gradients) {
  const double statistic = normalize();
  // A softmax row whose logits are all -inf has no weights and no gradients.
  if (problem.normalizer == Normalizer::Softmax && statistic == -infinity)
    return;
  reverseValues(row, dO.data(), gradients);
  if (problem.normalizer == Normalizer::Softmax) {
    reverseSoftmax(row, dO.data(), dStatistic, gradients);
    return reverseScores(row, gradients);
  }
  double noise = std::fabs(dStatistic);
  if (ownKey) { // o has exp(statistic) v_i
    const double rest = std::exp(statistic);
    const double *own = v.data() + *ownKey * sizes.valueDim;
    addScaled(gradients.v.data() + *ownKey * sizes.valueDim, rest, dO.data(), sizes.valueDim);
    gradients.vTerms[*ownKey] += (rest + kLeastWeight) * normOf(dO.data(), sizes.valueDim);
    dStatistic += rest * dot(dO.data(), own, sizes.valueDim);
    noise += (rest + kLeastWeight) * dotOfMagnitudes(dO.data(), own, sizes.valueDim);
  }
  reverseStickBreaking(dStatistic, noise);
  reverseScores(row, gradients);
}

/// The derivative of <R_i (q + u), k> with respect to u is k turned back by R_i.
void HeadWorker::reverseShifts(int64_t key, double dScore, double noise, int64_t i,
                               ParameterGradients &gradients) const {
  const double *first = k.data() + key * sizes.headDim;
  std::vector<double> turned(first, first + sizes.headDim);
  for (size_t n = problem.rotations.size(); n-- > 0;)
    problem.rotations[n].applyTransposed(turned.data(), i, head);
  for (int64_t shift : problem.queryShifts)
    for (int64_t d = 0; d < sizes.headDim; ++d) {
      const int64_t at = shift + head * sizes.headDim + d;
      gradients.sum[at] += dScore * turned[d];
      gradients.magnitude[at] += std::fabs(dScore * turned[d]);
      gradients.noiseSquared[at] += (noise * turned[d]) * (noise * turned[d]);
    }
}

HeadGradients HeadWorker::reverse(const AttentionCotangents &cotangents) {
  auto zerosLike = [](const std::vector<double> &list) { return std::vector<double>(list.size()); };
  HeadGradients gradients{zerosLike(q),
                          zerosLike(q),
                          zerosLike(k),
                          zerosLike(k),
                          std::vector<double>(sizes.keys * sizes.valueDim),
                          std::vector<double>(sizes.keys),
                          ParameterGradients(problem.parameterCount())};
  const std::vector<double> noCotangent(sizes.valueDim, 0.0);
  const std::vector<Side> all = sides();
  // What content terms add to the gradient of the queries, which they take as they are given.
  std::vector<double> contentQ(contents.empty() ? 0 : q.size()), contentNoise(contentQ.size());
  for (int64_t row = 0; row < sizes.queries; ++row) {
    int64_t place = item * sizes.queries + row;
    std::vector<double> dO = noCotangent;
    if (cotangents.o)
      dO.assign(cotangents.o->data.data() + place * sizes.valueDim,
                cotangents.o->data.data() + (place + 1) * sizes.valueDim);
    if (problem.rounding)
      roundAll(dO, *problem.rounding);
    for (double &element : dO)
      element /= static_cast<double>(all.size());
    double dStatistic = cotangents.lse ? cotangents.lse->data[place] : 0.0;
    for (Side side : all)
      if (startRow(row, side))
        reverseRow(row, dO, dStatistic, gradients);
    for (ContentWorker &content : contents)
      content.finishRow(row, contentQ.data() + row * sizes.headDim,
                        contentNoise.data() + row * sizes.headDim, gradients.parameters);
  }
  rotateBack(gradients.q, /*areQueries=*/true);
  rotateBack(gradients.k, /*areQueries=*/false);
  for (size_t e = 0; e < contentQ.size(); ++e) {
    gradients.q[e] += contentQ[e];
    gradients.qNoiseSquared[e] += contentNoise[e];
  }
  for (ContentWorker &content : contents)
    content.finish(gradients.parameters);
  if (valueContent)
    valueContent->finish(gradients.parameters);
  return gradients;
}

/// Runs compute(0) .. compute(count - 1), `threads` at a time, and take(n) for each in order.
void forEachHead(int64_t count, unsigned threads, const std::function<void(int64_t)> &compute,
                 const std::function<void(int64_t)> &take) {
  int64_t wave = threads ? threads : std::max(1u, std::thread::hardware_concurrency());
  for (int64_t first = 0; first < count; first += wave) {
    int64_t last = std::min(count, first + wave);
    std::vector<std::thread> running;
    for (int64_t n = first + 1; n < last; ++n)
      running.emplace_back(compute, n);
    compute(first);
    for (std::thread &thread : running)
      thread.join();
    for (int64_t n = first; n < last; ++n)
      take(n);
  }
}

void addTo(Array &target, int64_t offset, const std::vector<double> &source) {
  for (size_t e = 0; e < source.size(); ++e)
    target.data[offset + e] += source[e];
}

} // namespace

AttentionOutputs attend(const AttentionProblem &problem, const AttentionInputs &inputs,
                        unsigned threads) {
  const AttentionSizes &sizes = problem.sizes;
  AttentionOutputs outputs;
  outputs.o = Array::zeros({sizes.batch, sizes.queryHeads, sizes.queries, sizes.valueDim});
  for (Array *rows : {&outputs.lse, &outputs.oTerms, &outputs.lseTerms})
    *rows = Array::zeros({sizes.batch, sizes.queryHeads, sizes.queries});
  const int64_t heads = sizes.batch * sizes.queryHeads;
  std::vector<double> maxLogits(heads);
  forEachHead(
      heads, threads,
      [&](int64_t n) { maxLogits[n] = HeadWorker(problem, inputs, n).forward(outputs); },
      [&](int64_t n) { outputs.maxLogit = std::max(outputs.maxLogit, maxLogits[n]); });
  if (problem.rounding && roundsResults(*problem.rounding))
    roundAll(outputs.o.data, *problem.rounding);
  return outputs;
}

void roundAll(std::vector<double> &values, DType dtype) {
  for (double &value : values)
    value = rounded(value, dtype);
}

AttentionGradients attendReverse(const AttentionProblem &problem, const AttentionInputs &inputs,
                                 const AttentionCotangents &cotangents, unsigned threads) {
  const AttentionSizes &sizes = problem.sizes;
  auto zerosLike = [](const Array &array) { return Array::zeros(array.shape); };
  AttentionGradients total{{zerosLike(inputs.q), zerosLike(inputs.q)},
                           {zerosLike(inputs.k), zerosLike(inputs.k)},
                           zerosLike(inputs.v),
                           Array::zeros({sizes.batch, sizes.keyHeads, sizes.keys}),
                           ParameterGradients(problem.parameterCount()),
                           ParameterGradients(static_cast<int64_t>(problem.sinks.size()))};
  int64_t heads = sizes.batch * sizes.queryHeads;
  std::vector<std::optional<HeadGradients>> results(heads);
  forEachHead(
      heads, threads,
      [&](int64_t n) { results[n] = HeadWorker(problem, inputs, n).reverse(cotangents); },
      [&](int64_t n) {
        int64_t batch = n / sizes.queryHeads;
        int64_t keyHead = n % sizes.queryHeads / (sizes.queryHeads / sizes.keyHeads);
        int64_t keyItem = batch * sizes.keyHeads + keyHead;
        int64_t queryOffset = n * sizes.queries * sizes.headDim;
        int64_t keyOffset = keyItem * sizes.keys * sizes.headDim;
        addTo(total.q.sum, queryOffset, results[n]->q);
        addTo(total.q.noiseSquared, queryOffset, results[n]->qNoiseSquared);
        addTo(total.k.sum, keyOffset, results[n]->k);
        addTo(total.k.noiseSquared, keyOffset, results[n]->kNoiseSquared);
        addTo(total.v, keyItem * sizes.keys * sizes.valueDim, results[n]->v);
        addTo(total.vTerms, keyItem * sizes.keys, results[n]->vTerms);
        total.parameters.accumulate(results[n]->parameters);
        if (!problem.sinks.empty())
          total.sinks.accumulateAt(n % sizes.queryHeads, results[n]->sink);
        total.biasNoiseSquared += results[n]->biasNoiseSquared;
        results[n].reset();
      });
  return total;
}

} // namespace pe::reference
