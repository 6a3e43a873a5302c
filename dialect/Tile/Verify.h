//===- Verify.h - what several verifiers of the tile ops ask --------------===//
//
// Internal to the room. Every rule of a verifier has a label, `load-C1`; it ends the message,
// stands in docs/spec-tile.md, and in a negative test under test/dialect/Tile.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_TILE_VERIFY_H
#define PE_DIALECT_TILE_VERIFY_H

#include "dialect/Tile/SizeNames.h"

namespace mlir::tile {

/// The expression parses and uses no name but those that the plan around `op` has for such use.
LogicalResult verifyExpression(Operation *op, StringRef what, StringRef text, SizeUse use,
                               StringRef label);

/// The code in `region` is scalar: arith, math, scf, memref on the stage's scratch memory, and the
/// scalar ops of this dialect. From outside it uses constants, sizes and scratch only.
LogicalResult verifyScalarCode(Operation *op, Region &region, StringRef label);

/// `buffer` has one of the extents b, hq, hkv at each place before `last`, which are its last.
bool isPerHead(BufferType buffer, ArrayRef<StringRef> last);

/// The work item of `stage` alone holds these elements: indices by batch and head.
bool isOwned(BufferType buffer);

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_VERIFY_H
