//===- Trainer.cpp - One training step ------------------------------------===//
//
// The training step and the reinit of a model with its optimizers.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/trainer/Trainer.h"
#include "runtime/core/Error.h"
#include "runtime/train/model/InitialValues.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace pe::train {
bool isTarget(const Parameter &parameter, ReinitTarget target) {
  if (parameter.frozen)
    return false;
  bool attention = parameter.role == Role::Attention && target != ReinitTarget::Mlp;
  bool mlp = parameter.role == Role::Mlp && target != ReinitTarget::Attention;
  return attention || mlp;
}

/// Applies the change to one matrix. `fresh` contains initial values of another seed.
static Expected<reinit::MatrixReport> changeMatrix(const Parameter &parameter, float *values,
                                                   const ReinitChange &change,
                                                   std::span<const float> fresh,
                                                   ParallelFor &pool) {
  const int64_t rows = parameter.shape[0], cols = parameter.shape[1];
  if (change.method == reinit::Method::Project)
    return reinit::projectMatrix(parameter.name, rows, cols, values, change.settings, pool);
  const double shrink = change.method == reinit::Method::Fresh ? 0 : change.shrink;
  return reinit::shrinkMatrix(parameter.name, rows, cols, values, fresh, shrink);
}

Trainer::Trainer(std::unique_ptr<Decoder> model, const Kernels &kernels,
                 const OptimizerConfig &config, ParallelFor &parallel)
    : decoder(std::move(model)), updaters(decoder->layout(), kernels, config), pool(parallel) {}

Expected<double> Trainer::accumulate(std::span<const Batch> batches) {
  double sum = 0, weight = 0;
  for (const Batch &batch : batches)
    weight += batch.totalWeight();
  if (!(weight > 0))
    return makeError("expected a batch with a target, found only targets of weight 0");
  for (const Batch &batch : batches) {
    if (Status status = decoder->forward(batch, static_cast<float>(1 / weight), pool); !status)
      return status.takeError();
    for (float loss : decoder->losses())
      sum += loss;
    const GradientUse use = &batch == batches.data() ? GradientUse::Replace : GradientUse::Add;
    if (Status status = decoder->backward(batch, pool, use); !status)
      return status.takeError();
  }
  // Frozen parameters do not contribute to norms and clipping.
  for (const Parameter &parameter : decoder->layout().all())
    if (parameter.frozen)
      std::fill_n(decoder->gradients().at(parameter), parameter.extent, 0.0f);
  return sum / weight;
}

Status Trainer::computeGradients(std::span<const Batch> batches) {
  auto loss = accumulate(batches);
  return loss ? Status::success() : Status(loss.takeError());
}

Expected<StepReport> Trainer::step(std::span<const Batch> batches, const Rates &rates) {
  auto loss = accumulate(batches);
  if (!loss)
    return loss.takeError();
  startPart(watch(), "norms");
  const Norms norms = updaters.norms(decoder->gradients(), pool);
  StepReport report{
      .step = done, .loss = *loss, .gradientNorm = norms.total, .learningRate = rates.each.front()};
  for (size_t i = 0; i < rates.each.size(); ++i)
    report.optimizers.push_back({updaters.all()[i]->name(), norms.each[i], rates.each[i]});
  report.encodingRate = rates.encoding.value_or(rates.each.front());
  report.skipped = !std::isfinite(report.loss) || !std::isfinite(report.gradientNorm);
  ++done;
  if (report.skipped) {
    ++skips;
    if (++skipsInARow >= maxSkips)
      return makeError("expected a finite loss and gradient, found none in ", skipsInARow,
                       " consecutive steps (--max-skips; the last is step ", report.step, ", loss ",
                       report.loss, ", norm of the gradient ", report.gradientNorm,
                       "); lower --lr or check the data");
    return report;
  }
  skipsInARow = 0;
  constexpr double kKept = 0.95;
  mean[0] = kKept * mean[0] + (1 - kKept) * report.loss;
  mean[1] = kKept * mean[1] + (1 - kKept);
  startPart(watch(), "optimizer");
  if (Status status = updaters.step(decoder->values(), decoder->gradients(), norms, rates, pool);
      !status)
    return status.takeError();
  return report;
}

Expected<std::vector<reinit::MatrixReport>> Trainer::reinitialise(const ReinitChange &change) {
  const ParameterLayout &layout = decoder->layout();
  std::vector<int64_t> chosen;
  for (int64_t index = 0; index < layout.size(); ++index)
    if (isTarget(layout[index], change.target))
      chosen.push_back(index);

  // The projections are made on copies, so that an error leaves the model unchanged.
  std::vector<std::vector<float>> weights(chosen.size());
  std::vector<std::optional<Expected<reinit::MatrixReport>>> results(chosen.size());
  parallelFor(pool, static_cast<int64_t>(chosen.size()), [&](int64_t item) {
    const Parameter &parameter = layout[chosen[item]];
    const float *values = decoder->values().at(parameter);
    weights[item].assign(values, values + parameter.count);
    // Uses a separate random stream for every reinit, different from the initial values.
    std::vector<float> fresh(change.method == reinit::Method::Project ? 0 : parameter.count);
    fillInitialValues(parameter, decoder->config(), change.settings.seed,
                      ".fresh" + std::to_string(done), fresh);
    results[item] = changeMatrix(parameter, weights[item].data(), change, fresh, pool);
  });
  std::vector<reinit::MatrixReport> reports;
  for (auto &result : results) {
    if (!*result)
      return result->takeError();
    reports.push_back(**result);
  }
  for (size_t item = 0; item < chosen.size(); ++item) {
    if (!reports[item].chosen)
      continue;
    std::copy(weights[item].begin(), weights[item].end(),
              decoder->values().at(layout[chosen[item]]));
    updaters.reset(chosen[item]);
  }
  return reports;
}

std::vector<StatePart> Trainer::state() {
  std::vector<StatePart> parts = updaters.state();
  parts.push_back({"steps", viewOf(done)});
  parts.push_back({kStepsBefore, viewOf(before), 0, /*required=*/false});
  parts.push_back({"skipped", viewOf(skips)});
  parts.push_back({"skipped.in_a_row", viewOf(skipsInARow), 0, /*required=*/false});
  parts.push_back({"loss.mean", viewOf(mean), std::numeric_limits<double>::lowest(),
                   /*required=*/false});
  return parts;
}

} // namespace pe::train
