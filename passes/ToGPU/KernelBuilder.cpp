//===- KernelBuilder.cpp - a builder for GPU kernels ----------------------===//
#include "passes/ToGPU/KernelBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile::gpu;

//===- Numbers -----------------------------------------------------------------===//

Value KernelBuilder::toValue(const Num &number) {
  if (number.isConstant())
    return integer(number.constant);
  if (number.constant == 0)
    return number.base;
  return create<arith::AddIOp>(number.base, integer(number.constant));
}

Value KernelBuilder::wide(const Num &number) {
  if (number.isConstant())
    return create<arith::ConstantOp>(getI64IntegerAttr(number.constant));
  return create<arith::ExtSIOp>(getI64Type(), toValue(number));
}

Value KernelBuilder::special(StringRef intrinsic, Value x) {
  return create<LLVM::CallIntrinsicOp>(f32(), getStringAttr(intrinsic), ValueRange{x}).getResults();
}

Num KernelBuilder::threadIndex() { return fromValue(create<NVVM::ThreadIdXOp>(i32())); }
Num KernelBuilder::blockIndex() { return fromValue(create<NVVM::BlockIdXOp>(i32())); }

//===- Memory --------------------------------------------------------------------===//

Value KernelBuilder::at(Value base, Type type, const Num &bytes) {
  if (bytes.isConstant(0))
    return base;
  if (bytes.isConstant())
    return create<LLVM::GEPOp>(type, getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes.constant)});
  // Keep the constant separate: it becomes the immediate of the access.
  Value moved = create<LLVM::GEPOp>(type, getI8Type(), base,
                                    ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(bytes.base)});
  if (bytes.constant == 0)
    return moved;
  return create<LLVM::GEPOp>(type, getI8Type(), moved,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes.constant)});
}

Value KernelBuilder::moved(Value base, Value bytes) {
  return create<LLVM::GEPOp>(base.getType(), getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(bytes)});
}

Value KernelBuilder::countUp(Value pointer) {
  return create<LLVM::AtomicRMWOp>(LLVM::AtomicBinOp::add, pointer, integer(1),
                                   LLVM::AtomicOrdering::monotonic, "device", /*alignment=*/4);
}

Value KernelBuilder::load(Type type, Value pointer, unsigned alignment) {
  return create<LLVM::LoadOp>(type, pointer, alignment);
}

void KernelBuilder::store(Value value, Value pointer, unsigned alignment) {
  create<LLVM::StoreOp>(value, pointer, alignment);
}

Registers KernelBuilder::loadVector(int64_t count, Value pointer, Type element) {
  if (count == 1)
    return {load(element, pointer)};
  Value vector = load(VectorType::get({count}, element), pointer, 4 * count);
  Registers values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(create<LLVM::ExtractElementOp>(element, vector, integer(i)));
  return values;
}

void KernelBuilder::storeVector(ArrayRef<Value> values, Value pointer) {
  if (values.size() == 1)
    return store(values[0], pointer);
  Value vector =
      create<LLVM::PoisonOp>(VectorType::get({int64_t(values.size())}, values[0].getType()));
  for (auto [index, value] : llvm::enumerate(values))
    vector = create<LLVM::InsertElementOp>(vector.getType(), vector, value, integer(index));
  store(vector, pointer, 4 * values.size());
}

void KernelBuilder::copyAsync(Value sharedTo, Value globalFrom, Value exists, int64_t bytes) {
  // Bypass the first-level cache, which only copies of 16 bytes can do.
  auto kind = bytes == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
  Value present = select(exists, integer(bytes), integer(0));
  create<NVVM::CpAsyncOp>(sharedTo, globalFrom, bytes, kind, present);
}

//===- Cooperation ------------------------------------------------------------------===//

void KernelBuilder::syncWarp() { create<NVVM::SyncWarpOp>(integer(-1)); }

