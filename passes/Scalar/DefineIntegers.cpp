//===- DefineIntegers.cpp - integers with the same meaning on every target -===//
//
// Walks over every region of scalar code and rewrites the operations that the integer ranges of a
// call (CallRanges.h) do not prove safe. Passes.td lists the rewrites.
//
//===----------------------------------------------------------------------===//
#include "passes/Scalar/CallRanges.h"
#include "passes/Scalar/Scalar.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "pe-tile-define-integers"

namespace mlir::tile {
#define GEN_PASS_DEF_PETILEDEFINEINTEGERSPASS
#include "passes/Scalar/Passes.h.inc"

namespace {

constexpr int64_t kLowest32 = std::numeric_limits<int32_t>::min();
constexpr int64_t kHighest32 = std::numeric_limits<int32_t>::max();

//===- Rewriting -----------------------------------------------------------------===//

class IntegerRewriter {
public:
  IntegerRewriter(MLIRContext *context, CallRanges ranges)
      : builder(context), ranges(std::move(ranges)) {}

  LogicalResult rewrite(Block &block);
  void eraseReplaced() {
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
  }

private:
  ConstantIntRanges rangeOf(Value value) const;
  bool fits32(Value value) const;
  bool isNegative(Value value) const { return rangeOf(value).smin().isNegative(); }
  bool mayBe(Value value, int64_t number) const;

  LogicalResult rewrite(Operation &op);
  void rewriteIndexCast(Operation &op);
  void rewriteToFloat(Operation &op);
  void rewriteInWide(Operation &op);
  LogicalResult narrowUses(Operation &op);
  bool staysIndex(Operation &op) const;

  bool isDefined(Operation &op) const;
  Value emitDefined(Operation &op, ValueRange operands, Type type);
  Value emitDivision(Operation &op, Value a, Value b);
  Value emitShift(Operation &op, Value a, Value b);
  Value emitRounded(Operation &op, Value a, Value b);

  Value asWide(Value value);
  void replace(Operation &op, Value value);
  Value constant(Type type, int64_t value) {
    return create<arith::ConstantOp>(builder.getIntegerAttr(type, value));
  }
  Value isEqual(Value a, int64_t b) {
    return create<arith::CmpIOp>(arith::CmpIPredicate::eq, a, constant(a.getType(), b));
  }
  template <typename OpTy, typename... Args> Value create(Args &&...args) {
    return OpTy::create(builder, location, std::forward<Args>(args)...);
  }

