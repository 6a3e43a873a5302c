//===- Verify.h - what several verifiers of the tile ops ask --------------===//
//
// Internal to the room. Every verifier rule has a label, such as `load-C1`, which ends the message
// and appears in docs/spec-tile.md and in a negative test under test/dialect/Tile.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_TILE_VERIFY_H
#define PE_DIALECT_TILE_VERIFY_H

#include "dialect/Tile/SizeNames.h"

namespace mlir::tile {

/// The expression parses and uses only names that the plan around `op` provides for that use.
LogicalResult verifyExpression(Operation *op, StringRef what, StringRef text, SizeUse use,
                               StringRef label);

/// The code in `region` is scalar: arith, math, scf, loads and stores of its scratch memory, and
/// the scalar ops of this dialect. From outside it uses constants and sizes only.
LogicalResult verifyScalarCode(Operation *op, Region &region, StringRef label);

/// The extents of `buffer` are any of b, hq and hkv, followed by `last`.
bool isPerHead(BufferType buffer, ArrayRef<StringRef> last);

/// Only one work item of `stage` accesses these elements: they are indexed by batch and head.
bool isOwned(BufferType buffer);

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_VERIFY_H
