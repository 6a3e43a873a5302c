//===- MergeSteps.cpp - Merged attentions, forward and in reverse ---------===//
//
// Works row by row on the results o_n and l_n of two calls. For softmax, with s the sink's logit
// (-inf without a sink):
//
//   l = log(exp(l_1) + exp(l_2) + exp(s)),  w_n = exp(l_n - l),  o = w_1 o_1 + w_2 o_2
//   dl_n = w_n (<dO, o_n> - <dO, o> + dl),  ds = w_s (-<dO, o> + dl),  dO_n = w_n dO
//
// For stick-breaking, with the first call on the nearer keys:
//
//   l = l_1 + l_2,  w_1 = 1,  w_2 = exp(l_1),  dl_1 = w_2 <dO, o_2> + dl,  dl_2 = dl
//
//===----------------------------------------------------------------------===//
#include "runtime/reference/Evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pe::reference {

constexpr double infinity = std::numeric_limits<double>::infinity();

Status Evaluator::prepareMerge(const Operation &operation) {
  if (Status status = operation.expectOnly({"normalizer"}); !status)
    return status.takeError();
  auto normalizer = operation.keyword("normalizer", "softmax");
  if (!normalizer)
    return normalizer.takeError();
  const std::vector<ValueId> &operands = operation.operands;
  if (operands.size() != 4 && operands.size() != 5)
    return operation.fail("expected two outputs, two logarithms and optionally sinks");
  MergeStep step{&operation, {operands[0], operands[2]}, {operands[1], operands[3]}, {}, {}, {},
                 {}};
  step.isSoftmax = *normalizer == "softmax";
  if (operands.size() == 5)
    step.sink = operands[4];
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

/// Returns exp(x - largest), or 0 if x is -inf (even if `largest` is).
static double share(double x, double largest) {
  return x == -infinity ? 0.0 : std::exp(x - largest);
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
    const double a = near.data[row], b = far.data[row];
    double wa = 1.0, wb = std::exp(a);
    lse.data[row] = a + b;
    lseTerms.data[row] = std::fabs(a) + std::fabs(b);
    if (step.isSoftmax) {
      const size_t head = row / near.shape[2] % near.shape[1];
      const double s = step.sink ? tensors.at(*step.sink).data[head] : -infinity;
      double largest = std::max(s, std::max(a, b));
      if (std::isnan(a) || std::isnan(b) || std::isnan(s))
        largest = std::nan("");
      const double ea = share(a, largest), eb = share(b, largest), es = share(s, largest);
      const double sum = ea + eb + es;
      lse.data[row] = largest == -infinity ? -infinity : largest + std::log(sum);
      wa = largest == -infinity ? 0.0 : ea / sum;
      wb = largest == -infinity ? 0.0 : eb / sum;
      step.sinkWeights[row] = largest == -infinity ? 0.0 : es / sum;
      lseTerms.data[row] = largest == -infinity ? 0.0 : std::fabs(largest) + std::log(sum);
    }
    step.weights[0][row] = wa;
    step.weights[1][row] = wb;
    for (int64_t e = 0; e < depth; ++e) {
      const double x = wa * first.data[row * depth + e], y = wb * second.data[row * depth + e];
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
    // <dO, w_n o_n>, and the sum of its magnitudes.
    double part[2] = {0.0, 0.0}, size[2] = {0.0, 0.0};
    for (int n = 0; n < 2; ++n)
      for (int64_t e = 0; e < depth; ++e) {
        const double cotangent = dO->data[row * depth + e];
        const double term =
            cotangent * step.weights[n][row] * tensors.at(step.outputs[n]).data[row * depth + e];
        part[n] += term;
        size[n] += std::fabs(term);
        gradient[n].data[row * depth + e] = step.weights[n][row] * cotangent;
      }
    const double dl = dLse->data[row];
    if (!step.isSoftmax) {
      logs[0].data[row] = part[1] + dl;
      logs[1].data[row] = dl;
      noise[0].data[row] = (size[1] + std::fabs(dl)) * (size[1] + std::fabs(dl));
      continue;
    }
    for (int n = 0; n < 2; ++n) {
      const double weight = step.weights[n][row];
      logs[n].data[row] = part[n] - weight * (part[0] + part[1]) + weight * dl;
      const double all = size[n] + weight * (size[0] + size[1] + std::fabs(dl));
      noise[n].data[row] = all * all;
    }
    if (!step.sink)
      continue;
    const size_t head = row / zeroLog.shape[2] % zeroLog.shape[1];
    const double weight = step.sinkWeights[row], dSink = weight * (dl - part[0] - part[1]);
    const double all = weight * (size[0] + size[1] + std::fabs(dl));
    gradientOf(*step.sink).data[head] += dSink;
    arrayOf(magnitudes, *step.sink).data[head] += std::fabs(dSink);
    arrayOf(noiseSquared, *step.sink).data[head] += all * all;
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
