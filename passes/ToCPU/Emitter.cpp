//===- Emitter.cpp - a builder for vector and scf code --------------------===//
#include "passes/ToCPU/Emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile::cpu;

//===- Emitter -------------------------------------------------------------------===//

Emitter::Emitter(Location loc, func::FuncOp function, int64_t lanes)
    : FloatBuilder(loc, OpBuilder::atBlockEnd(&function.getBody().front())), lanes(lanes),
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

static bool isNarrow(Type type) { return type.isBF16() || type.isF16(); }
static Type elementOfMemory(Value memory) {
  return cast<MemRefType>(memory.getType()).getElementType();
}

Value Emitter::widened(Value value) {
  if (!isNarrow(getElementTypeOrSelf(value.getType())))
    return value;
  auto vector = dyn_cast<VectorType>(value.getType());
  Type f32 = getF32Type();
  return create<arith::ExtFOp>(vector ? vector.clone(f32) : f32, value);
}

Value Emitter::roundedFor(Value value, Value memory) {
  Type element = elementOfMemory(memory);
  if (!isNarrow(element) || !getElementTypeOrSelf(value.getType()).isF32())
    return value;
  auto vector = dyn_cast<VectorType>(value.getType());
  return create<arith::TruncFOp>(vector ? vector.clone(element) : element, value);
}

Value Emitter::load(Value memory, const Index &at) {
  return widened(create<memref::LoadOp>(memory, toValue(at)));
}
void Emitter::store(Value value, Value memory, const Index &at) {
  create<memref::StoreOp>(roundedFor(value, memory), memory, toValue(at));
}
Value Emitter::loadVector(Value memory, const Index &at, int64_t width) {
  return widened(
      create<vector::LoadOp>(vectorType(elementOfMemory(memory), width), memory, toValue(at)));
}
void Emitter::storeVector(Value value, Value memory, const Index &at) {
  create<vector::StoreOp>(roundedFor(value, memory), memory, toValue(at));
}
void Emitter::prefetch(Value memory, const Index &at) {
  create<memref::PrefetchOp>(memory, toValue(at), /*isWrite=*/false, /*localityHint=*/2,
                             /*isDataCache=*/true);
}
Value Emitter::loadLanes(Value memory, const Index &at, Value laneMask) {
  VectorType type = vectorType(elementOfMemory(memory));
  Value zero = constant(cast<TypedAttr>(getZeroAttr(type)));
  return widened(create<vector::MaskedLoadOp>(type, memory, toValue(at), laneMask, zero));
}
void Emitter::storeLanes(Value value, Value memory, const Index &at, Value laneMask) {
  create<vector::MaskedStoreOp>(memory, toValue(at), laneMask, roundedFor(value, memory));
}
Value Emitter::laneMask(const Index &count) {
  return compare(arith::CmpIPredicate::slt, iota(), splatIndex(count));
}

//===- Pairs ---------------------------------------------------------------------===//

static int64_t widthOf(Value vector) { return cast<VectorType>(vector.getType()).getNumElements(); }

Value Emitter::toBf16(Value vector) {
  return create<arith::TruncFOp>(VectorType::get({widthOf(vector)}, getBF16Type()), vector);
}
Value Emitter::wordsOf(Value narrow) {
  return create<vector::BitCastOp>(VectorType::get({widthOf(narrow) / 2}, getF32Type()), narrow);
}
Value Emitter::pairs(Value low, Value high) {
  // LLVM interleaves before it rounds, with twice as many instructions, if this is an interleave.
  const int64_t width = widthOf(low);
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < width; ++lane)
    order.append({lane, width + lane});
  return wordsOf(create<vector::ShuffleOp>(low, high, order));
}
Value Emitter::loadPair(Value memory, const Index &at) {
  Value pair = create<vector::LoadOp>(VectorType::get({2}, getBF16Type()), memory, toValue(at));
  return create<vector::ExtractOp>(wordsOf(pair), 0);
}
Value Emitter::addPairProducts(Value sums, Value a, Value b) {
  const int64_t width = widthOf(sums);
  auto narrow = VectorType::get({2 * width}, getBF16Type());
  auto name = getStringAttr("llvm.x86.avx512bf16.dpbf16ps." + std::to_string(32 * width));
  return create<LLVM::CallIntrinsicOp>(sums.getType(), name,
                                       ValueRange{sums, create<vector::BitCastOp>(narrow, a),
                                                  create<vector::BitCastOp>(narrow, b)})
      .getResult(0);
}
Value Emitter::keepHalves(Value words, Value low, Value high) {
  auto type = VectorType::get({widthOf(words)}, getI32Type());
  auto half = [&](Value condition, uint32_t bits) {
    Value mask = constant(DenseElementsAttr::get(type, static_cast<int32_t>(bits)));
    return select(condition, mask, constant(cast<TypedAttr>(getZeroAttr(type))));
  };
  Value mask = create<arith::OrIOp>(half(low, 0x0000FFFF), half(high, 0xFFFF0000));
  Value kept = create<arith::AndIOp>(create<vector::BitCastOp>(type, words), mask);
  return create<vector::BitCastOp>(words.getType(), kept);
}

//===- Arithmetic and control ----------------------------------------------------===//

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

SmallVector<Value> Emitter::chosen(Value condition, llvm::function_ref<SmallVector<Value>()> then,
                                   ValueRange others) {
  auto branch = create<scf::IfOp>(others.getTypes(), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> values = then();
  create<scf::YieldOp>(values);
  setInsertionPointToStart(branch.elseBlock());
  create<scf::YieldOp>(others);
  return SmallVector<Value>(branch.getResults());
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
Value Emitter::larger(Value a, Value b) { return select(greater(a, b), a, b); }
Value Emitter::smaller(Value a, Value b) { return select(FloatBuilder::less(a, b), a, b); }
