//===- Attention.cpp - Attention in float64, row by row -------------------===//
//
// attend and attendReverse run the workers of all heads (HeadWorker.h) on threads, in batches of
// one head per thread, and sum their results in the order of the heads.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Attention.h"

#include "runtime/reference/HeadWorker.h"

#include <algorithm>
#include <functional>
#include <thread>

namespace pe::reference {
namespace {

/// Runs compute(0) .. compute(count - 1), `threads` at a time, and calls take(n) in order.
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
  for (Array *rows : {&outputs.lse, &outputs.oTerms, &outputs.lseTerms, &outputs.oErrors})
    *rows = Array::zeros({sizes.batch, sizes.queryHeads, sizes.queries});
  const int64_t heads = sizes.batch * sizes.queryHeads;
  struct Found {
    double maxLogit = 0.0;
    ReadTally reads;
    std::optional<BadScore> badScore;
  };
  std::vector<Found> all(heads);
  forEachHead(
      heads, threads,
      [&](int64_t n) {
        HeadWorker worker(problem, inputs, n);
        all[n].maxLogit = worker.forward(outputs);
        all[n].reads = std::move(worker.reads);
        all[n].badScore = std::move(worker.badScore);
      },
      [&](int64_t n) {
        outputs.maxLogit = std::max(outputs.maxLogit, all[n].maxLogit);
        outputs.reads.accumulate(all[n].reads);
        if (!outputs.badScore)
          outputs.badScore = std::move(all[n].badScore);
      });
  if (problem.rounding && roundsResults(*problem.rounding))
    roundAll(outputs.o.data, *problem.rounding);
  return outputs;
}

AttentionGradients attendReverse(const AttentionProblem &problem, const AttentionInputs &inputs,
                                 const AttentionCotangents &cotangents, unsigned threads) {
  const AttentionSizes &sizes = problem.sizes;
  auto zerosLike = [](const Array &array) { return Array::zeros(array.shape); };
  const Array perKey = Array::zeros({sizes.batch, sizes.keyHeads, sizes.keys});
  auto noisyLike = [&](const Array &array) {
    return NoisyGradient{zerosLike(array), zerosLike(array), zerosLike(array)};
  };
  AttentionGradients total{noisyLike(inputs.q),
                           noisyLike(inputs.k),
                           zerosLike(inputs.v),
                           perKey,
                           perKey,
                           ParameterGradients(problem.parameterCount())};
  const bool hasErrors = problem.normalizer->amplifiesErrors();
  total.parameterErrorSquared.resize(hasErrors ? problem.parameterCount() : 0);
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
        addTo(total.q.errorSquared, queryOffset, results[n]->qErrorSquared);
        addTo(total.k.errorSquared, keyOffset, results[n]->kErrorSquared);
        addTo(total.vErrorSquared, keyItem * sizes.keys, results[n]->vErrorSquared);
        for (size_t e = 0; e < total.parameterErrorSquared.size(); ++e)
          total.parameterErrorSquared[e] += results[n]->parameterErrorSquared[e];
        total.parameters.accumulate(results[n]->parameters);
        total.biasNoiseSquared += results[n]->biasNoiseSquared;
        results[n].reset();
      });
  return total;
}

} // namespace pe::reference
