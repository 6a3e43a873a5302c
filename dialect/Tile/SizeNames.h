//===- SizeNames.h - The names that size expressions may use --------------===//
//
// All extents except the two depths are known only at run time, so buffer types, loops and launches
// hold them as size expressions (runtime/plan/SizeExpression.h). The names in an expression are:
//
// - the sizes of the plan's frame: b hq hkv r c d e and every `tile.extent`;
// - t, the distances of tables, r + capacity + distance_padding, and kb, the key blocks,
//   ceildiv(c, key_block), where schedules choose distance_padding and key_block;
// - ks, the splits of the keys, ceildiv(c, key_split);
// - in loops and `tile.size`, the parameters.
//
// An exported plan may use only words of the frame: `forPlan` expands t, kb and ks.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_TILE_SIZENAMES_H
#define PE_DIALECT_TILE_SIZENAMES_H

#include "dialect/Tile/Tile.h"
#include "runtime/plan/Frame.h"

#include <string>
#include <vector>

namespace mlir::tile {

/// Returns the words of a call in the order that all stages of all targets use: the sizes of every
/// plan, `tile.extent`, `tile.parameter`, the strides of strided buffers.
std::vector<::pe::plan::FrameWord> getFrame(PlanOp plan);

/// The use of an expression, which determines the names in it.
enum class SizeUse {
  Items,  ///< sizes; evaluated by the reader of a plan
  Extent, ///< sizes, t, kb and ks
  Scalar, ///< sizes, t, kb, ks and the parameters
};
std::vector<std::string> getSizeNames(PlanOp plan, SizeUse use);

/// Returns `text` with `t`, `kb` and `ks` expanded, for the exported plan. If it uses `kb`, the
/// plan must have a `key_block` (checkKeyBlock).
std::string forPlan(StringRef text, PlanOp plan);

/// Parses a verified expression with `t`, `kb` and `ks` expanded.
::pe::plan::SizeExpression parseForPlan(StringRef text, PlanOp plan);

/// Returns true if the expression uses the name.
bool mentions(StringRef text, StringRef name);

/// Returns true if a buffer, a loop or a size of the plan uses the name.
bool mentions(PlanOp plan, StringRef name);

/// Returns true if the plan uses key blocks, so that a schedule must choose `key_block`.
inline bool hasKeyBlocks(PlanOp plan) { return mentions(plan, "kb"); }

/// Reports an error if the plan uses key blocks but has no `key_block`.
LogicalResult checkKeyBlock(PlanOp plan);

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_SIZENAMES_H
