//===- Experiment.cpp - Comparisons described by a file --------------------===//
#include "tools/pe/Experiment.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/plan/JsonText.h"
#include "runtime/train/session/Options.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Run.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace pe::cli {
namespace {

// Preserves the order of the rows in the file.
using Json = nlohmann::ordered_json;

using plan::shortened;

/// Reads the fields of an object and keeps the first error.
class Reader {
public:
  Reader(const Json &object, std::string where) : object(object), where(std::move(where)) {}

  std::string text(const char *name, const char *preset = nullptr) {
    const Json *field = find(name, !preset);
    if (field && !field->is_string())
      fail(name, "a string", *field);
    return field && field->is_string() ? field->get<std::string>()
                                       : std::string(preset ? preset : "");
  }
  double number(const char *name) {
    const Json *field = find(name, false);
    if (field && !field->is_number())
      fail(name, "a number", *field);
    return field && field->is_number() ? field->get<double>() : 0;
  }
  std::vector<std::string> texts(const char *name) {
    std::vector<std::string> result;
    const Json *field = find(name, false);
    bool good = !field || field->is_array();
    for (const Json &entry : field &&good ? *field : Json::array()) {
      good = good && entry.is_string();
      if (entry.is_string())
        result.push_back(entry.get<std::string>());
    }
    if (!good)
      fail(name, "a list of strings", *field);
    return result;
  }
  /// {"steps": 100, "lr": "0.01"}: flags of pe train, whose names are checked later.
  std::map<std::string, std::string> flags(const char *name) {
    const Json *field = find(name, false);
    return field ? flagsOf(*field, name) : std::map<std::string, std::string>();
  }
  /// {"NAME": {flags}, ...}
  std::vector<NamedFlags> named(const char *name) {
    std::vector<NamedFlags> result;
    const Json *field = find(name, false);
    if (field && !field->is_object())
      fail(name, "an object of names with flags", *field);
    if (field && field->is_object())
      for (const auto &[row, values] : field->items())
        result.push_back({row, flagsOf(values, row)});
    return result;
  }
  const Json *list(const char *name) {
    const Json *field = find(name, false);
    if (field && !field->is_array())
      fail(name, "a list", *field);
    return field && field->is_array() ? field : nullptr;
  }
  void skip(const char *name) { find(name, false); }
  void fail(const std::string &name, const std::string &expected, const Json &found) {
    if (problem)
      problem =
          makeError(where, ": '", name, "': expected ", expected, ", found ", shortened(found));
  }
  /// Returns the first error, or reports unknown fields.
  Status finish() {
    for (const auto &[name, value] : object.items())
      if (problem && std::find(known.begin(), known.end(), name) == known.end())
        problem = makeError(where, ": unknown field '", name, "'", suggestChoice(name, known));
    return problem;
  }

private:
  const Json *find(const char *name, bool isRequired) {
    known.emplace_back(name);
    const auto found = object.find(name);
    if (found == object.end() && isRequired && problem)
      problem = makeError(where, ": expected '", name, "', found none");
    return found == object.end() ? nullptr : &*found;
  }
  std::map<std::string, std::string> flagsOf(const Json &values, const std::string &name) {
    std::map<std::string, std::string> result;
    if (!values.is_object())
      fail(name, "an object of flags", values);
    else
      for (const auto &[flag, value] : values.items())
        if (value.is_string() || value.is_number())
          result[flag] = value.is_string() ? value.get<std::string>() : value.dump();
        else
          fail(name + "." + flag, "a string or a number", value);
    if (auto encoding = result.find("encoding"); encoding != result.end())
      encoding->second = encodingFileOf(encoding->second);
    return result;
  }

