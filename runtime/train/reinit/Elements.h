//===- Elements.h - Passes over the elements of a matrix --------*- C++ -*-===//
//
// The parts of a projection that are not products are bound by memory: scaling, rounding, norms and
// distances. They run on all threads in chunks of a fixed size, and reductions add the results of
// the chunks in order, so results are bitwise identical for any number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_ELEMENTS_H
#define PE_RUNTIME_TRAIN_REINIT_ELEMENTS_H

#include "pe/Parallel.h"

#include <algorithm>
#include <vector>

namespace pe::reinit {

/// Small enough for a chunk of doubles to stay in the L2 cache between two loops.
constexpr int64_t kElementChunk = 1 << 14;

/// Runs body(begin, end) on each chunk of [0, count).
template <typename Body> void forChunks(ParallelFor &pool, int64_t count, Body &&body) {
  parallelFor(pool, (count + kElementChunk - 1) / kElementChunk, [&](int64_t chunk) {
    body(chunk * kElementChunk, std::min(count, (chunk + 1) * kElementChunk));
  });
}

/// Returns the sum of body(begin, end) over the chunks of [0, count).
template <typename Body> double sumOfChunks(ParallelFor &pool, int64_t count, Body &&body) {
  std::vector<double> sums((count + kElementChunk - 1) / kElementChunk);
  forChunks(pool, count,
            [&](int64_t begin, int64_t end) { sums[begin / kElementChunk] = body(begin, end); });
  double sum = 0;
  for (double part : sums)
    sum += part;
  return sum;
}

/// Returns the sum of value(i) for i in [begin, end), with eight independent accumulators.
template <typename Value> double sumOf(int64_t begin, int64_t end, Value &&value) {
  constexpr int64_t kLanes = 8;
  double lanes[kLanes] = {};
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += value(i + lane);
  for (; i < end; ++i)
    lanes[0] += value(i);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_ELEMENTS_H
