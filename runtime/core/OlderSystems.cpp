//===- OlderSystems.cpp - Functions that older systems lack ---------------===//
//
// The wheel is built with glibc 2.36 and GCC 12 and runs with glibc 2.34 and the libraries of
// GCC 11 (manylinux_2_34). Linked into each of its binaries, these definitions replace the two
// functions that only the newer libraries provide. They are hidden: other libraries in the process
// keep the functions of the system.
//
//===----------------------------------------------------------------------===//

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <pthread.h>
#include <random>

/// Defines std::condition_variable::wait, whose symbol is new in GCC 12 (GLIBCXX_3.4.30): it can
/// throw since then. A member of a class of namespace std cannot be declared hidden, so that this
/// function has another name for the compiler.
extern "C" [[gnu::visibility("hidden")]] void
peWait(std::condition_variable &variable, std::unique_lock<std::mutex> &lock) asm(
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");

void peWait(std::condition_variable &variable, std::unique_lock<std::mutex> &lock) {
  pthread_cond_wait(variable.native_handle(), lock.mutex()->native_handle());
}

/// Defines arc4random, new in glibc 2.36. LLVM calls it for names of temporary files.
extern "C" [[gnu::visibility("hidden")]] uint32_t arc4random() noexcept {
  return std::random_device{}();
}
