//===- SizeNames.h - the names that size expressions may use --------------===//
//
// Every extent but the two depths is known at run time only, so buffer types, loops and launches
// carry it as a size expression (runtime/plan/SizeExpression.h). Its names: b hq hkv r c d e; t
// (distances of a call, r + c + 63) and kb (key blocks of the schedule, ceildiv(c, key_block)); in
// loops and `tile.size` also q_start k_start head_start heads_total. A plan that leaves the
// compiler knows b hq hkv r c d e only: `forPlan` rewrites the others.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_TILE_SIZENAMES_H
#define PE_DIALECT_TILE_SIZENAMES_H

#include "runtime/plan/SizeExpression.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::tile {

/// The names of extents, and all that `tile.size` and loops may use.
ArrayRef<std::string> getExtentNames();
ArrayRef<std::string> getSizeNames();
/// The names that a plan's reader knows.
ArrayRef<std::string> getPlanNames();

/// `text` with `t` and `kb` written out, as a plan's reader understands it.
std::string forPlan(StringRef text, int64_t keyBlock);

/// The expression of a text that a verifier has passed, with `t` and `kb` written out.
::pe::plan::SizeExpression parseForPlan(StringRef text, int64_t keyBlock);

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_SIZENAMES_H
