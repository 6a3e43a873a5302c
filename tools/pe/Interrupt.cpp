//===- Interrupt.cpp - Interruption of runs by Ctrl-C ----------------------===//
#include "tools/pe/Interrupt.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

namespace pe::cli {
namespace {

std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler writes it");

void onSignal(int signal) {
  if (received.exchange(signal) != 0)
    ::_exit(128 + signal);
}

} // namespace

void catchInterrupts() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action{};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN)
      continue;
    action = {};
    action.sa_handler = onSignal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
}

bool isInterrupted() { return received != 0; }

int interruptStatus() { return 128 + received; }

} // namespace pe::cli
