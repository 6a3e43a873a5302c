//===- Pairs.cpp - Which pairs of an attention take part ------------------===//
#include "passes/ToTile/Pairs.h"

#include "dialect/PE/PEMasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::pe;

/// The pairs with `range` whose columns lie within the bounds of their row (null without any), as
/// an op of the plan.
static Value pairsOf(TileBuilder &plan, DifferenceRange range, Value low, Value high) {
  auto bound = [&](bool isOpen, int64_t value) {
    return isOpen ? IntegerAttr() : plan.getI64IntegerAttr(value);
  };
  // i - j < left and j - i < right.
  return plan.create<PairsOp>(
      plan.getType<PairsType>(), bound(range.max == DifferenceRange::kUnboundedMax, range.max + 1),
      bound(range.min == DifferenceRange::kUnboundedMin, 1 - range.min), low, high);
}

/// The masks that an attention requires together (pe-expand-masks): those that keep an interval of
/// keys for every row and are no range of i - j, and the one that is code.
static void findConjuncts(Value whole, SmallVector<Value> &intervals, MaskFnOp &function) {
  SmallVector<Value> pending;
  if (whole)
    pending.push_back(whole);
  while (!pending.empty()) {
    Value mask = pending.pop_back_val();
    if (auto both = mask.getDefiningOp<MaskAndOp>()) {
      llvm::append_range(pending, ValueRange{both.getRhs(), both.getLhs()});
      continue;
    }
    std::optional<DifferenceRange> range = getDifferenceRange(mask);
    if (range && range->exact)
      continue;
    auto code = mask.getDefiningOp<MaskFnOp>();
    if (code && !keepsInterval(mask))
      function = code;
    else
      intervals.push_back(mask);
  }
}

/// The first column of every row, and the one behind the last.
static LogicalResult createBounds(PlanContext &context, AttentionOp op, const std::string &name,
                                  ArrayRef<Value> masks, Value &low, Value &high) {
  Type i32 = context.plan.getI32Type();
  low = context.kept(name + "_low_columns", {"b", "r"}, i32);
  high = context.kept(name + "_high_columns", {"b", "r"}, i32);
  bool isArgument = true;
  TileBuilder t = beginStage(context.plan, name + "_columns", Phase::Prepare, {"b"});
  t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    PairPoint row{at[0], s.index(0), s.add(at[1], s.size("q_start")), Value()};
    auto read = [&](Value tensor, ValueRange indices) -> Value {
      auto known = context.parameters.find(tensor);
      isArgument &= known != context.parameters.end();
      if (known == context.parameters.end())
        return s.create<arith::ConstantOp>(s.getI32IntegerAttr(0));
      return readElement(s, known->second.buffer,
                         TileParameters::placeOf(s, known->second, indices),
                         /*inbounds=*/false);
    };
    Value first = s.index(0), end = s.size("c");
    auto column = [&](Value position) { return s.sub(position, s.size("k_start")); };
    for (Value mask : masks) {
      std::optional<KeyInterval> keys = buildKeyInterval(mask, s, s.getLoc(), row, read);
      if (keys->low)
        first = s.create<arith::MaxSIOp>(first, column(keys->low));
      if (keys->high)
        end = s.create<arith::MinSIOp>(end, column(keys->high));
    }
    // What lies outside the columns fits in 32 bits too.
    auto write = [&](Value value, Value buffer) {
      value = s.create<arith::MinSIOp>(s.create<arith::MaxSIOp>(value, s.index(0)), s.size("c"));
      writeElement(s, s.create<arith::IndexCastOp>(i32, value), buffer, at);
    };
    write(first, low);
    write(end, high);
  });
  if (!isArgument)
    return op.emitError("expected the tensors of its mask to be arguments of the entry "
                        "function, found the result of another operation");
  return success();
}

LogicalResult mlir::tile::createPairs(PlanContext &context, AttentionOp op,
                                      const DifferenceRange &range, Attention &a,
                                      std::unique_ptr<MaskFunction> &predicate) {
  SmallVector<Value> intervals;
  MaskFnOp function;
  findConjuncts(op.getMask(), intervals, function);
  if (function) {
    predicate = std::make_unique<MaskFunction>(context, function);
    a.predicate = predicate.get();
  }
  Value low, high;
  if (!intervals.empty() && failed(createBounds(context, op, a.name, intervals, low, high)))
    return failure();
  a.pairs = pairsOf(context.plan, range, low, high);
  return success();
}

Value mlir::tile::withRange(TileBuilder &plan, Value pairs, const DifferenceRange &range) {
  auto op = pairs.getDefiningOp<PairsOp>();
  return pairsOf(plan, range, op.getLow(), op.getHigh());
}

Value mlir::tile::allPairs(TileBuilder &plan) {
  return pairsOf(plan, DifferenceRange(), Value(), Value());
}
