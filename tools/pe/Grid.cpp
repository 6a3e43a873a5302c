//===- Grid.cpp - Several training runs and their table ---===//
//
// Cells, the files of finished runs, and workers.
//
//===----------------------------------------------------------------------===//
#include "tools/pe/Grid.h"

#include "runtime/chart/Smoothing.h"
#include "runtime/core/File.h"
#include "runtime/core/Hash.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/train/api/OpenSession.h"
#include "runtime/train/session/Observers.h"
#include "runtime/train/trainer/Measures.h"
#include "runtime/train/trainer/WarmStart.h"
#include "tools/pe/CellFile.h"
#include "tools/pe/Commands.h"
#include "tools/pe/ForwardTime.h"
#include "tools/pe/GridReport.h"
#include "tools/pe/Interrupt.h"
#include "tools/pe/LearnedBias.h"
#include "tools/pe/Run.h"
#include "tools/pe/Sweep.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <numbers>
#include <optional>
#include <thread>

namespace pe::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// A row with a seed.
struct Cell {
  size_t row;
  std::string seed;
  train::TrainOptions options;
  /// The hash of everything that determines the result, and the file with the result.
  std::string key, file;
  std::optional<train::EncodingResult> result;
};

/// A warm start of rows, with a seed.
struct Start {
  std::string name, seed;
  train::TrainOptions options;
  /// True if its checkpoint is complete.
  bool isDone = false;
};

/// A run that is about to begin, with the encoding from which the session's attention is created.
struct OpenRun {
  std::unique_ptr<train::Session> session;
  train::TrainedEncoding encoding;
};

/// The curves of the losses of a run.
class Recorder : public train::Observer {
public:
  explicit Recorder(train::EncodingResult &result) : result(result) {}
  void onStep(const train::StepReport &report, train::Trainer &trainer) override {
    constexpr int64_t kInterval = 10;
    const double bits = report.loss / std::numbers::ln2;
    if (!report.skipped)
      smooth.add(bits);
    if (trainer.steps() % kInterval == 0)
      result.curve.emplace_back(trainer.steps(), smooth.value());
  }
  void onAccuracy(const std::map<int64_t, double> &byLength) override {
    result.accuracy = byLength;
  }
  void onEvaluation(int64_t step, const std::map<int64_t, double> &bits) override {
    const auto &shown = result.accuracy.empty() ? bits : result.accuracy;
    if (!shown.empty())
      result.evaluations.emplace_back(step, shown.begin()->second);
    result.bitsPerChar = bits;
  }

private:
  train::EncodingResult &result;
  chart::RunningMean smooth{0.9};
};

/// Returns a file name for a row: letters, digits and a few punctuation marks.
std::string fileNameOf(std::string name) {
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '=' && c != '.' && c != '-')
      c = '_';
  return name.substr(0, 100);
}

class Grid {
public:
  Grid(Experiment experiment, const train::TrainOptions &options)
      : experiment(std::move(experiment)), config(options.config) {}

  Status prepare(const train::FlagValues &shared);
  Expected<int> run();

private:
  Status checkClaims() const;
  Status prepareStarts(const train::FlagValues &shared);
  Status nameStarts();
  Status name(Cell &cell);
  Expected<std::string> identityOf(train::TrainOptions &options, const std::string &what);
  Expected<train::Kernels> kernelsOf(const std::string &activation);
  Expected<std::vector<std::shared_ptr<const train::Corpus>>>
  corporaOf(const train::TrainConfig &config);
  Expected<OpenRun> open(const train::TrainOptions &options, cpu::ThreadPool &pool);
  cpu::ThreadPool::Options threadsOf(const train::TrainConfig &own) const;
  Status runStarts();
  Status runStart(Start &start);
  Status findFinished();
  Status runCell(Cell &cell);
  void drawBias(const Cell &cell, const OpenRun &run, train::EncodingResult &result) const;
  void tell(const Cell &cell);
  void tellRow(size_t row);
  int tellStop();
  void addTimeAfter(train::ProgressLine &progress);
  Status measure(train::Session &session, const std::string &label, train::EncodingResult &result);
  Status measureMore(train::Session &session, train::EncodingResult &result);
  template <typename Run> Status inParallel(size_t count, Run run);

