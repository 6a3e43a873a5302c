//===- PlotBias.cpp - Plots of biases ---===//
#include "tools/pe/PlotParts.h"

#include <algorithm>
#include <cmath>

namespace pe::cli {
namespace {

using chart::Csv;

/// Returns the bias of a pair; NaN if it is masked.
double shownBias(const MaterializedCall &call, int64_t head, int64_t row, int64_t key) {
  return isAllowed(call.expected.allowed, row, key) ? at(call.bias, head, row, key) : std::nan("");
}

/// Returns the bias of a head for every `step`th query and key.
std::vector<std::vector<double>> mapOf(const MaterializedCall &call, int64_t head, int64_t step) {
  std::vector<std::vector<double>> rows;
  for (int64_t i = 0; i < call.bias.dim(2); i += step) {
    rows.emplace_back();
    for (int64_t j = 0; j < call.bias.dim(3); j += step)
      rows.back().push_back(shownBias(call, head, i, j));
  }
  return rows;
}

std::vector<double> flat(const std::vector<std::vector<double>> &rows) {
  std::vector<double> all;
  for (const std::vector<double> &row : rows)
    all.insert(all.end(), row.begin(), row.end());
  return all;
}

/// The values of one query on one side of it.
std::vector<double> sideOf(const MaterializedCall &call, int64_t head, int64_t query,
                           int64_t sign) {
  std::vector<double> numbers;
  for (int64_t distance = sign > 0; distance <= query; ++distance)
    if (const int64_t key = query + sign * distance; key >= 0 && key < call.bias.dim(3))
      numbers.push_back(shownBias(call, head, 0, key));
  return numbers;
}

/// Returns ", -inf beyond 32" or ", masked beyond 127" if the values by distance end like this;
/// otherwise an empty string.
std::string endOf(const std::vector<double> &numbers) {
  const auto last = std::find_if(numbers.rbegin(), numbers.rend(),
                                 [](double value) { return std::isfinite(value); });
  if (last == numbers.rbegin() || last == numbers.rend())
    return "";
  const bool isMasked = std::all_of(numbers.rbegin(), last, [](double x) { return std::isnan(x); });
  return (isMasked ? ", masked beyond " : ", −inf beyond ") +
         std::to_string(numbers.rend() - last - 1);
}

} // namespace

Pictures plotBias(const PlottedEncoding &encoding) {
  if (encoding.biasShape() == BiasShape::None)
    return encoding.lacks("a bias");
  auto length = lengthOf(encoding, kDefaultLength, kLongestMap, "bias");
  if (!length)
    return length.takeError();
  auto call = encoding.read(0, *length, *length);
  if (!call)
    return call.takeError();
  const int64_t step = (*length + kMostCells - 1) / kMostCells;
  chart::Heatmap map{.title = encoding.name() + ": bias of every query and key",
                     .subtitle = subtitle(encoding, call->isCompiled),
                     .xLabel = "key position",
                     .yLabel = "query position",
                     .valueLabel = "bias (logits)",
                     .colors = chart::HeatmapColors::Signed,
                     .sharedColors = encoding.options().sharedScale,
                     .emptyLabel = "masked",
                     .infinityLabel = "−inf",
                     .size = 240,
                     .width = chart::kPictureWidth};
  map.xStep = map.yStep = static_cast<double>(step);
  for (const HeadGroup &group :
       groupHeads(encoding.heads(), [&](int64_t head) { return flat(mapOf(*call, head, 1)); }))
    map.panels.push_back({.title = group.name, .rows = mapOf(*call, group.first, step)});
  Csv csv({"head", "query", "key", "bias", "reference"});
  for (int64_t head : encoding.heads())
    for (int64_t i = 0; i < *length; i += step)
      for (int64_t j = 0; j < *length; j += step)
        if (isAllowed(call->expected.allowed, i, j))
          csv.add({head, i, j, at(call->bias, head, i, j), at(call->expected.bias, head, i, j)});
  return std::vector<Picture>{{encoding.name() + "-bias", toSvg(map), csv.text()}};
}

/// Plots a bias that is not a function of the distance: its mean over all pairs of a distance, and
/// the minimum and maximum.
static Pictures plotMeanByDistance(const PlottedEncoding &encoding) {
  auto length = lengthOf(encoding, kDefaultLength, kLongestMap, "distance");
  if (!length)
    return length.takeError();
  auto call = encoding.read(0, *length, *length);
  if (!call)
    return call.takeError();
  chart::LineChart chart{.title = encoding.name() + ": bias by distance, mean over " +
                                  std::to_string(*length) + " positions",
                         .subtitle = subtitle(encoding, call->isCompiled) +
                                     "; not a function of the distance: thick: mean of all pairs, "
                                     "thin: least and largest",
                         .xLabel = "distance i - j (positions)",
                         .yLabel = "bias (logits)",
                         .width = chart::kPictureWidth};
  Csv csv({"head", "distance", "mean", "least", "largest"});
  int color = 0;
  for (const HeadGroup &group :
       groupHeads(encoding.heads(), [&](int64_t head) { return flat(mapOf(*call, head, 1)); })) {
    chart::Series mean{.name = group.name, .color = color}, least{.color = color, .faint = true};
    chart::Series largest = least;
    for (int64_t distance = encoding.seesLaterKeys() ? 1 - *length : 0; distance < *length;
         ++distance) {
      chart::Range range;
      double sum = 0, count = 0;
      for (int64_t i = std::max<int64_t>(distance, 0); i < std::min(*length, *length + distance);
           ++i)
        if (const double bias = shownBias(*call, group.first, i, i - distance);
            chart::isDrawable(bias)) {
          range.add(bias);
          sum += bias;
          count += 1;
        }
      if (count == 0)
        continue;
      const auto at = static_cast<double>(distance);
      mean.points.emplace_back(at, sum / count);
      least.points.emplace_back(at, range.low);
      largest.points.emplace_back(at, range.high);
      csv.add({group.first, distance, sum / count, range.low, range.high});
    }
    for (chart::Series *series : {&least, &largest, &mean})
      chart.series.push_back(std::move(*series));
    ++color;
  }
  clipLogits(encoding, chart);
  return std::vector<Picture>{{encoding.name() + "-distance", toSvg(chart), csv.text()}};
}

Pictures plotDistance(const PlottedEncoding &encoding) {
  if (encoding.biasShape() == BiasShape::None)
    return encoding.lacks("a bias");
  if (encoding.biasShape() != BiasShape::Distance)
    return encoding.options().kinds.empty() ? encoding.lacks("a bias of the distance")
                                            : plotMeanByDistance(encoding);
  auto queries = queriesOf(encoding);
  if (!queries)
    return queries.takeError();
  const int64_t query = queries->back();
  auto call = encoding.read(query, 1, keysOf(encoding, query));
  if (!call)
    return call.takeError();
  chart::LineChart chart{.title = encoding.name() + ": bias by distance, seen from query " +
                                  std::to_string(query),
                         .subtitle = subtitle(encoding, call->isCompiled),
                         .xLabel = "distance |i - j| (positions)",
                         .yLabel = "bias (logits)",
                         .x = chart::Scale::Kind::Log2,
                         .zeroBesideLog = true,
                         .width = chart::kPictureWidth};
  if (encoding.seesLaterKeys())
    chart.subtitle += "; dashed: keys after the query";
  int color = 0;
  for (const HeadGroup &group : groupHeads(encoding.heads(), [&](int64_t head) {
         std::vector<double> numbers = sideOf(*call, head, query, -1);
         const std::vector<double> after = sideOf(*call, head, query, 1);
         numbers.insert(numbers.end(), after.begin(), after.end());
         return numbers;
       })) {
    for (int64_t sign : {-1, 1}) {
      const std::vector<double> numbers = sideOf(*call, group.first, query, sign);
      chart::Series series{.name = sign < 0 ? group.name + endOf(numbers) : "",
                           .color = color,
                           .dashed = sign > 0 || color >= 8};
      for (int64_t n : octaves(static_cast<int64_t>(numbers.size())))
        if (!std::isnan(numbers[n]))
          series.points.emplace_back(n + (sign > 0), numbers[n]);
      if (!series.points.empty())
        chart.series.push_back(std::move(series));
    }
    ++color;
  }
  clipLogits(encoding, chart);
  Csv csv({"head", "query", "key", "distance", "bias", "reference"});
  for (int64_t head : encoding.heads())
    for (int64_t sign : {-1, 1})
      for (int64_t distance : octaves(query + 1))
        if (const int64_t key = query + sign * distance; key < call->bias.dim(3) &&
                                                         (sign < 0 || distance > 0) &&
                                                         isAllowed(call->expected.allowed, 0, key))
          csv.add({head, query, key, distance, at(call->bias, head, 0, key),
                   at(call->expected.bias, head, 0, key)});
  return std::vector<Picture>{{encoding.name() + "-distance", toSvg(chart), csv.text()}};
}

static Expected<Picture> plotQuery(const PlottedEncoding &encoding, int64_t query) {
  auto call = encoding.read(query, 1, keysOf(encoding, query));
  if (!call)
    return call.takeError();
  chart::LineChart chart{.title = encoding.name() + ": bias of query " + std::to_string(query),
                         .subtitle = subtitle(encoding, call->isCompiled),
                         .xLabel = "key position",
                         .yLabel = "bias (logits)",
                         .width = chart::kPictureWidth};
  // Draw every key near the query, and some of the others.
  const int64_t keys = call->bias.dim(3), step = (keys + 511) / 512;
  std::vector<int64_t> shown;
  for (int64_t key = 0; key < keys; ++key)
    if ((key % step == 0 || std::abs(key - query) <= 32) &&
        isAllowed(call->expected.allowed, 0, key))
      shown.push_back(key);
  for (const HeadGroup &group : groupHeads(encoding.heads(), [&](int64_t head) {
         std::vector<double> numbers;
         for (int64_t key : shown)
           numbers.push_back(at(call->bias, head, 0, key));
         return numbers;
       })) {
    chart::Series series{.name = group.name};
    for (int64_t key : shown)
      series.points.emplace_back(key, at(call->bias, group.first, 0, key));
    chart.series.push_back(std::move(series));
  }
  clipLogits(encoding, chart);
  Csv csv({"head", "query", "key", "bias", "reference"});
  for (int64_t head : encoding.heads())
    for (int64_t key : shown)
      csv.add(
          {head, query, key, at(call->bias, head, 0, key), at(call->expected.bias, head, 0, key)});
  return Picture{encoding.name() + "-query-" + std::to_string(query), toSvg(chart), csv.text()};
}

Pictures plotQueries(const PlottedEncoding &encoding) {
  if (encoding.biasShape() == BiasShape::None)
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

/// Plots both parts of a bias r_i + c_j by position. They are unique up to a constant, which is
/// chosen so that c_0 = 0.
Pictures plotParts(const PlottedEncoding &encoding) {
  if (encoding.biasShape() != BiasShape::RowColumn)
    return encoding.lacks("a bias that is a number per query plus one per key");
  auto length = lengthOf(encoding, kDefaultLength, kLongestMap, "parts");
  if (!length)
    return length.takeError();
  auto call = encoding.read(0, *length, *length);
  if (!call)
    return call.takeError();
  chart::LineChart chart{.title = encoding.name() + ": bias r(i) + c(j), its parts by position",
                         .subtitle = subtitle(encoding, call->isCompiled) +
                                     "; solid: c of the key, with c(0) = 0; dashed: r of the query",
                         .xLabel = "position",
                         .yLabel = "part of the bias (logits)",
                         .width = chart::kPictureWidth};
  // Masked pairs have the values of the reference.
  const int64_t last = *length - 1;
  const auto ofQuery = [&](const Tensor &bias, int64_t head, int64_t position) {
    return at(bias, head, position, 0);
  };
  const auto ofKey = [&](const Tensor &bias, int64_t head, int64_t position) {
    return at(bias, head, last, position) - at(bias, head, last, 0);
  };
  int color = 0;
  for (const HeadGroup &group :
       groupHeads(encoding.heads(), [&](int64_t head) { return flat(mapOf(*call, head, 1)); })) {
    chart::Series keys{.name = group.name, .color = color};
    chart::Series queries{.color = color++, .dashed = true};
    for (int64_t position = 0; position <= last; ++position) {
      keys.points.emplace_back(position, ofKey(call->bias, group.first, position));
      queries.points.emplace_back(position, ofQuery(call->bias, group.first, position));
    }
    for (chart::Series *series : {&keys, &queries})
      chart.series.push_back(std::move(*series));
  }
  Csv csv({"head", "position", "of_query", "of_key", "reference_of_query", "reference_of_key"});
  const Tensor &expected = call->expected.bias;
  for (int64_t head : encoding.heads())
    for (int64_t position = 0; position <= last; ++position)
      csv.add({head, position, ofQuery(call->bias, head, position),
               ofKey(call->bias, head, position), ofQuery(expected, head, position),
               ofKey(expected, head, position)});
  return std::vector<Picture>{{encoding.name() + "-parts", toSvg(chart), csv.text()}};
}

/// Plots the bias of one token of an image with every other one, or the tokens it attends to.
static Expected<Picture> plotImage(const PlottedEncoding &encoding, int64_t side, int64_t query) {
  const int64_t keys = side * side;
  auto call = encoding.read(query, 1, keys);
  if (!call)
    return call.takeError();
  const bool hasBias = encoding.biasShape() != BiasShape::None;
  chart::Heatmap map{
      .title = encoding.name() + ": query " + std::to_string(query) + " of an image of " +
               std::to_string(side) + " x " + std::to_string(side) + " tokens",
      .subtitle = subtitle(encoding, call->isCompiled) + "; framed: the query itself",
      .xLabel = "column of the key",
      .yLabel = "row of the key",
      .valueLabel = "bias (logits)",
      .colors = chart::HeatmapColors::Signed,
      .sharedColors = encoding.options().sharedScale,
      .fullLabel = hasBias ? "" : "seen",
      .emptyLabel = "masked",
      .infinityLabel = "−inf",
      .outlined = {query % side, query / side},
      .size = 240,
      .width = chart::kPictureWidth};
  const auto numbersOf = [&](int64_t head) {
    std::vector<double> numbers;
    for (int64_t key = 0; key < keys; ++key)
      numbers.push_back(shownBias(*call, head, 0, key));
    return numbers;
  };
  for (const HeadGroup &group : groupHeads(encoding.heads(), numbersOf)) {
    const std::vector<double> numbers = numbersOf(group.first);
    chart::HeatmapPanel panel{.title = group.name};
    for (auto row = numbers.begin(); row != numbers.end(); row += side)
      panel.rows.emplace_back(row, row + side);
    map.panels.push_back(std::move(panel));
  }
  Csv csv({"head", "query", "row", "column", "bias", "reference"});
  for (int64_t head : encoding.heads())
    for (int64_t key = 0; key < keys; ++key)
      if (isAllowed(call->expected.allowed, 0, key))
        csv.add({head, query, key / side, key % side, at(call->bias, head, 0, key),
                 at(call->expected.bias, head, 0, key)});
  return Picture{encoding.name() + "-grid-" + std::to_string(query), toSvg(map), csv.text()};
}

/// Plots the bias of an encoding of image tokens, row by row.
Pictures plotGrid(const PlottedEncoding &encoding) {
  if (encoding.isEmbedding())
    return encoding.lacks("an attention");
  const std::optional<int64_t> side = encoding.options().grid;
  if (!side)
    return encoding.options().kinds.empty() ? encoding.lacks("tokens of an image (--grid=N)")
                                            : makeError("--grid: expected the side of an image for "
                                                        "kind grid, found none");
  if (*side < 2 || *side > kMostCells)
    return makeError("--grid: expected 2 to ", kMostCells, ", found ", *side);
  std::vector<int64_t> queries = encoding.options().queries;
  if (queries.empty()) // the middle
    queries = {*side / 2 * *side + *side / 2};
  std::vector<Picture> pictures;
  for (int64_t query : queries) {
    if (query < 0 || query >= *side * *side)
      return makeError("--query: expected positions of 0 to ", *side * *side - 1, ", found ",
                       query);
    auto picture = plotImage(encoding, *side, query);
    if (!picture)
      return picture.takeError();
    pictures.push_back(*std::move(picture));
  }
  return pictures;
}

} // namespace pe::cli
