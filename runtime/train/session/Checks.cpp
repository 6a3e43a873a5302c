//===- Checks.cpp - Checks that a model can be trained --------------------===//
//
// Differences of the loss along a direction, and training on one batch.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/session/Checks.h"
#include "runtime/core/Random.h"

#include <cmath>

namespace pe::train {
namespace {

/// The allowed error as a share of the gradient's norm.
constexpr double kShare = 0.03;
/// The rounding error of the loss, a sum of f32 values, relative to it.
constexpr double kRounding = 2e-6;
/// The targeted relative change of the loss between two points.
constexpr double kChange = 2e-3;

double normOf(const std::vector<double> &x) {
  double sum = 0;
  for (double value : x)
    sum += value * value;
  return std::sqrt(sum);
}

Expected<double> lossOf(Decoder &model, const Batch &batch, ParallelFor &pool) {
  const double weight = batch.totalWeight();
  if (Status status = model.forward(batch, static_cast<float>(1 / weight), pool); !status)
    return status.takeError();
  double sum = 0;
  for (float loss : model.losses())
    sum += loss;
  return sum / weight;
}

/// Returns a unit vector that is half along the gradient, which detects a wrong size, and half
/// random, which detects a wrong direction.
std::vector<double> directionOf(const Parameter &parameter, const std::vector<double> &gradient) {
  std::vector<double> direction(gradient.size());
  Random random(1, "check of " + parameter.name);
  for (double &value : direction)
    value = random.normal();
  const double size = normOf(gradient);
  double other = normOf(direction), along = 0;
  for (size_t i = 0; i < direction.size(); ++i)
    along += direction[i] * gradient[i];
  if (along < 0) // the two must not cancel, as they would in one dimension
    other = -other;
  for (size_t i = 0; i < direction.size(); ++i)
    direction[i] = direction[i] / other + (size > 0 ? gradient[i] / size : 0);
  const double whole = normOf(direction);
  for (double &value : direction)
    value /= whole;
  return direction;
}

/// Returns the central difference quotient of the loss with a distance of `step` on both sides.
Expected<double> slopeOf(Decoder &model, const Parameter &parameter, const Batch &batch,
                         ParallelFor &pool, const std::vector<double> &direction, double step) {
  float *values = model.values().at(parameter);
  const std::vector<float> kept(values, values + parameter.count);
  double difference = 0, distance = 0;
  Status status;
  for (double sign : {1.0, -1.0}) {
    for (size_t i = 0; i < kept.size(); ++i)
      values[i] = static_cast<float>(kept[i] + sign * step * direction[i]);
    // Measures the actual step, because the weights are rounded.
    for (size_t i = 0; i < kept.size(); ++i)
      distance += sign * (static_cast<double>(values[i]) - kept[i]) * direction[i];
    auto loss = lossOf(model, batch, pool);
    if (!loss) {
      status = loss.takeError();
      break;
    }
    difference += sign * *loss;
  }
  std::copy(kept.begin(), kept.end(), values);
  if (!status)
    return status.takeError();
  return difference / distance;
}

Expected<GradientCheck> checkParameter(Decoder &model, const Parameter &parameter,
                                       const Batch &batch, ParallelFor &pool, double loss,
                                       const std::vector<double> &gradient) {
  const std::vector<double> direction = directionOf(parameter, gradient);
  GradientCheck check{.name = parameter.name};
  for (size_t i = 0; i < gradient.size(); ++i)
    check.derived += gradient[i] * direction[i];
  const float *values = model.values().at(parameter);
  const double weights = normOf({values, values + parameter.count});
  const double longest = 0.02 * weights + 1e-3 * std::sqrt(static_cast<double>(parameter.count));
  const double step =
      check.derived != 0 ? std::min(kChange * loss / std::abs(check.derived), longest) : longest;
  auto coarse = slopeOf(model, parameter, batch, pool, direction, step);
  if (!coarse)
    return coarse.takeError();
  auto fine = slopeOf(model, parameter, batch, pool, direction, step / 2);
  if (!fine)
    return fine.takeError();
  check.measured = (4 * *fine - *coarse) / 3; // cancels the second-order error
  check.bound = kShare * normOf(gradient) + kRounding * loss / step;
  return check;
}

} // namespace

Expected<std::vector<GradientCheck>> checkGradients(Session &session) {
  auto batch = session.firstBatch();
  if (!batch)
    return batch.takeError();
  Decoder &model = session.trainer().model();
  ParallelFor &pool = session.trainer().parallel();
  auto loss = lossOf(model, *batch, pool);
  if (!loss)
    return loss.takeError();
  if (Status status = model.backward(*batch, pool); !status)
    return status.takeError();
  const float *all = model.gradients().data();
  const std::vector<float> gradients(all, all + model.layout().extent());
  std::vector<GradientCheck> checks;
  for (const Parameter &parameter : model.layout().all()) {
    if (parameter.frozen)
      continue;
    const float *own = gradients.data() + parameter.offset;
    auto check = checkParameter(model, parameter, *batch, pool, *loss,
                                std::vector<double>(own, own + parameter.count));
    if (!check)
      return check.takeError();
    checks.push_back(*std::move(check));
  }
  return checks;
}

Status printGradientChecks(const std::vector<GradientCheck> &checks, std::FILE *stream) {
  size_t width = 0;
  std::vector<std::string> wrong;
  for (const GradientCheck &check : checks)
    width = std::max(width, check.name.size());
  for (const GradientCheck &check : checks) {
    std::fprintf(stream, "%-*s  gradient %+.4e  differences %+.4e  bound %.1e  %s\n",
                 static_cast<int>(width), check.name.c_str(), check.derived, check.measured,
                 check.bound, check.isGood() ? "ok" : "FAILED");
    if (!check.isGood())
      wrong.push_back(check.name);
  }
  if (wrong.empty())
    return Status::success();
  return makeError("--check=gradients: expected the gradients of all parameters to match the "
                   "slopes of the loss, found different ones for ",
                   wrong.size(), " of ", checks.size(), ", the first '", wrong.front(), "'");
}

Expected<OverfitCheck> overfitOneBatch(Session &session) {
  auto batch = session.firstBatch();
  if (!batch)
    return batch.takeError();
  OverfitCheck check;
  const int64_t steps = session.config().totalSteps();
  while (check.steps < steps) {
    auto report = session.trainer().step({&*batch, 1}, session.rates(check.steps, steps));
    if (!report)
      return report.takeError();
    if (check.steps++ == 0)
      check.firstLoss = report->loss;
    check.lastLoss = report->loss;
    if (check.isGood())
      break;
  }
  return check;
}

Status printOverfitCheck(const OverfitCheck &check, std::FILE *stream) {
  std::fprintf(stream, "one batch: loss %.4f in the first step, %.4f after %lld steps  %s\n",
               check.firstLoss, check.lastLoss, static_cast<long long>(check.steps),
               check.isGood() ? "ok" : "FAILED");
  if (check.isGood())
    return Status::success();
  return makeError("--check=overfit: expected the loss of one batch to fall to a tenth in ",
                   check.steps, " steps, found ", check.lastLoss, " of ", check.firstLoss,
                   "; give it more --steps or another --lr");
}

} // namespace pe::train
