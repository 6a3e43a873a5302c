//===- MergeSteps.cpp - Merged attentions, forward and in reverse ---------===//
//
// Works row by row on the results o_n and l_n of two calls. The normalizer computes the merged
// statistic l and the weights w_n of o = w_1 o_1 + w_2 o_2 (RowNormalizer.h).
//
//===----------------------------------------------------------------------===//
#include "runtime/reference/Evaluator.h"
#include "runtime/reference/Rounding.h"

#include <cmath>

namespace pe::reference {

Status Evaluator::prepareMerge(const Operation &operation) {
  if (Status status = operation.expectOnly({"normalizer"}); !status)
    return status.takeError();
  auto keyword = operation.keyword("normalizer", kDefaultNormalizer);
  if (!keyword)
    return keyword.takeError();
  const Normalizer *normalizer = Normalizer::find(*keyword);
  if (!normalizer || !normalizer->merger())
    return operation.fail("expected normalizer ", Normalizer::keywords(/*onlyMergers=*/true),
                          ", found '", *keyword, "'");
  const std::vector<ValueId> &operands = operation.operands;
  if (operands.size() != 4 && operands.size() != 5)
    return operation.fail("expected two outputs, two logarithms and optionally sinks");
  MergeStep step{&operation, {operands[0], operands[2]}, {operands[1], operands[3]}, {}, {}, {},
                 {}};
  step.merger = normalizer->merger();
  if (operands.size() == 5)
    step.sink = operands[4];
  if (step.sink && !normalizer->takesSink())
    return operation.fail("expected no sink under the normalizer '", *keyword, "', found one");
  const Shape &shape = tensors.at(step.outputs[0]).shape;
  const Shape rows(shape.begin(), shape.end() - 1);
  for (int n = 0; n < 2; ++n)
    if (tensors.at(step.outputs[n]).shape != shape || tensors.at(step.logs[n]).shape != rows)
      return operation.fail("expected results of one shape, found ", toString(shape), " and ",
                            toString(tensors.at(step.outputs[n]).shape), " with ",
                            toString(tensors.at(step.logs[n]).shape));
  if (step.sink && tensors.at(*step.sink).shape != Shape{shape[1]})
    return operation.fail("expected a sink per head, ", shape[1], ", found shape ",
                          toString(tensors.at(*step.sink).shape));
  merges.push_back(std::move(step));
  return Status::success();
}

void Evaluator::runMerge(MergeStep &step) {
  const Array &first = tensors.at(step.outputs[0]), &second = tensors.at(step.outputs[1]);
  const Array &near = tensors.at(step.logs[0]), &far = tensors.at(step.logs[1]);
  const int64_t depth = first.shape[3];
  Array o = Array::zeros(first.shape), lse = Array::zeros(near.shape);
  Array oTerms = lse, lseTerms = lse;
  for (auto *list : {&step.weights[0], &step.weights[1], &step.sinkWeights})
    list->assign(near.data.size(), 0.0);
  for (size_t row = 0; row < near.data.size(); ++row) {
    MergeRow merged{{near.data[row], far.data[row]}};
    if (step.sink)
      merged.sink = tensors.at(*step.sink).data[row / near.shape[2] % near.shape[1]];
    step.merger->merge(merged);
    lse.data[row] = merged.log;
    lseTerms.data[row] = merged.logTerms;
    step.sinkWeights[row] = merged.sinkWeight;
    for (int n = 0; n < 2; ++n)
      step.weights[n][row] = merged.weights[n];
    for (int64_t e = 0; e < depth; ++e) {
      const double x = merged.weights[0] * first.data[row * depth + e];
      const double y = merged.weights[1] * second.data[row * depth + e];
      o.data[row * depth + e] = x + y;
      oTerms.data[row] += std::fabs(x) + std::fabs(y);
    }
  }
  if (rounding && roundsResults(*rounding))
    roundAll(o.data, *rounding);
  const std::vector<ValueId> &results = step.operation->results;
  tensors.emplace(results.at(0), std::move(o));
  tensors.emplace(results.at(1), std::move(lse));
  terms.emplace(results[0], std::move(oTerms));
  terms.emplace(results[1], std::move(lseTerms));
}

void Evaluator::reverseMerge(const MergeStep &step) {
  const std::vector<ValueId> &results = step.operation->results;
  const Array zero = Array::zeros(tensors.at(step.outputs[0]).shape);
  const Array zeroLog = Array::zeros(tensors.at(step.logs[0]).shape);
  const Array *dO = findGradient(results[0]), *dLse = findGradient(results[1]);
  dO = dO ? dO : &zero;
  dLse = dLse ? dLse : &zeroLog;
  const int64_t depth = zero.shape[3];
  Array gradient[2] = {zero, zero}, logs[2] = {zeroLog, zeroLog}, noise[2] = {zeroLog, zeroLog};
  for (size_t row = 0; row < zeroLog.data.size(); ++row) {
    MergeReverse merged{{step.weights[0][row], step.weights[1][row]}, step.sinkWeights[row]};
    merged.dLog = dLse->data[row];
    for (int n = 0; n < 2; ++n)
      for (int64_t e = 0; e < depth; ++e) {
        const double cotangent = dO->data[row * depth + e];
        const double term =
            cotangent * step.weights[n][row] * tensors.at(step.outputs[n]).data[row * depth + e];
        merged.products[n] += term;
        merged.magnitudes[n] += std::fabs(term);
        gradient[n].data[row * depth + e] = step.weights[n][row] * cotangent;
      }
    step.merger->reverse(merged);
    for (int n = 0; n < 2; ++n) {
      logs[n].data[row] = merged.dLogs[n];
      noise[n].data[row] = merged.noise[n] * merged.noise[n];
    }
    if (!step.sink)
      continue;
    const size_t head = row / zeroLog.shape[2] % zeroLog.shape[1];
    gradientOf(*step.sink).data[head] += merged.dSink;
    arrayOf(magnitudes, *step.sink).data[head] += std::fabs(merged.dSink);
    arrayOf(noiseSquared, *step.sink).data[head] += merged.dSinkNoise * merged.dSinkNoise;
  }
  for (int n = 0; n < 2; ++n) {
    if (rounding && roundsResults(*rounding))
      roundAll(gradient[n].data, *rounding);
    addTo(gradientOf(step.outputs[n]), gradient[n].data);
    addTo(gradientOf(step.logs[n]), logs[n].data);
    addTo(arrayOf(noiseSquared, step.logs[n]), noise[n].data);
  }
}

} // namespace pe::reference
