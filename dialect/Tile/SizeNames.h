//===- SizeNames.h - the names that size expressions may use --------------===//
//
// Every extent but the two depths is known at run time only, so buffer types, loops and launches
// carry it as a size expression (runtime/plan/SizeExpression.h). Its names: the sizes of the plan's
// frame (b hq hkv r c d e and every `tile.extent`); t (distances of a call, r + c +
// distance_padding) and kb (key blocks, ceildiv(c, key_block)), for which schedules choose the
// numbers; in loops and `tile.size` also the parameters. An exported plan may use words of the
// frame only: `forPlan` rewrites t and kb.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_TILE_SIZENAMES_H
#define PE_DIALECT_TILE_SIZENAMES_H

#include "dialect/Tile/Tile.h"
#include "runtime/plan/Frame.h"

#include <string>
#include <vector>

namespace mlir::tile {

/// The words of a call, in the order in which every stage of every target finds them: the sizes of
/// every plan, `tile.extent`, `tile.parameter`, the strides of strided buffers.
std::vector<::pe::plan::FrameWord> getFrame(PlanOp plan);

/// What an expression is for, which determines the names it may use.
enum class SizeUse {
  Items,  ///< a plan's reader evaluates it: sizes
  Extent, ///< sizes, t and kb
  Scalar, ///< these and the parameters
};
std::vector<std::string> getSizeNames(PlanOp plan, SizeUse use);

/// `text` with `t` and `kb` expanded, for the exported plan. Where it mentions `kb`, the plan must
/// have a `key_block` (checkKeyBlock).
std::string forPlan(StringRef text, PlanOp plan);

/// Parses a text that the verifier has accepted, with `t` and `kb` expanded.
::pe::plan::SizeExpression parseForPlan(StringRef text, PlanOp plan);

/// Whether the text mentions the name.
bool mentions(StringRef text, StringRef name);

/// Whether a buffer, a loop or a size of the plan mentions the name.
bool mentions(PlanOp plan, StringRef name);

/// Whether something of the plan counts key blocks, so that a schedule must choose `key_block`.
inline bool hasKeyBlocks(PlanOp plan) { return mentions(plan, "kb"); }

/// Fails with an error where it has been chosen for a plan that needs it by nobody.
LogicalResult checkKeyBlock(PlanOp plan);

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_SIZENAMES_H
