//===- Parallel.h - Interface of thread pools -------------------*- C++ -*-===//
//
// pe runs all parallel work on a ParallelFor. Its own thread pool implements it; a host program
// with its own threads can implement another and pass it to pe, so that only one pool competes for
// the cores.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PARALLEL_H
#define PE_PARALLEL_H

#include <cstdint>
#include <type_traits>

namespace pe {

/// Runs independent work items on threads.
class ParallelFor {
public:
  using Body = void (*)(void *context, int64_t item);

  virtual ~ParallelFor() = default;
  /// Returns the maximum number of threads that run concurrently.
  virtual int threads() const = 0;
  /// Calls body(context, item) once for each item in [0, items), in any order on any threads, and
  /// returns when all calls have returned. The body must not throw.
  virtual void run(int64_t items, Body body, void *context) = 0;
};

/// Calls callable(item) for each item in [0, items), with `run`.
template <typename Callable>
void parallelFor(ParallelFor &pool, int64_t items, Callable &&callable) {
  pool.run(
      items,
      [](void *context, int64_t item) {
        (*static_cast<std::remove_reference_t<Callable> *>(context))(item);
      },
      const_cast<void *>(static_cast<const void *>(&callable)));
}

} // namespace pe

#endif // PE_PARALLEL_H
