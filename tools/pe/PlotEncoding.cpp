//===- PlotEncoding.cpp - pictures of biases, rotations and weights ---===//
#include "runtime/chart/Heatmap.h"
#include "runtime/chart/LineChart.h"
#include "tools/pe/Plot.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace pe::cli {
namespace {

using chart::Csv;

constexpr int64_t kLongestMap = 2048, kLongestRow = 1 << 17, kMostCells = 128;
constexpr int64_t kDefaultLength = 64, kDefaultWeights = 32;

/// One number of [1, H, queries, keys], f32 or f64.
double at(const Tensor &tensor, int64_t head, int64_t row, int64_t column) {
  const int64_t place = (head * tensor.dim(2) + row) * tensor.dim(3) + column;
  return tensor.dtype() == DType::F32 ? tensor.data<float>()[place] : tensor.data<double>()[place];
}

bool isAllowed(const Tensor &allowed, int64_t row, int64_t key) {
  return allowed.data<double>()[row * allowed.dim(2) + key] != 0;
}

std::string headName(int64_t head) { return "head " + std::to_string(head); }

/// Under the title: where the numbers come from.
std::string subtitle(const PlottedEncoding &encoding, const MaterializedCall &call) {
  return encoding.source() +
         (call.isCompiled ? "from the compiled tables" : "from the float64 reference");
}

Expected<int64_t> lengthOf(const PlottedEncoding &encoding, int64_t otherwise, int64_t most,
                           const char *kind) {
  const int64_t length = encoding.options().length.value_or(otherwise);
  if (length < 1 || length > most)
    return makeError("--length: expected 1 to ", most, " for kind ", kind, ", found ", length);
  return length;
}

/// The queries of --query, or the middle of the length, 128 and 8192.
Expected<std::vector<int64_t>> queriesOf(const PlottedEncoding &encoding) {
  std::vector<int64_t> queries = encoding.options().queries;
  if (queries.empty())
    queries = {encoding.options().length.value_or(kDefaultLength) / 2, 128, 8192};
  std::sort(queries.begin(), queries.end());
  queries.erase(std::unique(queries.begin(), queries.end()), queries.end());
  if (queries.front() < 0 || queries.back() >= kLongestRow)
    return makeError("--query: expected positions of 0 to ", kLongestRow - 1, ", found ",
                     queries.front() < 0 ? queries.front() : queries.back());
  return queries;
}

/// The keys that one query of a picture sees: as many behind it as before it, or none behind.
int64_t keysOf(const PlottedEncoding &encoding, int64_t query) {
  return encoding.seesLaterKeys() ? 2 * query + 1 : query + 1;
}

/// Of `count` numbers: all near 0, then some of every octave.
std::vector<int64_t> octaves(int64_t count) {
  std::set<int64_t> chosen;
  for (int64_t n = 0; n < std::min<int64_t>(count, 64); ++n)
    chosen.insert(n);
  for (double n = 64; n < static_cast<double>(count); n *= std::exp2(1.0 / 32))
    chosen.insert(static_cast<int64_t>(n));
  if (count)
    chosen.insert(count - 1);
  return {chosen.begin(), chosen.end()};
}

} // namespace

Pictures plotBias(const PlottedEncoding &encoding) {
  if (!encoding.hasBias())
    return encoding.lacks("a bias");
  auto length = lengthOf(encoding, kDefaultLength, kLongestMap, "bias");
  if (!length)
    return length.takeError();
  auto call = encoding.read(0, *length, *length);
  if (!call)
    return call.takeError();
  const int64_t step = (*length + kMostCells - 1) / kMostCells;
  chart::Heatmap map{.title = encoding.name() + ": bias of every query and key",
                     .subtitle = subtitle(encoding, *call),
                     .xLabel = "key position",
                     .yLabel = "query position",
                     .valueLabel = "bias in logits, each head its own; grey: masked"};
  map.xStep = map.yStep = static_cast<double>(step);
  Csv csv({"head", "query", "key", "bias", "reference"});
  for (int64_t head : encoding.heads()) {
    chart::HeatmapPanel panel{.title = headName(head)};
    for (int64_t i = 0; i < *length; i += step) {
      std::vector<double> row;
      for (int64_t j = 0; j < *length; j += step) {
        const bool isShown = isAllowed(call->expected.allowed, i, j);
        row.push_back(isShown ? at(call->bias, head, i, j) : std::nan(""));
        if (isShown)
          csv.add({head, i, j, row.back(), at(call->expected.bias, head, i, j)});
      }
      panel.rows.push_back(std::move(row));
    }
    map.panels.push_back(std::move(panel));
  }
  return std::vector<Picture>{{encoding.name() + "-bias", toSvg(map), csv.text()}};
}

