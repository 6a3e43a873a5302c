//===- SpaceSet.h - The named spaces of a value ---------------------------===//
//
// A value of the tile dialect is one number for every point of a set of named spaces:
//
//   [r, c]   a number per query row and key column          [r, d]   a panel of rows by depth
//   [r]      a number per row                               []       one number per head
//
// Sets are unordered. Names are stored in canonical order, the well-known names first
// (b hq hkv g r c t kb d e) and all others alphabetically, so that equal sets are equal types. A
// number is the name of a space of that size, such as the depth of a content term's own queries.
// Every rule of the dialect is set arithmetic: a map takes the union, a reduction removes a name, a
// contraction removes one that both operands have.
//
// The names refer to literals or to strings that the context owns (`!tile.val` copies its names).
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
  /// Accepts names in any order and with duplicates.
  SpaceSet(std::initializer_list<StringRef> names) : SpaceSet(ArrayRef<StringRef>(names)) {}
  explicit SpaceSet(ArrayRef<StringRef> names);

  /// Returns the names in canonical order.
  ArrayRef<StringRef> getNames() const { return names; }
  bool isEmpty() const { return names.empty(); }
  bool has(StringRef name) const { return llvm::is_contained(names, name); }
  bool contains(const SpaceSet &other) const;
  SpaceSet join(const SpaceSet &other) const;
  SpaceSet without(StringRef name) const;
  bool operator==(const SpaceSet &other) const { return names == other.names; }
  bool operator!=(const SpaceSet &other) const { return names != other.names; }

  /// Returns the names in the syntax of types, such as `[r, c]`.
  std::string toString() const;
  friend llvm::hash_code hash_value(const SpaceSet &set) {
    return llvm::hash_combine_range(set.names);
  }

private:
  SmallVector<StringRef, 4> names;
};

/// Parses `[` name,* `]`. The context owns the names.
FailureOr<SpaceSet> parseSpaceSet(AsmParser &parser);

//===- Roles -----------------------------------------------------------------===//
//
// The meaning of names in a stage of attention. Lowerings use these functions instead of comparing
// names.

inline bool hasRows(const SpaceSet &set) { return set.has("r"); }
inline bool hasColumns(const SpaceSet &set) { return set.has("c"); }
/// Returns the size of a space whose name is a number, or nullopt.
inline std::optional<int64_t> fixedSize(StringRef name) {
  int64_t size;
  return name.getAsInteger(10, size) ? std::nullopt : std::optional<int64_t>(size);
}
inline bool isDepth(StringRef name) { return name == "d" || name == "e" || fixedSize(name); }
/// Returns the depth of the set, or an empty string.
inline StringRef depthOf(const SpaceSet &set) {
  const auto *found = llvm::find_if(set.getNames(), isDepth);
  return found == set.getNames().end() ? StringRef() : *found;
}
inline bool hasDepth(const SpaceSet &set) { return !depthOf(set).empty(); }
/// Returns the size of a depth, given those of queries and of values.
inline int64_t sizeOfDepth(StringRef depth, int64_t headDim, int64_t valueDim) {
  return fixedSize(depth).value_or(depth == "d" ? headDim : valueDim);
}
/// Returns true if values over the set are subject to the mask.
inline bool hasPairs(const SpaceSet &set) { return hasRows(set) && hasColumns(set); }

// One number per pair, per row, or per column.
inline bool isPair(const SpaceSet &set) { return set == SpaceSet{"r", "c"}; }
inline bool isRow(const SpaceSet &set) { return set == SpaceSet{"r"}; }
inline bool isColumn(const SpaceSet &set) { return set == SpaceSet{"c"}; }
// Rows or columns by one depth.
inline bool isRowPanel(const SpaceSet &set) {
  return hasDepth(set) && set == SpaceSet{"r", depthOf(set)};
}
inline bool isColumnPanel(const SpaceSet &set) {
  return hasDepth(set) && set == SpaceSet{"c", depthOf(set)};
}

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_SPACESET_H
