//===- PlotParts.cpp - Shared parts of the plots of encodings ---===//
#include "tools/pe/PlotParts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace pe::cli {

double at(const Tensor &tensor, int64_t head, int64_t row, int64_t column) {
  const int64_t place = (head * tensor.dim(2) + row) * tensor.dim(3) + column;
  return tensor.dtype() == DType::F32 ? tensor.data<float>()[place] : tensor.data<double>()[place];
}

bool isAllowed(const Tensor &allowed, int64_t row, int64_t key) {
  return allowed.data<double>()[row * allowed.dim(2) + key] != 0;
}

Expected<int64_t> lengthOf(const PlottedEncoding &encoding, int64_t otherwise, int64_t most,
                           const char *kind) {
  const int64_t length = encoding.options().length.value_or(otherwise);
  if (length < 1 || length > most)
    return makeError("--length: expected 1 to ", most, " for kind ", kind, ", found ", length);
  return length;
}

Expected<std::vector<int64_t>> queriesOf(const PlottedEncoding &encoding) {
  std::vector<int64_t> queries = encoding.options().queries;
  if (queries.empty()) {
    queries = {encoding.options().length.value_or(kDefaultLength) / 2};
    if (encoding.biasShape() == BiasShape::Distance)
      queries.insert(queries.end(), {128, 8192});
  }
  std::sort(queries.begin(), queries.end());
  queries.erase(std::unique(queries.begin(), queries.end()), queries.end());
  if (queries.front() < 0 || queries.back() >= kLongestRow)
    return makeError("--query: expected positions of 0 to ", kLongestRow - 1, ", found ",
                     queries.front() < 0 ? queries.front() : queries.back());
  return queries;
}

int64_t keysOf(const PlottedEncoding &encoding, int64_t query) {
  return encoding.seesLaterKeys() ? 2 * query + 1 : query + 1;
}

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

std::string subtitle(const PlottedEncoding &encoding, bool isCompiled) {
  const auto drawn = static_cast<int64_t>(encoding.heads().size());
  std::string heads;
  if (!encoding.isEmbedding() && drawn < encoding.headCount())
    heads = nameOfHeads(encoding.heads()) + " of " + std::to_string(encoding.headCount()) + "; ";
  return heads + encoding.source() +
         (isCompiled ? "from the compiled tables" : "from the float64 reference");
}

std::string nameOfHeads(const std::vector<int64_t> &heads) {
  std::string name = heads.size() == 1 ? "head " : "heads ";
  const bool isRun = heads.size() > 2 &&
                     std::adjacent_find(heads.begin(), heads.end(),
                                        [](auto a, auto b) { return b != a + 1; }) == heads.end();
  if (isRun)
    return name + std::to_string(heads.front()) + "–" + std::to_string(heads.back());
  for (size_t n = 0; n < heads.size(); ++n)
    name += (n ? ", " : "") + std::to_string(heads[n]);
  return name;
}

std::vector<HeadGroup> groupHeads(const std::vector<int64_t> &heads,
                                  const std::function<std::vector<double>(int64_t)> &numbersOf) {
  const auto isSame = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  std::vector<std::vector<double>> numbers;
  std::vector<std::vector<int64_t>> members;
  for (int64_t head : heads) {
    std::vector<double> own = numbersOf(head);
    size_t group = 0;
    while (group < numbers.size() && !std::equal(own.begin(), own.end(), numbers[group].begin(),
                                                 numbers[group].end(), isSame))
      ++group;
    if (group == numbers.size()) {
      numbers.push_back(std::move(own));
      members.emplace_back();
    }
    members[group].push_back(head);
  }
  std::vector<HeadGroup> groups;
  for (const std::vector<int64_t> &group : members)
    groups.push_back({group.front(), nameOfHeads(group)});
  return groups;
}

void clipLogits(const PlottedEncoding &encoding, chart::LineChart &chart) {
  if (encoding.options().fullRange)
    return;
  std::map<int, chart::Range> byHead; // keyed by color, because a head may have several lines
  int next = 0;
  for (const chart::Series &series : chart.series) {
    chart::Range &range = byHead[series.color < 0 ? next++ : series.color];
    for (const auto &[x, y] : series.points)
      range.add(y);
  }
  double limit = INFINITY, lowest = INFINITY;
  for (const auto &[color, range] : byHead)
    if (!range.isEmpty()) {
      limit = std::min(limit, range.high - kShownLogits);
      lowest = std::min(lowest, range.low);
    }
  if (lowest >= limit)
    return;
  chart.yMin = limit;
  chart.subtitle += "; ▼: clipped at " + chart::formatNumber(limit) + ", " +
                    chart::formatNumber(kShownLogits) +
                    " logits below the largest (--full-range draws all)";
}

double clippedLogit(const PlottedEncoding &encoding, double value, double largest) {
  if (encoding.options().fullRange || !std::isfinite(value))
    return value;
  return std::max(value, largest - kShownLogits);
}

} // namespace pe::cli
