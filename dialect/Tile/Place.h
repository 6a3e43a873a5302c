//===- Place.h - the current value of every named index -------------------===//
//
// Inside a stage the names of a buffer's extents imply the indices of an element. A place says what
// they are, for numbers `I` of any lowering; those that a buffer's extents do not name are ignored.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_TILE_PLACE_H
#define PE_DIALECT_TILE_PLACE_H

#include "llvm/ADT/StringSwitch.h"

namespace mlir::tile {

template <typename I> struct PlaceOf {
  I b, hq, hkv, r, c, t, kb;

  /// The index that an extent of that name has, or null: depths, and extents without a meaning
  /// here.
  const I *find(llvm::StringRef extent) const {
    return llvm::StringSwitch<const I *>(extent)
        .Case("b", &b)
        .Case("hq", &hq)
        .Case("hkv", &hkv)
        .Case("r", &r)
        .Case("c", &c)
        .Case("t", &t)
        .Case("kb", &kb)
        .Default(nullptr);
  }
};

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_PLACE_H
