//===- Workers.cpp - Runs tasks in processes that may crash ---------------===//
//
// A process reads task numbers from one pipe and writes frames to another: a letter ('P' for phase,
// 'R' for result), a four-byte length and text. Its standard error is written to a memory file.
//
//===----------------------------------------------------------------------===//

#include "fuzz/Workers.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace pe::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool readAll(int file, void *bytes, size_t size) {
  char *at = static_cast<char *>(bytes);
  while (size > 0) {
    ssize_t count = read(file, at, size);
    if (count <= 0)
      return false;
    at += count;
    size -= count;
  }
  return true;
}

bool writeAll(int file, const void *bytes, size_t size) {
  const char *at = static_cast<const char *>(bytes);
  while (size > 0) {
    ssize_t count = write(file, at, size);
    if (count <= 0)
      return false;
    at += count;
    size -= count;
  }
  return true;
}

void sendFrame(int file, char kind, const std::string &text) {
  uint32_t size = text.size();
  std::string frame(1, kind);
  frame.append(reinterpret_cast<const char *>(&size), sizeof(size));
  frame += text;
  if (!writeAll(file, frame.data(), frame.size()))
    _exit(2); // the parent has exited
}

[[noreturn]] void serve(int numbers, int results, const Limits &limits, const Task &task) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (limits.megabytes > 0) {
    rlimit memory{rlim_t(limits.megabytes) << 20, rlim_t(limits.megabytes) << 20};
    setrlimit(RLIMIT_AS, &memory);
  }
  uint64_t number = 0;
  while (readAll(numbers, &number, sizeof(number))) {
    auto progress = [&](const std::string &phase) { sendFrame(results, 'P', phase); };
    sendFrame(results, 'R', task(number, progress));
  }
  _exit(0);
}

class Worker {
public:
  Worker(const Limits &limits, const Task &task) : limits(limits), task(task) {}
  ~Worker() { stop(); }
  Worker(const Worker &) = delete;

  void begin(uint64_t number);
  bool isBusy() const { return busy; }
  int file() const { return results; }
  double secondsLeft() const { return limits.seconds - secondsSince(start); }
  /// Reads the available frames; returns true if the task has ended.
  bool receive(Outcome &outcome);
  void giveUp(Outcome &outcome);

private:
  void launch();
  void stop();
  void bury(Outcome &outcome);

  const Limits &limits;
  const Task &task;
  pid_t process = -1;
  int numbers = -1, results = -1, messages = -1;
  bool busy = false;
  uint64_t number = 0;
  std::string phase;
  Clock::time_point start;
};

void Worker::launch() {
  int down[2], up[2];
  if (pipe(down) || pipe(up))
    std::perror("pipe"), std::exit(2);
  messages = memfd_create("messages", 0);
  std::fflush(nullptr);
  process = fork();
  if (process < 0)
    std::perror("fork"), std::exit(2);
  if (process == 0) {
    close(down[1]);
    close(up[0]);
    dup2(messages, STDERR_FILENO);
    serve(down[0], up[1], limits, task);
  }
  close(down[0]);
  close(up[1]);
  numbers = down[1];
  results = up[0];
}

void Worker::stop() {
  if (process < 0)
    return;
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  for (int file : {numbers, results, messages})
    close(file);
  process = -1;
}

void Worker::begin(uint64_t next) {
  if (process < 0)
    launch();
  number = next;
  phase = "start";
  busy = true;
  start = Clock::now();
  // The next read detects a process that crashed while idle.
  writeAll(numbers, &number, sizeof(number));
}

bool Worker::receive(Outcome &outcome) {
  char kind = 0;
  uint32_t size = 0;
  std::string text;
  bool isWhole = readAll(results, &kind, 1) && readAll(results, &size, sizeof(size));
  if (isWhole) {
    text.resize(size);
    isWhole = readAll(results, text.data(), size);
  }
  if (isWhole && kind == 'P') {
    phase = text;
    return false;
  }
  outcome.task = number;
  outcome.phase = phase;
  outcome.seconds = secondsSince(start);
  busy = false;
  if (isWhole) {
    outcome.kind = Outcome::Kind::Finished;
    outcome.text = std::move(text);
  } else {
    bury(outcome);
  }
  return true;
}

/// Records the cause of the crash and the end of the output.
void Worker::bury(Outcome &outcome) {
  outcome.kind = Outcome::Kind::Crashed;
  int status = 0;
  waitpid(process, &status, 0);
  outcome.death = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) + " (" +
                                            strsignal(WTERMSIG(status)) + ")"
                                      : "exit status " + std::to_string(WEXITSTATUS(status));
  constexpr off_t kTail = 4000;
  off_t size = lseek(messages, 0, SEEK_END);
  std::string tail(std::min(size, kTail), 0);
  ssize_t count = pread(messages, tail.data(), tail.size(), size - off_t(tail.size()));
  tail.resize(std::max<ssize_t>(count, 0));
  outcome.text = std::move(tail);
  for (int file : {numbers, results, messages})
    close(file);
  process = -1;
}

void Worker::giveUp(Outcome &outcome) {
  outcome.task = number;
  outcome.kind = Outcome::Kind::TimedOut;
  outcome.phase = phase;
  outcome.seconds = secondsSince(start);
  busy = false;
  stop();
}

/// Waits until a worker has output or the first one times out.
void waitForAny(const std::vector<std::unique_ptr<Worker>> &workers,
                const std::function<void(const Outcome &)> &onOutcome) {
  std::vector<pollfd> files;
  std::vector<Worker *> owners;
  double left = 1e9;
  for (const auto &worker : workers)
    if (worker->isBusy()) {
      files.push_back({worker->file(), POLLIN, 0});
      owners.push_back(worker.get());
      left = std::min(left, worker->secondsLeft());
    }
  poll(files.data(), files.size(), std::max(0, int(left * 1e3) + 1));
  for (size_t n = 0; n < files.size(); ++n) {
    Outcome outcome;
    if (files[n].revents) {
      if (owners[n]->receive(outcome))
        onOutcome(outcome);
    } else if (owners[n]->secondsLeft() <= 0) {
      owners[n]->giveUp(outcome);
      onOutcome(outcome);
    }
  }
}

} // namespace

namespace {
volatile std::sig_atomic_t isInterrupted = 0;
}

bool runTasks(uint64_t first, uint64_t last, uint64_t stride, const Limits &limits,
              const Task &task, const std::function<void(const Outcome &)> &onOutcome) {
  std::signal(SIGPIPE, SIG_IGN);
  // The processes inherit this, so that Ctrl-C in a terminal is not reported as their crash.
  std::signal(SIGINT, [](int) { isInterrupted = 1; });
  std::vector<std::unique_ptr<Worker>> workers;
  for (int n = 0; n < limits.jobs; ++n)
    workers.push_back(std::make_unique<Worker>(limits, task));
  uint64_t next = first;
  while (!isInterrupted) {
    bool isBusy = false;
    for (const auto &worker : workers) {
      if (!worker->isBusy() && next < last) {
        worker->begin(next);
        next += stride;
      }
      isBusy |= worker->isBusy();
    }
    if (!isBusy)
      return true;
    waitForAny(workers, onOutcome);
  }
  return false;
}

} // namespace pe::fuzz
