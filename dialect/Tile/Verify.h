//===- Verify.h - Shared checks of the verifiers --------------------------===//
//
// Internal to dialect/Tile. Every verifier rule has a label, such as `load-C1`, which ends the
// message and appears in docs/spec-tile.md and in a negative test under test/dialect/Tile.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_TILE_VERIFY_H
#define PE_DIALECT_TILE_VERIFY_H

#include "dialect/Tile/SizeNames.h"

namespace mlir::tile {

/// Checks that the expression parses and uses only names that the enclosing plan of `op` provides
/// for this use.
LogicalResult verifyExpression(Operation *op, StringRef what, StringRef text, SizeUse use,
                               StringRef label);

/// Checks that the code in `region` is scalar: arith, math, scf, loads and stores of its scratch
/// memory, and the scalar ops of this dialect. It may use only constants and sizes from outside.
LogicalResult verifyScalarCode(Operation *op, Region &region, StringRef label);

/// Returns true if the extents of `buffer` are any of b, hq and hkv, followed by `last`.
bool isPerHead(BufferType buffer, ArrayRef<StringRef> last);

/// Returns true if only one work item accesses each element: the buffer is indexed by batch and
/// head.
bool isOwned(BufferType buffer);

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_VERIFY_H
