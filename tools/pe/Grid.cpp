//===- Grid.cpp - Several training runs and their table ---===//
//
// Cells, the files of finished runs, workers, and what is made of the results.
//
//===----------------------------------------------------------------------===//
#include "tools/pe/Grid.h"

#include "runtime/core/File.h"
#include "runtime/core/Hash.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/train/api/OpenSession.h"
#include "runtime/train/report/Report.h"
#include "runtime/train/session/Observers.h"
#include "runtime/train/trainer/Measures.h"
#include "tools/pe/CellFile.h"
#include "tools/pe/Commands.h"
#include "tools/pe/ForwardTime.h"
#include "tools/pe/Run.h"
#include "tools/pe/TrainCommands.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <numbers>
#include <optional>
#include <thread>

namespace pe::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kPrefix = "pe.train.";

/// A row with one seed.
struct Cell {
  size_t row;
  std::string seed;
  train::TrainOptions options;
  std::string file;
  std::optional<train::EncodingResult> result;
};

/// What rows begin with, of one seed.
struct Start {
  std::string name, seed;
  train::TrainOptions options;
  /// Whether its checkpoint is complete.
  bool isDone = false;
};

/// What one run found: the curves of its losses.
class Recorder : public train::Observer {
public:
  explicit Recorder(train::EncodingResult &result) : result(result) {}
  void onStep(const train::StepReport &report, train::Trainer &trainer) override {
    constexpr int64_t kInterval = 10;
    const double bits = report.loss / std::numbers::ln2;
    if (!report.skipped)
      smooth = result.curve.empty() && smooth == 0 ? bits : 0.9 * smooth + 0.1 * bits;
    if (trainer.steps() % kInterval == 0)
      result.curve.emplace_back(trainer.steps(), smooth);
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
  double smooth = 0;
};

/// A file's name from a row's: letters, digits and a few marks.
std::string fileNameOf(std::string name) {
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '=' && c != '.' && c != '-')
      c = '_';
  return name.substr(0, 100);
}

/// The last part of a path without its ending: how encodings are called.
std::string shortOf(const std::string &value) {
  return value.ends_with(".mlir") ? std::filesystem::path(value).stem().string() : value;
}

