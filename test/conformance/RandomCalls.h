//===- RandomCalls.h - Random calls with few rows ---------------*- C++ -*-===//
//
// Steps of decoding: 1 to 8 rows against up to 3000 keys, around the boundaries of splits of the
// keys and of blocks, with groups of query heads, starts, and lengths per batch entry.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_CONFORMANCE_RANDOMCALLS_H
#define PE_TEST_CONFORMANCE_RANDOMCALLS_H

#include "conformance/Cases.h"

namespace pe::conformance {

/// A call with the memory that its name and lengths are in.
struct RandomCall {
  std::string name;
  std::vector<int32_t> lengths;
  Call sizes;

  /// Returns the call, which is valid as long as this object.
  Call call() const;
  /// Sets the head dims that no call waits for (waitsForTurn).
  void useSmallDims() { sizes.headDim = 16, sizes.valueDim = 24; }
};

/// Draws call `number` of an encoding. It depends on the arguments only. Its head dims are those of
/// calls of the table, so that no function is compiled for it.
RandomCall drawFewRows(const EncodingFile &encoding, uint64_t seed, int number);

} // namespace pe::conformance

#endif // PE_TEST_CONFORMANCE_RANDOMCALLS_H
