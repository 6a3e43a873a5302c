//===- FileLimit.h - Simulation of a full disk ------------------*- C++ -*-===//
//
// Runs code in a child process that cannot write files beyond a size limit, as on a full disk.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_RUNTIME_CORE_FILELIMIT_H
#define PE_TEST_RUNTIME_CORE_FILELIMIT_H

#include "pe/Error.h"

#include <csignal>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pe::test {

/// Returns the message of the Status that `body` returns in the child process: empty for success,
/// "died" if the child did not exit normally.
template <typename Body> std::string withFileLimit(size_t bytes, Body body) {
  int ends[2];
  if (::pipe(ends) != 0)
    return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Status status = body();
    const std::string message = status ? "" : status.error().getMessage();
    const bool isSent = ::write(ends[1], message.data(), message.size()) == ssize_t(message.size());
    ::_exit(isSent ? 0 : 1);
  }
  ::close(ends[1]);
  std::string message;
  char piece[512];
  for (ssize_t count; (count = ::read(ends[0], piece, sizeof(piece))) > 0;)
    message.append(piece, static_cast<size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? message : "died";
}

} // namespace pe::test

#endif // PE_TEST_RUNTIME_CORE_FILELIMIT_H
