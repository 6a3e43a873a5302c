//===- GpuSchedule.h - block sizes of a stage with a stream, for GPUs -----===//
//
// One cooperative thread array (CTA) owns a block of rows or of columns ("owner") and streams
// blocks of the other side ("inner"). Its warps divide the owner's block: every warp holds
// `owner_tiles` tiles of 16 and the entire inner block, so that the owner's statistics need no
// shared memory.
//
//   gpu_schedule = {warps = 4, owner_tiles = 1, inner_block = 64}
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_SCHEDULE_GPUSCHEDULE_H
#define PE_PASSES_SCHEDULE_GPUSCHEDULE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/LogicalResult.h"

namespace mlir::tile {

/// The `gpu_schedule` attribute of a stage with a stream.
struct GpuSchedule {
  static constexpr llvm::StringLiteral kAttribute = "gpu_schedule";

  int64_t warps = 4;
  int64_t ownerTiles = 1;
  int64_t innerBlock = 64;

  int64_t threads() const { return warps * 32; }
  int64_t ownerBlock() const { return warps * ownerTiles * 16; }

  DictionaryAttr toAttr(MLIRContext *context) const;
  /// Fails unless there are 1..16 warps and 1..4 owner tiles, and inner_block is a multiple of 16
  /// from 16 to 256.
  static FailureOr<GpuSchedule> fromAttr(DictionaryAttr attr);
};

} // namespace mlir::tile

#endif // PE_PASSES_SCHEDULE_GPUSCHEDULE_H
