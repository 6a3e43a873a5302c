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

namespace mlir::tile {

template <typename I> struct PlaceOf {
  I b, hq, hkv, r, c, t, kb, ks;

  /// Returns the index of the extent with this name, or null for depths and other extents.
  const I *find(llvm::StringRef extent) const {
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
