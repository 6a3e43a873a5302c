//===- Trace.cpp - Time profile of a run ----------------------------------===//
//
// Writes the spans of a stopwatch as JSON, and their shares as text.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/session/Trace.h"
#include "runtime/core/File.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pe::train {

Status writeTrace(const std::string &path, const Stopwatch &watch) {
  using Json = nlohmann::ordered_json;
  Json events = Json::array(), seconds = Json::object();
  for (const Stopwatch::Span &span : watch.spans())
    events.push_back({{"name", span.part},
                      {"ph", "X"},
                      {"ts", span.begin},
                      {"dur", span.length},
                      {"pid", 1},
                      {"tid", 1}});
  for (const auto &[part, total] : watch.totals())
    seconds[part] = total * 1e-6;
  const Json trace = {
      {"displayTimeUnit", "ms"}, {"seconds", seconds}, {"traceEvents", std::move(events)}};
  return writeFileAtomically(path, trace.dump() + "\n");
}

std::string timeLine(const Stopwatch &watch) {
  std::vector<std::pair<double, std::string>> parts;
  double sum = 0;
  for (const auto &[part, total] : watch.totals()) {
    parts.emplace_back(total, part);
    sum += total;
  }
  std::sort(parts.rbegin(), parts.rend());
  std::string text = "time by part:";
  for (const auto &[total, part] : parts) {
    char share[64];
    std::snprintf(share, sizeof share, " %.1f %%", 100 * total / std::max(sum, 1e-9));
    text += (text.back() == ':' ? " " : ", ") + part + share;
  }
  return text + "\n";
}

} // namespace pe::train
