//===- GridRuns.cpp - One run of a grid ---===//
#include "tools/pe/GridState.h"

#include "runtime/chart/Smoothing.h"
#include "runtime/core/File.h"
#include "runtime/train/trainer/Measures.h"
#include "runtime/train/trainer/WarmStart.h"
#include "tools/pe/CellFile.h"
#include "tools/pe/Commands.h"
#include "tools/pe/ForwardTime.h"
#include "tools/pe/Interrupt.h"
#include "tools/pe/LearnedBias.h"
#include "tools/pe/Run.h"

#include <chrono>
#include <numbers>
#include <thread>

namespace pe::cli {

using Clock = std::chrono::steady_clock;

namespace {
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
} // namespace

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
    std::fprintf(stderr, "note: the bias of %s cannot be plotted: %s\n",
                 rows[cell.row].name.c_str(), bias.takeError().getMessage().c_str());
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

} // namespace pe::cli
