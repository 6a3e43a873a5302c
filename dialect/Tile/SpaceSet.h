//===- SpaceSet.h - the named spaces that a value ranges over -------------===//
//
// A value of the tile level is one number for every point of a set of named spaces:
//
//   [r, c]   a number per query row and key column          [r, d]   a panel of rows by depth
//   [r]      a number per row                               []       one number per head
//
// A set has no order of its own. Names are kept in one canonical order, the well-known names first
// (b hq hkv g r c t kb d e), then all others alphabetically, so that equal sets are equal types.
// Every rule of the dialect is set arithmetic: a map takes the union, a reduction removes a name, a
// contraction removes one that both operands have.
//
// Names are references to literals or to strings that the context owns (`!tile.val` copies its
// names).
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_TILE_SPACESET_H
#define PE_DIALECT_TILE_SPACESET_H

#include "mlir/IR/OpImplementation.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::tile {

class SpaceSet {
public:
  SpaceSet() = default;
  /// In any order; a name that occurs twice counts once.
  SpaceSet(std::initializer_list<StringRef> names) : SpaceSet(ArrayRef<StringRef>(names)) {}
  explicit SpaceSet(ArrayRef<StringRef> names);

  /// In canonical order.
  ArrayRef<StringRef> getNames() const { return names; }
  bool isEmpty() const { return names.empty(); }
  bool has(StringRef name) const { return llvm::is_contained(names, name); }
  bool contains(const SpaceSet &other) const;
  SpaceSet join(const SpaceSet &other) const;
  SpaceSet without(StringRef name) const;
  bool operator==(const SpaceSet &other) const { return names == other.names; }
  bool operator!=(const SpaceSet &other) const { return names != other.names; }

  /// `[r, c]`.
  std::string toString() const;
  friend llvm::hash_code hash_value(const SpaceSet &set) {
    return llvm::hash_combine_range(set.names);
  }

private:
  SmallVector<StringRef, 4> names;
};

/// `[` name,* `]`; the names are owned by the context.
FailureOr<SpaceSet> parseSpaceSet(AsmParser &parser);

//===- Roles -----------------------------------------------------------------===//
//
// What a name means to a stage of attention. Lowerings ask here and never compare names themselves.

inline bool hasRows(const SpaceSet &set) { return set.has("r"); }
inline bool hasColumns(const SpaceSet &set) { return set.has("c"); }
inline bool isDepth(StringRef name) { return name == "d" || name == "e"; }
inline bool hasDepth(const SpaceSet &set) { return set.has("d") || set.has("e"); }
/// Values over such a set are subject to the mask.
inline bool hasPairs(const SpaceSet &set) { return hasRows(set) && hasColumns(set); }
/// The set's depth, or empty.
inline StringRef depthOf(const SpaceSet &set) {
  return set.has("d") ? "d" : set.has("e") ? "e" : "";
}

/// A number per pair, per row, per column, or per head.
inline bool isPair(const SpaceSet &set) { return set == SpaceSet{"r", "c"}; }
inline bool isRow(const SpaceSet &set) { return set == SpaceSet{"r"}; }
inline bool isColumn(const SpaceSet &set) { return set == SpaceSet{"c"}; }
/// Rows or columns by one depth.
inline bool isRowPanel(const SpaceSet &set) {
  return set == SpaceSet{"r", "d"} || set == SpaceSet{"r", "e"};
}
inline bool isColumnPanel(const SpaceSet &set) {
  return set == SpaceSet{"c", "d"} || set == SpaceSet{"c", "e"};
}

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_SPACESET_H
