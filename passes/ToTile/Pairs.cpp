//===- Pairs.cpp - the pairs that an attention includes -------------------===//
#include "passes/ToTile/Pairs.h"

#include "dialect/PE/PEKeyHull.h"
#include "dialect/PE/PEMasks.h"
#include "passes/ToTile/MaskBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::pe;

/// The buffers with bounds and states of pairs, which prepare stages write; null if absent.
struct PairBuffers {
  Value low, high, reach, states, taken;
};

/// Creates the pairs in `range` that satisfy these buffers, as an op of the plan.
static Value pairsOf(TileBuilder &plan, DifferenceRange range, const PairBuffers &buffers) {
  auto bound = [&](bool isOpen, int64_t value) {
    return isOpen ? IntegerAttr() : plan.getI64IntegerAttr(value);
  };
  // i - j < left and j - i < right.
  return plan.create<PairsOp>(
      plan.getType<PairsType>(), bound(range.max == DifferenceRange::kUnboundedMax, range.max + 1),
      bound(range.min == DifferenceRange::kUnboundedMin, 1 - range.min), buffers.low, buffers.high,
      buffers.reach, buffers.states, buffers.taken);
}

/// Creates the first column and the end of every row, from the masks that keep an interval of keys
/// and from the interval that the code implies.
static LogicalResult createBounds(PlanContext &context, MaskPartsOp parts, const std::string &name,
                                  PairBuffers &buffers) {
  Type i32 = context.plan.getI32Type();
  SmallVector<StringRef> heads = {"b"};
  if (parts.getPerHead())
    heads.push_back("hq");
  SmallVector<StringRef> rows(heads);
  rows.push_back("r");
  Value &low = buffers.low, &high = buffers.high;
  low = context.kept(name + "_low_columns", rows, i32);
  high = context.kept(name + "_high_columns", rows, i32);
  bool isArgument = true;
  TileBuilder t = beginStage(context.plan, name + "_columns", Phase::Prepare, heads);
  t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    PairPoint row{at[0], parts.getPerHead() ? at[1] : s.index(0),
                  s.add(at.back(), s.size("q_start")), Value()};
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
    auto narrow = [&](const KeyInterval &keys) {
      if (keys.low)
        first = s.create<arith::MaxSIOp>(first, column(keys.low));
      if (keys.high)
        end = s.create<arith::MinSIOp>(end, column(keys.high));
    };
    for (Value mask : parts.getIntervals())
      narrow(*buildKeyInterval(mask, s, s.getLoc(), row, read));
    if (parts.getCodeBounds())
      narrow(*buildKeyHull(parts.getCode().getDefiningOp<MaskFnOp>(), s, row, read));
    // Clamping to the columns makes the bounds fit in 32 bits.
    auto write = [&](Value value, Value buffer) {
      value = s.create<arith::MinSIOp>(s.create<arith::MaxSIOp>(value, s.index(0)), s.size("c"));
      writeElement(s, s.create<arith::IndexCastOp>(i32, value), buffer, at);
    };
    write(first, low);
    write(end, high);
  });
  if (!isArgument)
    return parts.emitError("expected the tensors of a mask to be arguments of the entry "
                           "function, found the result of another operation");
  buffers.reach = createReach(context, name, low, high);
  return success();
}

FailureOr<AttentionPairs> AttentionPairs::create(PlanContext &context,
                                                 const AttentionInputs &inputs) {
  AttentionOp op = inputs.op;
  AttentionPairs result;
  result.range = op.getPairRange().ofPositions();
  if (op.getDirection() == Direction::Both) {
    const int64_t nearest = op.getAttendCurrent() ? 0 : 1;
    result.laterRange = DifferenceRange::both(result.range, {.max = -nearest});
    result.range = DifferenceRange::both(result.range, DifferenceRange::atLeast(nearest));
  }
  PairBuffers buffers;
  if (op.getMask()) {
    auto parts = op.getMask().getDefiningOp<MaskPartsOp>();
    if (!parts)
      return op.emitOpError("expected a mask in parts; run pe-expand-masks first");
    if ((!parts.getIntervals().empty() || parts.getCodeBounds()) &&
        failed(createBounds(context, parts, inputs.name, buffers)))
      return failure();
    if (parts.getCode()) {
      auto code = parts.getCode().getDefiningOp<MaskFnOp>();
      result.predicate = std::make_unique<MaskFunction>(context, code);
      if (parts.getBlocks())
        buffers.states = createBlockStates(context, inputs.name, code);
      buffers.taken = createTaken(context, inputs.name, code);
    }
  }
  result.pairs = pairsOf(context.plan, result.range.ofPositions(), buffers);
  return result;
}

Value mlir::tile::withRange(TileBuilder &plan, Value pairs, const DifferenceRange &range) {
  auto op = pairs.getDefiningOp<PairsOp>();
  return pairsOf(plan, range,
                 {op.getLow(), op.getHigh(), op.getReach(), op.getStates(), op.getTaken()});
}

Value mlir::tile::allPairs(TileBuilder &plan) {
  return pairsOf(plan, DifferenceRange(), PairBuffers());
}