  const Json &object;
  std::string where;
  std::vector<std::string> known;
  Status problem = Status::success();
};

/// 0.5, or "ROW@LENGTH" or "ROW@COLUMN" of a row of the table.
Expected<train::Operand> operandOf(const Json &json) {
  if (json.is_number())
    return train::Operand{"", "", json.get<double>()};
  const std::string text = json.is_string() ? json.get<std::string>() : "";
  const size_t at = text.rfind('@');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return makeError("expected a number or \"ROW@LENGTH\", found ", shortened(json));
  return train::Operand{text.substr(0, at), text.substr(at + 1), 0};
}

/// {"claim": TEXT, "lower": OPERAND, "than": OPERAND, "by": NUMBER}
Expected<train::Claim> readClaim(const Json &json, const std::string &where) {
  if (!json.is_object())
    return makeError(where, ": expected an object, found ", shortened(json));
  Reader reader(json, where);
  train::Claim claim;
  claim.text = reader.text("claim");
  claim.by = reader.number("by");
  for (auto [name, operand] : {std::pair("lower", &claim.lower), {"than", &claim.higher}}) {
    reader.skip(name);
    auto parsed = operandOf(json.contains(name) ? json[name] : Json());
    if (!parsed)
      return parsed.takeError().within(where + ": '" + name + "'");
    *operand = *parsed;
  }
  if (Status status = reader.finish(); !status)
    return status.takeError();
  return claim;
}

/// Flags that apply to all runs and must not be in a row or start.
constexpr std::array kOfAllRuns = {"against",   "check",  "checkpoint", "checkpoint-interval",
                                   "jobs",      "keep",   "log",        "out",
                                   "overwrite", "resume", "seed",       "seeds",
                                   "sweep",     "trace"};

/// Checks that the flags are flags of `pe train`.
Status checkFlags(const std::map<std::string, std::string> &flags, const std::string &where) {
  for (const auto &[name, value] : flags)
    if (Status known = train::checkFlagName(name); !known)
      return Status(known.takeError().within(where));
  return Status::success();
}

Status checkRow(const std::map<std::string, std::string> &flags, const std::string &where) {
  for (const char *name : kOfAllRuns)
    if (flags.count(name))
      return makeError(where, ": expected flags of one run, found '", name,
                       "', which applies to all runs; write it in 'flags' or on the command line");
  return checkFlags(flags, where);
}

/// Checks that claims and baselines refer to existing rows.
Status checkNames(const Experiment &experiment, const std::string &where) {
  std::vector<std::string> names;
  for (const NamedFlags &row : experiment.rows)
    names.push_back(row.name);
  auto check = [&](const std::string &name, const std::string &field) -> Status {
    if (name.empty() || std::find(names.begin(), names.end(), name) != names.end())
      return Status::success();
    return makeError(where, ": ", field, ": expected a row, found '", name, "'",
                     suggestChoice(name, names));
  };
  if (names.empty())
    return makeError(where, ": expected 'rows' or 'encodings', found none");
  for (auto [group, kind] :
       {std::pair(&experiment.rows, ": row '"), {&experiment.starts, ": start '"}})
    for (const NamedFlags &row : *group)
      if (Status status = checkRow(row.values, where + kind + row.name + "'"); !status)
        return status;
  if (Status status = checkFlags(experiment.flags, where + ": 'flags'"); !status)
    return status;
  for (const std::string &name : experiment.baselines)
    if (Status status = check(name, "'baselines'"); !status)
      return status;
  for (const train::Claim &claim : experiment.claims)
    for (const train::Operand &operand : {claim.lower, claim.higher})
      if (Status status = check(operand.row, "claim '" + claim.text + "'"); !status)
        return status;
  return Status::success();
}

} // namespace

std::string encodingFileOf(const std::string &name) {
  return name == "none" || name.ends_with(".mlir") ? name : "examples/encodings/" + name + ".mlir";
}

std::string experimentFileOf(const std::string &name) {
  std::error_code ignored;
  const std::string found = findExperiment(name);
  return std::filesystem::is_directory(found, ignored)
             ? (std::filesystem::path(found) / "experiment.json").string()
             : found;
}

Expected<Experiment> readExperiment(const std::string &file, bool quick) {
  auto content = readFile(file);
  if (!content)
    return content.takeError();
  auto parsed = plan::parseJson<Json>(*content, file);
  if (!parsed)
    return parsed.takeError();
  Json json = *std::move(parsed);
  if (!json.is_object())
    return makeError(file, ": expected a JSON object, found ", shortened(json));
  if (quick && json.contains("quick")) {
    const Json patch = json["quick"];
    json.merge_patch(patch);
  }
  Reader reader(json, file);
  reader.skip("quick");
  Experiment experiment;
  experiment.title = reader.text("title");
  experiment.question = reader.text("question", "");
  experiment.flags = reader.flags("flags");
  experiment.starts = reader.named("starts");
  for (const std::string &name : reader.texts("encodings"))
    experiment.rows.push_back(
        {std::filesystem::path(name).stem().string(), {{"encoding", encodingFileOf(name)}}});
  for (NamedFlags &row : reader.named("rows"))
    experiment.rows.push_back(std::move(row));
  experiment.baselines = reader.texts("baselines");
  experiment.limits = reader.texts("limits");
  experiment.more = reader.texts("columns");
  const std::string measure = reader.text("measure", "result");
  if (measure != "result" && measure != "forward-time")
    reader.fail("measure", joinChoices({"result", "forward-time"}), json["measure"]);
  experiment.timesForward = measure == "forward-time";
  for (const std::string &column : experiment.more)
    if (column != "dormant" && column != "DfI" && column != "SFE")
      reader.fail("columns", joinChoices({"dormant", "DfI", "SFE"}), json["columns"]);
  const Json *claims = reader.list("claims");
  for (size_t i = 0; claims && i < claims->size(); ++i) {
    auto claim = readClaim((*claims)[i], file + ": claim " + std::to_string(i + 1));
    if (!claim)
      return claim.takeError();
    experiment.claims.push_back(*std::move(claim));
  }
  if (Status status = reader.finish(); !status)
    return status.takeError();
  if (Status status = checkNames(experiment, file); !status)
    return status.takeError();
  return experiment;
}

} // namespace pe::cli
