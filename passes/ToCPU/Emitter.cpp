//===- Emitter.cpp - a builder for vector and scf code --------------------===//
#include "passes/ToCPU/Emitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile::cpu;

//===- Index -------------------------------------------------------------------===//

Index::Index(Emitter &emitter, Value value) : emitter(&emitter), base(value) {
  if (auto number = value.getDefiningOp<arith::ConstantIndexOp>()) {
    constant = number.value();
    base = Value();
  }
}

/// Reuses an earlier result from this block or an enclosing one. It dominates, because code is
/// always emitted at the end of its block.
template <typename OpTy> Value Emitter::binary(Value a, Value b) {
  Value &known = indexOps[{OpTy::getOperationName().data(), a, b}];
  if (known) {
    for (Block *block = getInsertionBlock(); block;
         block = block->getParentOp() ? block->getParentOp()->getBlock() : nullptr)
      if (known.getParentBlock() == block)
        return known;
  }
  return known = create<OpTy>(a, b);
}

template <typename OpTy> Index Index::emit(const Index &a, const Index &b) {
  Emitter &e = *(a.emitter ? a.emitter : b.emitter);
  return Index(&e, e.binary<OpTy>(e.toValue(a), e.toValue(b)), 0);
}

namespace mlir::tile::cpu {

Index operator+(const Index &a, const Index &b) {
  int64_t constant = a.constant + b.constant;
  if (!a.base || !b.base)
    return Index(a.base ? a.emitter : b.emitter, a.base ? a.base : b.base, constant);
  return Index(a.emitter, a.emitter->binary<arith::AddIOp>(a.base, b.base), constant);
}
Index operator-(const Index &a, const Index &b) {
  if (!b.base)
    return Index(a.emitter, a.base, a.constant - b.constant);
  Emitter &e = *b.emitter;
  Value left = a.base ? a.base : e.toValue(Index(0));
  return Index(&e, e.binary<arith::SubIOp>(left, b.base), a.constant - b.constant);
}
Index operator*(const Index &a, const Index &b) {
  if (!a.base && b.base)
    return b * a;
  if (b.base) { // distribute, so that adjacent indices share the product of their bases
    Emitter &e = *a.emitter;
    Index product(&e, e.binary<arith::MulIOp>(a.base, b.base), a.constant * b.constant);
    if (a.constant)
      product = product + Index(&e, b.base, 0) * Index(a.constant);
    if (b.constant)
      product = product + Index(&e, a.base, 0) * Index(b.constant);
    return product;
  }
  if (!a.base || b.constant == 0)
    return a.constant * b.constant;
  if (b.constant == 1)
    return a;
  Emitter &e = *a.emitter;
  return Index(&e, e.binary<arith::MulIOp>(a.base, e.toValue(b)), a.constant * b.constant);
}
Index operator/(const Index &a, const Index &b) {
  if (a.isConstant() && b.isConstant())
    return a.constant / b.constant;
  return b.isConstant(1) ? a : Index::emit<arith::DivUIOp>(a, b);
}
Index operator%(const Index &a, const Index &b) {
  if (a.isConstant() && b.isConstant())
    return a.constant % b.constant;
  return b.isConstant(1) ? Index(0) : Index::emit<arith::RemUIOp>(a, b);
}
Index minOf(const Index &a, const Index &b) {
  if (a.isConstant() && b.isConstant())
    return std::min(a.constant, b.constant);
  return Index::emit<arith::MinSIOp>(a, b);
}
Index maxOf(const Index &a, const Index &b) {
  if (a.isConstant() && b.isConstant())
    return std::max(a.constant, b.constant);
  return Index::emit<arith::MaxSIOp>(a, b);
}

} // namespace mlir::tile::cpu

//===- Emitter -------------------------------------------------------------------===//

Emitter::Emitter(Location loc, func::FuncOp function, int64_t lanes)
    : ImplicitLocOpBuilder(loc, OpBuilder::atBlockEnd(&function.getBody().front())), lanes(lanes),
      function(function) {}

VectorType Emitter::vectorType(Type element, int64_t width) {
  return VectorType::get({width ? width : lanes}, element ? element : Type(getF32Type()));
}

Value Emitter::constant(TypedAttr attr) {
  Value &value = constants[attr];
  if (!value) {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(&function.getBody().front());
    value = create<arith::ConstantOp>(attr);
  }
  return value;
}

