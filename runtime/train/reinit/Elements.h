//===- Elements.h - Passes over the elements of a matrix --------*- C++ -*-===//
//
// Beside the products of a projection there are its passes over memory: scaling, rounding, norms,
// distances. They run on all threads in chunks of a fixed size, and a sum is that of the chunks'
// sums in order: the same bits on any number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_ELEMENTS_H
#define PE_RUNTIME_TRAIN_REINIT_ELEMENTS_H

#include "pe/Parallel.h"

#include <algorithm>
#include <vector>

namespace pe::reinit {

/// Small enough for a chunk of doubles to stay in the second-level cache between two loops.
constexpr int64_t kElementChunk = 1 << 14;

/// body(begin, end) for the chunks of [0, count).
template <typename Body> void forChunks(ParallelFor &pool, int64_t count, Body &&body) {
  parallelFor(pool, (count + kElementChunk - 1) / kElementChunk, [&](int64_t chunk) {
    body(chunk * kElementChunk, std::min(count, (chunk + 1) * kElementChunk));
  });
}

/// The sum of body(begin, end) over the chunks of [0, count).
template <typename Body> double sumOfChunks(ParallelFor &pool, int64_t count, Body &&body) {
  std::vector<double> sums((count + kElementChunk - 1) / kElementChunk);
  forChunks(pool, count,
            [&](int64_t begin, int64_t end) { sums[begin / kElementChunk] = body(begin, end); });
  double sum = 0;
  for (double part : sums)
    sum += part;
  return sum;
}

/// The sum of value(i) for i in [begin, end), in eight sums that do not wait for each other.
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
