//===- ExplainMask.cpp - descriptions of masks ----------------------------===//

#include "passes/Analysis/ExplainMask.h"

#include "dialect/PE/PEMasks.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/Formula.h"
#include "passes/Analysis/Price.h"
#include "passes/Analysis/SourceNames.h"

namespace mlir::pe {
namespace {

constexpr StringLiteral kInterval =
    "an interval of keys for every query, computed once per call; pairs outside it are visited "
    "only in blocks that it cuts";
constexpr StringLiteral kIntervalOfHead =
    "an interval of keys for every query and head, computed once per call; pairs outside it are "
    "visited only in blocks that it cuts";
constexpr StringLiteral kBlocks =
    "code; blocks of 64 x 64 pairs that it masks entirely are skipped, blocks that it keeps "
    "entirely run without a mask, and in all others it is evaluated for every pair";
constexpr StringLiteral kPairs =
    "code, evaluated for every pair: whole blocks cannot be decided at once";

/// Adds the formula of a part of a mask, or the name of its op, and the price of its code.
void addFormula(llvm::json::Object &mask, func::FuncOp function, Operation *op) {
  auto code = dyn_cast<MaskFnOp>(op);
  if (!code) {
    mask["formula"] = op->getName().getStringRef();
    return;
  }
  const SmallVector<std::string> captures = namesOfCaptures(function, code.getCaptures());
  Block &body = code.getBody().front();
  Value root = cast<YieldOp>(body.getTerminator()).getValues()[0];
  mask["formula"] = formulaOf(root, body, captures);
  if (mask["form"] == "interval")
    return;
  const Price price = priceOf(root, body, body.getArgument(3), captures);
  mask["price"] = describe(price, "pair");
  mask["operations"] = asJson(price, "pair");
}

} // namespace

FailureOr<llvm::json::Array> explainMasks(func::FuncOp function, AttentionOp attention) {
  llvm::json::Array masks;
  if (!attention.getMask())
    return masks;
  auto parts = attention.getMask().getDefiningOp<MaskPartsOp>();
  if (!parts)
    return attention.emitOpError("expected a mask in parts; run pe-expand-masks first");
  auto add = [&](Value mask, StringRef form, StringRef cost, bool blocks) {
    llvm::json::Object found{{"location", describeLocation(mask.getLoc())},
                             {"form", form},
                             {"blocks", blocks},
                             {"cost", cost}};
    addFormula(found, function, mask.getDefiningOp());
    masks.push_back(std::move(found));
  };
  for (Value interval : parts.getIntervals())
    add(interval, "interval", parts.getPerHead() ? kIntervalOfHead : kInterval, false);
  if (parts.getCode())
    add(parts.getCode(), "code", parts.getBlocks() ? kBlocks : kPairs, parts.getBlocks());
  return masks;
}

void printMasks(llvm::raw_ostream &os, const llvm::json::Array &masks) {
  for (const llvm::json::Value &each : masks) {
    const llvm::json::Object &mask = *each.getAsObject();
    os << "  mask " << *mask.getString("formula") << "\n    at " << *mask.getString("location")
       << "\n    form: " << *mask.getString("cost") << "\n";
    if (std::optional<StringRef> price = mask.getString("price"))
      os << "    price: " << *price << "\n";
  }
}

} // namespace mlir::pe
