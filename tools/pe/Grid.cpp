//===- Grid.cpp - Several training runs and their table ---===//
#include "tools/pe/Grid.h"

#include "tools/pe/GridState.h"
#include "tools/pe/Interrupt.h"

#include <atomic>
#include <thread>

namespace pe::cli {

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

Expected<int> runGrid(const train::FlagValues &shared, const train::TrainOptions &options,
                      Experiment experiment) {
  Grid grid(std::move(experiment), options);
  if (Status status = grid.prepare(shared); !status)
    return status.takeError();
  return grid.run();
}

} // namespace pe::cli
