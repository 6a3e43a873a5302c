//===- PlotEncoding.cpp - Plots of learned functions, scores and rotations ---===//
#include "tools/pe/PlotParts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace pe::cli {

using chart::Csv;

namespace {

/// A point of a learned function.
struct FunctionPoint {
  double argument, found, expected;
};

/// Adds points for the keys of one query, some of each octave of distances. Returns true if the
/// function is the entire bias, so that the compiled bias is its value.
bool addPoints(const MaterializedCall &call, int64_t head, std::vector<FunctionPoint> &points) {
  const reference::Materialized &expected = call.expected;
  bool isBias = true;
  for (int64_t distance : octaves(call.bias.dim(3))) {
    const int64_t key = call.bias.dim(3) - 1 - distance;
    const double argument = at(expected.mlpInput, head, 0, key);
    if (!isAllowed(expected.allowed, 0, key))
      continue;
    const double value = at(expected.mlpValue, head, 0, key);
    isBias &= value == at(expected.bias, head, 0, key);
    points.push_back({argument, at(call.bias, head, 0, key), value});
  }
  return isBias;
}

} // namespace

/// Returns the points of a head from several calls, in the order of the coordinate. Drops points
/// that are too close to distinguish, except both ends. Clears `isBias` if there are other biases,
/// because the compiled value of the function is then unknown.
static std::vector<FunctionPoint> functionOf(const std::vector<MaterializedCall> &calls,
                                             int64_t head, bool &isBias) {
  std::vector<FunctionPoint> all, points;
  for (const MaterializedCall &call : calls)
    isBias &= addPoints(call, head, all);
  std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) {
    return std::tie(a.argument, a.expected) < std::tie(b.argument, b.expected);
  });
  const double gap = (all.back().argument - all.front().argument) / 400;
  double next = -INFINITY;
  for (const FunctionPoint &point : all) {
    if (point.argument < next && &point != &all.back())
      continue;
    next = point.argument + gap;
    points.push_back(point);
  }
  return points;
}

Pictures plotFunction(const PlottedEncoding &encoding) {
  if (encoding.isEmbedding())
    return encoding.lacks("one learned function (pe.mlp)");
  auto queries = queriesOf(encoding);
  if (!queries)
    return queries.takeError();
  // Use several queries, because each yields the function at different coordinates.
  std::set<int64_t> seen;
  for (double share = 1; share > 1.0 / 64; share *= 0.7)
    seen.insert(static_cast<int64_t>(share * static_cast<double>(queries->back())));
  std::vector<MaterializedCall> calls;
  for (int64_t query : seen) {
    auto call = encoding.read(query, 1, query + 1);
    if (!call)
      return call.takeError();
    if (!call->expected.mlpInput.isDefined())
      return encoding.lacks("one learned function (pe.mlp)");
    calls.push_back(*std::move(call));
  }
  chart::LineChart chart{.title = encoding.name() + ": the learned function of each head",
                         .xLabel = "coordinate (input of the network)",
                         .yLabel = "bias (logits)",
                         .width = chart::kPictureWidth};
  bool isBias = true;
  std::map<int64_t, std::vector<FunctionPoint>> points;
  for (int64_t head : encoding.heads())
    points[head] = functionOf(calls, head, isBias);
  const auto valueOf = [&](const FunctionPoint &point) {
    return isBias ? point.found : point.expected;
  };
  chart.subtitle = subtitle(encoding, isBias && calls.front().isCompiled);
  for (const HeadGroup &group : groupHeads(encoding.heads(), [&](int64_t head) {
         std::vector<double> numbers;
         for (const FunctionPoint &point : points[head])
           numbers.insert(numbers.end(), {point.argument, valueOf(point)});
         return numbers;
       })) {
    chart::Series series{.name = group.name};
    for (const FunctionPoint &point : points[group.first])
      series.points.emplace_back(point.argument, valueOf(point));
    chart.series.push_back(std::move(series));
  }
  Csv csv({"head", "coordinate", "value", "reference"});
  for (int64_t head : encoding.heads())
    for (const FunctionPoint &point : points[head])
      csv.add({head, point.argument, valueOf(point), point.expected});
  return std::vector<Picture>{{encoding.name() + "-function", toSvg(chart), csv.text()}};
}

