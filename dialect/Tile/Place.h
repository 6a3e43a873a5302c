//===- Place.h - The current value of every named index -------------------===//
//
// Inside a stage, the names of a buffer's extents imply the indices of an element. A place holds
// the values of all named indices, in the number type `I` of a lowering. Indices that the extents
// of a buffer do not name are ignored.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_TILE_PLACE_H
#define PE_DIALECT_TILE_PLACE_H

#include "llvm/ADT/StringSwitch.h"

#include <cstdint>

namespace mlir::tile {

/// An extent of whole blocks, `ceildiv(r,64)*64`. Elements past the last row or column are padding.
struct PaddedExtent {
  llvm::StringRef space; // r or c
  int64_t block = 0;
};

/// Parses an extent of whole blocks. Returns an empty space for any other extent.
inline PaddedExtent paddedExtentOf(llvm::StringRef extent) {
  if (!extent.consume_front("ceildiv("))
    return {};
  PaddedExtent padded{extent.take_front(1)};
  int64_t factor = 0;
  extent = extent.drop_front(extent.empty() ? 0 : 1);
  const bool isPadded = (padded.space == "r" || padded.space == "c") && extent.consume_front(",") &&
                        !extent.consumeInteger(10, padded.block) && extent.consume_front(")*") &&
                        !extent.getAsInteger(10, factor);
  return isPadded && factor == padded.block && factor > 0 ? padded : PaddedExtent();
}

template <typename I> struct PlaceOf {
  I b, hq, hkv, r, c, t, kb, ks;

  /// Returns the index of the extent with this name, which may be padded to blocks, or null for
  /// depths and other extents.
  const I *find(llvm::StringRef extent) const {
    if (const PaddedExtent padded = paddedExtentOf(extent); padded.block)
      extent = padded.space;
    return llvm::StringSwitch<const I *>(extent)
        .Case("b", &b)
        .Case("hq", &hq)
        .Case("hkv", &hkv)
        .Case("r", &r)
        .Case("c", &c)
        .Case("t", &t)
        .Case("kb", &kb)
        .Case("ks", &ks)
        .Default(nullptr);
  }
};

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_PLACE_H
