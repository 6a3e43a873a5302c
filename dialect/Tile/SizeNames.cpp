//===- SizeNames.cpp - the names that size expressions may use ------------===//
#include "dialect/Tile/SizeNames.h"

#include "dialect/Tile/Tile.h"
#include "runtime/plan/CallSizes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::tile;

static ArrayRef<std::string> allNames() {
  static const std::string names[] = {"b",       "hq",         "hkv",        "r",  "c",
                                      "d",       "e",          "t",          "kb", "q_start",
                                      "k_start", "head_start", "heads_total"};
  return names;
}

ArrayRef<std::string> mlir::tile::getPlanNames() {
  std::span<const std::string> names = ::pe::plan::sizeNames();
  return ArrayRef(names.data(), names.size());
}
ArrayRef<std::string> mlir::tile::getExtentNames() { return allNames().take_front(9); }
ArrayRef<std::string> mlir::tile::getSizeNames() { return allNames(); }

std::string mlir::tile::forPlan(StringRef text, int64_t keyBlock) {
  std::string result;
  while (!text.empty()) {
    StringRef word = text.take_while([](char ch) { return llvm::isAlnum(ch) || ch == '_'; });
    StringRef piece = word.empty() ? text.take_front() : word;
    if (word == "t")
      result += "(r+c+" + std::to_string(kDistancePadding) + ")";
    else if (word == "kb")
      result += "ceildiv(c," + std::to_string(keyBlock) + ")";
    else
      result += piece;
    text = text.drop_front(piece.size());
  }
  return result;
}

::pe::plan::SizeExpression mlir::tile::parseForPlan(StringRef text, int64_t keyBlock) {
  std::string problem;
  std::optional<::pe::plan::SizeExpression> parsed =
      ::pe::plan::SizeExpression::parse(forPlan(text, keyBlock), problem);
  assert(parsed && "size expressions are checked by the verifier");
  return *std::move(parsed);
}
