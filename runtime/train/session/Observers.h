//===- Observers.h - Report the progress of a run ---------------*- C++ -*-===//
//
// ProgressLine rewrites one line on a terminal, with the remaining time; on a pipe it prints a line
// for every tenth of the run. LogWriter writes one JSON object per line and step.
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

/// Formats a duration as "4:05".
std::string formatDuration(double seconds);

class ProgressLine : public Observer {
public:
  /// `label` begins every line.
  ProgressLine(std::FILE *stream, std::string label, int64_t totalSteps, int64_t doneSteps = 0);

  void onStep(const StepReport &report, Trainer &trainer) override;
  void onReinit(int64_t step, const std::vector<reinit::MatrixReport> &reports) override;
  void onRecycle(int64_t step, const std::vector<DormantNeurons> &layers) override;
  void onShrink(int64_t step, Dash kind, const std::vector<ShrunkMatrix> &matrices) override;

  /// Shows tokens per second and, unless `peakFlops` is 0, the share of the machine's peak.
  void setThroughput(double tokensPerStep, double flopsPerToken, double peakFlops) {
    tokens = tokensPerStep, flops = flopsPerToken, peak = peakFlops;
  }
  /// Sets the unit that bits are shown per; the default is "character".
  void setUnit(std::string name) { unit = std::move(name); }
  /// Adds the time of the work after this run to the remaining time: in seconds or, until a time is
  /// known, as a number of runs like this one.
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

/// The point at which a resumed run continues: the steps done, of all steps of the run.
struct LogPlace {
  int64_t steps = std::numeric_limits<int64_t>::max();
  int64_t totalSteps = std::numeric_limits<int64_t>::max();
};

class LogWriter : public Observer {
public:
  /// Replaces `path`. When resuming, instead appends to the entries up to `place`: removes a
  /// partial last line and the lines of later steps, which will be written again.
  static Expected<std::unique_ptr<LogWriter>> open(const std::string &path, bool resume,
                                                   LogPlace place = {});
  ~LogWriter() override;

  /// Writes the first line: configuration, sizes and text. Reads the weights of --against.
  void writeStart(Session &session, const Metadata &identity);
  void onStep(const StepReport &report, Trainer &trainer) override;
  void onReinit(int64_t step, const std::vector<reinit::MatrixReport> &reports) override;
  void onRecycle(int64_t step, const std::vector<DormantNeurons> &layers) override;
  void onShrink(int64_t step, Dash kind, const std::vector<ShrunkMatrix> &matrices) override;
  void onAccuracy(const std::map<int64_t, double> &byLength) override { accuracy = byLength; }
  void onEvaluation(int64_t step, const std::map<int64_t, double> &bitsPerChar) override;
  /// Returns an error if a line could not be written.
  Status status() const override { return failure; }

private:
  LogWriter(std::FILE *file, std::string path) : file(file), path(std::move(path)) {}
  void writeLine(const std::string &text);

  std::FILE *file;
  std::string path;
  Status failure;
  /// The accuracy of the evaluation that is written next.
  std::map<int64_t, double> accuracy;
  /// The session whose weights every evaluation measures.
  Session *measured = nullptr;
  std::optional<NamedWeights> against;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_OBSERVERS_H