Value KernelBuilder::shuffle(Value value, Value lane, NVVM::ShflKind kind) {
  if (Type type = value.getType(); type.getIntOrFloatBitWidth() == 64) {
    Type i64 = getI64Type();
    Value bits = type == i64 ? value : create<LLVM::BitcastOp>(i64, value).getResult();
    Value half = create<arith::ConstantOp>(getI64IntegerAttr(32));
    auto move = [&](Value word) {
      return create<arith::ExtUIOp>(i64, shuffle(create<arith::TruncIOp>(i32(), word), lane, kind));
    };
    Value high = create<arith::ShLIOp>(move(create<arith::ShRUIOp>(bits, half)), half);
    bits = create<arith::OrIOp>(high, move(bits));
    return type == i64 ? bits : create<LLVM::BitcastOp>(type, bits).getResult();
  }
  return create<NVVM::ShflOp>(value.getType(), integer(-1), value, lane, integer(31), kind,
                              /*return_value_and_is_valid=*/nullptr);
}

Value KernelBuilder::shuffleXor(Value value, int mask) {
  return shuffle(value, integer(mask), NVVM::ShflKind::bfly);
}

Value KernelBuilder::barrierAny(Value condition) {
  Value wide = create<arith::ExtUIOp>(i32(), condition);
  Value any = create<NVVM::BarrierOp>(
                  TypeRange{i32()}, /*barrierId=*/Value(), /*numberOfThreads=*/Value(),
                  NVVM::BarrierReductionAttr::get(getContext(), NVVM::BarrierReduction::OR), wide)
                  .getResult(0);
  return create<arith::CmpIOp>(arith::CmpIPredicate::ne, any, integer(0));
}

Value KernelBuilder::warpAny(Value condition) {
  return create<NVVM::VoteSyncOp>(getI1Type(), integer(-1), condition, NVVM::VoteSyncKind::any);
}

Value KernelBuilder::shuffleFrom(Value value, const Num &lane) {
  return shuffle(value, toValue(lane), NVVM::ShflKind::idx);
}

Value KernelBuilder::warpSum(Value value) {
  return create<NVVM::ReduxOp>(i32(), value, NVVM::ReduxKind::ADD, integer(-1));
}

Value KernelBuilder::warpExtreme(Value value, NVVM::ReduxKind kind) {
  // The bits of negative values increase with the magnitude; inverted, they increase with the
  // value. This mapping is its own inverse.
  auto arranged = [&](Value bits) {
    Value sign = create<arith::ShRSIOp>(bits, integer(31));
    return create<arith::XOrIOp>(bits, create<arith::AndIOp>(sign, integer(0x7fffffff)));
  };
  Value bits = arranged(create<LLVM::BitcastOp>(i32(), value));
  Value extreme = create<NVVM::ReduxOp>(i32(), bits, kind, integer(-1));
  return create<LLVM::BitcastOp>(f32(), arranged(extreme));
}

static SmallVector<Value> elementsOf(KernelBuilder &b, Value structure, unsigned count) {
  SmallVector<Value> values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back(b.create<LLVM::ExtractValueOp>(structure, ArrayRef<int64_t>{i}));
  return values;
}

SmallVector<Value> KernelBuilder::loadMatrices(Value pointer, bool transposed) {
  Type result = LLVM::LLVMStructType::getLiteral(getContext(), SmallVector<Type>(4, i32()));
  auto shape = NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8);
  Value loaded = create<NVVM::LdMatrixOp>(result, pointer, 4,
                                          transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
                                          shape, NVVM::LdStMatrixEltType::B16);
  return elementsOf(*this, loaded, 4);
}