Pictures plotDistance(const PlottedEncoding &encoding) {
  if (!encoding.hasBias())
    return encoding.lacks("a bias");
  auto queries = queriesOf(encoding);
  if (!queries)
    return queries.takeError();
  const int64_t query = queries->back();
  auto call = encoding.read(query, 1, keysOf(encoding, query));
  if (!call)
    return call.takeError();
  chart::LineChart chart{.title = encoding.name() + ": bias by distance, seen from query " +
                                  std::to_string(query),
                         .subtitle = subtitle(encoding, *call),
                         .xLabel = "distance |i - j| (positions)",
                         .yLabel = "bias (logits)",
                         .x = chart::Scale::Kind::Log2,
                         .zeroBesideLog = true};
  if (encoding.seesLaterKeys())
    chart.subtitle += "; dashed: keys after the query";
  Csv csv({"head", "query", "key", "distance", "bias", "reference"});
  int color = 0;
  for (int64_t head : encoding.heads()) {
    for (int64_t sign : {-1, 1}) {
      chart::Series series{
          .name = sign < 0 ? headName(head) : "", .color = color, .dashed = sign > 0 || color >= 8};
      for (int64_t distance : octaves(query + 1)) {
        const int64_t key = query + sign * distance;
        if (key >= call->bias.dim(3) || (sign > 0 && distance == 0) ||
            !isAllowed(call->expected.allowed, 0, key))
          continue;
        const double bias = at(call->bias, head, 0, key);
        series.points.emplace_back(distance, bias);
        csv.add({head, query, key, distance, bias, at(call->expected.bias, head, 0, key)});
      }
      if (!series.points.empty())
        chart.series.push_back(std::move(series));
    }
    ++color;
  }
  return std::vector<Picture>{{encoding.name() + "-distance", toSvg(chart), csv.text()}};
}

static Expected<Picture> plotQuery(const PlottedEncoding &encoding, int64_t query) {
  auto call = encoding.read(query, 1, keysOf(encoding, query));
  if (!call)
    return call.takeError();
  chart::LineChart chart{.title = encoding.name() + ": bias of query " + std::to_string(query),
                         .subtitle = subtitle(encoding, *call),
                         .xLabel = "key position",
                         .yLabel = "bias (logits)"};
  Csv csv({"head", "query", "key", "bias", "reference"});
  // Every key near the query, and some of the others.
  const int64_t keys = call->bias.dim(3), step = (keys + 511) / 512;
  for (int64_t head : encoding.heads()) {
    chart::Series series{.name = headName(head)};
    for (int64_t key = 0; key < keys; ++key) {
      if ((key % step && std::abs(key - query) > 32) || !isAllowed(call->expected.allowed, 0, key))
        continue;
      const double bias = at(call->bias, head, 0, key);
      series.points.emplace_back(key, bias);
      csv.add({head, query, key, bias, at(call->expected.bias, head, 0, key)});
    }
    chart.series.push_back(std::move(series));
  }
  return Picture{encoding.name() + "-query-" + std::to_string(query), toSvg(chart), csv.text()};
}

Pictures plotQueries(const PlottedEncoding &encoding) {
  if (!encoding.hasBias())
    return encoding.lacks("a bias");
  auto queries = queriesOf(encoding);
  if (!queries)
    return queries.takeError();
  std::vector<Picture> pictures;
  for (int64_t query : *queries) {
    auto picture = plotQuery(encoding, query);
    if (!picture)
      return picture.takeError();
    pictures.push_back(*std::move(picture));
  }
  return pictures;
}