/// Plots a score function f(s): a line per head, and per query if it depends on the query.
Pictures plotScore(const PlottedEncoding &encoding) {
  constexpr int64_t kMost = 100, kPoints = 200;
  if (encoding.isEmbedding())
    return encoding.lacks("a score function");
  std::vector<int64_t> queries = encoding.options().queries;
  if (queries.empty())
    queries = {1, 16, 256};
  if (auto checked = queriesOf(encoding); !checked)
    return checked.takeError();
  std::vector<double> scores;
  for (int64_t n = -kPoints; n <= kPoints; ++n)
    scores.push_back(static_cast<double>(n * kMost) / kPoints);
  auto values = encoding.scores(queries, scores);
  if (!values)
    return values.takeError();
  if (!values->isDefined())
    return encoding.lacks("a score function (pe.score_fn)");
  const auto count = static_cast<int64_t>(scores.size());
  const auto valuesOf = [&](int64_t head, size_t query) {
    const double *begin = values->data<double>() + (head * values->dim(1) + query) * count;
    return std::vector<double>(begin, begin + count);
  };
  chart::LineChart chart{.title = encoding.name() + ": the score function f(s)",
                         .subtitle =
                             subtitle(encoding, /*isCompiled=*/false) + "; dashed: s itself",
                         .xLabel = "score s (logits)",
                         .yLabel = "f(s) (logits)",
                         .width = chart::kPictureWidth};
  chart.series.push_back(
      {.points = {{-kMost, -kMost}, {kMost, kMost}}, .color = 6, .dashed = true});
  int color = 0;
  for (const HeadGroup &group : groupHeads(encoding.heads(), [&](int64_t head) {
         const double *begin = values->data<double>() + head * values->dim(1) * count;
         return std::vector<double>(begin, begin + values->dim(1) * count);
       })) {
    bool isSame = true;
    for (size_t n = 1; n < queries.size(); ++n)
      isSame &= valuesOf(group.first, n) == valuesOf(group.first, 0);
    for (size_t n = 0; n < (isSame ? 1 : queries.size()); ++n) {
      chart::Series series{.name = group.name, .color = color++};
      if (!isSame)
        series.name += ", query " + std::to_string(queries[n]);
      const std::vector<double> line = valuesOf(group.first, n);
      for (int64_t s = 0; s < count; ++s)
        series.points.emplace_back(scores[s], line[s]);
      chart.series.push_back(std::move(series));
    }
  }
  Csv csv({"head", "query", "score", "f"});
  for (int64_t head : encoding.heads())
    for (size_t n = 0; n < queries.size(); ++n) {
      const std::vector<double> line = valuesOf(head, n);
      for (int64_t s = 0; s < count; ++s)
        csv.add({head, queries[n], scores[s], line[s]});
    }
  return std::vector<Picture>{{encoding.name() + "-score", toSvg(chart), csv.text()}};
}

/// Describes the positions of tokens with axes: "positions by axis: a grid of 8 × 8 tokens; ".
static std::string positionsOf(const PlottedEncoding &encoding, int64_t length) {
  std::string grid;
  for (int64_t axis = 0; axis < encoding.axisCount(); ++axis)
    grid += (axis ? " × " : "") + std::to_string(encoding.gridSide(length));
  return grid.empty() ? "" : "positions by axis: a grid of " + grid + " tokens; ";
}

Pictures plotRotation(const PlottedEncoding &encoding) {
  if (encoding.isEmbedding())
    return encoding.lacks("a rotation");
  auto length = lengthOf(encoding, kDefaultRotation, kLongestRow, "rotation");
  if (!length)
    return length.takeError();
  const int64_t axes = encoding.axisCount(); // one tensor of positions may serve queries and keys
  auto call = encoding.read(0, *length, axes ? *length : 1);
  if (!call)
    return call.takeError();
  if (!call->cosine.isDefined())
    return encoding.lacks("a rotation");
  const int64_t pairs = call->cosine.dim(1), step = (*length + 255) / 256;
  chart::Heatmap map{.title = encoding.name() + ": rotation of " + std::to_string(pairs) +
                              " pairs of " + std::to_string(encoding.headDim()) + " dimensions",
                     .subtitle =
                         positionsOf(encoding, *length) + subtitle(encoding, call->isCompiled),
                     .xLabel = axes ? "token" : "position",
                     .yLabel = "pair of dimensions",
                     .valueLabel = "cosine and sine of the angle",
                     .xStep = static_cast<double>(step),
                     .colors = chart::HeatmapColors::Signed,
                     .sharedColors = true,
                     .size = 260,
                     .width = chart::kPictureWidth};
  Csv csv({"position", "pair", "cosine", "sine", "reference_cosine", "reference_sine"});
  auto value = [&](const Tensor &table, int64_t position, int64_t pair) {
    const int64_t place = position * pairs + pair;
    return table.dtype() == DType::F32 ? static_cast<double>(table.data<float>()[place])
                                       : table.data<double>()[place];
  };
  for (auto [name, table] : {std::pair("cosine", &call->cosine), std::pair("sine", &call->sine)}) {
    chart::HeatmapPanel panel{.title = name};
    for (int64_t pair = 0; pair < pairs; ++pair) {
      panel.rows.emplace_back();
      for (int64_t position = 0; position < *length; position += step)
        panel.rows.back().push_back(value(*table, position, pair));
    }
    map.panels.push_back(std::move(panel));
  }
  for (int64_t position = 0; position < *length; position += step)
    for (int64_t pair = 0; pair < pairs; ++pair)
      csv.add({position, pair, value(call->cosine, position, pair),
               value(call->sine, position, pair), value(call->expected.cosine, position, pair),
               value(call->expected.sine, position, pair)});
  return std::vector<Picture>{{encoding.name() + "-rotation", toSvg(map), csv.text()}};
}
} // namespace pe::cli
