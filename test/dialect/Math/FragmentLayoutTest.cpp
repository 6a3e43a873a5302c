//===- FragmentLayoutTest.cpp - Layouts of registers and ldmatrix rows ----===//
#include "dialect/Math/FragmentLayout.h"

#include <gtest/gtest.h>
#include <map>
#include <set>
#include <vector>

using namespace pe::math;

namespace {

std::vector<FragmentLayout> layouts() {
  std::vector<FragmentLayout> all;
  for (int64_t ownerTiles : {1, 2})
    for (int64_t innerBlock : {16, 32, 48, 64})
      for (int64_t warps : {1, 2, 4, 8})
        for (bool isPermuted : {false, true})
          if (innerBlock / 16 % warps == 0 || warps * 16 % innerBlock == 0)
            all.push_back({ownerTiles, innerBlock, warps, isPermuted});
  return all;
}

constexpr FragmentKind kKinds[] = {FragmentKind::One,        FragmentKind::Pair,
                                   FragmentKind::Owner,      FragmentKind::Inner,
                                   FragmentKind::OwnerPanel, FragmentKind::InnerPanel};

TEST(FragmentLayout, IndexOfInvertsElementAt) {
  for (const FragmentLayout &layout : layouts())
    for (FragmentKind kind : kKinds)
      for (int64_t depth : {8, 40, 64})
        for (int64_t i = 0; i < layout.registersOf(kind, depth); ++i)
          EXPECT_EQ(layout.indexOf(kind, layout.elementAt(kind, i, depth), depth), i);
}

/// Every pair of the CTA's owners and the inner block is in exactly one register of one lane.
TEST(FragmentLayout, PairsAreDividedAmongLanes) {
  for (const FragmentLayout &layout : layouts()) {
    std::set<std::pair<int64_t, int64_t>> seen;
    for (int64_t thread = 0; thread < layout.warps * 32; ++thread) {
      const int64_t warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
      for (int64_t i = 0; i < layout.registersOf(FragmentKind::Pair); ++i) {
        FragmentElement at = layout.elementAt(FragmentKind::Pair, i);
        const int64_t inner = layout.innerAt(t, at);
        EXPECT_TRUE(seen.insert({layout.ownerAt<int64_t>(0, warp, g, at), inner}).second);
        EXPECT_TRUE(inner >= 0 && inner < layout.innerBlock);
        // The position of the inner element is the position of the register in mma.sync.
        EXPECT_EQ(layout.standing(inner), at.innerTile * 8 + 2 * t + at.innerHalf);
      }
    }
    EXPECT_EQ(seen.size(), size_t(layout.warps * layout.ownerTiles * 16 * layout.innerBlock));
    EXPECT_LT(seen.rbegin()->first, layout.warps * layout.ownerTiles * 16);
  }
}

/// A permuted block gives a lane contiguous elements in the order of its registers.
TEST(FragmentLayout, PermutedLanesHoldNeighbours) {
  for (const FragmentLayout &layout : layouts())
    for (int64_t t = 0; layout.isPermuted && t < 4; ++t)
      for (int64_t i = 0; i < layout.registersOf(FragmentKind::Inner); ++i)
        EXPECT_EQ(layout.innerAt(t, layout.elementAt(FragmentKind::Inner, i)),
                  t * layout.innerBlock / 4 + i);
}

/// Exactly one lane accumulates each element of an inner panel. No lane accumulates elements beyond
/// the depth.
TEST(FragmentLayout, InnerPanelsAreDividedAmongWarps) {
  for (const FragmentLayout &layout : layouts())
    for (int64_t depth : {8, 40, 64, 128}) {
      std::set<std::pair<int64_t, int64_t>> seen;
      for (int64_t thread = 0; thread < layout.warps * 32; ++thread) {
        const int64_t warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
        for (int64_t i = 0; i < layout.registersOf(FragmentKind::InnerPanel, depth); ++i) {
          FragmentElement at = layout.elementAt(FragmentKind::InnerPanel, i, depth);
          const int64_t place = layout.foldedDepthTile(warp, at, depth) * 8 + 2 * t + at.depthHalf;
          if (place < depth)
            EXPECT_TRUE(seen.insert({layout.foldedInnerAt<int64_t>(0, warp, g, at), place}).second);
        }
      }
      EXPECT_EQ(seen.size(), size_t(layout.innerBlock * depth));
      EXPECT_LT(seen.rbegin()->first, layout.innerBlock);
    }
}

/// Returns the row and column in the panel of the 16-bit element that ldmatrix loads into half
/// `half` of register `reg` of lane `lane`. Lanes 8 reg to 8 reg + 7 supply the eight rows of
/// matrix `reg`. If transposed, a lane receives the elements of a column.
template <typename Rows>
std::pair<int64_t, int64_t> loaded(Rows rowOf, int64_t lane, int64_t reg, int64_t half,
                                   bool isTransposed) {
  int64_t row = lane / 4, column = lane % 4 * 2 + half;
  if (isTransposed)
    std::swap(row, column);
  MatrixRow<int64_t> from = rowOf(8 * reg + row);
  return {from.row, from.chunk * 8 + column};
}

/// mma.sync m16n8k16 (PTX ISA): register r of A has rows g + 8 (r mod 2), k 2t + half + 8 (r / 2);
/// register r of B has k 2t + half + 8 r, column g.
TEST(FragmentLayout, MatricesMatchTheOperandsOfMma) {
  using Place = std::pair<int64_t, int64_t>;
  auto own = [](auto rowOf) { return [rowOf](int64_t lane) { return rowOf(lane, 0); }; };
  for (int64_t lane = 0; lane < 32; ++lane)
    for (int64_t reg = 0; reg < 4; ++reg)
      for (int64_t half = 0; half < 2; ++half) {
        const int64_t g = lane / 4, t = lane % 4;
        const int64_t m = g + 8 * (reg % 2), k = 2 * t + half + 8 * (reg / 2);
        EXPECT_EQ(loaded(own(rowOfLeft<int64_t>), lane, reg, half, false), Place(m, k));
        EXPECT_EQ(loaded(own(rowOfLeftTransposed<int64_t>), lane, reg, half, true), Place(k, m));
        // Two fragments of eight columns: registers 0, 1 and 2, 3.
        const int64_t n = g + 8 * (reg / 2), bk = 2 * t + half + 8 * (reg % 2);
        EXPECT_EQ(loaded(rowOfRight<int64_t>, lane, reg, half, false), Place(n, bk));
        EXPECT_EQ(loaded(own(rowOfRightTransposed<int64_t>), lane, reg, half, true), Place(bk, n));
      }
}

/// Row n + j * step() of the tables holds the pairs of diagonal n of one warp if it meets the
/// diagonal, and no element has two writers.
TEST(FragmentLayout, SkewedTablesHoldDiagonals) {
  for (const FragmentLayout &layout : layouts()) {
    if (layout.isPermuted)
      continue;
    const SkewedTable table{layout.warps, layout.ownerTiles, layout.innerBlock};
    std::map<int64_t, int64_t> writers; // offset -> thread
    for (int64_t thread = 0; thread < layout.warps * 32; ++thread) {
      const int64_t warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
      for (int64_t i = 0; i < layout.registersOf(FragmentKind::Pair); ++i) {
        FragmentElement at = layout.elementAt(FragmentKind::Pair, i);
        const int64_t place = table.placeOf(warp, g, t, at.innerHalf) +
                              SkewedTable::distanceOf(SkewedTable::tileOf(at));
        const int64_t apart = layout.innerAt(t, at) - layout.ownerAt<int64_t>(0, warp, g, at);
        const int64_t row = place / 8, diagonal = table.diagonalOf(apart);
        const int64_t j = layout.warps - 1 - warp, within = diagonal - table.before(j);
        EXPECT_EQ(row, diagonal + j * table.step());
        EXPECT_TRUE(within >= 0 && within < table.rows());
        EXPECT_EQ(writers.try_emplace(place, thread).first->second, thread);
        const int64_t number = table.numberOf(at);
        EXPECT_TRUE(number >= 0 && number < table.sums() && number % 2 == at.innerHalf);
        EXPECT_EQ(number / 2 - table.tilesBefore(), SkewedTable::tileOf(at));
      }
    }
    EXPECT_EQ(table.diagonals() + (layout.warps - 1) * table.step(), layout.warps * table.rows());
  }
}

/// The lanes of a warp write an element to 32 banks, and each eight threads of neighbouring
/// diagonals read 16 bytes from 32 banks.
TEST(FragmentLayout, SkewedTablesHaveNoBankConflicts) {
  for (const FragmentLayout &layout : layouts()) {
    if (layout.isPermuted)
      continue;
    const SkewedTable table{layout.warps, layout.ownerTiles, layout.innerBlock};
    for (int half = 0; half < 2; ++half) {
      std::set<int64_t> written;
      for (int64_t lane = 0; lane < 32; ++lane)
        written.insert(table.placeOf<int64_t>(0, lane / 4, lane % 4, half) % 32);
      EXPECT_EQ(written.size(), 32u);
      for (int64_t first = 0; first + 8 <= table.diagonals(); ++first) {
        std::set<int64_t> read;
        for (int64_t i = 0; i < 32; ++i)
          read.insert((SkewedTable::chunkOf(first + i / 4, half) + i % 4) % 32);
        EXPECT_EQ(read.size(), 32u);
      }
    }
  }
}

} // namespace
