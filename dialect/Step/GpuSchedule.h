//===- GpuSchedule.h - block sizes of a stage with a stream, for GPUs -----===//
//
// One cooperative thread array (CTA) owns a block of rows or of columns ("owner") and streams
// blocks of the other side ("inner"). Its warps divide the owner's block: every warp holds
// `owner_tiles` tiles of 16 and the entire inner block, so that the owner's statistics need no
// shared memory.
//
//   #step.gpu<owner = rows, warps = 4, owner_tiles = 1, inner_block = 64, ahead = 0, slots = 2,
//             late_slots = 2>
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_STEP_GPUSCHEDULE_H
#define PE_DIALECT_STEP_GPUSCHEDULE_H

#include "dialect/Step/Fields.h"

namespace mlir::tile {

/// The choices for a stage with a stream on a GPU: the fields of `#step.gpu`.
struct GpuSchedule {
  int64_t ownerWord = 0; // an Owner
  int64_t warps = 4;
  int64_t ownerTiles = 1;
  int64_t innerBlock = 64;
  // The step program (passes/Schedule/StepPrograms.h): the number of blocks by which contractions
  // of loaded panels run ahead, and the blocks in shared memory of the panels that they read
  // (`slots`) and of the others (`late_slots`).
  int64_t ahead = 0;
  int64_t slots = 2;
  int64_t lateSlots = 2;

  static ArrayRef<step::Field<GpuSchedule>> fields();
  bool operator==(const GpuSchedule &) const = default;
  Owner owner() const { return static_cast<Owner>(ownerWord); }
  int64_t threads() const { return warps * 32; }
  int64_t ownerBlock() const { return warps * ownerTiles * 16; }
};

llvm::hash_code hash_value(const GpuSchedule &schedule);

} // namespace mlir::tile

#endif // PE_DIALECT_STEP_GPUSCHEDULE_H