  Experiment experiment;
  const train::TrainConfig &config;
  std::vector<NamedFlags> rows;
  std::vector<std::string> seeds;
  std::vector<Cell> cells;
  std::vector<Start> starts;
  /// Guards the state that cells share, and the output of workers.
  std::mutex lock;
  std::map<std::string, train::Kernels> kernels;
  std::map<std::string, std::shared_ptr<const train::Corpus>> corpora;
  std::shared_ptr<const train::Corpus> lastText;
  std::optional<GridReport> report;
  /// The lock of --out.
  train::FolderLock folder;
  RunCounts counts;
  std::string build;
  /// The runs that have ended, including those of earlier commands, and the seconds of the runs of
  /// this command.
  size_t finished = 0;
  double secondsOfRuns = 0;
};

Status checkAlone(const train::TrainConfig &config) {
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
train::FlagValues replaced(train::FlagValues shared, const train::FlagValues &own,
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

Expected<train::Kernels> Grid::kernelsOf(const std::string &activation) {
  if (auto found = kernels.find(activation); found != kernels.end())
    return found->second;
  auto made = train::prepareTraining(activation);
  if (made)
    kernels[activation] = *made;
  return made;
}

Expected<std::vector<std::shared_ptr<const train::Corpus>>>
Grid::corporaOf(const train::TrainConfig &own) {
  std::vector<std::shared_ptr<const train::Corpus>> result;
  for (const train::PhaseConfig &phase : own.phases) {
    auto &corpus = corpora[std::string(own.vocabulary.unitName()) +
                           std::to_string(own.vocabulary.size()) + ":" + phase.data];
    if (!corpus) {
      auto read = train::readData(phase.data, own.vocabulary);
      if (!read)
        return read.takeError();
      corpus = std::make_shared<const train::Corpus>(*std::move(read));
    }
    result.push_back(corpus);
  }
  lastText = result.back();
  return result;
}

/// Returns a string with everything that determines a run's result.
Expected<std::string> Grid::identityOf(train::TrainOptions &options, const std::string &what) {
  const train::TrainConfig &own = options.config;
  auto texts = corporaOf(own);
  if (!texts)
    return texts.takeError();
  auto encoding = train::compileEncoding(findFile(own.encoding), own);
  if (!encoding)
    return encoding.takeError().within(what);
  if (Status status = train::addContentHashes(own, *encoding, *texts, options.identity); !status)
    return status.takeError().within(what);
  std::string all;
  for (const auto &[key, value] : options.identity)
    if (!options.identity.count(key + ".sha256"))
      all += key + "=" + value + "\n";
  return all;
}

/// Sets the directory of each start's checkpoint, named by a hash of everything that determines it,
/// and lets rows begin there.
Status Grid::nameStarts() {
  for (Start &start : starts) {
    auto identity = identityOf(start.options, "start '" + start.name + "'");
    if (!identity)
      return identity.takeError();
    train::TrainConfig &own = start.options.config;
    own.checkpoint = config.out + "/starts/" + fileNameOf(start.name) + "-seed" + start.seed + "-" +
                     sha256(*identity).substr(0, 12);
    own.resume = own.resumeIfAny = true;
    for (Cell &cell : cells)
      if (cell.seed == start.seed && cell.options.config.from == start.name)
        cell.options.config.from = own.checkpoint;
  }
  return Status::success();
}

/// Sets the file of a cell's result, named by a hash of everything that determines it.
Status Grid::name(Cell &cell) {
  auto identity = identityOf(cell.options, rows[cell.row].name);
  if (!identity)
    return identity.takeError();
  const train::TrainConfig &own = cell.options.config;
  std::string all = *identity;
  for (int64_t length : own.evaluation.lengths)
    all += std::to_string(length) + ",";
  all += std::to_string(own.evaluationInterval);
  if (experiment.timesForward)
    all += ",forward-time";
  for (const std::string &column : experiment.more)
    all += "," + column;
  cell.key = sha256(all);
  cell.file = config.out + "/cells/" + fileNameOf(rows[cell.row].name) + "-seed" + cell.seed + "-" +
              cell.key.substr(0, 12) + ".json";
  auto text = readFile(cell.file);
  std::optional<FinishedCell> found = text ? fromCellText(*text) : std::nullopt;
  if (!found || found->key != cell.key)
    return Status::success();
  const bool isOther = found->build != build;
  counts.ofOtherBuilds += isOther;
  if (isOther && experiment.needsThisBuild)
    return Status::success();
  counts.finishedBefore += 1;
  cell.result = std::move(found->result);
  cell.result->name = rows[cell.row].name;
  return Status::success();
}

cpu::ThreadPool::Options Grid::threadsOf(const train::TrainConfig &own) const {
  cpu::ThreadPool::Options threads;
  threads.threads = own.threads;
  if (config.jobs > 1 && own.threads == 0)
    threads.threads =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / config.jobs);
  return threads;
}

/// Compiles the kernels of a run. Only one thread compiles at a time.
Expected<OpenRun> Grid::open(const train::TrainOptions &options, cpu::ThreadPool &pool) {
  std::lock_guard guard(lock);
  const train::TrainConfig &own = options.config;
  auto texts = corporaOf(own);
  auto compute = kernelsOf(own.activation);
  auto encoding = train::compileEncoding(findFile(own.encoding), own);
  if (!texts || !compute || !encoding)
    return !texts ? texts.takeError() : !compute ? compute.takeError() : encoding.takeError();
  auto phases = train::attentionOfPhases(own, *encoding, findFile(own.encoding), pool);
  if (!phases)
    return phases.takeError();
  auto session = train::Session::create(own,
                                        {*compute, encoding->attentionFactory(pool), pool,
                                         encoding->embeddingFactory(pool), *std::move(phases)},
                                        *std::move(texts), options.identity);
  if (!session)
    return session.takeError();
  (*session)->stopWhen(isInterrupted);
  return OpenRun{*std::move(session), *std::move(encoding)};
}

/// Trains a start to its last step and saves the checkpoint.
Status Grid::runStart(Start &start) {
  cpu::ThreadPool pool(threadsOf(start.options.config));
  auto opened = open(start.options, pool);
  if (!opened)
    return opened.takeError();
  train::Session &session = *opened->session;
  const int64_t steps = start.options.config.totalSteps();
  train::ProgressLine progress(stderr, "start " + start.name + " seed " + start.seed, steps,
                               session.trainer().steps());
  std::vector<train::Observer *> observers;
  if (config.jobs == 1)
    observers.push_back(&progress);
  Status status = session.trainUntil(steps, observers);
  if (config.jobs == 1)
    progress.clear();
  return status;
}

/// Trains or times the session.
Status Grid::measure(train::Session &session, const std::string &label,
                     train::EncodingResult &result) {
  if (experiment.timesForward) {
    auto milliseconds = timeForward(session);
    if (!milliseconds)
      return milliseconds.takeError();
    result.milliseconds = *std::move(milliseconds);
    return Status::success();
  }
  const bool counts = !experiment.more.empty();
  session.trainer().model().recordActivity(counts);
  Recorder recorder(result);
  train::ProgressLine progress(stderr, label, session.config().totalSteps());
  addTimeAfter(progress);
  std::vector<train::Observer *> observers = {&recorder};
  if (config.jobs == 1)
    observers.push_back(&progress);
  auto bits = session.run(observers);
  if (config.jobs == 1)
    progress.clear();
  if (!bits)
    return bits.takeError();
  return counts && !session.hasStopped() ? measureMore(session, result) : Status::success();
}

/// Computes the additional columns of the experiment: means over layers or matrices.
Status Grid::measureMore(train::Session &session, train::EncodingResult &result) {
  std::optional<train::NamedWeights> before;
  if (const std::string &from = session.config().from; !from.empty()) {
    auto weights = train::readWeights(from, session.trainer());
    if (!weights)
      return weights.takeError();
    before = *std::move(weights);
  }
  std::map<std::string, std::vector<double>> values;
  for (const train::DormantShare &layer :
       train::dormantShares(session.trainer(), session.config().plasticity.redoTau))
    values["dormant"].push_back(layer.share);
  for (const train::MatrixMeasures &matrix :
       train::measureMatrices(session.trainer(), before ? &*before : nullptr)) {
    values["DfI"].push_back(matrix.dfi);
    if (matrix.sfe)
      values["SFE"].push_back(*matrix.sfe);
  }
  for (const std::string &column : experiment.more)
    if (!values[column].empty())
      result.more[column] = {train::meanOf(values[column]).first};
  return Status::success();
}

/// Sets the remaining time, assuming that the remaining runs take as long as the finished ones.
void Grid::addTimeAfter(train::ProgressLine &progress) {
  std::lock_guard guard(lock);
  const size_t done = finished - counts.finishedBefore, after = cells.size() - finished - 1;
  if (done == 0)
    return progress.setRunsAfter(after);
  progress.setSecondsAfter(secondsOfRuns / static_cast<double>(done) * static_cast<double>(after));
}

/// Evaluates the learned bias for the plot. A failure is not fatal, because the training is done.
void Grid::drawBias(const Cell &cell, const OpenRun &run, train::EncodingResult &result) const {
  if (experiment.timesForward)
    return;
  auto bias = learnedBiasOf(run.encoding, *run.session);
  if (bias)
    result.bias = *std::move(bias);
  else
    std::fprintf(stderr, "note: %s has no picture of its bias: %s\n", rows[cell.row].name.c_str(),
                 bias.takeError().getMessage().c_str());
}

Status Grid::runCell(Cell &cell) {
  const Clock::time_point start = Clock::now();
  cpu::ThreadPool pool(threadsOf(cell.options.config));
  auto opened = open(cell.options, pool);
  if (!opened)
    return opened.takeError();
  train::Session &session = *opened->session;
  train::EncodingResult result;
  result.name = rows[cell.row].name;
  const train::ParameterLayout &layout = session.trainer().model().layout();
  result.encodingParams = layout.count(train::Role::Encoding);
  result.modelParams = layout.count();
  const std::string label = result.name + (seeds.size() > 1 ? " seed " + cell.seed : "");
  if (Status status = measure(session, label, result); !status)
    return status;
  if (session.hasStopped())
    return Status::success();
  result.trainSeconds = std::chrono::duration<double>(Clock::now() - start).count();
  drawBias(cell, *opened, result);
  if (Status status =
          writeFileAtomically(cell.file, toCellText({result, cell.key, build}), Durability::Disk);
      !status)
    return status;
  std::lock_guard guard(lock);
  cell.result = std::move(result);
  tell(cell);
  return Status::success();
}

/// Reports the end of a run. Requires the lock. If each row is one run and runs end in order,
/// printing the row is sufficient.
void Grid::tell(const Cell &cell) {
  ++finished;
  secondsOfRuns += cell.result->trainSeconds;
  if (seeds.size() > 1 || config.jobs > 1) {
    std::string values;
    for (auto [length, value] : train::shown(report->measure(), *cell.result)) {
      char text[32];
      std::snprintf(text, sizeof text, " %.3f", value);
      values += text;
    }
    std::fprintf(stderr, "run %zu of %zu: %s, seed %s:%s in %.1f seconds\n", finished, cells.size(),
                 rows[cell.row].name.c_str(), cell.seed.c_str(), values.c_str(),
                 cell.result->trainSeconds);
  }
  tellRow(cell.row);
}

/// Adds a row to the report if all of its runs have ended.
void Grid::tellRow(size_t row) {
  std::vector<const train::EncodingResult *> runs;
  for (const Cell &cell : cells) {
    if (cell.row != row)
      continue;
    if (!cell.result)
      return;
    runs.push_back(&*cell.result);
  }
  report->add(row, runs);
}

/// Calls run(0), run(1), ..., up to --jobs of them in parallel. After a failure, the other workers
/// finish their current runs. After a signal, no further run begins.
template <typename Run> Status Grid::inParallel(size_t count, Run run) {
  std::atomic<size_t> next = 0;
  Status failure = Status::success();
  auto work = [&] {
    for (size_t index; !isInterrupted() && (index = next++) < count;) {
      Status status = run(index);
      if (status)
        continue;
      std::lock_guard guard(lock);
      if (failure)
        failure = std::move(status);
      next = count;
      return;
    }
  };
  std::vector<std::thread> workers;
  for (int job = 1; job < config.jobs; ++job)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();
  return failure;
}

Status Grid::runStarts() {
  if (Status status = nameStarts(); !status)
    return status;
  return inParallel(starts.size(), [this](size_t index) -> Status {
    Status done = runStart(starts[index]);
    return done ? std::move(done)
                : Status(done.takeError().within("start '" + starts[index].name + "', seed " +
                                                 starts[index].seed));
  });
}

/// Reads the results of earlier commands.
Status Grid::findFinished() {
  auto hash = buildOfPe();
  if (!hash)
    return hash.takeError();
  build = *std::move(hash);
  counts.all = cells.size();
  for (Cell &cell : cells)
    if (Status named = name(cell); !named)
      return named;
  finished = counts.finishedBefore;
  const char *folder = config.out.c_str();
  if (finished > 0)
    std::fprintf(stderr, "%zu of %zu runs are in '%s' already\n", finished, cells.size(), folder);
  if (counts.ofOtherBuilds > 0)
    std::fprintf(stderr, "%zu of the runs in '%s' were trained by another build of pe%s\n",
                 counts.ofOtherBuilds, folder,
                 experiment.needsThisBuild
                     ? " and are trained again"
                     : ("; delete '" + config.out + "/cells' to train them again").c_str());
  if (experiment.needsThisBuild)
    counts.ofOtherBuilds = 0;
  return Status::success();
}

/// Reports, after a signal, the finished runs and how to continue.
int Grid::tellStop() {
  std::fprintf(
      stderr,
      "stopped: %zu of %zu runs are finished and saved in '%s/cells'; run the same command to "
      "continue\n",
      finished, cells.size(), config.out.c_str());
  return interruptStatus();
}

Expected<int> Grid::run() {
  catchInterrupts();
  if (Status status = runStarts(); !status)
    return status.takeError();
  if (isInterrupted()) {
    std::fprintf(stderr,
                 "stopped; the warm starts are saved in '%s/starts'; run the same command to "
                 "continue\n",
                 config.out.c_str());
    return interruptStatus();
  }
  if (Status status = findFinished(); !status)
    return status.takeError();
  std::vector<const train::TrainConfig *> runs;
  for (const Cell &cell : cells)
    runs.push_back(&cell.options.config);
  report->begin(runs, *lastText, counts);
  for (size_t row = 0; row < rows.size(); ++row)
    tellRow(row);
  Status status = inParallel(cells.size(), [this](size_t index) -> Status {
    Cell &cell = cells[index];
    Status done = cell.result ? Status::success() : runCell(cell);
    return done ? std::move(done)
                : Status(done.takeError().within(rows[cell.row].name + ", seed " + cell.seed));
  });
  if (!status)
    return status.takeError();
  if (finished < cells.size())
    return tellStop();
  if (Status written = report->write(); !written)
    return written.takeError();
  return 0;
}

} // namespace

Expected<int> runGrid(const train::FlagValues &shared, const train::TrainOptions &options,
                      Experiment experiment) {
  Grid grid(std::move(experiment), options);
  if (Status status = grid.prepare(shared); !status)
    return status.takeError();
  return grid.run();
}

} // namespace pe::cli
