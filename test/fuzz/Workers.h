//===- Workers.h - Runs tasks in processes that may crash -------*- C++ -*-===//
//
// Runs numbered tasks in forked processes. A task that crashes, hangs or uses too much memory is an
// outcome like any other: its process is replaced and the run continues. A process runs many tasks
// sequentially.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_WORKERS_H
#define PE_TEST_FUZZ_WORKERS_H

#include <cstdint>
#include <functional>
#include <string>

namespace pe::fuzz {

struct Outcome {
  enum class Kind : uint8_t { Finished, Crashed, TimedOut };

  uint64_t task = 0;
  Kind kind = Kind::Finished;
  /// The result of the task, or the end of its process's standard error.
  std::string text;
  /// The last phase that the task reported.
  std::string phase;
  /// The cause of a crash: "signal 11 (Segmentation fault)" or "exit status 1".
  std::string death;
  double seconds = 0.0;
};

struct Limits {
  /// Wall-clock limit per task.
  double seconds = 120.0;
  /// The address space of a process; 0 means unlimited, for the address sanitizer, which reserves
  /// far more.
  int64_t megabytes = 0;
  /// The number of parallel processes.
  int jobs = 1;
};

using Progress = std::function<void(const std::string &phase)>;
/// A task runs in another process and returns text.
using Task = std::function<std::string(uint64_t number, const Progress &progress)>;

/// Runs tasks first, first + stride, ... below last; outcomes arrive in any order. The calling
/// process must be single-threaded. After SIGINT no task begins, running tasks are abandoned
/// without an outcome, and the function returns false.
bool runTasks(uint64_t first, uint64_t last, uint64_t stride, const Limits &limits,
              const Task &task, const std::function<void(const Outcome &)> &onOutcome);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_WORKERS_H
