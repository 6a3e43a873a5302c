//===- HeadReverse.cpp - Reverse of one head of attention -----------------===//
#include "runtime/reference/HeadWorker.h"

#include <algorithm>

namespace pe::reference {

/// Returns the rounding error of the sum of A_l dA_l of the current row. Kernels compute this sum
/// from the output as <dO, o>, so it contains the rounding of the weights and of the output. Sets
/// `meanError` to the amount by which kernels may differ: each probability and each element of the
/// output has an independent error of up to the roundoff.
double HeadWorker::roundMean(int64_t row, const double *dO) {
  meanError = 0.0;
  if (!problem.rounding || !normalizer.meanShares(current))
    return 0.0;
  const std::vector<double> &weights = current.weights, &dWeights = current.dWeights;
  double error = 0.0, squares = 0.0;
  std::vector<double> output(sizes.valueDim, 0.0);
  for (size_t n = 0; n < keys.size(); ++n) {
    squares += (weights[n] * dWeights[n]) * (weights[n] * dWeights[n]);
    if (factors[n] != 0.0) // a dropped weight has no error
      error += (valueWeights[n] / factors[n] - weights[n]) * dWeights[n];
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

/// Adds the gradients of the parameters of the sink.
void HeadWorker::reverseSink(HeadGradients &gradients) {
  // A sink of -inf, like a bias of -inf, has no gradient.
  if (*current.sink == -infinity && current.dSink == 0.0)
    return;
  sinkCode->reverse(current.dSink, current.dSinkNoise, gradients.parameters);
  if (meanError > 0.0)
    sinkCode->reverse(current.sinkWeight, 0.0, rowShares);
}

/// Adds the gradients of the parameters of key `n`'s factor; `product` is the inner product of the
/// output's cotangent with the value.
void HeadWorker::reverseFactor(size_t n, double product, double noise, HeadGradients &gradients) {
  if (!factor || current.weights[n] == 0.0)
    return;
  factor->evaluate(keyAt(keys[n]));
  if (hasErrors)
    factor->reverse(0.0, current.weightErrors[n] * std::fabs(product), errorShares);
  factor->reverse(current.weights[n] * product, (current.weights[n] + kLeastWeight) * noise,
                  gradients.parameters);
}

/// Computes the cotangents of the weights and the gradient of v.
void HeadWorker::reverseValues(int64_t row, const double *dO, HeadGradients &gradients) {
  for (auto *list : {&current.dWeights, &current.dWeightNoise, &current.dLogits,
                     &current.dLogitNoise, &current.dLogitErrors})
    list->assign(keys.size(), 0.0);
  const double size = normOf(dO, sizes.valueDim);
  for (size_t n = 0; n < keys.size(); ++n) {
    const double *value = v.data() + keys[n] * sizes.valueDim;
    double product = dot(dO, value, sizes.valueDim);
    double noise = dotOfMagnitudes(dO, value, sizes.valueDim);
    addScaled(gradients.v.data() + keys[n] * sizes.valueDim, valueWeights[n], dO, sizes.valueDim);
    gradients.vTerms[keys[n]] += (std::fabs(valueWeights[n]) + kLeastWeight) * size;
    if (const std::vector<double> *vector = vectorOf(row, keys[n])) {
      product += dot(dO, vector->data(), sizes.valueDim);
      noise += dotOfMagnitudes(dO, vector->data(), sizes.valueDim);
      valueContent->reverse(sizes.queryStart + row, sizes.keyStart + keys[n], valueWeights[n],
                            kLeastWeight, dO);
    }
    if (hasErrors) {
      const double error = current.weightErrors[n] * std::fabs(factors[n]) * size;
      gradients.vErrorSquared[keys[n]] += error * error;
    }
    current.dWeights[n] = factors[n] * product;
    current.dWeightNoise[n] = std::fabs(factors[n]) * noise;
    reverseFactor(n, product, noise, gradients);
  }
}

/// Adds the gradients of the parameters that logit `n` depends on, except those of content terms;
/// returns the derivative of the score function.
double HeadWorker::reverseParameters(int64_t row, size_t n, HeadGradients &gradients) {
  const int64_t queryOffset = row * sizes.headDim, keyOffset = keys[n] * sizes.headDim;
  double slope = 1.0;
  auto reverse = [&](auto &evaluator) {
    evaluator.reverse(current.dLogits[n], current.dLogitNoise[n], gradients.parameters);
    if (meanError > 0.0)
      evaluator.reverse(meanShare(n), 0.0, rowShares);
    if (hasErrors)
      evaluator.reverse(0.0, current.dLogitErrors[n], errorShares);
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
                         batch, head, dScore, scoreNoise, into);
    if (!problem.queryShifts.empty())
      reverseShifts(keys[n], dScore, scoreNoise, row, into);
  };
  reverseQuery(current.dLogits[n], current.dLogitNoise[n], gradients.parameters);
  if (meanError > 0.0)
    reverseQuery(meanShare(n), 0.0, rowShares);
  if (hasErrors)
    reverseQuery(0.0, current.dLogitErrors[n], errorShares);
  return slope;
}

/// Adds the effect of the error of the row's sum of A_l dA_l, which reaches all its logits.
void HeadWorker::addRounding(ParameterGradients &gradients) {
  for (size_t e = 0; meanError > 0.0 && e < rowShares.sum.size(); ++e) {
    const double error = meanError * std::exchange(rowShares.sum[e], 0.0);
    gradients.roundingSquared[e] += error * error;
  }
}

/// Adds the rounding of the gradients of rotated rows, which kernels store in the compute type.
void HeadWorker::addRoundingOfTurned(HeadGradients &gradients) const {
  if (!problem.rounding || !roundsResults(*problem.rounding) || sizes.queries == 0)
    return;
  const double roundoff = roundoffOf(*problem.rounding);
  const int64_t origin = queryAt(sizes.queries - 1).position;
  for (const Rotation &rotation : problem.rotations) {
    if (!rotation.isLearned())
      continue;
    auto add = [&](const std::vector<double> &raw, const std::vector<double> &turned,
                   const std::vector<double> &d, int64_t row, int64_t position) {
      const int64_t at = row * sizes.headDim;
      rotation.addRounding({raw.data() + at, turned.data() + at, position}, d.data() + at, origin,
                           batch, head, roundoff, gradients.parameters);
    };
    for (int64_t row = 0; row < sizes.queries; ++row)
      add(rawQ, q, gradients.q, row, queryAt(row).position);
    for (int64_t row = 0; row < sizes.keys; ++row)
      add(rawK, k, gradients.k, row, keyAt(row).position);
  }
}

void HeadWorker::reverseScores(int64_t row, HeadGradients &gradients) {
  int64_t queryOffset = row * sizes.headDim;
  const double *query = q.data() + queryOffset;
  for (size_t n = 0; n < keys.size(); ++n) {
    int64_t keyOffset = keys[n] * sizes.headDim;
    const double *key = k.data() + keyOffset;
    // A bias of -inf masks its pair: its inputs have no gradient, not even 0 times infinity.
    const bool isMasked = current.logits[n] == -infinity && current.dLogits[n] == 0.0;
    const double slope = isMasked ? (score ? 0.0 : 1.0) : reverseParameters(row, n, gradients);
    double dScore = problem.scale * current.dLogits[n] * slope;
    double noise = problem.scale * current.dLogitNoise[n] * std::fabs(slope);
    addScaled(gradients.q.data() + queryOffset, dScore, key, sizes.headDim);
    addSquares(gradients.qNoiseSquared.data() + queryOffset, noise, key, sizes.headDim);
    addScaled(gradients.k.data() + keyOffset, dScore, query, sizes.headDim);
    addSquares(gradients.kNoiseSquared.data() + keyOffset, noise, query, sizes.headDim);
    if (isMasked)
      continue;
    if (hasErrors) {
      const double error = problem.scale * current.dLogitErrors[n] * std::fabs(slope);
      addSquares(gradients.qErrorSquared.data() + queryOffset, error, key, sizes.headDim);
      addSquares(gradients.kErrorSquared.data() + keyOffset, error, query, sizes.headDim);
    }
    for (ContentWorker &content : contents)
      content.reverse(row, sizes.queryStart + row, sizes.keyStart + keys[n], current.dLogits[n],
                      current.dLogitNoise[n]);
    if (bias || score || isLearned || problem.hasVectors())
      gradients.biasNoiseSquared += current.dLogitNoise[n] * current.dLogitNoise[n];
  }
  addRounding(gradients.parameters);
}

/// Adds the gradient of the term exp(statistic) v_i of o, the remainder.
void HeadWorker::reverseRemainder(double statistic, const double *dO, HeadGradients &gradients) {
  const double rest = std::exp(statistic);
  const double *own = v.data() + *ownKey * sizes.valueDim;
  addScaled(gradients.v.data() + *ownKey * sizes.valueDim, rest, dO, sizes.valueDim);
  gradients.vTerms[*ownKey] += (rest + kLeastWeight) * normOf(dO, sizes.valueDim);
  current.dStatistic += rest * dot(dO, own, sizes.valueDim);
  current.dStatisticNoise += (rest + kLeastWeight) * dotOfMagnitudes(dO, own, sizes.valueDim);
}

/// Computes one side of a row after startRow.
void HeadWorker::reverseRow(int64_t row, const std::vector<double> &dO, double dStatistic,
                            HeadGradients &gradients) {
  const double statistic = normalize();
  if (normalizer.leavesOut(statistic))
    return;
  reverseValues(row, dO.data(), gradients);
  current.dStatistic = dStatistic;
  current.dStatisticNoise = std::fabs(dStatistic);
  if (ownKey)
    reverseRemainder(statistic, dO.data(), gradients);
  current.meanRounding = roundMean(row, dO.data());
  normalizer.reverse(current);
  if (current.sink)
    reverseSink(gradients);
  reverseScores(row, gradients);
}

/// The derivative of <R_i (q + u), k> with respect to u is R_i^T k.
void HeadWorker::reverseShifts(int64_t key, double dScore, double noise, int64_t row,
                               ParameterGradients &gradients) const {
  const double *first = k.data() + key * sizes.headDim;
  std::vector<double> turned(first, first + sizes.headDim);
  for (size_t n = problem.rotations.size(); n-- > 0;)
    problem.rotations[n].applyTransposed(turned.data(), placeAt(/*isQuery=*/true, row));
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
  if (hasErrors) {
    gradients.qErrorSquared.resize(q.size());
    gradients.kErrorSquared.resize(k.size());
    gradients.vErrorSquared.resize(sizes.keys);
  }
  std::vector<double> cotangentsOfOutput(sizes.queries * sizes.valueDim);
  if (cotangents.o) {
    const double *first = cotangents.o->data.data() + item * sizes.queries * sizes.valueDim;
    cotangentsOfOutput.assign(first, first + sizes.queries * sizes.valueDim);
  }
  rotateValues(cotangentsOfOutput, /*areQueries=*/true, /*isBack=*/false);
  const std::vector<Side> all = sides();
  // The gradients of content terms with respect to the queries before the rotation.
  std::vector<double> contentQ(contents.empty() ? 0 : q.size()), contentNoise(contentQ.size());
  for (int64_t row = 0; row < sizes.queries; ++row) {
    int64_t place = item * sizes.queries + row;
    const double *first = cotangentsOfOutput.data() + row * sizes.valueDim;
    std::vector<double> dO(first, first + sizes.valueDim);
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
  addRoundingOfTurned(gradients);
  rotateBack(gradients.q, /*areQueries=*/true);
  rotateBack(gradients.k, /*areQueries=*/false);
  rotateValues(gradients.v, /*areQueries=*/false, /*isBack=*/true);
  for (double &terms : gradients.vTerms)
    terms *= valueMagnitude();
  for (size_t e = 0; e < contentQ.size(); ++e) {
    gradients.q[e] += contentQ[e];
    gradients.qNoiseSquared[e] += contentNoise[e];
  }
  for (ContentWorker &content : contents)
    content.finish(gradients.parameters);
  if (valueContent)
    valueContent->finish(gradients.parameters);
  gradients.parameterErrorSquared = std::move(errorShares.noiseSquared);
  return gradients;
}

} // namespace pe::reference
