//===- PanelLayoutTest.cpp - Chunks and banks of panels -------------------===//
#include "dialect/Math/PanelLayout.h"

#include <gtest/gtest.h>
#include <set>

using namespace pe::math;

namespace {

int64_t byteOf(const PanelLayout &panel, int64_t row, int64_t chunk) {
  return panel.offsetOf<int64_t>(0, row, 0, chunk, 0).at(0);
}

TEST(PanelLayout, Example) {
  EXPECT_EQ(byteOf({.rows = 8, .depth = 16, .elementBytes = 4}, 5, 1), 5 * 64 + 48);
}

class Panels : public testing::TestWithParam<int64_t> {
protected:
  std::vector<PanelLayout> panels() const {
    return {{.rows = 64, .depth = GetParam(), .elementBytes = 2},
            {.rows = 64, .depth = GetParam(), .elementBytes = 4},
            {.rows = 64, .depth = GetParam(), .elementBytes = 2, .isPadded = true},
            {.rows = 64, .depth = GetParam(), .elementBytes = 4, .isPadded = true}};
  }
};

/// Every chunk is in its row of the panel, and no two chunks overlap.
TEST_P(Panels, ChunksDoNotOverlap) {
  for (const PanelLayout &panel : panels()) {
    EXPECT_GE(panel.pitch(), panel.depth * panel.elementBytes);
    std::set<int64_t> seen;
    for (int64_t row = 0; row < panel.rows; ++row)
      for (int64_t chunk = 0; chunk < panel.chunks(); ++chunk) {
        const int64_t byte = byteOf(panel, row, chunk);
        EXPECT_TRUE(seen.insert(byte).second);
        EXPECT_EQ(byte % 16, 0);
        EXPECT_EQ(byte / panel.pitch(), row);
      }
  }
}

/// A chunk of eight rows covers the 128 bytes of the banks once.
TEST_P(Panels, EightRowsOfAChunkUseDifferentBanks) {
  for (const PanelLayout &panel : panels())
    for (int64_t first = 0; first < panel.rows; first += 8)
      for (int64_t chunk = 0; chunk < panel.chunks(); ++chunk) {
        std::set<int64_t> banks;
        for (int64_t row = first; row < first + 8; ++row)
          banks.insert(byteOf(panel, row, chunk) % 128);
        EXPECT_EQ(banks.size(), 8u);
      }
}

/// Compile-time constants may be applied last, in any copy of a panel at any start.
TEST_P(Panels, ConstantsAreAppliedLast) {
  for (const PanelLayout &panel : panels())
    for (int64_t rowConstant : {0, 8, 40})
      for (int64_t row = 0; row < 8; ++row)
        for (int64_t chunk = 0; chunk < panel.chunks(); ++chunk)
          for (int64_t constant = 0; constant <= chunk; ++constant) {
            if ((constant & chunk) != constant)
              continue;
            const int64_t start = 3 * 128;
            EXPECT_EQ(
                panel.offsetOf<int64_t>(rowConstant, row, constant, chunk - constant, 1).at(start),
                start + panel.bytes() + byteOf(panel, rowConstant + row, chunk));
          }
}

INSTANTIATE_TEST_SUITE_P(Depths, Panels, testing::Values(8, 16, 24, 40, 64, 96, 104, 128, 256));

} // namespace