namespace {

/// One value of a learned function.
struct FunctionPoint {
  double argument, found, expected;
};

/// Adds the points that one query's keys give, some of each octave of distances. Whether the
/// function is all of the bias, so that the compiled bias is its value.
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

Pictures plotFunction(const PlottedEncoding &encoding) {
  if (encoding.isEmbedding())
    return encoding.lacks("one learned function (pe.mlp)");
  auto queries = queriesOf(encoding);
  if (!queries)
    return queries.takeError();
  // Several queries: each gives the function at other places.
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
                         .subtitle = subtitle(encoding, calls.front()),
                         .xLabel = "coordinate (what the network is given)",
                         .yLabel = "bias (logits)"};
  Csv csv({"head", "coordinate", "value", "reference"});
  for (int64_t head : encoding.heads()) {
    std::vector<FunctionPoint> points;
    bool isBias = true;
    for (const MaterializedCall &call : calls)
      isBias &= addPoints(call, head, points);
    std::sort(points.begin(), points.end(), [](const auto &a, const auto &b) {
      return std::tie(a.argument, a.expected) < std::tie(b.argument, b.expected);
    });
    chart::Series series{.name = headName(head)};
    // Not nearer than can be seen, but with both ends.
    const double gap = (points.back().argument - points.front().argument) / 400;
    double next = -INFINITY;
    for (const FunctionPoint &point : points) {
      if (point.argument < next && &point != &points.back())
        continue;
      next = point.argument + gap;
      // With other biases beside it the compiled value is not known alone.
      const double value = isBias ? point.found : point.expected;
      series.points.emplace_back(point.argument, value);
      csv.add({head, point.argument, value, point.expected});
    }
    if (!isBias)
      chart.subtitle = encoding.source() + "from the float64 reference";
    chart.series.push_back(std::move(series));
  }
  return std::vector<Picture>{{encoding.name() + "-function", toSvg(chart), csv.text()}};
}

Pictures plotRotation(const PlottedEncoding &encoding) {
  if (encoding.isEmbedding())
    return encoding.lacks("a rotation");
  auto length = lengthOf(encoding, kDefaultLength, kLongestRow, "rotation");
  if (!length)
    return length.takeError();
  auto call = encoding.read(0, *length, 1);
  if (!call)
    return call.takeError();
  if (!call->cosine.isDefined())
    return encoding.lacks("a rotation");
  const int64_t pairs = call->cosine.dim(1), step = (*length + 255) / 256;
  chart::Heatmap map{.title = encoding.name() + ": rotation of " + std::to_string(pairs) +
                              " pairs of " + std::to_string(encoding.headDim()) + " dimensions",
                     .subtitle = subtitle(encoding, *call),
                     .xLabel = "position",
                     .yLabel = "pair of dimensions",
                     .valueLabel = "cosine and sine of the angle",
                     .xStep = static_cast<double>(step),
                     .sharedColors = true,
                     .size = 260};
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

Pictures plotWeights(const PlottedEncoding &encoding) {
  if (encoding.isEmbedding())
    return encoding.lacks("an attention");
  const int64_t length = encoding.options().length.value_or(kDefaultWeights);
  auto weights = encoding.weights(length);
  if (!weights)
    return weights.takeError();
  chart::Heatmap map{.title = encoding.name() + ": attention weights of " + std::to_string(length) +
                              " positions",
                     .subtitle = encoding.source() + "queries and keys standard normal, seed " +
                                 std::to_string(encoding.options().seed),
                     .xLabel = "key position",
                     .yLabel = "query position",
                     .valueLabel = "weight; grey: masked",
                     .sharedColors = true};
  Csv csv({"head", "query", "key", "weight", "reference"});
  for (int64_t head : encoding.heads()) {
    chart::HeatmapPanel panel{.title = headName(head)};
    for (int64_t i = 0; i < length; ++i) {
      panel.rows.emplace_back();
      for (int64_t j = 0; j < length; ++j) {
        const bool isShown = isAllowed(weights->allowed, i, j);
        const double weight = at(weights->found, head, i, j);
        panel.rows.back().push_back(isShown ? weight : std::nan(""));
        if (isShown)
          csv.add({head, i, j, weight, at(weights->expected, head, i, j)});
      }
    }
    map.panels.push_back(std::move(panel));
  }
  return std::vector<Picture>{{encoding.name() + "-weights", toSvg(map), csv.text()}};
}

} // namespace pe::cli
