//===- Plasticity.cpp - Dormant neurons and direction-aware shrinking -----===//
//
// All computations are in double, row by row and single-threaded, since they run only between
// steps.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/trainer/Plasticity.h"
#include "runtime/core/Error.h"
#include "runtime/train/model/InitialValues.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pe::train {
namespace {

/// The share of the smoothed activity that each step keeps.
constexpr double kActivityKept = 0.99;

struct Row {
  double dot = 0, weightSquares = 0, directionSquares = 0;
  /// Returns the cosine, or NaN if an element is not finite.
  double cosine() const {
    const double product = std::sqrt(weightSquares) * std::sqrt(directionSquares);
    return product == 0 ? 0 : dot / product;
  }
};

template <typename Direction>
Row compare(const float *weights, const Direction *direction, int64_t count) {
  Row row;
  for (int64_t i = 0; i < count; ++i) {
    const double w = weights[i], d = direction[i];
    row.dot += w * d;
    row.weightSquares += w * w;
    row.directionSquares += d * d;
  }
  return row;
}

std::vector<int64_t> matricesOf(Trainer &trainer, DashScope scope) {
  const ParameterLayout &layout = trainer.model().layout();
  std::vector<int64_t> chosen;
  for (int64_t index = 0; index < layout.size(); ++index) {
    const Parameter &parameter = layout[index];
    const bool isRead = parameter.role == Role::Embedding || parameter.role == Role::Encoding;
    if (isRead || parameter.frozen || parameter.shape.size() != 2)
      continue;
    if (scope == DashScope::All || trainer.optimizers().nameOf(index) == "adamw")
      chosen.push_back(index);
  }
  return chosen;
}

/// Multiplies every row of a matrix by factorOf(row).
template <typename Factor>
ShrunkMatrix shrinkRows(const Parameter &parameter, float *weights, Factor factorOf) {
  const int64_t rows = parameter.shape[0], columns = parameter.shape[1];
  ShrunkMatrix report{parameter.name, 0, 1};
  for (int64_t row = 0; row < rows; ++row) {
    const double factor = factorOf(row);
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i)
      weights[i] = static_cast<float>(factor * weights[i]);
    report.mean += factor / static_cast<double>(rows);
    report.least = std::min(report.least, factor);
  }
  return report;
}

} // namespace

//===- Dormant neurons ---------------------------------------------------------===//

Activity::Activity(const Decoder &model)
    : hidden(model.config().hidden()), values(model.config().layers * hidden + 1) {}

void Activity::add(const Decoder &model) {
  for (int64_t layer = 0; layer < model.config().layers; ++layer) {
    const std::vector<double> &last = model.activity(layer);
    for (int64_t n = 0; n < hidden; ++n) {
      double &value = values[layer * hidden + n];
      value = kActivityKept * value + (1 - kActivityKept) * last[n];
    }
  }
  values.back() = kActivityKept * values.back() + (1 - kActivityKept);
}

std::vector<double> Activity::scores(int64_t layer) const {
  const auto begin = values.begin() + layer * hidden;
  std::vector<double> result(begin, begin + hidden);
  const double mean =
      std::accumulate(result.begin(), result.end(), 0.0) / static_cast<double>(hidden);
  for (double &value : result)
    value = mean > 0 ? value / mean : 0;
  return result;
}

void Activity::clear() { std::fill(values.begin(), values.end(), 0.0); }

namespace {

/// The matrices of one feed-forward layer.
struct Layer {
  std::vector<int64_t> sources; // [hidden, dim]
  int64_t reader = 0;           // [dim, hidden]
  bool isFrozen = false;
};

Layer matricesOfLayer(const ParameterLayout &layout, const std::string &name) {
  Layer layer;
  for (const char *source : {".w1", ".w3"})
    if (const int64_t index = layout.find(name + source); index >= 0)
      layer.sources.push_back(index);
  layer.reader = layout.find(name + ".w2");
  layer.isFrozen = layout[layer.reader].frozen;
  for (int64_t source : layer.sources)
    layer.isFrozen |= layout[source].frozen;
  return layer;
}

void renewRows(Trainer &trainer, int64_t index, const std::vector<int64_t> &rows, uint64_t seed) {
  const Parameter &parameter = trainer.model().layout()[index];
  const int64_t columns = parameter.shape[1];
  std::vector<float> fresh(parameter.count);
  fillInitialValues(parameter, trainer.model().config(), seed,
                    ".redo" + std::to_string(trainer.steps()), fresh);
  std::vector<int64_t> places;
  for (int64_t row : rows)
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i)
      places.push_back(i);
  for (int64_t place : places)
    trainer.model().values().at(parameter)[place] = fresh[place];
  trainer.optimizers().reset(index, places);
}

