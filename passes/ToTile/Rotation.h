//===- Rotation.h - rotating queries and keys outside the kernel ---===//
#ifndef PE_PASSES_TOTILE_ROTATION_H
#define PE_PASSES_TOTILE_ROTATION_H

#include "dialect/PE/PE.h"
#include "passes/ToTile/Attention.h"
#include "passes/ToTile/PlanContext.h"

namespace mlir::tile {

/// cos and sin per position of one side and pair of dimensions.
struct RotationTables {
  Value cosine, sine; // [r or c, pairs]
  int64_t pairs = 0;
  bool interleaved = false;
};

/// Adds the stages that build the tables for queries or keys.
RotationTables prepareRotation(PlanContext &context, pe::RotationOpInterface rotation,
                               StringRef name, bool queries);

/// Adds the stage that rotates `from` into `to` ([b, heads, positions, d]), backwards if `inverse`.
void emitRotation(PlanContext &context, const RotationTables &tables, Value from, Value to,
                  StringRef name, Phase phase, bool inverse);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_ROTATION_H
