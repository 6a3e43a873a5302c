//===- Workers.h - Tasks in processes that may die --------------*- C++ -*-===//
//
// Runs numbered tasks in forked processes. A task that crashes, hangs or takes too much memory is
// an outcome like any other; its process is replaced and the run goes on. A process does many
// tasks, one after the other.
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
  /// What the task returned, or the end of what its process wrote to standard error.
  std::string text;
  /// What the task was about to do when it died.
  std::string phase;
  /// "signal 11 (Segmentation fault)", "exit status 1".
  std::string death;
  double seconds = 0.0;
};

struct Limits {
  /// Wall-clock limit per task.
  double seconds = 120.0;
  /// Address space of a process; 0: unlimited (the address sanitizer reserves far more).
  int64_t megabytes = 0;
  /// Processes at once.
  int jobs = 1;
};

using Progress = std::function<void(const std::string &phase)>;
/// Runs in another process, which returns only the text.
using Task = std::function<std::string(uint64_t number, const Progress &progress)>;

/// Runs tasks first, first + stride, ... below last; outcomes arrive in any order. The calling
/// process must have one thread. Once SIGINT has arrived, no task begins and those that run are
/// given up without an outcome; false then.
bool runTasks(uint64_t first, uint64_t last, uint64_t stride, const Limits &limits,
              const Task &task, const std::function<void(const Outcome &)> &onOutcome);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_WORKERS_H
