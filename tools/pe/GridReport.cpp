//===- GridReport.cpp - The report of several runs -------------------------===//
#include "tools/pe/GridReport.h"

#include "runtime/core/File.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <algorithm>
#include <set>

namespace pe::cli {
namespace {

/// Returns "1 step", "2 steps".
std::string countText(int64_t number, const std::string &what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

/// Returns "2 layers, 64 wide, 4 heads of 16".
std::string sizeText(const train::DecoderConfig &model) {
  return countText(model.layers, "layer") + ", " + std::to_string(model.dim) + " wide, " +
         countText(model.heads, "head") + " of " + std::to_string(model.headDim());
}

/// Returns the lengths of the table's columns.
std::vector<int64_t> lengthsOf(const std::vector<const train::TrainConfig *> &runs) {
  std::set<int64_t> lengths;
  for (const train::TrainConfig *run : runs)
    lengths.insert(run->evaluation.lengths.begin(), run->evaluation.lengths.end());
  return {lengths.begin(), lengths.end()};
}

/// Returns the additional columns, in the order of the report. A distance is measured from the warm
/// start of a row.
std::vector<std::string> columnsOf(const Experiment &experiment,
                                   const std::vector<const train::TrainConfig *> &runs) {
  const bool hasStart = std::any_of(
      runs.begin(), runs.end(), [](const train::TrainConfig *run) { return !run->from.empty(); });
  std::set<std::string> columns;
  for (const std::string &column : experiment.more)
    if (!experiment.timesForward && (column != "SFE" || hasStart))
      columns.insert(column);
  return {columns.begin(), columns.end()};
}

/// Returns the row with which `row` is compared: the last baseline above it.
std::string baselineOf(const std::vector<NamedFlags> &rows, size_t row,
                       const std::vector<std::string> &baselines) {
  std::string found = baselines.empty() ? rows[0].name : "";
  for (size_t i = 0; i <= row; ++i)
    if (std::find(baselines.begin(), baselines.end(), rows[i].name) != baselines.end())
      found = rows[i].name;
  return found == rows[row].name ? "" : found;
}

int threadsOf(const train::TrainConfig &config) {
  cpu::ThreadPool::Options threads;
  threads.threads = config.threads;
  return cpu::ThreadPool(threads).threads();
}

} // namespace

GridReport::GridReport(const Experiment &experiment, const train::TrainConfig &config,
                       std::vector<NamedFlags> rows, int64_t seeds)
    : experiment(experiment), config(config), rows(std::move(rows)), seeds(seeds) {}

/// "2 layers, 64 wide, 4 heads of 16, trained for 600 steps ... with AdamW; seed 0."
std::string GridReport::setupOf() const {
  const std::string unit = content.measure == train::Measure::Bits ? content.unit : "token";
  std::string text = sizeText(config.model);
  if (!experiment.timesForward)
    text += ", trained for " + countText(config.totalSteps(), "step") + " of " +
            countText(config.batch, "sequence") + " of " + countText(config.sequence, unit) +
            " with " +
            (config.optimizer.kind == train::OptimizerKind::Muon ? "Muon and AdamW" : "AdamW");
  const bool differ = std::any_of(rows.begin(), rows.end(), [](const NamedFlags &row) {
    return row.values.size() > row.values.count("encoding");
  });
  text += differ ? ", unless a row says otherwise; " : "; ";
  return text +
         (seeds == 1 && config.seeds.empty() ? "seed " + std::to_string(config.seed)
                                             : countText(seeds, "seed")) +
         ".";
}

void GridReport::begin(const std::vector<const train::TrainConfig *> &runs,
                       const train::Corpus &text, const RunCounts &found) {
  counts = found;
  content.title = experiment.title;
  content.question = experiment.question;
  content.measure = experiment.timesForward ? train::Measure::ForwardTime
                    : text.training.task    ? train::Measure::Accuracy
                                            : train::Measure::Bits;
  content.claims = experiment.claims;
  content.unit = config.vocabulary.unitName();
  content.corpusDirectory = text.directory;
  content.corpusSha256 = text.sha256;
  content.corpusBytes = text.bytes;
  content.corpusFiles = text.files;
  content.corpusSplit = train::filesOf(text);
  content.threads = threadsOf(config);
  content.trainedLength = config.sequence;
  content.setup = setupOf();
  content.limits = experiment.limits;
  if (counts.ofOtherBuilds > 0)
    content.limits.push_back(std::to_string(counts.ofOtherBuilds) + " of " +
                             countText(static_cast<int64_t>(counts.all), "run") +
                             " were trained by another build of pe.");
  content.limits.emplace_back(
      seeds == 1 ? "One seed: small differences between rows are not significant; several seeds "
                   "(--seeds=0,1,2 of pe train and pe compare) show the spread."
                 : "The deviation is over seeds: over initial values and the order of the data. It "
                   "does not cover other data or sizes.");
  std::vector<std::string> names;
  for (const NamedFlags &row : rows)
    names.push_back(row.name);
  table.emplace(content.measure, content.unit, seeds, names, lengthsOf(runs),
                columnsOf(experiment, runs));
  content.results.resize(rows.size());
  isThere.resize(rows.size());
  printHeader();
}

void GridReport::printHeader() const {
  std::printf("%s: %s", content.corpusFiles > 0 ? "text" : "data", content.corpusDirectory.c_str());
  if (content.corpusFiles > 0)
    std::printf(" (%s, %.1f MB, sha256 %.12s...)", content.corpusSplit.c_str(),
                static_cast<double>(content.corpusBytes) * 1e-6, content.corpusSha256.c_str());
  std::printf("\nmodel: %s %s\n\n%s", content.setup.c_str(),
              countText(content.threads, "thread").c_str(), table->header().c_str());
  std::fflush(stdout);
}

void GridReport::add(size_t row, const std::vector<const train::EncodingResult *> &runs) {
  train::EncodingResult &result = content.results[row];
  result = train::meanOf(runs, content.measure);
  result.name = rows[row].name;
  if (experiment.hasMargins)
    result.baseline = baselineOf(rows, row, experiment.baselines);
  isThere[row] = true;
  for (; printed < rows.size() && isThere[printed]; ++printed)
    std::printf("%s", table->row(content.results[printed]).c_str());
  std::fflush(stdout);
}

Status GridReport::write() {
  content.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%s\nwhat this does not show:\n", train::belowTable(content).c_str());
  for (const std::string &limit : content.limits)
    std::printf("- %s\n", limit.c_str());
  for (const auto &[file, text] : {std::pair("/results.json", train::toJson(content)),
                                   {"/report.html", train::toHtml(content)}})
    if (Status status = writeFileAtomically(config.out + file, text); !status)
      return status;
  std::printf("\n%.0f seconds in all", content.seconds);
  if (counts.finishedBefore > 0)
    std::printf(" (%zu of %zu runs were there already)", counts.finishedBefore, counts.all);
  std::printf("; %s/report.html has the pictures, %s/results.json the numbers\n",
              config.out.c_str(), config.out.c_str());
  return Status::success();
}

} // namespace pe::cli
