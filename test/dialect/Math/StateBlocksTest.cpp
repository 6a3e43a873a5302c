//===- StateBlocksTest.cpp - The states of a block against its elements ---===//
#include "dialect/Math/StateBlocks.h"

#include <gtest/gtest.h>

#include <set>

using namespace mlir::tile;

namespace {

/// Returns the states of the existing elements, by definition.
std::set<int64_t> statesOfElements(int64_t first, int64_t size, int64_t block, int64_t limit) {
  std::set<int64_t> states;
  for (int64_t i = first; i < std::min(first + size, limit); ++i)
    states.insert(i / block);
  return states;
}

TEST(StateBlocks, MatchTheStatesOfTheElements) {
  for (int64_t block : {16, 64, 96})
    for (int64_t size = 1; size <= 4 * block; ++size)
      for (int64_t limit : {1, 63, 64, 65, 127, 128, 200, 1000})
        for (int64_t first = 0; first < limit; first += size) {
          std::set<int64_t> states;
          for (int64_t n = 0; n < countStates(size, block); ++n)
            states.insert(stateOf<int64_t>(first, size, block, n, limit));
          EXPECT_EQ(states, statesOfElements(first, size, block, limit))
              << "[" << first << ", +" << size << ") of " << limit << " by " << block;
        }
}

/// Every state costs a load, so there are no more than needed if one block size divides the other.
TEST(StateBlocks, AreNoMoreThanNeeded) {
  EXPECT_EQ(countStates(16, 64), 1);
  EXPECT_EQ(countStates(64, 64), 1);
  EXPECT_EQ(countStates(128, 64), 2);
  EXPECT_EQ(countStates(48, 64), 2);
  EXPECT_EQ(countStates(96, 64), 3);
}

} // namespace
