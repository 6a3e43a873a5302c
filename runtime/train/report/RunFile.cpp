//===- RunFile.cpp - Read the results of runs -----------------------------===//

#include "runtime/train/report/RunFile.h"

#include "runtime/core/File.h"
#include "runtime/plan/JsonText.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

namespace pe::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// Describes a value that was found instead of the expected one: "an object", "a list", or the
/// value itself.
std::string describe(const Json &value) {
  switch (value.type()) {
  case Json::value_t::object:
    return "an object";
  case Json::value_t::array:
    return "a list";
  case Json::value_t::null:
    return "null";
  default: {
    std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    return text.size() > 40 ? text.substr(0, 40) + "..." : text;
  }
  }
}

/// Reads the members of an object and stores the first error.
class Reader {
public:
  Reader(const Json &object, std::string where) : object(object), where(std::move(where)) {}

  double number(const char *name, bool isRequired = true) {
    const Json *value = find(name, isRequired);
    if (!value)
      return 0;
    if (!value->is_number())
      fail(name, "a number", *value);
    return value->is_number() ? value->get<double>() : 0;
  }
  /// Reads an integer from 0 to 2^53.
  int64_t whole(const char *name, bool isRequired = true) {
    const Json *value = find(name, isRequired);
    if (!value)
      return 0;
    const double number = value->is_number() ? value->get<double>() : -1;
    if (!(number >= 0 && number <= 0x1p53 && number == std::floor(number))) {
      fail(name, "an integer of 0 or more", *value);
      return 0;
    }
    return static_cast<int64_t>(number);
  }
  std::string text(const char *name, bool isRequired = true) {
    const Json *value = find(name, isRequired);
    if (value && !value->is_string())
      fail(name, "a string", *value);
    return value && value->is_string() ? value->get<std::string>() : "";
  }
  /// Reads bits per character by context length.
  std::map<int64_t, double> lengths(const char *name) {
    std::map<int64_t, double> result;
    const Json *value = find(name, true);
    if (value && !value->is_object())
      fail(name, "an object of lengths", *value);
    if (!value || !value->is_object())
      return result;
    for (const auto &[key, bits] : value->items()) {
      int64_t length = 0;
      auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), length);
      if (code != std::errc() || end != key.data() + key.size() || length < 1)
        fail(name, "lengths of 1 or more", key);
      else if (!bits.is_number())
        fail(name, "a number for each length", bits);
      else
        result[length] = bits.get<double>();
    }
    return result;
  }
  Status status() const { return problem; }

private:
  const Json *find(const char *name, bool isRequired) {
    const auto found = object.find(name);
    if (found != object.end() && !found->is_null())
      return &*found;
    if (isRequired && problem)
      problem = makeError(where, ": expected '", name, "', found none");
    return nullptr;
  }
  void fail(const char *name, const char *expected, const Json &found) {
    if (problem)
      problem =
          makeError(where, ": '", name, "': expected ", expected, ", found ", describe(found));
  }

  const Json &object;
  std::string where;
  Status problem = Status::success();
};

Status addResults(const Json &json, const std::string &name, RunFile &file) {
  const Json &encodings = json["encodings"];
  if (!encodings.is_object())
    return makeError(name, ": 'encodings': expected an object, found ", describe(encodings));
  for (const auto &[encoding, row] : encodings.items()) {
    if (!row.is_object())
      return makeError(name, ": encoding '", encoding, "': expected an object, found ",
                       describe(row));
    Reader reader(row, name + ": encoding '" + encoding + "'");
    file.runs.push_back({encoding, {}, reader.lengths("bits_per_char")});
    if (Status good = reader.status(); !good)
      return good;
  }
  return Status::success();
}

Status addBench(const Json &json, const std::string &name, RunFile &file) {
  Reader head(json, name);
  file.cpu = head.text("cpu", false);
  file.threads = head.whole("threads", false);
  file.copyBytesPerSecond = head.number("copy_bytes_per_second", false);
  if (Status good = head.status(); !good)
    return good;
  const Json &rows = json["rows"];
  if (!rows.is_array())
    return makeError(name, ": 'rows': expected a list, found ", describe(rows));
  for (size_t n = 0; n < rows.size(); ++n) {
    const std::string where = name + ": row " + std::to_string(n);
    if (!rows[n].is_object())
      return makeError(where, ": expected an object, found ", describe(rows[n]));
    Reader reader(rows[n], where);
    for (const std::string half : {"forward", "backward"}) {
      auto at = [&](const char *what) { return reader.number((half + what).c_str(), false); };
      file.bench.push_back({reader.text("encoding"), half, reader.whole("n"), at("_seconds"),
                            at("_flops"), at("_bytes"), at("_share_of_peak")});
    }
    if (Status good = reader.status(); !good)
      return good;
  }
  return Status::success();
}

