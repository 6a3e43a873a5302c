//===- Routing.cpp - The table of all parameters --------------------------===//
//
// One line per parameter, with aligned columns.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/session/Routing.h"

#include <algorithm>
#include <array>

namespace pe::train {
namespace {

using Row = std::array<std::string, 7>;

std::string shapeOf(const Parameter &parameter) {
  std::string text;
  for (int64_t dim : parameter.shape)
    text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text.empty() ? "scalar" : text;
}

std::string textOf(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

} // namespace

UpdateRates updateRatesOf(Session &session, int64_t index) {
  const TrainConfig &config = session.config();
  const Parameter &parameter = session.trainer().model().layout()[index];
  const size_t optimizer = session.trainer().optimizers().routes()[index].optimizer;
  if (optimizer == Route::kNone)
    return {};
  const Rates peaks = config.peaksOf(0);
  const AdamWConfig &adamw = config.optimizer.adamw;
  UpdateRates result{peaks.each[optimizer], adamw.weightDecay};
  if (parameter.role == Role::Encoding)
    result = {peaks.encoding.value_or(result.peak), adamw.encodingDecay.value_or(result.decay)};
  if (!parameter.decay)
    result.decay = 0;
  return result;
}

std::string routingTable(Session &session) {
  const TrainConfig &config = session.config();
  const ParameterLayout &layout = session.trainer().model().layout();
  const Optimizers &optimizers = session.trainer().optimizers();
  std::vector<Row> rows = {{"parameter", "shape", "optimizer", "lr", "decay", "reinit", "why"}};
  for (int64_t index = 0; index < layout.size(); ++index) {
    const Parameter &parameter = layout[index];
    const Route &route = optimizers.routes()[index];
    const bool reinit = config.reinit.enabled && isTarget(parameter, config.reinit.change.target);
    const UpdateRates rates = updateRatesOf(session, index);
    rows.push_back({parameter.name, shapeOf(parameter), std::string(optimizers.nameOf(index)),
                    textOf(rates.peak), rates.decay > 0 ? textOf(rates.decay) : "no",
                    reinit ? "yes" : "no", route.why});
  }
  std::array<size_t, std::tuple_size_v<Row>> widths{};
  for (const Row &row : rows)
    for (size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  std::string text;
  for (const Row &row : rows) {
    for (size_t column = 0; column + 1 < row.size(); ++column)
      text += row[column] + std::string(widths[column] - row[column].size() + 2, ' ');
    text += row.back() + "\n";
  }
  return text;
}

double flopsPerToken(Session &session) {
  const TrainConfig &config = session.config();
  const ParameterLayout &layout = session.trainer().model().layout();
  double matrices = 0;
  for (const Parameter &parameter : layout.all()) {
    // The embedding is a lookup, not a product, unless the head uses its matrix.
    const bool looksUp = parameter.role == Role::Embedding && !parameter.shared;
    if (parameter.shape.size() == 2 && parameter.role != Role::Encoding && !looksUp)
      matrices += static_cast<double>(parameter.count);
  }
  const double keys = static_cast<double>(config.sequence + 1) /
                      (config.objective == Objective::Causal ? 2.0 : 1.0);
  // Forward computes scores and outputs; backward computes scores again, and four gradients.
  const double pairs = 2 * (2 + 5) * keys * static_cast<double>(config.model.dim);
  return 6 * matrices + static_cast<double>(config.model.layers) * pairs;
}

std::string sizeLine(Session &session) {
  const ParameterLayout &layout = session.trainer().model().layout();
  char text[160];
  std::snprintf(text, sizeof text,
                "%lld parameters, %lld of them the encoding's; %.3f MFLOP per token and step\n",
                static_cast<long long>(layout.count()),
                static_cast<long long>(layout.count(Role::Encoding)),
                flopsPerToken(session) * 1e-6);
  return text;
}

} // namespace pe::train
