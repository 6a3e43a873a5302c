//===- HeadWorker.cpp - Forward of one head of attention ------------------===//
#include "runtime/reference/HeadWorker.h"

#include <algorithm>
#include <utility>

namespace pe::reference {

HeadWorker::HeadWorker(const AttentionProblem &problem, const AttentionInputs &inputs, int64_t item)
    : problem(problem), sizes(problem.sizes), normalizer(*problem.normalizer), item(item),
      batch(item / sizes.queryHeads), head(item % sizes.queryHeads),
      isLearned(std::any_of(problem.rotations.begin(), problem.rotations.end(),
                            [](const Rotation &rotation) { return rotation.isLearned(); })),
      hasErrors(normalizer.amplifiesErrors()),
      mask(problem.mask, *problem.graph, *problem.parameters),
      rowShares(problem.rounding ? problem.parameterCount() : 0),
      errorShares(hasErrors ? problem.parameterCount() : 0), unused(errorShares) {
  keyItem = batch * sizes.keyHeads + head / (sizes.queryHeads / sizes.keyHeads);
  auto rowsOf = [&](const Array &array, int64_t index, int64_t count) {
    const double *first = array.data.data() + index * count;
    return std::vector<double>(first, first + count);
  };
  q = rowsOf(inputs.q, item, sizes.queries * sizes.headDim);
  k = rowsOf(inputs.k, keyItem, sizes.keys * sizes.headDim);
  v = rowsOf(inputs.v, keyItem, sizes.keys * sizes.valueDim);
  const ContentHead place = {
      batch,         head,          sizes.queryHeads, sizes.headStart + head, sizes.headsTotal,
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
  rotateValues(v, /*areQueries=*/false, /*isBack=*/false);
  // In a 16-bit computation the values are exact already, so rounding does not change them.
  if (problem.rounding)
    for (std::vector<double> *rows : {&q, &k, &v})
      roundAll(*rows, *problem.rounding);
  for (int64_t key = 0; key < sizes.keys; ++key)
    valueNorms.push_back(normOf(v.data() + key * sizes.valueDim, sizes.valueDim));
  for (auto [node, evaluator] : {std::pair(problem.bias, &bias),
                                 {problem.score, &score},
                                 {problem.factor, &factor},
                                 {problem.sink, &sinkCode}})
    if (node) {
      evaluator->emplace(*problem.graph, *node, *problem.parameters);
      (*evaluator)->startHead(batch, head, sizes.headStart + head, sizes.headsTotal);
    }
  mask.startHead(batch, head, sizes.headStart + head, sizes.headsTotal);
}

void HeadWorker::rotate(std::vector<double> &rows, bool areQueries) const {
  if (!areQueries && problem.keysAreTurned)
    return;
  int64_t count = sizes.headDim ? static_cast<int64_t>(rows.size()) / sizes.headDim : 0;
  for (const Rotation &rotation : problem.rotations)
    for (int64_t row = 0; row < count; ++row)
      rotation.apply(rows.data() + row * sizes.headDim, placeAt(areQueries, row));
}

void HeadWorker::rotateBack(std::vector<double> &rows, bool areQueries) const {
  if (!areQueries && problem.keysAreTurned)
    return;
  int64_t count = sizes.headDim ? static_cast<int64_t>(rows.size()) / sizes.headDim : 0;
  for (size_t n = problem.rotations.size(); n-- > 0;)
    for (int64_t row = 0; row < count; ++row)
      problem.rotations[n].applyTransposed(rows.data() + row * sizes.headDim,
                                           placeAt(areQueries, row));
}

/// Rotates values (isBack = false) and the cotangents of outputs, or their gradients and outputs
/// back.
void HeadWorker::rotateValues(std::vector<double> &rows, bool areQueries, bool isBack) const {
  if (!problem.valueRotation)
    return;
  const int64_t count = areQueries ? sizes.queries : sizes.keys;
  for (int64_t row = 0; row < count; ++row) {
    double *first = rows.data() + row * sizes.valueDim;
    isBack ? problem.valueRotation->applyTransposed(first, placeAt(areQueries, row))
           : problem.valueRotation->apply(first, placeAt(areQueries, row));
  }
}

/// Returns the largest factor by which a rotation of values or outputs changes a norm.
double HeadWorker::valueMagnitude() const {
  return problem.valueRotation ? std::max(1.0, std::fabs(problem.valueRotation->magnitude)) : 1.0;
}

bool HeadWorker::isOnSide(int64_t i, int64_t j, Side side) const {
  if (!normalizer.ordersKeys())
    return true;
  if (i == j)
    return problem.attendsCurrent;
  return side == Side::Before ? j < i : j > i;
}

/// Finds the keys of the row and their logits. Returns false if the row attends to nothing, not
/// even a sink; rows at negative positions have no keys.
bool HeadWorker::startRow(int64_t row, Side side) {
  for (auto *list :
       {&current.logits, &current.logitTerms, &factors, &current.weights, &valueWeights})
    list->clear();
  keys.clear();
  ownKey.reset();
  int64_t i = sizes.queryStart + row;
  if (sinkCode) {
    sinkCode->startRow(queryAt(row));
    current.sink = sinkCode->evaluate(Token(0)); // a sink does not depend on the key
    sinkCode->tallyReads(reads);
  }
  if (i < 0 && !problem.isUnplaced)
    return current.sink.has_value();
  for (std::optional<ScalarEvaluator> *evaluator : {&bias, &score, &factor})
    if (*evaluator)
      (*evaluator)->startRow(queryAt(row));
  for (ContentWorker &content : contents)
    content.startRow(row, queryAt(row));
  mask.startRow(queryAt(row));
  const int64_t own = i - sizes.keyStart;
  if (problem.keepsRemainder && own >= 0 && own < sizes.keys && mask.allows(keyAt(own)))
    ownKey = own;
  findKeys(row, side);
  current.weights.assign(keys.size(), 0.0);
  valueWeights.assign(keys.size(), 0.0);
  return !keys.empty() || current.sink || ownKey;
}

void HeadWorker::findKeys(int64_t row, Side side) {
  const int64_t i = sizes.queryStart + row;
  for (int64_t key = 0; key < sizes.keys; ++key) {
    const int64_t j = sizes.keyStart + key;
    if (!isOnSide(i, j, side) || !mask.allows(keyAt(key)))
      continue;
    keys.push_back(key);
    mask.tallyReads(reads);
  }
  if (side == Side::After)
    std::reverse(keys.begin(), keys.end());
  for (int64_t key : keys) {
    const int64_t j = sizes.keyStart + key;
    const Token token = keyAt(key);
    const double scaled = scaledScore(row, key);
    const double ofScore = score ? score->evaluate(token, scaled) : scaled;
    const double ofBias = bias ? bias->evaluate(token) : 0.0;
    std::vector<double> &logits = current.logits;
    logits.push_back(ofScore + ofBias);
    for (ContentWorker &content : contents)
      logits.back() += content.score(row, i, j);
    if (hasErrors)
      current.logitTerms.push_back(termsOfLogit(row, key, ofScore, ofBias));
    factors.push_back(factor ? factor->evaluate(token) : 1.0);
    if (!badScore && !(logits.back() < infinity))
      noteBadScore(queryAt(row), token, ofScore, ofBias);
    for (std::optional<ScalarEvaluator> *evaluator : {&bias, &score, &factor})
      if (*evaluator)
        (*evaluator)->tallyReads(reads);
  }
}

/// Returns the magnitude of the terms of the logit that was evaluated last. Content terms count by
/// their values.
double HeadWorker::termsOfLogit(int64_t row, int64_t key, double ofScore, double ofBias) {
  double terms =
      std::fabs(problem.scale) * dotOfMagnitudes(q.data() + row * sizes.headDim,
                                                 k.data() + key * sizes.headDim, sizes.headDim);
  if (score) {
    score->reverse(1.0, 0.0, unused);
    terms = std::fabs(ofScore) + std::fabs(score->scoreDerivative()) * terms;
  }
  if (!contents.empty())
    terms += std::fabs(current.logits.back() - ofScore - ofBias);
  return terms + std::fabs(ofBias);
}

void HeadWorker::noteBadScore(Token query, Token key, double ofScore, double ofBias) {
  const bool isBias = !(ofBias < infinity), isFunction = score && !(ofScore < infinity);
  badScore = {isBias ? ofBias : ofScore,
              isBias       ? "the bias"
              : isFunction ? "the score function"
                           : "the score",
              batch,
              head,
              query.position,
              key.position};
}

void HeadWorker::addOutput(int64_t row, double statistic, double share, AttentionOutputs &outputs) {
  const int64_t place = item * sizes.queries + row;
  double *o = outputs.o.data.data() + place * sizes.valueDim;
  for (int64_t d = 0; current.sink && d < sizes.valueDim; ++d)
    o[d] += current.sinkWeight * 0.0; // the sink's value is 0; this propagates a NaN
  auto add = [&](int64_t key, double weight) {
    addScaled(o, share * weight, v.data() + key * sizes.valueDim, sizes.valueDim);
    outputs.oTerms.data[place] += share * (std::fabs(weight) + kLeastWeight) * valueNorms[key];
  };
  for (size_t n = 0; n < keys.size(); ++n) {
    add(keys[n], valueWeights[n]);
    if (const std::vector<double> *vector = vectorOf(row, keys[n])) {
      addScaled(o, share * valueWeights[n], vector->data(), sizes.valueDim);
      outputs.oTerms.data[place] += share * (std::fabs(valueWeights[n]) + kLeastWeight) *
                                    normOf(vector->data(), sizes.valueDim);
    }
  }
  for (size_t n = 0; n < keys.size() && hasErrors; ++n) {
    const std::vector<double> *vector = vectorOf(row, keys[n]);
    const double size =
        valueNorms[keys[n]] + (vector ? normOf(vector->data(), sizes.valueDim) : 0.0);
    outputs.oErrors.data[place] += share * current.weightErrors[n] * std::fabs(factors[n]) * size;
  }
  if (ownKey)
    add(*ownKey, std::exp(statistic));
}

/// Returns the vector that is added to the value of the key, or null.
const std::vector<double> *HeadWorker::vectorOf(int64_t row, int64_t key) {
  return valueContent ? &valueContent->at(sizes.queryStart + row, sizes.keyStart + key) : nullptr;
}

/// Rotates the head's rows of the output back, if values are rotated.
void HeadWorker::rotateOutput(AttentionOutputs &outputs) const {
  if (!problem.valueRotation)
    return;
  double *first = outputs.o.data.data() + item * sizes.queries * sizes.valueDim;
  std::vector<double> rows(first, first + sizes.queries * sizes.valueDim);
  rotateValues(rows, /*areQueries=*/true, /*isBack=*/true);
  std::ranges::copy(rows, first);
  for (int64_t row = 0; row < sizes.queries; ++row)
    outputs.oTerms.data[item * sizes.queries + row] *= valueMagnitude();
}

double HeadWorker::forward(AttentionOutputs &outputs) {
  double maxLogit = 0.0;
  double *lse = outputs.lse.data.data() + item * sizes.queries;
  double *lseTerms = outputs.lseTerms.data.data() + item * sizes.queries;
  const std::vector<Side> all = sides();
  for (size_t n = 0; n < sizes.queries * all.size(); ++n) {
    const auto row = static_cast<int64_t>(n / all.size());
    lse[row] = normalizer.emptyStatistic().value_or(0.0);
    if (!startRow(row, all[n % all.size()]))
      continue;
    lse[row] = normalize();
    if (normalizer.leavesOut(lse[row]))
      continue;
    lseTerms[row] = normalizer.statisticTerms(current, lse[row]);
    addOutput(row, lse[row], 1.0 / static_cast<double>(all.size()), outputs);
    if (current.sinkWeight >= kCountedWeight && std::isfinite(*current.sink))
      maxLogit = std::max(maxLogit, std::fabs(*current.sink));
    for (size_t n = 0; n < keys.size(); ++n)
      if ((hasErrors ? current.shares : current.weights)[n] >= kCountedWeight &&
          std::isfinite(current.logits[n]))
        maxLogit = std::max({maxLogit, std::fabs(current.logits[n]), scoreBefore(row, n)});
  }
  rotateOutput(outputs);
  return maxLogit;
}

} // namespace pe::reference
