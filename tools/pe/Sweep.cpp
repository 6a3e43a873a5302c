//===- Sweep.cpp - The rows and seeds of several runs ---===//
#include "tools/pe/Sweep.h"

#include "runtime/core/Error.h"
#include "runtime/train/session/Flags.h"
#include "runtime/train/session/Options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace pe::cli {

constexpr std::string_view kPrefix = "pe.train.";

/// Returns the file name without extension, which names an encoding.
static std::string shortOf(const std::string &value) {
  return value.ends_with(".mlir") ? std::filesystem::path(value).stem().string() : value;
}

Expected<std::vector<Axis>> parseSweep(const std::string &text) {
  std::vector<Axis> axes;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0)
      return makeError("--sweep: expected KEY=A,B,C, found '", part, "'");
    Axis axis{part.substr(0, equals), train::splitList(part.substr(equals + 1))};
    std::vector<std::string> known;
    for (const auto &[key, preset] : train::trainDefaults())
      if (key != "pe.train.seed" && key != "pe.train.dtype")
        known.push_back(key.substr(kPrefix.size()));
    if (std::find(known.begin(), known.end(), axis.key) == known.end())
      return makeError("--sweep: expected a flag that decides the result, found '", axis.key, "'",
                       axis.key == "seed" ? "; use --seeds=0,1,2" : suggestChoice(axis.key, known));
    for (const std::string &value : axis.values)
      if (value.empty() || std::count(axis.values.begin(), axis.values.end(), value) > 1)
        return makeError("--sweep: expected different values of '", axis.key, "', found '", value,
                         "' ", value.empty() ? "" : "twice");
    if (axis.values.empty())
      return makeError("--sweep: expected values of '", axis.key, "', found none");
    axes.push_back(std::move(axis));
  }
  return axes;
}

/// Checks that no flag is swept twice.
static Status checkKeys(const std::vector<NamedFlags> &rows, const std::vector<Axis> &axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const std::string &key = axes[i].key;
    bool isTwice = false;
    for (size_t j = 0; j < i; ++j)
      isTwice |= axes[j].key == key;
    for (const NamedFlags &row : rows)
      isTwice |= row.values.count(key) > 0;
    if (isTwice)
      return makeError("--sweep: '", key, "' is given twice");
  }
  return Status::success();
}

Expected<std::vector<NamedFlags>> rowsOf(const std::vector<NamedFlags> &given,
                                         const std::string &sweep) {
  auto axes = parseSweep(sweep);
  if (!axes)
    return axes.takeError();
  if (Status status = checkKeys(given, *axes); !status)
    return status.takeError();
  std::vector<NamedFlags> rows = given;
  if (rows.empty())
    rows = {{axes->empty() ? "all seeds" : "", {}}};
  for (const Axis &axis : *axes) {
    std::vector<NamedFlags> more;
    for (const NamedFlags &row : rows)
      for (const std::string &value : axis.values) {
        NamedFlags next = row;
        next.values[axis.key] = value;
        next.name += (row.name.empty() ? "" : ", ") + axis.key + "=" + shortOf(value);
        more.push_back(std::move(next));
      }
    rows = std::move(more);
  }
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (rows[i].name == rows[j].name)
        return makeError("expected rows of different names, found '", rows[i].name, "' twice");
  return rows;
}

Expected<std::vector<std::string>> parseSeeds(const std::string &text) {
  std::vector<std::string> seeds = train::splitList(text);
  for (const std::string &one : seeds) {
    uint64_t seed = 0;
    auto [end, failure] = std::from_chars(one.data(), one.data() + one.size(), seed);
    if (failure != std::errc() || end != one.data() + one.size())
      return makeError("--seeds: expected integers such as 0,1,2, found '", one, "'");
    if (std::count(seeds.begin(), seeds.end(), one) > 1)
      return makeError("--seeds: '", one, "' is given twice");
  }
  return seeds;
}

} // namespace pe::cli
