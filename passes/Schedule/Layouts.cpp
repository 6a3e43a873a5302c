//===- Layouts.cpp - values and contractions with a machine layout --------===//
#include "passes/Schedule/Layouts.h"

using namespace mlir;
using namespace mlir::tile;

static bool hasLayout(const SpaceSet &set) {
  return set.isEmpty() || isPair(set) || isRow(set) || isColumn(set) || isRowPanel(set) ||
         isColumnPanel(set);
}

static bool hasLayout(DotOp dot) {
  const SpaceSet &left = spacesOf(dot.getLhs()), &right = spacesOf(dot.getRhs());
  if (isDepth(dot.getAxis()))
    return isRowPanel(left) && isColumnPanel(right);
  return isPair(left) && (dot.getAxis() == "c" ? isColumnPanel(right) : isRowPanel(right));
}

/// Returns true if `init` is absent, has the spaces of the result, or is a row vector and the
/// result has rows.
static bool hasLayoutOfInit(DotOp dot) {
  const SpaceSet &result = spacesOf(dot.getOutput());
  return !dot.getInit() || spacesOf(dot.getInit()) == result ||
         (isRow(spacesOf(dot.getInit())) && hasRows(result));
}

LogicalResult mlir::tile::checkLayouts(StageOp stage, std::string &why) {
  auto check = [&](Value value) {
    auto type = dyn_cast<ValType>(value.getType());
    if (!type || hasLayout(type.getSpaces()))
      return true;
    why = "there is no layout for a value over " + type.getSpaces().toString();
    return false;
  };
  WalkResult result = stage.walk([&](Operation *op) {
    for (Value value : op->getResults())
      if (!check(value))
        return WalkResult::interrupt();
    auto dot = dyn_cast<DotOp>(op);
    if (dot && !hasLayout(dot))
      why = "there is no layout for a contraction of " + spacesOf(dot.getLhs()).toString() +
            " and " + spacesOf(dot.getRhs()).toString() + " over " + dot.getAxis().str();
    else if (dot && !hasLayoutOfInit(dot))
      why = "there is no layout for a contraction with a result over " +
            spacesOf(dot.getOutput()).toString() + " and an init over " +
            spacesOf(dot.getInit()).toString();
    else
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

::pe::math::FragmentKind mlir::tile::kindOf(const SpaceSet &spaces, Owner owner) {
  using Kind = ::pe::math::FragmentKind;
  if (spaces.isEmpty())
    return Kind::One;
  if (isPair(spaces))
    return Kind::Pair;
  const bool isOwner = owner == Owner::Rows ? hasRows(spaces) : hasColumns(spaces);
  if (isOwner)
    return hasDepth(spaces) ? Kind::OwnerPanel : Kind::Owner;
  return hasDepth(spaces) ? Kind::InnerPanel : Kind::Inner;
}
