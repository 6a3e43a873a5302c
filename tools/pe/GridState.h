//===- GridState.h - The state of a grid ---===//
//
// The cells of a grid, its warm starts, and the data and kernels that its runs share. Each section
// of the members is defined in the file that it names.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_GRIDSTATE_H
#define PE_TOOLS_PE_GRIDSTATE_H

#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/train/api/OpenSession.h"
#include "runtime/train/session/Observers.h"
#include "tools/pe/GridReport.h"

#include <mutex>
#include <optional>

namespace pe::cli {

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

class Grid {
public:
  Grid(Experiment experiment, const train::TrainOptions &options)
      : experiment(std::move(experiment)), config(options.config) {}

  Status prepare(const train::FlagValues &shared);
  Expected<int> run();

private:
  // GridPlan.cpp: the cells and starts, checked before the first run.
  Status prepareStarts(const train::FlagValues &shared);
  Status checkClaims() const;

  // GridFiles.cpp: the inputs that runs share, and the files of results.
  Expected<train::Kernels> kernelsOf(const std::string &activation);
  Expected<std::vector<std::shared_ptr<const train::Corpus>>>
  corporaOf(const train::TrainConfig &config);
  Expected<std::string> identityOf(train::TrainOptions &options, const std::string &what);
  Status nameStarts();
  Status name(Cell &cell);
  Status findFinished();

  // GridRuns.cpp: one run.
  cpu::ThreadPool::Options threadsOf(const train::TrainConfig &own) const;
  Expected<OpenRun> open(const train::TrainOptions &options, cpu::ThreadPool &pool);
  Status runStart(Start &start);
  Status measure(train::Session &session, const std::string &label, train::EncodingResult &result);
  Status measureMore(train::Session &session, train::EncodingResult &result);
  void addTimeAfter(train::ProgressLine &progress);
  void drawBias(const Cell &cell, const OpenRun &run, train::EncodingResult &result) const;
  Status runCell(Cell &cell);

  // Grid.cpp: all runs, and what is printed about them.
  template <typename Run> Status inParallel(size_t count, Run run);
  Status runStarts();
  void tell(const Cell &cell);
  void tellRow(size_t row);
  int tellStop();

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

} // namespace pe::cli

#endif // PE_TOOLS_PE_GRIDSTATE_H
