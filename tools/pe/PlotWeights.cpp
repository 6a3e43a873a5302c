//===- PlotWeights.cpp - Plots of masks and of attention weights ---===//
#include "tools/pe/PlotParts.h"

#include <algorithm>
#include <cmath>

namespace pe::cli {
namespace {

using chart::Csv;
using Scores = PlottedEncoding::Scores;

std::string sourceOfScores(const PlottedEncoding &encoding) {
  return encoding.source() + "queries and keys standard normal, seed " +
         std::to_string(encoding.options().seed);
}

Expected<PlottedEncoding::Weights> weightsOf(const PlottedEncoding &encoding, Scores scores) {
  if (encoding.isEmbedding())
    return encoding.lacks("an attention");
  return encoding.weights(encoding.options().length.value_or(kDefaultWeights), scores);
}

/// Computes the keys that every query may attend to.
std::vector<int64_t> countKeys(const Tensor &allowed) {
  std::vector<int64_t> counts;
  for (int64_t i = 0; i < allowed.dim(1); ++i) {
    counts.push_back(0);
    for (int64_t j = 0; j < allowed.dim(2); ++j)
      counts.back() += isAllowed(allowed, i, j);
  }
  return counts;
}

/// Returns one value per pair; NaN for masked pairs.
std::vector<std::vector<double>> mapOf(const Tensor &allowed,
                                       const std::function<double(int64_t, int64_t)> &valueOf) {
  std::vector<std::vector<double>> rows;
  for (int64_t i = 0; i < allowed.dim(1); ++i) {
    rows.emplace_back();
    for (int64_t j = 0; j < allowed.dim(2); ++j)
      rows.back().push_back(isAllowed(allowed, i, j) ? valueOf(i, j) : std::nan(""));
  }
  return rows;
}

/// Returns a heatmap of signed values per head and pair. `valueOf` takes head, query and key.
chart::Heatmap signedMap(const PlottedEncoding &encoding, const Tensor &allowed,
                         const std::function<double(int64_t, int64_t, int64_t)> &valueOf) {
  chart::Heatmap map{.xLabel = "key position",
                     .yLabel = "query position",
                     .colors = chart::HeatmapColors::Signed,
                     .sharedColors = encoding.options().sharedScale,
                     .emptyLabel = "masked",
                     .infinityLabel = "weight 0",
                     .size = 240,
                     .width = chart::kPictureWidth};
  const auto ofHead = [&](int64_t head) {
    return mapOf(allowed, [&](int64_t i, int64_t j) { return valueOf(head, i, j); });
  };
  for (const HeadGroup &group : groupHeads(encoding.heads(), [&](int64_t head) {
         std::vector<double> all;
         for (const std::vector<double> &row : ofHead(head))
           all.insert(all.end(), row.begin(), row.end());
         return all;
       }))
    map.panels.push_back({.title = group.name, .rows = ofHead(group.first)});
  return map;
}

} // namespace

/// Plots the unmasked pairs.
Pictures plotMask(const PlottedEncoding &encoding) {
  if (encoding.isEmbedding())
    return encoding.lacks("an attention");
  auto length = lengthOf(encoding, kDefaultLength, kLongestMap, "mask");
  if (!length)
    return length.takeError();
  auto call = encoding.read(0, *length, *length);
  if (!call)
    return call.takeError();
  const Tensor &allowed = call->expected.allowed;
  bool isPlain = true; // all pairs, or all up to the query
  for (int64_t i = 0; i < *length; ++i)
    for (int64_t j = 0; j < *length; ++j)
      isPlain &= isAllowed(allowed, i, j) == (encoding.seesLaterKeys() || j <= i);
  if (isPlain && encoding.options().kinds.empty())
    return encoding.lacks("a mask besides pe.causal");
  const int64_t step = (*length + kLongestMask - 1) / kLongestMask;
  chart::Heatmap map{.title = encoding.name() + ": unmasked pairs",
                     .subtitle = encoding.source() + "from the float64 reference",
                     .xLabel = "key position",
                     .yLabel = "query position",
                     .fullLabel = "seen",
                     .emptyLabel = "masked",
                     .size = 300,
                     .width = chart::kPictureWidth};
  map.xStep = map.yStep = static_cast<double>(step);
  chart::HeatmapPanel panel;
  Csv csv({"query", "key", "seen"});
  for (int64_t i = 0; i < *length; i += step) {
    panel.rows.emplace_back();
    for (int64_t j = 0; j < *length; j += step) {
      const bool isSeen = isAllowed(allowed, i, j);
      panel.rows.back().push_back(isSeen ? 1 : std::nan(""));
      csv.add({i, j, static_cast<int64_t>(isSeen)});
    }
  }
  map.panels.push_back(std::move(panel));
  return std::vector<Picture>{{encoding.name() + "-mask", toSvg(map), csv.text()}};
}

/// Plots the weights of random queries and keys, relative to a uniform row.
Pictures plotWeights(const PlottedEncoding &encoding) {
  auto weights = weightsOf(encoding, Scores::Normal);
  if (!weights)
    return weights.takeError();
  const std::vector<int64_t> keys = countKeys(weights->allowed);
  chart::Heatmap map =
      signedMap(encoding, weights->allowed, [&](int64_t head, int64_t i, int64_t j) {
        const double share = at(weights->found, head, i, j) * static_cast<double>(keys[i]);
        return clippedLogit(encoding, std::log2(share), 0);
      });
  map.title = encoding.name() + ": attention weights of " + std::to_string(weights->found.dim(2)) +
              " positions";
  map.subtitle = sourceOfScores(encoding) + "; 0: as much as in a uniform row, 1: twice as much";
  map.valueLabel = "log2(weight · number of keys)";
  Csv csv({"head", "query", "key", "weight", "reference"});
  for (int64_t head : encoding.heads())
    for (int64_t i = 0; i < weights->found.dim(2); ++i)
      for (int64_t j = 0; j < weights->found.dim(3); ++j)
        if (isAllowed(weights->allowed, i, j))
          csv.add({head, i, j, at(weights->found, head, i, j), at(weights->expected, head, i, j)});
  return std::vector<Picture>{{encoding.name() + "-weights", toSvg(map), csv.text()}};
}

/// Plots the effect of the encoding: the logarithm of its weights over those of softmax without it.
Pictures plotDifference(const PlottedEncoding &encoding) {
  auto weights = weightsOf(encoding, Scores::Normal);
  if (!weights)
    return weights.takeError();
  if (!weights->plain.isDefined())
    return encoding.lacks("an attention");
  constexpr double kVisible = 1e-5; // smaller changes are rounding errors of f32
  const auto change = [&](const Tensor &of, int64_t head, int64_t i, int64_t j) {
    const double exact = std::log(at(of, head, i, j) / at(weights->plain, head, i, j));
    return std::isfinite(exact) ? kVisible * std::round(exact / kVisible) : exact;
  };
  double largest = 0;
  Csv csv({"head", "query", "key", "weight", "without", "reference"});
  for (int64_t head : encoding.heads())
    for (int64_t i = 0; i < weights->found.dim(2); ++i)
      for (int64_t j = 0; j < weights->found.dim(3); ++j)
        if (isAllowed(weights->allowed, i, j)) {
          largest = std::max(largest, std::abs(change(weights->found, head, i, j)));
          csv.add({head, i, j, at(weights->found, head, i, j), at(weights->plain, head, i, j),
                   at(weights->expected, head, i, j)});
        }
  if (!(largest > kVisible))
    return encoding.lacks("an encoding that changes the weights of softmax");
  chart::Heatmap map =
      signedMap(encoding, weights->allowed, [&](int64_t head, int64_t i, int64_t j) {
        return clippedLogit(encoding, change(weights->found, head, i, j), 0);
      });
  map.title = encoding.name() + ": effect of the encoding on the weights of " +
              std::to_string(weights->found.dim(2)) + " positions";
  map.subtitle = sourceOfScores(encoding) +
                 "; compared with softmax of the same queries and keys under the same mask";
  map.valueLabel = "ln(weight / weight without)";
  return std::vector<Picture>{{encoding.name() + "-difference", toSvg(map), csv.text()}};
}

/// Plots the weights of one query for equal scores, with a uniform row for comparison.
Pictures plotFlat(const PlottedEncoding &encoding) {
  auto weights = weightsOf(encoding, Scores::Equal);
  if (!weights)
    return weights.takeError();
  const int64_t length = weights->found.dim(2);
  const std::vector<int64_t> &asked = encoding.options().queries;
  const int64_t query = !asked.empty()             ? asked.back()
                        : encoding.seesLaterKeys() ? length / 2
                                                   : length - 1;
  if (query < 0 || query >= length)
    return encoding.options().kinds.empty()
               ? encoding.lacks("a query below the length")
               : makeError("--query: expected positions of 0 to ", length - 1,
                           " for kind flat, found ", query);
  const double uniform = 1.0 / static_cast<double>(countKeys(weights->allowed)[query]);
  chart::LineChart chart{
      .title =
          encoding.name() + ": weights of query " + std::to_string(query) + " for equal scores",
      .subtitle = encoding.source() + "queries are zero; dashed: softmax without an encoding",
      .xLabel = "key position",
      .yLabel = "weight",
      .showsZero = true,
      .width = chart::kPictureWidth};
  std::vector<int64_t> keys;
  double largest = 0;
  chart::Series row{.name = "uniform", .color = 6, .dashed = true};
  for (int64_t key = 0; key < length; ++key)
    if (isAllowed(weights->allowed, query, key)) {
      keys.push_back(key);
      row.points.emplace_back(key, uniform);
    }
  for (const HeadGroup &group : groupHeads(encoding.heads(), [&](int64_t head) {
         std::vector<double> numbers;
         for (int64_t key : keys)
           numbers.push_back(at(weights->found, head, query, key));
         return numbers;
       })) {
    chart::Series series{.name = group.name, .marker = chart::Marker::Circle};
    for (int64_t key : keys) {
      const double weight = at(weights->found, group.first, query, key);
      largest = std::max(largest, std::abs(weight - uniform));
      series.points.emplace_back(key, weight);
    }
    chart.series.push_back(std::move(series));
  }
  if (!(largest > 1e-5 * uniform))
    return encoding.lacks("weights other than uniform ones for equal scores");
  chart.series.push_back(std::move(row));
  Csv csv({"head", "query", "key", "weight", "uniform", "reference"});
  for (int64_t head : encoding.heads())
    for (int64_t key : keys)
      csv.add({head, query, key, at(weights->found, head, query, key), uniform,
               at(weights->expected, head, query, key)});
  return std::vector<Picture>{{encoding.name() + "-flat", toSvg(chart), csv.text()}};
}

/// Plots results with one value per query, such as the log-sum-exp, for equal scores.
Pictures plotRows(const PlottedEncoding &encoding) {
  auto weights = weightsOf(encoding, Scores::Equal);
  if (!weights)
    return weights.takeError();
  if (weights->rows.empty())
    return encoding.lacks("a result with one value per query");
  std::vector<Picture> pictures;
  for (const auto &[name, found] : weights->rows) {
    const Tensor &expected = weights->expectedRows.at(name);
    const int64_t length = found.dim(2);
    const auto numberOf = [&](const Tensor &tensor, int64_t head, int64_t i) {
      const int64_t place = head * length + i;
      return tensor.dtype() == DType::F32 ? static_cast<double>(tensor.data<float>()[place])
                                          : tensor.data<double>()[place];
    };
    chart::LineChart chart{.title = encoding.name() + ": result " + name + " for equal scores",
                           .subtitle = encoding.source() + "queries are zero",
                           .xLabel = "query position",
                           .yLabel = name,
                           .width = chart::kPictureWidth};
    for (const HeadGroup &group : groupHeads(encoding.heads(), [&](int64_t head) {
           std::vector<double> numbers;
           for (int64_t i = 0; i < length; ++i)
             numbers.push_back(numberOf(found, head, i));
           return numbers;
         })) {
      chart::Series series{.name = group.name, .marker = chart::Marker::Circle};
      for (int64_t i = 0; i < length; ++i)
        series.points.emplace_back(i, numberOf(found, group.first, i));
      chart.series.push_back(std::move(series));
    }
    Csv csv({"head", "query", "value", "reference"});
    for (int64_t head : encoding.heads())
      for (int64_t i = 0; i < length; ++i)
        csv.add({head, i, numberOf(found, head, i), numberOf(expected, head, i)});
    pictures.push_back({encoding.name() + "-rows-" + name, toSvg(chart), csv.text()});
  }
  return pictures;
}

} // namespace pe::cli
