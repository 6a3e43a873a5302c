//===- SpaceSet.cpp - sets of space names ---------------------------------===//
#include "dialect/Tile/SpaceSet.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::tile;

/// The names at the beginning of the canonical order.
static constexpr StringRef kWellKnown[] = {"b", "hq", "hkv", "g", "r", "c",
                                           "t", "kb", "ks",  "d", "e"};

static bool comesBefore(StringRef a, StringRef b) {
  auto rank = [](StringRef name) { return llvm::find(kWellKnown, name) - std::begin(kWellKnown); };
  const auto rankA = rank(a), rankB = rank(b);
  return rankA != rankB ? rankA < rankB : a < b;
}

SpaceSet::SpaceSet(ArrayRef<StringRef> list) : names(list) {
  llvm::sort(names, comesBefore);
  names.erase(llvm::unique(names), names.end());
}

bool SpaceSet::contains(const SpaceSet &other) const {
  return llvm::all_of(other.names, [&](StringRef name) { return has(name); });
}

SpaceSet SpaceSet::join(const SpaceSet &other) const {
  SmallVector<StringRef> all(names.begin(), names.end());
  llvm::append_range(all, other.names);
  return SpaceSet(all);
}

SpaceSet SpaceSet::without(StringRef name) const {
  SpaceSet rest = *this;
  llvm::erase(rest.names, name);
  return rest;
}

std::string SpaceSet::toString() const { return "[" + llvm::join(names, ", ") + "]"; }

FailureOr<SpaceSet> mlir::tile::parseSpaceSet(AsmParser &parser) {
  SmallVector<StringRef> names;
  auto parseName = [&]() -> ParseResult {
    StringRef name;
    std::string number;
    int64_t size;
    if (OptionalParseResult parsed = parser.parseOptionalInteger(size); parsed.has_value()) {
      if (failed(*parsed))
        return failure();
      name = number = std::to_string(size);
    } else if (failed(parser.parseKeyword(&name))) {
      return failure();
    }
    // The context owns the storage of a string attribute.
    names.push_back(parser.getBuilder().getStringAttr(name).getValue());
    return success();
  };
  if (failed(parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseName)))
    return failure();
  return SpaceSet(names);
}