Value Emitter::splat(double value) {
  return constant(DenseElementsAttr::get(vectorType(), static_cast<float>(value)));
}
Value Emitter::splatInt(int32_t value) {
  return constant(DenseElementsAttr::get(vectorType(getI32Type()), value));
}
Value Emitter::iota() {
  SmallVector<int32_t> lane(lanes);
  for (int64_t i = 0; i < lanes; ++i)
    lane[i] = i;
  return constant(DenseElementsAttr::get(vectorType(getI32Type()), ArrayRef(lane)));
}
Value Emitter::toValue(const Index &index) {
  if (index.isConstant())
    return constant(getIndexAttr(index.constant));
  if (index.constant == 0)
    return index.base;
  return binary<arith::AddIOp>(index.base, constant(getIndexAttr(index.constant)));
}
Value Emitter::splatIndex(const Index &index) {
  if (index.isConstant())
    return splatInt(index.getConstant());
  return broadcast(create<arith::IndexCastOp>(getI32Type(), toValue(index)));
}
Value Emitter::broadcast(Value scalar, int64_t width) {
  return create<vector::BroadcastOp>(vectorType(scalar.getType(), width), scalar);
}

Value Emitter::scratch(int64_t floats, Type element) {
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(&function.getBody().front());
  auto type = MemRefType::get({floats}, element ? element : Type(getF32Type()));
  return create<memref::AllocaOp>(type, getI64IntegerAttr(64));
}
Value Emitter::load(Value memory, const Index &at) {
  return create<memref::LoadOp>(memory, toValue(at));
}
void Emitter::store(Value value, Value memory, const Index &at) {
  create<memref::StoreOp>(value, memory, toValue(at));
}
Value Emitter::loadVector(Value memory, const Index &at, int64_t width) {
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  return create<vector::LoadOp>(vectorType(element, width), memory, toValue(at));
}
void Emitter::storeVector(Value value, Value memory, const Index &at) {
  create<vector::StoreOp>(value, memory, toValue(at));
}
Value Emitter::loadLanes(Value memory, const Index &at, Value laneMask) {
  return create<vector::MaskedLoadOp>(vectorType(), memory, toValue(at), laneMask, splat(0.0));
}
void Emitter::storeLanes(Value value, Value memory, const Index &at, Value laneMask) {
  create<vector::MaskedStoreOp>(memory, toValue(at), laneMask, value);
}
Value Emitter::laneMask(const Index &count) {
  return compare(arith::CmpIPredicate::slt, iota(), splatIndex(count));
}

Value Emitter::fma(Value a, Value b, Value c) { return create<vector::FMAOp>(a, b, c); }
Value Emitter::sumLanes(Value vector) {
  return create<vector::ReductionOp>(vector::CombiningKind::ADD, vector,
                                     arith::FastMathFlags::reassoc);
}
Value Emitter::maxLanes(Value vector) {
  return create<vector::ReductionOp>(vector::CombiningKind::MAXNUMF, vector);
}
Value Emitter::less(const Index &a, const Index &b) {
  return compare(arith::CmpIPredicate::slt, toValue(a), toValue(b));
}

SmallVector<Value> Emitter::loop(const Index &begin, const Index &end, const Index &step,
                                 ValueRange inits, LoopBody body) {
  auto loop = create<scf::ForOp>(toValue(begin), toValue(end), toValue(step), inits);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  SmallVector<Value> results = body(fromValue(loop.getInductionVar()), loop.getRegionIterArgs());
  if (!inits.empty())
    create<scf::YieldOp>(results);
  return SmallVector<Value>(loop.getResults());
}

void Emitter::loop(const Index &begin, const Index &end, const Index &step,
                   llvm::function_ref<void(Index)> body) {
  loop(begin, end, step, ValueRange(), [&](Index i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

void Emitter::ifThen(Value condition, llvm::function_ref<void()> then,
                     llvm::function_ref<void()> otherwise) {
  auto branch = create<scf::IfOp>(condition, /*withElseRegion=*/static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  then();
  if (otherwise) {
    setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }
}
Value Emitter::larger(Value a, Value b) {
  return select(create<arith::CmpFOp>(arith::CmpFPredicate::OGT, a, b), a, b);
}
Value Emitter::smaller(Value a, Value b) {
  return select(create<arith::CmpFOp>(arith::CmpFPredicate::OLT, a, b), a, b);
}
