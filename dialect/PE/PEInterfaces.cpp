//===- PEInterfaces.cpp - Helpers of the interfaces -----------------------===//

#include "dialect/PE/PEInterfaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/plan/Activations.h"

using namespace mlir;
using namespace mlir::pe;

#include "dialect/PE/PEInterfaces.cpp.inc"

// PE_Activation has the numbers of the table. PETablesTest compares the names.
#define PE_CHECK(enumerator, name)                                                                 \
  static_assert(static_cast<int64_t>(Activation::enumerator) ==                                    \
                static_cast<int64_t>(::pe::plan::Activation::enumerator));
PE_ACTIVATIONS(PE_CHECK)
#undef PE_CHECK
static_assert(getMaxEnumValForActivation() + 1 == std::size(::pe::plan::kActivationNames));

bool mlir::pe::isSmooth(Activation function) {
  return function != Activation::Identity && function != Activation::Relu &&
         function != Activation::Step;
}

std::optional<int64_t> mlir::pe::degreeOfChain(ArrayRef<ChainLink> chain) {
  int64_t degree = 1;
  for (auto [index, link] : llvm::enumerate(chain)) {
    const bool isLast = index + 1 == chain.size();
    if (degree == 0) // a function of a constant
      continue;
    if (isSmooth(link.function))
      degree = 3;
    else if (degree == 3 && link.function != Activation::Identity &&
             !(isLast && link.function == Activation::Relu))
      return std::nullopt; // kinks at the zeros of a smooth function, followed by further links
    else if (link.function == Activation::Step)
      degree = 0;
  }
  return degree;
}

/// Returns the mask operands of `op`, in order.
static SmallVector<Value> getMaskOperands(Operation *op, Type maskType) {
  return llvm::to_vector(llvm::make_filter_range(
      op->getOperands(), [&](Value operand) { return operand.getType() == maskType; }));
}

/// Computes a fact about a mask value with `ofOp`, which computes the fact for an op from the facts
/// of its mask operands. Works without recursion and visits each value once, because masks may form
/// long chains and share operands. Returns nullopt if `ofOp` does, or if a value has no defining
/// op.
template <typename Fact>
static std::optional<Fact>
foldMask(Value mask,
         llvm::function_ref<std::optional<Fact>(MaskOpInterface, ArrayRef<Fact>)> ofOp) {
  DenseMap<Value, Fact> known;
  SmallVector<Value> pending = {mask};
  while (!pending.empty()) {
    Value current = pending.back();
    auto op = current.getDefiningOp<MaskOpInterface>();
    if (!op)
      return std::nullopt;
    SmallVector<Fact> facts;
    size_t before = pending.size();
    for (Value operand : getMaskOperands(op, mask.getType())) {
      auto found = known.find(operand);
      if (found == known.end())
        pending.push_back(operand);
      else
        facts.push_back(found->second);
    }
    if (pending.size() != before)
      continue;
    pending.pop_back();
    std::optional<Fact> fact = ofOp(op, facts);
    if (!fact)
      return std::nullopt;
    known[current] = *fact;
  }
  return known.lookup(mask);
}

std::optional<DifferenceRange> mlir::pe::getDifferenceRange(Value mask) {
  return foldMask<DifferenceRange>(mask, [](MaskOpInterface op, ArrayRef<DifferenceRange> ranges) {
    return std::optional(op.getDifferenceRange(ranges));
  });
}

std::optional<KeyInterval>
mlir::pe::buildKeyInterval(Value mask, OpBuilder &builder, Location loc, const PairPoint &row,
                           llvm::function_ref<Value(Value, ValueRange)> read) {
  return foldMask<KeyInterval>(mask, [&](MaskOpInterface op, ArrayRef<KeyInterval> intervals) {
    return op.buildKeyInterval(builder, loc, row, intervals, read);
  });
}

std::optional<IntervalScope> mlir::pe::findIntervalScope(
    Location loc,
    llvm::function_ref<std::optional<KeyInterval>(OpBuilder &, const PairPoint &,
                                                  llvm::function_ref<Value(Value, ValueRange)>)>
        build) {
  Block scratch;
  OpBuilder builder(loc.getContext());
  builder.setInsertionPointToEnd(&scratch);
  auto argument = [&] { return scratch.addArgument(builder.getIndexType(), loc); };
  bool readsHead = false;
  const PairPoint row{argument(), argument(), argument(), Value()};
  auto read = [&](Value tensor, ValueRange indices) -> Value {
    readsHead |= llvm::is_contained(indices, row.head);
    Type element = cast<ShapedType>(tensor.getType()).getElementType();
    return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  };
  const bool isInterval = build(builder, row, read).has_value();
  readsHead |= !row.head.use_empty();
  if (!isInterval)
    return std::nullopt;
  return readsHead ? IntervalScope::RowOfHead : IntervalScope::Row;
}

std::optional<IntervalScope> mlir::pe::findIntervalScope(Value mask) {
  return findIntervalScope(mask.getLoc(), [&](OpBuilder &builder, const PairPoint &row, auto read) {
    return buildKeyInterval(mask, builder, mask.getLoc(), row, read);
  });
}

std::optional<KeyInterval> mlir::pe::intervalOfRange(OpBuilder &builder, Location loc,
                                                     const PairPoint &row,
                                                     const DifferenceRange &range) {
  if (!range.exact)
    return std::nullopt;
  const DifferenceRange bounds = range.ofPositions();
  auto before = [&](int64_t difference) -> Value {
    Value distance = arith::ConstantIndexOp::create(builder, loc, difference);
    return arith::SubIOp::create(builder, loc, row.query, distance);
  };
  KeyInterval keys;
  if (bounds.max != DifferenceRange::kUnboundedMax)
    keys.low = before(bounds.max);
  if (bounds.min != DifferenceRange::kUnboundedMin)
    keys.high = before(bounds.min - 1);
  return keys;
}