  OpBuilder builder;
  Location location = builder.getUnknownLoc();
  CallRanges ranges;
  llvm::DenseMap<Value, Value> wide; // i64 for values of type index
  SmallVector<Operation *> replaced;
};

ConstantIntRanges IntegerRewriter::rangeOf(Value value) const {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return ConstantIntRanges::constant(number);
  auto found = ranges.find(value);
  if (found != ranges.end())
    return found->second;
  return ConstantIntRanges::maxRange(ConstantIntRanges::getStorageBitwidth(value.getType()));
}

bool IntegerRewriter::fits32(Value value) const {
  ConstantIntRanges range = rangeOf(value);
  return range.smin().sge(kLowest32) && range.smax().sle(kHighest32);
}

bool IntegerRewriter::mayBe(Value value, int64_t number) const {
  ConstantIntRanges range = rangeOf(value);
  APInt n(range.smin().getBitWidth(), number, /*isSigned=*/true, /*implicitTrunc=*/true);
  return range.smin().sle(n) && range.smax().sge(n) && range.umin().ule(n) && range.umax().uge(n);
}

/// Returns the value of type index as i64.
Value IntegerRewriter::asWide(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return constant(builder.getI64Type(), number.getSExtValue());
  Value &known = wide[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(value);
    known = create<arith::IndexCastOp>(builder.getI64Type(), value);
  }
  return known;
}

/// Replaces the result of `op` by `value`, which is i64 for an index that may not fit in 32 bits.
void IntegerRewriter::replace(Operation &op, Value value) {
  Value result = op.getResult(0);
  replaced.push_back(&op);
  if (result.getType().isIndex() && !value.getType().isIndex()) {
    wide[result] = value;
    if (!fits32(result))
      return;
    value = create<arith::IndexCastOp>(result.getType(), value);
  }
  ranges.try_emplace(value, rangeOf(result));
  if (auto known = wide.find(result); known != wide.end())
    wide[value] = Value(known->second);
  result.replaceAllUsesWith(value);
}

//===- Divisions and shifts --------------------------------------------------------===//

bool isSignedDivision(Operation &op) {
  return isa<arith::DivSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp, arith::RemSIOp>(op);
}
bool isUnsignedDivision(Operation &op) {
  return isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp>(op);
}
bool isRemainder(Operation &op) { return isa<arith::RemSIOp, arith::RemUIOp>(op); }
bool isShift(Operation &op) { return isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op); }

unsigned widthOf(Value value) { return ConstantIntRanges::getStorageBitwidth(value.getType()); }

/// Returns true if the ranges exclude the cases that processors leave undefined.
bool IntegerRewriter::isDefined(Operation &op) const {
  if (isShift(op))
    return rangeOf(op.getOperand(1)).umax().ult(widthOf(op.getOperand(1)));
  if (!isSignedDivision(op) && !isUnsignedDivision(op))
    return true;
  if (isa<arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return false;
  Value a = op.getOperand(0), b = op.getOperand(1);
  const bool mayOverflow =
      isSignedDivision(op) && mayBe(b, -1) && rangeOf(a).smin().isMinSignedValue();
  return !mayBe(b, 0) && !mayOverflow;
}

/// Emits the quotient or remainder. b is not 0, and not -1 if a is the smallest integer.
Value IntegerRewriter::emitRounded(Operation &op, Value a, Value b) {
  using P = arith::CmpIPredicate;
  Value zero = constant(a.getType(), 0), one = constant(a.getType(), 1);
  auto isNegative = [&](Value x) { return create<arith::CmpIOp>(P::slt, x, zero); };
  if (isa<arith::DivUIOp>(op))
    return create<arith::DivUIOp>(a, b);
  if (isa<arith::RemUIOp>(op))
    return create<arith::RemUIOp>(a, b);
  if (isa<arith::DivSIOp>(op))
    return create<arith::DivSIOp>(a, b);
  if (isa<arith::RemSIOp>(op))
    return create<arith::RemSIOp>(a, b);
  const bool isUnsigned = isa<arith::CeilDivUIOp>(op);
  Value quotient = isUnsigned ? create<arith::DivUIOp>(a, b) : create<arith::DivSIOp>(a, b);
  Value rest = create<arith::SubIOp>(a, create<arith::MulIOp>(quotient, b));
  Value isMoved = create<arith::CmpIOp>(P::ne, rest, zero);
  if (!isUnsigned) {
    // Truncation is the floor if the signs are equal, and the ceiling if they differ.
    P wanted = isa<arith::FloorDivSIOp>(op) ? P::ne : P::eq;
    Value signs = create<arith::CmpIOp>(wanted, isNegative(a), isNegative(b));
    isMoved = create<arith::AndIOp>(isMoved, signs);
  }
  Value moved = isa<arith::FloorDivSIOp>(op) ? create<arith::SubIOp>(quotient, one)
                                             : create<arith::AddIOp>(quotient, one);
  return create<arith::SelectOp>(isMoved, moved, quotient);
}

Value IntegerRewriter::emitDivision(Operation &op, Value a, Value b) {
  Value one = constant(a.getType(), 1), zero = constant(a.getType(), 0);
  Value isZero, isMinusOne, safe = b;
  if (mayBe(op.getOperand(1), 0)) {
    isZero = isEqual(b, 0);
    safe = create<arith::SelectOp>(isZero, one, safe);
  }
  if (isSignedDivision(op) && mayBe(op.getOperand(1), -1) &&
      rangeOf(op.getOperand(0)).smin().isMinSignedValue()) {
    isMinusOne = isEqual(b, -1);
    safe = create<arith::SelectOp>(isMinusOne, one, safe);
  }
  Value result = emitRounded(op, a, safe);
  if (isMinusOne) {
    Value wrapped = isRemainder(op) ? zero : create<arith::SubIOp>(zero, a);
    result = create<arith::SelectOp>(isMinusOne, wrapped, result);
  }
  return isZero ? create<arith::SelectOp>(isZero, zero, result) : result;
}

Value IntegerRewriter::emitShift(Operation &op, Value a, Value b) {
  Value last = constant(b.getType(), int64_t(widthOf(b)) - 1);
  Value amount = create<arith::MinUIOp>(b, last);
  if (isa<arith::ShRSIOp>(op))
    return create<arith::ShRSIOp>(a, amount);
  Value shifted =
      isa<arith::ShLIOp>(op) ? create<arith::ShLIOp>(a, amount) : create<arith::ShRUIOp>(a, amount);
  Value isWithin = create<arith::CmpIOp>(arith::CmpIPredicate::ule, b, last);
  return create<arith::SelectOp>(isWithin, shifted, constant(a.getType(), 0));
}

/// Emits `op` on these operands with a result that is defined for all their values.
Value IntegerRewriter::emitDefined(Operation &op, ValueRange operands, Type type) {
  if (isDefined(op)) {
    OperationState state(location, op.getName());
    state.addOperands(operands);
    state.addTypes(type);
    state.addAttributes(op.getAttrs());
    return builder.create(state)->getResult(0);
  }
  return isShift(op) ? emitShift(op, operands[0], operands[1])
                     : emitDivision(op, operands[0], operands[1]);
}

//===- Widths ------------------------------------------------------------------------===//

/// Returns true if 32 bits are enough for the operation's 64-bit result.
bool IntegerRewriter::staysIndex(Operation &op) const {
  auto fits = [&](Value value) { return !value.getType().isIndex() || fits32(value); };
  if (!llvm::all_of(op.getOperands(), fits) || !llvm::all_of(op.getResults(), fits))
    return false;
  if (isUnsignedDivision(op))
    return !isNegative(op.getOperand(0)) && !isNegative(op.getOperand(1));
  if (isSignedDivision(op) && mayBe(op.getOperand(1), -1))
    return rangeOf(op.getOperand(0)).smin().sgt(kLowest32);
  if (!isShift(op))
    return true;
  const bool isShort = rangeOf(op.getOperand(1)).umax().ult(32);
  return isShort && (!isa<arith::ShRUIOp>(op) || !isNegative(op.getOperand(0)));
}

void IntegerRewriter::rewriteInWide(Operation &op) {
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(operand.getType().isIndex() ? asWide(operand) : operand);
  Type type = op.getResult(0).getType();
  replace(op, emitDefined(op, operands, type.isIndex() ? builder.getI64Type() : type));
}

/// Rewrites index_cast and index_castui. A zero-extended boolean is 0 or 1.
void IntegerRewriter::rewriteIndexCast(Operation &op) {
  Value from = op.getOperand(0);
  Type to = op.getResult(0).getType(), i64 = builder.getI64Type();
  const bool isUnsigned = isa<arith::IndexCastUIOp>(op);
  if (to.isIndex()) {
    Value value = from;
    if (isUnsigned && from.getType().getIntOrFloatBitWidth() < 64 && isNegative(from)) {
      const bool isShort = from.getType().getIntOrFloatBitWidth() < 32;
      value = create<arith::ExtUIOp>(isShort ? Type(builder.getI32Type()) : i64, from);
    } else if (!isUnsigned && fits32(from)) {
      return; // stays
    }
    if (fits32(op.getResult(0)))
      value = create<arith::IndexCastOp>(to, value);
    else if (value.getType() != i64)
      value = create<arith::ExtSIOp>(i64, value);
    return replace(op, value);
  }
  // A cast to fewer bits than the range needs is a truncation: MLIR folds index_cast of index_cast.
  const unsigned width = to.getIntOrFloatBitWidth();
  const ConstantIntRanges range = rangeOf(from);
  const bool isExact = range.smin().isSignedIntN(width) && range.smax().isSignedIntN(width);
  if (!isUnsigned && isExact && fits32(from))
    return;
  Value value = fits32(from) ? from : asWide(from);
  if (value.getType().isIndex())
    value = create<arith::IndexCastOp>(isExact || width > 32 ? to : builder.getI32Type(), value);
  if (value.getType() != to)
    value = create<arith::TruncIOp>(to, value);
  replace(op, value);
}

/// Rewrites sitofp of an index that was widened to 64 bits unnecessarily.
void IntegerRewriter::rewriteToFloat(Operation &op) {
  auto cast = op.getOperand(0).getDefiningOp<arith::IndexCastOp>();
  if (!cast || !cast.getIn().getType().isIndex() || !cast.getType().isInteger(64) ||
      !fits32(cast.getIn()))
    return;
  Value narrow = create<arith::IndexCastOp>(builder.getI32Type(), cast.getIn());
  replace(op, create<arith::SIToFPOp>(op.getResult(0).getType(), narrow));
}

/// Keeps buffer indices and loop bounds of type index.
LogicalResult IntegerRewriter::narrowUses(Operation &op) {
  const bool isClamped =
      isa<AccumulateOp>(op) || (isa<ReadOp>(op) && !cast<ReadOp>(op).getInbounds());
  if (!isa<ReadOp, WriteOp, AccumulateOp, memref::LoadOp, memref::StoreOp, scf::ForOp>(op))
    return op.emitOpError("expected indices that fit in 32 bits, found one that may not");
  for (OpOperand &use : op.getOpOperands()) {
    Value value = use.get();
    if (!value.getType().isIndex() || fits32(value))
      continue;
    value = asWide(value);
    if (isClamped) {
      Type i64 = builder.getI64Type();
      value = create<arith::MaxSIOp>(value, constant(i64, 0));
      value = create<arith::MinSIOp>(value, constant(i64, kHighest32));
    }
    // In other places the value is an index or a count, which fits in 32 bits even if the ranges do
    // not prove it.
    use.set(create<arith::IndexCastOp>(builder.getIndexType(), value));
  }
  return success();
}

LogicalResult IntegerRewriter::rewrite(Operation &op) {
  builder.setInsertionPoint(&op);
  location = op.getLoc();
  auto isIndex = [](Type type) { return type.isIndex(); };
  auto isWideIndex = [&](Value value) { return value.getType().isIndex() && !fits32(value); };
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    rewriteIndexCast(op);
  else if (isa<arith::SIToFPOp>(op))
    rewriteToFloat(op);
  else if (isa<arith::ConstantOp, SizeOp>(op))
    return success();
  else if (isa<arith::ArithDialect, math::MathDialect>(op.getDialect())) {
    const bool onIndices = llvm::any_of(op.getOperandTypes(), isIndex);
    if (onIndices && !staysIndex(op))
      rewriteInWide(op);
    else if (!isDefined(op))
      replace(op, emitDefined(op, op.getOperands(), op.getResult(0).getType()));
  } else if (llvm::any_of(op.getOperands(), isWideIndex))
    return narrowUses(op);
  return success();
}

LogicalResult IntegerRewriter::rewrite(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (failed(rewrite(op)))
      return failure();
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        if (failed(rewrite(inner)))
          return failure();
  }
  return success();
}

/// Drops overflow flags, because integers wrap around.
void dropOverflowFlags(PlanOp plan) {
  plan.walk([](Operation *op) {
    if (isa<arith::ArithIntegerOverflowFlagsInterface>(op))
      op->setAttr("overflowFlags", arith::IntegerOverflowFlagsAttr::get(
                                       op->getContext(), arith::IntegerOverflowFlags::none));
    if (isa<arith::ShRSIOp, arith::ShRUIOp, arith::DivSIOp, arith::DivUIOp>(op))
      op->removeAttr("isExact");
  });
}

struct PETileDefineIntegersPass
    : public impl::PETileDefineIntegersPassBase<PETileDefineIntegersPass> {
  using Base::Base;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    dropOverflowFlags(plan);
    FailureOr<CallRanges> ranges = findCallRanges(plan);
    if (failed(ranges))
      return signalPassFailure();
    IntegerRewriter rewriter(&getContext(), std::move(*ranges));
    WalkResult result = plan.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!isa<MapOp, ForeachOp>(op))
        return WalkResult::advance();
      if (failed(rewriter.rewrite(op->getRegion(0).front())))
        return WalkResult::interrupt();
      return WalkResult::skip();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    rewriter.eraseReplaced();
  }
};

} // namespace
} // namespace mlir::tile