void silenceColumns(Trainer &trainer, int64_t index, const std::vector<int64_t> &columns) {
  const Parameter &parameter = trainer.model().layout()[index];
  std::vector<int64_t> places;
  for (int64_t row = 0; row < parameter.shape[0]; ++row)
    for (int64_t column : columns)
      places.push_back(row * parameter.shape[1] + column);
  for (int64_t place : places)
    trainer.model().values().at(parameter)[place] = 0;
  trainer.optimizers().reset(index, places);
}

} // namespace

std::vector<DormantNeurons> recycleDormant(Trainer &trainer, const Activity &activity, double tau,
                                           uint64_t seed) {
  std::vector<DormantNeurons> reports;
  for (int64_t layer = 0; layer < trainer.model().config().layers; ++layer) {
    const std::string name = "layer" + std::to_string(layer) + ".mlp";
    const Layer matrices = matricesOfLayer(trainer.model().layout(), name);
    if (matrices.isFrozen)
      continue;
    const std::vector<double> scores = activity.scores(layer);
    std::vector<int64_t> dormant;
    for (size_t n = 0; n < scores.size(); ++n)
      if (scores[n] <= tau)
        dormant.push_back(static_cast<int64_t>(n));
    reports.push_back(
        {name, static_cast<int64_t>(dormant.size()), static_cast<int64_t>(scores.size())});
    if (dormant.empty())
      continue;
    for (int64_t source : matrices.sources)
      renewRows(trainer, source, dormant, seed);
    silenceColumns(trainer, matrices.reader, dormant);
  }
  return reports;
}

//===- Shrinking by direction --------------------------------------------------===//

Expected<Dash> parseDash(std::string_view name) {
  if (name == "off")
    return Dash::Off;
  if (name == "published")
    return Dash::Published;
  if (name == "rowdecay")
    return Dash::RowDecay;
  return makeError("expected ", joinChoices({"off", "published", "rowdecay"}), ", found '", name,
                   "'");
}

Expected<DashScope> parseDashScope(std::string_view name) {
  if (name == "all")
    return DashScope::All;
  if (name == "adamw")
    return DashScope::AdamW;
  return makeError("expected ", joinChoices({"all", "adamw"}), ", found '", name, "'");
}

DirectionShrink::DirectionShrink(Trainer &trainer, DashScope scope)
    : trainer(trainer), chosen(matricesOf(trainer, scope)) {}

Status DirectionShrink::add(std::span<const Batch> step) {
  if (Status status = trainer.computeGradients(step); !status)
    return status;
  const bool isFirst = averages.empty();
  averages.resize(chosen.size());
  for (size_t item = 0; item < chosen.size(); ++item) {
    const Parameter &parameter = trainer.model().layout()[chosen[item]];
    const float *gradient = trainer.model().gradients().at(parameter);
    std::vector<double> &average = averages[item];
    average.resize(parameter.count);
    for (int64_t i = 0; i < parameter.count; ++i) {
      if (!std::isfinite(gradient[i]))
        return makeError("--dash=published: expected finite gradients, found ", gradient[i],
                         " in the gradient of '", parameter.name, "'");
      average[i] = isFirst ? -kDashShare * gradient[i]
                           : (1 - kDashShare) * average[i] - kDashShare * gradient[i];
    }
  }
  return Status::success();
}

Expected<std::vector<ShrunkMatrix>> DirectionShrink::apply() {
  if (averages.empty())
    return makeError("expected gradients of at least one step, found none");
  std::vector<ShrunkMatrix> reports;
  for (size_t item = 0; item < chosen.size(); ++item) {
    const Parameter &parameter = trainer.model().layout()[chosen[item]];
    const int64_t columns = parameter.shape[1];
    float *weights = trainer.model().values().at(parameter);
    reports.push_back(shrinkRows(parameter, weights, [&](int64_t row) {
      const double cosine =
          compare(weights + row * columns, averages[item].data() + row * columns, columns).cosine();
      return std::clamp(cosine, kDashLeast, 1.0);
    }));
  }
  return reports;
}

std::vector<ShrunkMatrix> decayRows(Trainer &trainer, DashScope scope) {
  std::vector<ShrunkMatrix> reports;
  for (int64_t index : matricesOf(trainer, scope)) {
    const Parameter &parameter = trainer.model().layout()[index];
    const int64_t columns = parameter.shape[1];
    float *weights = trainer.model().values().at(parameter);
    const float *gradient = trainer.model().gradients().at(parameter);
    reports.push_back(shrinkRows(parameter, weights, [&](int64_t row) {
      const double cosine =
          compare(weights + row * columns, gradient + row * columns, columns).cosine();
      return cosine > kDecayCosine ? 1 - kDecayRate * (cosine - kDecayCosine) : 1.0;
    }));
  }
  return reports;
}

} // namespace pe::train
