//===- Blocks.h - block sizes and owners for tests ------------------------===//
#ifndef PE_TEST_PASSES_TOLOOPS_BLOCKS_H
#define PE_TEST_PASSES_TOLOOPS_BLOCKS_H

#include "passes/ToLoops/ToLoops.h"

#include <gtest/gtest.h>

namespace pe::test {

/// The values of parameterized tests. Results may depend on them only by rounding.
inline auto allBlocks() {
  using Options = mlir::tile::LoopOptions;
  using enum mlir::tile::LoopOwner;
  return testing::Values(Options{1, 1, Rows}, Options{1, 1, Columns}, Options{16, 16, Rows},
                         Options{16, 16, Columns}, Options{48, 32, Rows}, Options{48, 32, Columns});
}

inline std::string nameOf(const testing::TestParamInfo<mlir::tile::LoopOptions> &info) {
  const bool rows = info.param.owner == mlir::tile::LoopOwner::Rows;
  return std::to_string(info.param.blockRows) + "x" + std::to_string(info.param.blockColumns) +
         (rows ? "_rows" : "_columns");
}

} // namespace pe::test

#endif // PE_TEST_PASSES_TOLOOPS_BLOCKS_H
