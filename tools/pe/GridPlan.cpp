//===- GridPlan.cpp - The cells of a grid, checked before the first run ---===//
#include "tools/pe/GridState.h"

#include "tools/pe/Sweep.h"

#include <algorithm>
#include <filesystem>

namespace pe::cli {

static Status checkAlone(const train::TrainConfig &config) {
  for (const auto &[flag, given] : {std::pair("--checkpoint", !config.checkpoint.empty()),
                                    {"--log", !config.log.empty()},
                                    {"--trace", !config.trace.empty()},
                                    {"--against", !config.against.empty()},
                                    {"--resume", config.resume},
                                    {"--overwrite", config.overwrite},
                                    {"--check", config.check != train::TrainConfig::Check::None}})
    if (given)
      return makeError("expected no ", flag,
                       " with several runs (finished ones are kept in --out), "
                       "found one");
  return Status::success();
}

/// Checks that the columns of claims are measured. Claims do not apply to rows that --sweep splits.
Status Grid::checkClaims() const {
  for (const train::Claim &claim : experiment.claims)
    for (const train::Operand &operand : {claim.lower, claim.higher})
      for (const Cell &cell : cells) {
        std::vector<std::string> columns = experiment.more;
        for (int64_t length : cell.options.config.evaluation.lengths)
          columns.push_back(std::to_string(length));
        if (rows[cell.row].name != operand.row ||
            std::find(columns.begin(), columns.end(), operand.column) != columns.end())
          continue;
        const Error error =
            makeError("claim '", claim.text, "': expected a column of ", joinChoices(columns),
                      " (--eval-lengths, 'columns'), found '", operand.column, "'");
        if (!experiment.claimsMayLackLengths)
          return error;
        std::fprintf(stderr, "note: not measured: %s\n", error.getMessage().c_str());
        break;
      }
  return Status::success();
}

/// Returns the values of one run: its own replace those that all runs share.
static train::FlagValues replaced(train::FlagValues shared, const train::FlagValues &own,
                                  const std::string &seed) {
  for (const auto &[name, value] : own)
    shared[name] = value;
  shared["seed"] = seed;
  return shared;
}

/// Reads every start that a row names, once per seed.
Status Grid::prepareStarts(const train::FlagValues &shared) {
  for (const NamedFlags &start : experiment.starts)
    for (const std::string &seed : seeds) {
      auto options = train::readTrainOptions(replaced(shared, start.values, seed));
      if (!options)
        return options.takeError().within("start '" + start.name + "'");
      starts.push_back({start.name, seed, *std::move(options)});
    }
  return Status::success();
}

/// Reads the flags of all cells before the first run, so that errors are reported early. All rows
/// of a seed come before the next seed: a complete table is available early, and slow phases of the
/// machine affect all rows.
Status Grid::prepare(const train::FlagValues &shared) {
  if (Status status = checkAlone(config); !status)
    return status;
  auto allRows = rowsOf(experiment.rows, config.sweep);
  if (!allRows)
    return allRows.takeError();
  rows = *std::move(allRows);
  if (experiment.timesForward && config.jobs > 1)
    return makeError("expected --jobs=1 to measure time, found ", config.jobs);
  auto given = parseSeeds(config.seeds);
  if (!given)
    return given.takeError();
  seeds = *std::move(given);
  if (seeds.empty())
    seeds = {std::to_string(config.seed)};
  for (const std::string &seed : seeds)
    for (size_t row = 0; row < rows.size(); ++row) {
      auto options = train::readTrainOptions(replaced(shared, rows[row].values, seed));
      if (!options)
        return options.takeError().within(rows[row].name);
      cells.push_back({row, seed, *std::move(options), "", "", {}});
    }
  if (Status status = prepareStarts(shared); !status)
    return status;
  if (Status status = checkClaims(); !status)
    return status;
  // Read the data first, so that no directory is created if it is missing.
  for (const Cell &cell : cells)
    if (auto texts = corporaOf(cell.options.config); !texts)
      return texts.takeError();
  std::error_code code;
  std::filesystem::create_directories(config.out + "/cells", code);
  if (code)
    return makeError("--out: cannot create the directory '", config.out, "': ", code.message());
  auto taken = train::FolderLock::take(config.out, "another pe");
  if (!taken)
    return taken.takeError();
  folder = *std::move(taken);
  report.emplace(experiment, config, rows, static_cast<int64_t>(seeds.size()));
  return Status::success();
}

} // namespace pe::cli
