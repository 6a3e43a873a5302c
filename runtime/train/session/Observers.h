//===- Observers.h - Telling people and files about a run -------*- C++ -*-===//
//
// ProgressLine: one line on a terminal that is rewritten, with the time left; on a pipe a line for
// every tenth of the run. LogWriter: one JSON object per line and step.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_OBSERVERS_H
#define PE_RUNTIME_TRAIN_SESSION_OBSERVERS_H

#include "runtime/train/session/Session.h"
#include "runtime/train/trainer/Measures.h"

#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>

namespace pe::train {

/// "4:05".
std::string formatDuration(double seconds);

class ProgressLine : public Observer {
public:
  /// `label` begins every line.
  ProgressLine(std::FILE *stream, std::string label, int64_t totalSteps, int64_t doneSteps = 0);

  void onStep(const StepReport &report, Trainer &trainer) override;
  void onReinit(int64_t step, const std::vector<reinit::MatrixReport> &reports) override;
  void onRecycle(int64_t step, const std::vector<DormantNeurons> &layers) override;
  void onShrink(int64_t step, Dash kind, const std::vector<ShrunkMatrix> &matrices) override;

  /// Shows tokens per second and the share of the machine's peak, unless that is 0.
  void setThroughput(double tokensPerStep, double flopsPerToken, double peakFlops) {
    tokens = tokensPerStep, flops = flopsPerToken, peak = peakFlops;
  }
  /// What the bits shown are per, by default "character".
  void setUnit(std::string name) { unit = std::move(name); }
  /// Adds the time of what follows this run to the time left shown: in seconds, or, before any is
  /// known, so many runs like this one.
  void setSecondsAfter(double seconds) { secondsAfter = seconds; }
  void setRunsAfter(size_t runs) { runsAfter = static_cast<double>(runs); }
  /// Removes the line from the terminal.
  void clear();

private:
  using Clock = std::chrono::steady_clock;

  std::FILE *stream;
  std::string label, unit = "character";
  int64_t totalSteps, firstStep;
  double secondsAfter = 0, runsAfter = 0;
  double tokens = 0, flops = 0, peak = 0;
  bool onTerminal;
  Clock::time_point start = Clock::now(), shown{};
};

/// Where a resumed run goes on: behind that many steps of all.
struct LogPlace {
  int64_t steps = std::numeric_limits<int64_t>::max();
  int64_t totalSteps = std::numeric_limits<int64_t>::max();
};

class LogWriter : public Observer {
public:
  /// Replaces `path`, or when resuming appends behind what a run had done at `place`: lines of
  /// later steps, which will be written again, and a partial line are cut off.
  static Expected<std::unique_ptr<LogWriter>> open(const std::string &path, bool resume,
                                                   LogPlace place = {});
  ~LogWriter() override;

  /// The first line: configuration, sizes and text. Reads the weights of --against.
  void writeStart(Session &session, const Metadata &identity);
  void onStep(const StepReport &report, Trainer &trainer) override;
  void onReinit(int64_t step, const std::vector<reinit::MatrixReport> &reports) override;
  void onRecycle(int64_t step, const std::vector<DormantNeurons> &layers) override;
  void onShrink(int64_t step, Dash kind, const std::vector<ShrunkMatrix> &matrices) override;
  void onAccuracy(const std::map<int64_t, double> &byLength) override { accuracy = byLength; }
  void onEvaluation(int64_t step, const std::map<int64_t, double> &bitsPerChar) override;
  /// An error if a line could not be written.
  Status status() const override { return failure; }

private:
  LogWriter(std::FILE *file, std::string path) : file(file), path(std::move(path)) {}
  void writeLine(const std::string &text);

  std::FILE *file;
  std::string path;
  Status failure;
  /// Of the evaluation that is written next.
  std::map<int64_t, double> accuracy;
  /// Of the run, whose weights every evaluation measures.
  Session *measured = nullptr;
  std::optional<NamedWeights> against;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_OBSERVERS_H