SmallVector<Value> KernelBuilder::mma(Type element, ArrayRef<Value> a, ArrayRef<Value> b,
                                      ArrayRef<Value> c) {
  Type result = LLVM::LLVMStructType::getLiteral(getContext(), SmallVector<Type>(4, f32()));
  auto type = element.isTF32()   ? NVVM::MMATypes::tf32
              : element.isBF16() ? NVVM::MMATypes::bf16
                                 : NVVM::MMATypes::f16;
  SmallVector<Value> aValues(a), bValues(b);
  // f16 fragments are vectors of two, other fragments are plain registers.
  if (element.isF16())
    for (SmallVector<Value> *values : {&aValues, &bValues})
      for (Value &value : *values)
        value = create<LLVM::BitcastOp>(VectorType::get({2}, getF16Type()), value);
  Value d = create<NVVM::MmaOp>(
      result, aValues, bValues, c, ArrayRef<int64_t>{16, 8, element.isTF32() ? 8 : 16},
      std::nullopt, std::nullopt, std::array<NVVM::MMATypes, 2>{type, type},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
  return elementsOf(*this, d, 4);
}

Value KernelBuilder::pack(Value low, Value high) {
  auto type = VectorType::get({2}, low.getType());
  Value pair = create<LLVM::PoisonOp>(type);
  pair = create<LLVM::InsertElementOp>(type, pair, low, integer(0));
  pair = create<LLVM::InsertElementOp>(type, pair, high, integer(1));
  return create<LLVM::BitcastOp>(i32(), pair);
}

Value KernelBuilder::roundToTf32(Value x) {
  Value bits = create<NVVM::ConvertFloatToTF32Op>(i32(), x, NVVM::FPRoundingMode::RNA);
  return create<LLVM::BitcastOp>(f32(), bits);
}

Value KernelBuilder::roundAndPack(Type element, Value low, Value high) {
  return pack(create<arith::TruncFOp>(element, low), create<arith::TruncFOp>(element, high));
}

SmallVector<Value> KernelBuilder::unpack(Value packed, Type element) {
  Value pair = create<LLVM::BitcastOp>(VectorType::get({2}, element), packed);
  return {create<LLVM::ExtractElementOp>(element, pair, integer(0)),
          create<LLVM::ExtractElementOp>(element, pair, integer(1))};
}

//===- Control --------------------------------------------------------------------------===//

SmallVector<Value> KernelBuilder::loop(const Num &begin, const Num &end, const Num &step,
                                       ValueRange inits, LoopBody body) {
  auto op = create<scf::ForOp>(toValue(begin), toValue(end), toValue(step), inits);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  SmallVector<Value> next = body(fromValue(op.getInductionVar()), op.getRegionIterArgs());
  setInsertionPointToEnd(op.getBody());
  if (!inits.empty())
    create<scf::YieldOp>(next);
  else if (op.getBody()->empty() || !op.getBody()->back().hasTrait<OpTrait::IsTerminator>())
    create<scf::YieldOp>();
  return SmallVector<Value>(op.getResults());
}

void KernelBuilder::loop(const Num &begin, const Num &end, const Num &step,
                         llvm::function_ref<void(Num)> body) {
  auto op = create<scf::ForOp>(toValue(begin), toValue(end), toValue(step));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPoint(op.getBody()->getTerminator());
  body(fromValue(op.getInductionVar()));
}

void KernelBuilder::ifThen(Value condition, llvm::function_ref<void()> then) {
  auto op = create<scf::IfOp>(condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPoint(op.thenBlock()->getTerminator());
  then();
}

SmallVector<Value> KernelBuilder::ifElse(Value condition, TypeRange types,
                                         llvm::function_ref<SmallVector<Value>()> then,
                                         llvm::function_ref<SmallVector<Value>()> otherwise) {
  auto op = create<scf::IfOp>(types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  auto fill = [&](Block *block, llvm::function_ref<SmallVector<Value>()> body) {
    // Without results, the builder has already created the terminator.
    if (types.empty())
      setInsertionPoint(block->getTerminator());
    else
      setInsertionPointToEnd(block);
    SmallVector<Value> results = body();
    if (!types.empty())
      create<scf::YieldOp>(results);
  };
  fill(op.thenBlock(), then);
  fill(op.elseBlock(), otherwise);
  return SmallVector<Value>(op.getResults());
}