/// Adds one line of a log.
Status addEvent(const Json &json, const std::string &where, RunRecord &run) {
  if (!json.is_object())
    return makeError(where, ": expected an object with an 'event', found ", describe(json));
  Reader reader(json, where);
  const std::string event = reader.text("event");
  if (event == "step") {
    const double step = reader.number("step");
    // The value is null if the loss was not finite.
    const double bits = reader.number("bits_per_char", false);
    run.loss.emplace_back(step, json.contains("bits_per_char") && json["bits_per_char"].is_number()
                                    ? bits
                                    : std::nan(""));
  } else if (event == "evaluation") {
    run.bitsPerChar = reader.lengths("bits_per_char");
  }
  return reader.status();
}

Expected<RunFile> parseLog(const std::string &text, const std::string &name) {
  RunFile file;
  RunRecord run{fs::path(name).stem().string(), {}, {}};
  size_t line = 1;
  for (size_t begin = 0; begin < text.size(); ++line) {
    size_t end = text.find('\n', begin);
    const bool isLast = end == std::string::npos;
    end = isLast ? text.size() : end;
    const std::string where = name + ":" + std::to_string(line);
    const std::string_view whole = std::string_view(text).substr(begin, end - begin);
    const std::optional<plan::JsonProblem> problem = plan::findJsonProblem(whole);
    if (problem && isLast && line > 1)
      break; // the run was killed while writing it
    if (problem)
      return makeError(where, ":", problem->byte, ": expected a line of JSON as pe train --log ",
                       "writes it, found ", problem->found);
    if (Status good = addEvent(Json::parse(whole), where, run); !good)
      return good.takeError();
    begin = end + 1;
  }
  if (run.loss.empty() && run.bitsPerChar.empty())
    return makeError(name, ": expected steps or evaluations of a training run, found none");
  file.runs.push_back(std::move(run));
  return file;
}

void append(RunFile &all, RunFile more) {
  for (RunRecord &run : more.runs)
    all.runs.push_back(std::move(run));
  if (!all.bench.empty() || more.bench.empty())
    return;
  all.bench = std::move(more.bench);
  all.cpu = std::move(more.cpu);
  all.threads = more.threads;
  all.copyBytesPerSecond = more.copyBytesPerSecond;
}

} // namespace

Expected<RunFile> parseRunFile(const std::string &text, const std::string &name) {
  // A log is a sequence of JSON lines, so a log with more than one line is not valid JSON.
  const auto parsed = plan::parseJson(text, name);
  if (!parsed || !parsed->is_object() || parsed->contains("event"))
    return parseLog(text, name);
  const Json &json = *parsed;
  RunFile file;
  Status good = Status::success();
  if (json.contains("encodings"))
    good = addResults(json, name, file);
  else if (json.contains("rows"))
    good = addBench(json, name, file);
  else
    good = makeError(name, ": expected 'encodings' (pe demo), 'rows' (pe bench --json) or lines "
                           "with an 'event' (pe train --log), found none");
  if (!good)
    return good.takeError();
  return file;
}

Expected<RunFile> readRun(const std::string &path) {
  std::error_code failure;
  if (!fs::is_directory(path, failure)) {
    auto text = readFile(path);
    return text ? parseRunFile(*text, path) : Expected<RunFile>(text.takeError());
  }
  std::vector<fs::path> files;
  for (const fs::directory_entry &entry : fs::directory_iterator(path, failure))
    if (entry.path().extension() == ".json" || entry.path().extension() == ".jsonl")
      files.push_back(entry.path());
  if (failure)
    return makeError("directory '", path, "': cannot read: ", failure.message());
  std::sort(files.begin(), files.end());
  RunFile all;
  std::string firstProblem;
  for (const fs::path &file : files) {
    auto text = readFile(file.string());
    auto read = text ? parseRunFile(*text, file.string()) : Expected<RunFile>(text.takeError());
    if (read)
      append(all, *std::move(read));
    else if (firstProblem.empty())
      firstProblem = "; " + read.error().getMessage();
  }
  if (all.runs.empty() && all.bench.empty())
    return makeError("directory '", path,
                     "': expected results.json, a log of pe train (*.jsonl) or a "
                     "table of pe bench (*.json), found none",
                     firstProblem);
  return all;
}

} // namespace pe::train