/// Every row with every combination of the axes' values, the last axis fastest.
std::vector<NamedFlags> rowsOf(std::vector<NamedFlags> rows, const std::vector<Axis> &axes) {
  if (rows.empty())
    rows = {{axes.empty() ? "all seeds" : "", {}}};
  for (const Axis &axis : axes) {
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
  return rows;
}

Status checkSeeds(const std::vector<std::string> &seeds) {
  for (const std::string &text : seeds) {
    uint64_t seed = 0;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (failure != std::errc() || end != text.data() + text.size())
      return makeError("--seeds: expected whole numbers such as 0,1,2, found '", text, "'");
    if (std::count(seeds.begin(), seeds.end(), text) > 1)
      return makeError("--seeds: '", text, "' is given twice");
  }
  return Status::success();
}

class Grid {
public:
  Grid(Experiment experiment, const train::TrainOptions &options)
      : experiment(std::move(experiment)), config(options.config) {}

  Status prepare(const std::vector<std::string> &arguments);
  Status run();
  Status write();

private:
  Status prepareRows();
  Status prepareStarts(const std::vector<std::string> &arguments);
  Status nameStarts();
  Status name(Cell &cell);
  Expected<std::string> identityOf(train::TrainOptions &options, const std::string &what);
  Expected<train::Kernels> kernelsOf(const std::string &activation);
  Expected<std::vector<std::shared_ptr<const train::Corpus>>>
  corporaOf(const train::TrainConfig &config);
  Expected<std::unique_ptr<train::Session>> open(const train::TrainOptions &options,
                                                 cpu::ThreadPool &pool);
  cpu::ThreadPool::Options threadsOf(const train::TrainConfig &own) const;
  Status runStart(Start &start);
  Status runCell(Cell &cell);
  Status measure(train::Session &session, const std::string &label, train::EncodingResult &result);
  Status measureMore(train::Session &session, train::EncodingResult &result);
  template <typename Run> Status inParallel(size_t count, Run run);
  train::Measure measureOf() const;
  train::EncodingResult summary(size_t row) const;

  Experiment experiment;
  const train::TrainConfig &config;
  std::vector<NamedFlags> rows;
  std::vector<std::string> seeds;
  std::vector<Cell> cells;
  std::vector<Start> starts;
  /// What cells share, and what workers tell; one at a time.
  std::mutex lock;
  std::map<std::string, train::Kernels> kernels;
  std::map<std::string, std::shared_ptr<const train::Corpus>> corpora;
  std::shared_ptr<const train::Corpus> lastText;
  size_t finished = 0;
  Clock::time_point begin = Clock::now();
};

Status checkAlone(const train::TrainConfig &config) {
  for (const auto &[flag, given] : {std::pair("--checkpoint", !config.checkpoint.empty()),
                                    {"--log", !config.log.empty()},
                                    {"--trace", !config.trace.empty()},
                                    {"--against", !config.against.empty()},
                                    {"--resume", config.resume},
                                    {"--check", config.check != train::TrainConfig::Check::None}})
    if (given)
      return makeError("expected no ", flag,
                       " with several runs (finished ones are kept in --out), "
                       "found one");
  return Status::success();
}

/// The rows with the values of --sweep.
Status Grid::prepareRows() {
  auto axes = parseSweep(config.sweep);
  if (!axes)
    return axes.takeError();
  for (size_t i = 0; i < axes->size(); ++i) {
    const std::string &key = (*axes)[i].key;
    bool isTwice = false;
    for (size_t j = 0; j < i; ++j)
      isTwice |= (*axes)[j].key == key;
    for (const NamedFlags &row : experiment.rows)
      isTwice |= row.values.count(key) > 0;
    if (isTwice)
      return makeError("--sweep: '", key, "' is given twice");
  }
  rows = rowsOf(experiment.rows, *axes);
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (rows[i].name == rows[j].name)
        return makeError("expected rows of different names, found '", rows[i].name, "' twice");
  if (experiment.timesForward && config.jobs > 1)
    return makeError("expected --jobs=1 where time is measured, found ", config.jobs);
  return Status::success();
}

/// Every start that a row names, once per seed.
Status Grid::prepareStarts(const std::vector<std::string> &arguments) {
  for (const NamedFlags &start : experiment.starts)
    for (const std::string &seed : seeds) {
      auto values = start.values;
      values["seed"] = seed;
      values["sweep"] = values["seeds"] = "";
      auto options = train::parseTrainOptions(arguments, values);
      if (!options)
        return options.takeError().within("start '" + start.name + "'");
      starts.push_back({start.name, seed, *std::move(options)});
    }
  return Status::success();
}

/// Every cell's flags are read before the first run, so that a mistake costs no time. All rows of a
/// seed come before the next seed: there is a whole table early, and slow times of the machine meet
/// all rows.
Status Grid::prepare(const std::vector<std::string> &arguments) {
  if (Status status = checkAlone(config); !status)
    return status;
  if (Status status = prepareRows(); !status)
    return status;
  seeds = train::splitList(config.seeds);
  if (Status status = checkSeeds(seeds); !status)
    return status;
  if (seeds.empty())
    seeds = {std::to_string(config.seed)};
  for (const std::string &seed : seeds)
    for (size_t row = 0; row < rows.size(); ++row) {
      auto values = rows[row].values;
      values["seed"] = seed;
      auto options = train::parseTrainOptions(arguments, values);
      if (!options)
        return options.takeError().within(rows[row].name);
      cells.push_back({row, seed, *std::move(options), "", {}});
    }
  if (Status status = prepareStarts(arguments); !status)
    return status;
  std::error_code code;
  std::filesystem::create_directories(config.out + "/cells", code);
  if (code)
    return makeError("--out: cannot make the folder '", config.out, "': ", code.message());
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

/// A text of everything that decides a run's result.
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

/// The folder of each start's checkpoint, by everything that decides it; rows begin there.
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

/// The file of a cell's result, by everything that decides it.
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
  cell.file = config.out + "/cells/" + fileNameOf(rows[cell.row].name) + "-seed" + cell.seed + "-" +
              sha256(all).substr(0, 12) + ".json";
  if (auto text = readFile(cell.file))
    cell.result = fromCellText(*text);
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

/// Compiles what the run needs; one at a time.
Expected<std::unique_ptr<train::Session>> Grid::open(const train::TrainOptions &options,
                                                     cpu::ThreadPool &pool) {
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
  return train::Session::create(own,
                                {*compute, encoding->attentionFactory(pool), pool,
                                 encoding->embeddingFactory(pool), *std::move(phases)},
                                *std::move(texts), options.identity);
}

/// Trains until its checkpoint is that of the last step.
Status Grid::runStart(Start &start) {
  cpu::ThreadPool pool(threadsOf(start.options.config));
  auto session = open(start.options, pool);
  if (!session)
    return session.takeError();
  const int64_t steps = start.options.config.totalSteps();
  train::ProgressLine progress(stderr, "start " + start.name + " seed " + start.seed, steps,
                               (*session)->trainer().steps());
  std::vector<train::Observer *> observers;
  if (config.jobs == 1)
    observers.push_back(&progress);
  Status status = (*session)->trainUntil(steps, observers);
  if (config.jobs == 1)
    progress.clear();
  return status;
}

/// Runs the session, or times it.
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
  std::vector<train::Observer *> observers = {&recorder};
  if (config.jobs == 1)
    observers.push_back(&progress);
  auto bits = session.run(observers);
  if (config.jobs == 1)
    progress.clear();
  if (!bits)
    return bits.takeError();
  return counts ? measureMore(session, result) : Status::success();
}

/// The columns that the experiment asks for: means over layers or matrices.
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

Status Grid::runCell(Cell &cell) {
  const Clock::time_point start = Clock::now();
  cpu::ThreadPool pool(threadsOf(cell.options.config));
  auto session = open(cell.options, pool);
  if (!session)
    return session.takeError();
  train::EncodingResult result;
  result.name = rows[cell.row].name;
  const train::ParameterLayout &layout = (*session)->trainer().model().layout();
  result.encodingParams = layout.count(train::Role::Encoding);
  result.modelParams = layout.count();
  if (Status status = measure(**session, result.name + " seed " + cell.seed, result); !status)
    return status;
  result.trainSeconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (Status status = writeFileAtomically(cell.file, toCellText(result), Durability::Disk); !status)
    return status;
  cell.result = std::move(result);
  std::lock_guard guard(lock);
  std::fprintf(stderr, "run %zu of %zu: %s, seed %s: %.1f seconds\n", ++finished, cells.size(),
               rows[cell.row].name.c_str(), cell.seed.c_str(), cell.result->trainSeconds);
  return Status::success();
}

/// run(0), run(1) ..., --jobs of them at a time; after a failure the others end theirs.
template <typename Run> Status Grid::inParallel(size_t count, Run run) {
  std::atomic<size_t> next = 0;
  Status failure = Status::success();
  auto work = [&] {
    for (size_t index; (index = next++) < count;) {
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

Status Grid::run() {
  if (Status status = nameStarts(); !status)
    return status;
  Status status = inParallel(starts.size(), [this](size_t index) -> Status {
    Status done = runStart(starts[index]);
    return done ? std::move(done)
                : Status(done.takeError().within("start '" + starts[index].name + "', seed " +
                                                 starts[index].seed));
  });
  if (!status)
    return status;
  for (Cell &cell : cells)
    if (Status named = name(cell); !named)
      return named;
  for (const Cell &cell : cells)
    finished += cell.result.has_value();
  if (finished > 0)
    std::fprintf(stderr, "%zu of %zu runs are in '%s' already\n", finished, cells.size(),
                 config.out.c_str());
  return inParallel(cells.size(), [this](size_t index) -> Status {
    Cell &cell = cells[index];
    Status done = cell.result ? Status::success() : runCell(cell);
    return done ? std::move(done)
                : Status(done.takeError().within(rows[cell.row].name + ", seed " + cell.seed));
  });
}

using Curve = std::vector<std::pair<double, double>>;

Curve meanCurve(const std::vector<Curve> &curves) {
  std::map<double, std::vector<double>> points;
  for (const Curve &curve : curves)
    for (auto [step, value] : curve)
      points[step].push_back(value);
  Curve result;
  for (const auto &[step, values] : points)
    result.emplace_back(step, train::meanOf(values).first);
  return result;
}

/// The row that another is compared with: the last baseline above it.
std::string baselineOf(const std::vector<NamedFlags> &rows, size_t row,
                       const std::vector<std::string> &baselines) {
  std::string found = baselines.empty() ? rows[0].name : "";
  for (size_t i = 0; i <= row; ++i)
    if (std::find(baselines.begin(), baselines.end(), rows[i].name) != baselines.end())
      found = rows[i].name;
  return found == rows[row].name ? "" : found;
}

train::Measure Grid::measureOf() const {
  if (experiment.timesForward)
    return train::Measure::ForwardTime;
  return lastText->training.task ? train::Measure::Accuracy : train::Measure::Bits;
}

train::EncodingResult Grid::summary(size_t row) const {
  train::EncodingResult result;
  std::vector<Curve> curves, evaluations;
  std::map<int64_t, std::vector<double>> bits, accuracy, milliseconds;
  for (const Cell &cell : cells) {
    if (cell.row != row)
      continue;
    const train::EncodingResult &one = *cell.result;
    result.encodingParams = one.encodingParams;
    result.modelParams = one.modelParams;
    result.trainSeconds += one.trainSeconds;
    curves.push_back(one.curve);
    evaluations.push_back(one.evaluations);
    for (auto [from, to] : {std::pair(&one.bitsPerChar, &bits),
                            {&one.accuracy, &accuracy},
                            {&one.milliseconds, &milliseconds}})
      for (auto [length, value] : *from)
        (*to)[length].push_back(value);
    for (const auto &[column, values] : one.more)
      result.more[column].push_back(values[0]);
  }
  result.name = rows[row].name;
  result.baseline = baselineOf(rows, row, experiment.baselines);
  result.seeds = static_cast<int64_t>(curves.size());
  result.trainSeconds /= static_cast<double>(curves.size()); // of a run
  for (const auto &[length, values] : bits)
    std::tie(result.bitsPerChar[length], result.deviation[length]) = train::meanOf(values);
  for (const auto &[length, values] : accuracy)
    std::tie(result.accuracy[length], result.accuracyDeviation[length]) = train::meanOf(values);
  for (const auto &[length, values] : milliseconds)
    result.milliseconds[length] = train::meanOf(values).first;
  const train::Measure measure = measureOf();
  result.bySeed = measure == train::Measure::Accuracy ? accuracy
                  : measure == train::Measure::Bits   ? bits
                                                      : milliseconds;
  result.curve = meanCurve(curves);
  result.evaluations = meanCurve(evaluations);
  return result;
}

Status Grid::write() {
  train::ReportContent report;
  for (size_t row = 0; row < rows.size(); ++row)
    report.results.push_back(summary(row));
  report.title = experiment.title;
  report.question = experiment.question;
  report.measure = measureOf();
  report.claims = experiment.claims;
  report.unit = config.vocabulary.unitName();
  report.corpusDirectory = lastText->directory;
  report.corpusSha256 = lastText->sha256;
  report.corpusBytes = lastText->bytes;
  report.corpusFiles = lastText->files;
  report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  report.threads =
      config.threads ? config.threads : static_cast<int>(std::thread::hardware_concurrency());
  report.trainedLength = config.sequence;
  report.setup = sizeText(config.model) + ", " + countText(config.totalSteps(), "step") + " of " +
                 countText(config.batch, "sequence") + " of " +
                 countText(config.sequence, "token") + ", unless a row says otherwise; " +
                 countText(static_cast<int64_t>(seeds.size()), "seed") + ".";
  report.limits = experiment.limits;
  if (seeds.size() == 1)
    report.limits.emplace_back(
        "One seed: small differences between rows mean nothing; --seeds=0,1,2 "
        "shows how large the spread of seeds is.");
  else
    report.limits.emplace_back("The deviation is that of seeds: of initial values and of the order "
                               "of the data. It says nothing of other data or sizes.");
  std::printf("%s", train::toText(report).c_str());
  if (Status status = writeFileAtomically(config.out + "/results.json", train::toJson(report));
      !status)
    return status;
  if (Status status = writeFileAtomically(config.out + "/report.html", train::toHtml(report));
      !status)
    return status;
  std::printf("%s/report.html has the pictures, %s/results.json the numbers\n", config.out.c_str(),
              config.out.c_str());
  return Status::success();
}

} // namespace

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

Status runGrid(const std::vector<std::string> &arguments, const train::TrainOptions &options,
               Experiment experiment) {
  Grid grid(std::move(experiment), options);
  if (Status status = grid.prepare(arguments); !status)
    return status;
  if (Status status = grid.run(); !status)
    return status;
  return grid.write();
}

} // namespace pe::cli
