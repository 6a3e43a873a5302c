//===- Maps.cpp - scalar regions on fragments -----------------------------===//
//
// The region of a tile.map is written for one point; it is emitted once per register. An operation
// that does not depend on one side of the pair is emitted once per coordinate of the other side (or
// once in total), so `amp[h] * exp2(-|i - j| / tau[h])` reads its parameters once.
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/Maps.h"

#include "passes/Scalar/OpShape.h"
#include "passes/Scalar/Variation.h"
#include "passes/Schedule/StepPrograms.h"
#include "passes/ToGPU/Emitters.h"
#include "passes/ToGPU/Folds.h"
#include "passes/ToGPU/Sums.h"
#include "passes/ToLoops/StageFunction.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

RegionWriter::RegionWriter(KernelFunction &fn, Block &body) : fn(fn), b(fn.b), body(body) {}

Value RegionWriter::lookup(Value value) {
  if (Value known = mapping.lookup(value))
    return known;
  // A constant or size from outside the region.
  Operation *op = value.getDefiningOp();
  assert(op && "an argument of the region without a value");
  write(*op);
  return mapping.lookup(value);
}

/// Returns the indices of an element, clamped to the extents unless they are `inbounds`.
SmallVector<Num> RegionWriter::numbersOf(Value buffer, ValueRange indices, bool inbounds) {
  SmallVector<Num> at;
  for (auto [index, extent] : llvm::zip(indices, fn.extents(buffer))) {
    Num number = b.fromValue(lookup(index));
    if (!inbounds)
      number = maxOf(Num(0), minOf(number, extent - Num(1)));
    at.push_back(number);
  }
  return at;
}

Value RegionWriter::addressOf(Value buffer, ValueRange indices, bool inbounds) {
  return fn.address(buffer, numbersOf(buffer, indices, inbounds));
}

/// Emits a loop. Indices have 32 bits; loops that need a larger range count in i64.
void RegionWriter::writeLoop(scf::ForOp loop) {
  SmallVector<Value> inits;
  for (Value init : loop.getInitArgs())
    inits.push_back(lookup(init));
  auto made = b.create<scf::ForOp>(lookup(loop.getLowerBound()), lookup(loop.getUpperBound()),
                                   lookup(loop.getStep()), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  mapping[loop.getInductionVar()] = made.getInductionVar();
  for (auto [carried, arg] : llvm::zip(loop.getRegionIterArgs(), made.getRegionIterArgs()))
    mapping[carried] = arg;
  for (Operation &op : loop.getBody()->without_terminator())
    write(op);
  SmallVector<Value> next;
  for (Value value : loop.getBody()->getTerminator()->getOperands())
    next.push_back(lookup(value));
  if (!next.empty())
    b.create<scf::YieldOp>(next);
  for (auto [result, value] : llvm::zip(loop.getResults(), made.getResults()))
    mapping[result] = value;
}

/// Returns the address of an element of the region's memory, which is memory of the thread.
Value RegionWriter::scratchAddress(Value memory, ValueRange indices) {
  auto type = cast<MemRefType>(memory.getType());
  Value &base = scratch[memory];
  if (!base) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(
        &b.getBlock()->getParentOp()->getParentOfType<LLVM::LLVMFuncOp>().getBody().front());
    base = b.create<LLVM::AllocaOp>(LLVM::LLVMPointerType::get(b.getContext()),
                                    type.getElementType(), b.integer(type.getNumElements()));
  }
  Num at = 0;
  for (auto [index, size] : llvm::zip(indices, type.getShape()))
    at = at * Num(size) + b.fromValue(lookup(index));
  return b.create<LLVM::GEPOp>(base.getType(), type.getElementType(), base,
                               ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(b.toValue(at))});
}

/// Returns true for a reciprocal whose flag permits an approximation
/// (Scalar::approximateReciprocal). Other divisions are exact.
static bool isApproximateReciprocal(arith::DivFOp op) {
  return op.getType().isF32() && matchPattern(op.getLhs(), m_OneFloat()) &&
         arith::bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
}

Value RegionWriter::writeScalar(Operation &op) {
  Type type = op.getResult(0).getType();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (isa<IndexType>(type))
      return b.integer(cast<IntegerAttr>(constant.getValue()).getInt());
    return b.create<arith::ConstantOp>(constant.getValue());
  }
  if (auto size = dyn_cast<SizeOp>(op))
    return b.toValue(fn.size(size.getExpression()));
  if (auto read = dyn_cast<ReadOp>(op))
    return b.load(read.getValue().getType(),
                  addressOf(read.getBuffer(), read.getIndices(), read.getInbounds()));
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return b.load(type, scratchAddress(load.getMemRef(), load.getIndices()));
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(lookup(operand));
  if (type.isTF32() && isa<arith::TruncFOp>(op))
    return b.roundToTf32(operands[0]);
  if (isa<arith::ExtFOp>(op) && op.getOperand(0).getType().isTF32())
    return operands[0];
  // These use the special function unit; all other functions keep their accuracy (pe-gpu-math).
  if (type.isF32() && isa<math::Exp2Op>(op))
    return b.exp2(operands[0]);
  if (type.isF32() && isa<math::Log2Op>(op))
    return b.log2(operands[0]);
  if (auto division = dyn_cast<arith::DivFOp>(op); division && isApproximateReciprocal(division))
    return b.reciprocal(operands[1]);
  return OpShape().create(b, b.getLoc(), op, operands);
}

void RegionWriter::writeBranch(scf::IfOp branch) {
  auto block = [&](Region &region) {
    SmallVector<Value> results;
    if (region.empty())
      return results;
    for (Operation &op : region.front().without_terminator())
      write(op);
    for (Value value : region.front().getTerminator()->getOperands())
      results.push_back(lookup(value));
    return results;
  };
  SmallVector<Type> types;
  for (Type type : branch.getResultTypes())
    types.push_back(OpShape().of(type));
  SmallVector<Value> results = b.ifElse(
      lookup(branch.getCondition()), types, [&] { return block(branch.getThenRegion()); },
      [&] { return block(branch.getElseRegion()); });
  for (auto [result, value] : llvm::zip(branch.getResults(), results))
    mapping[result] = value;
}

void RegionWriter::addToMemory(AccumulateOp sum) {
  Value address = addressOf(sum.getBuffer(), sum.getIndices(), /*inbounds=*/false);
  Type type = cast<BufferType>(sum.getBuffer().getType()).getElementType();
  Value value = lookup(sum.getValue());
  if (value.getType() != type)
    value = value.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth()
                ? Value(b.create<arith::ExtFOp>(type, value))
                : Value(b.create<arith::TruncFOp>(type, value));
  b.store(emitReduction(b, b.getLoc(), sum.getKind(), b.load(type, address), value), address);
}

void RegionWriter::addToElement(AccumulateOp sum, Value counts) {
  // Pairs that add 0 may share elements.
  Value zero =
      b.create<arith::ConstantOp>(cast<TypedAttr>(b.getZeroAttr(sum.getValue().getType())));
  Value adds = b.create<arith::CmpFOp>(arith::CmpFPredicate::UNE, lookup(sum.getValue()), zero);
  b.ifThen(b.both(counts, adds), [&] { addToMemory(sum); });
}

void RegionWriter::write(Operation &op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return writeLoop(loop);
  if (isa<ScratchOp>(op)) // allocated at its first use
    return;
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return b.store(lookup(store.getValue()), scratchAddress(store.getMemRef(), store.getIndices()));
  if (auto sum = dyn_cast<AccumulateOp>(op))
    return accumulate(sum, *this);
  if (auto write = dyn_cast<WriteOp>(op))
    return b.store(lookup(write.getValue()),
                   addressOf(write.getBuffer(), write.getIndices(), /*inbounds=*/true));
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return writeBranch(branch);
  mapping[op.getResult(0)] = writeScalar(op);
}

SmallVector<Value> RegionWriter::writeBody() {
  for (Operation &op : body.without_terminator())
    if (op.getNumResults() == 0 || !mapping.count(op.getResult(0)))
      write(op);
  SmallVector<Value> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(lookup(value));
  return results;
}

namespace {

class MapWriter {
public:
  MapWriter(Scope &scope, MapOp map)
      : scope(scope), k(scope.k), map(map), spaces(map.getIterationSpaces()),
        writer(k.fn, map.getBody().front()) {
    variation.add(map);
  }
  void run();

private:
  /// Returns the coordinate that identifies a value with the given variation.
  int64_t coordinateOf(unsigned variation, const Element &at) const;
  void bind(const Element &at);
  void addPair(AccumulateOp sum, const Element &at);
  void addToHead(AccumulateOp sum, Value value);

  Scope &scope;
  FragmentKernel &k;
  MapOp map;
  SpaceSet spaces;
  RegionWriter writer;
  RegionVariation variation;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> known; // values by owner or inner coordinate
  llvm::MapVector<Operation *, Value> pending;            // sums over this lane's pairs
  llvm::MapVector<Operation *, Registers> lines;          // sums per row or column of this lane
};

/// Adds the term of a tile.accumulate for one pair to a register, which is stored after the last
/// pair.
void MapWriter::addPair(AccumulateOp sum, const Element &at) {
  KernelBuilder &b = k.b;
  Value value = writer.lookup(sum.getValue());
  if (!value.getType().isF32())
    value = b.create<arith::TruncFOp>(b.f32(), value);
  Step &step = scope.step();
  Value counts = b.create<arith::OrIOp>(step.isFull(), isInside(step, at));
  if (sum.getOwn())
    return writer.addToElement(sum, counts);
  value = b.select(counts, value, b.number(0.0));
  std::optional<SpaceSet> line = lineOf(sum);
  if (line)
    lines[sum].resize(k.registersOf(*line));
  Value &total = line ? lines[sum][k.indexOf(*line, at)] : pending[sum];
  total = total ? b.add(total, value) : value;
}

void MapWriter::addToHead(AccumulateOp sum, Value value) {
  k.sums.addToHead(k, sum.getBuffer(), placeInHead(k, sum, writer), {value});
}

int64_t MapWriter::coordinateOf(unsigned variation, const Element &at) const {
  if (variation == kNothing)
    return 0;
  const bool isOwner = (variation == kRow) == k.rowsOwn;
  return isOwner ? at.ownerTile * 2 + at.ownerHalf : at.innerTile * 2 + at.innerHalf;
}

/// Maps the region's values that earlier elements with the same owner or inner have computed.
void MapWriter::bind(const Element &at) {
  writer.mapping.clear();
  for (auto &[key, value] : known)
    if (key.second == coordinateOf(variation.of(key.first), at))
      writer.mapping[key.first] = value;
  Block &body = map.getBody().front();
  for (auto [argument, input] : llvm::zip(body.getArguments(), map.getInputs()))
    writer.mapping[argument] = scope.registers(input)[k.indexOf(spacesOf(input), at)];
}

void MapWriter::run() {
  SmallVector<Registers> results(map.getNumResults());
  for (int64_t i = 0, e = k.registersOf(spaces); i < e; ++i) {
    Element at = k.elementAt(spaces, i);
    bind(at);
    writer.accumulate = [&](AccumulateOp sum, RegionWriter &) { addPair(sum, at); };
    SmallVector<Value> values = writer.writeBody();
    for (auto [list, value] : llvm::zip(results, values))
      list.push_back(value);
    for (auto &[source, value] : writer.mapping) {
      unsigned d = variation.of(source);
      Operation *op = source.getDefiningOp();
      if (d == kBoth || !op || op->getBlock() != &map.getBody().front())
        continue;
      known[{source, coordinateOf(d, at)}] = value;
    }
  }
  for (auto [sum, value] : pending)
    addToHead(cast<AccumulateOp>(sum), value);
  for (auto &[op, sums] : lines) {
    auto sum = cast<AccumulateOp>(op);
    addToLine(scope.step(), sum.getBuffer(), *lineOf(sum), sums);
  }
  for (auto [result, list] : llvm::zip(map.getResults(), results))
    scope.set(result, std::move(list));
}

} // namespace

void mlir::tile::gpu::mapChunks(FragmentKernel &k, MapOp map, const Panel &from, const Panel &to) {
  KernelBuilder &b = k.b;
  const int64_t threads = k.schedule.threads(), total = from.rows * from.chunks();
  const bool isInner = !k.isOwnerSide(spacesOf(map.getResult(0)));
  auto type = VectorType::get({4}, b.f32());
  auto one = [&](const Num &index) {
    Num row = index / Num(from.chunks()), chunk = index % Num(from.chunks());
    if (isInner)
      row = k.layout.standing(row);
    Value values = b.load(type, k.shared.chunkAddress(from, 0, row, 0, chunk), 16);
    Value results = b.create<LLVM::PoisonOp>(type);
    for (int i = 0; i < 4; ++i) {
      RegionWriter writer(k.fn, map.getBody().front());
      writer.mapping[map.getBody().front().getArgument(0)] =
          b.create<LLVM::ExtractElementOp>(b.f32(), values, b.integer(i));
      Value result = writer.writeBody()[0];
      results = b.create<LLVM::InsertElementOp>(type, results, result, b.integer(i));
    }
    b.store(results, k.shared.chunkAddress(to, 0, row, 0, chunk), 16);
  };
  for (int64_t first = 0; first < total; first += threads) {
    Num index = k.thread + Num(first);
    if (first + threads <= total)
      one(index);
    else
      b.ifThen(b.less(index, Num(total)), [&] { one(index); });
  }
}

/// Maps a loaded panel elementwise, into another panel or in place. Only f32 panels are mapped.
static void mapPanel(Scope &scope, MapOp map) {
  FragmentKernel &k = scope.k;
  auto type = cast<ValType>(map.getResult(0).getType());
  const Panel from = scope.panelOf(map.getInputs()[0]);
  const Panel to = isRoundingInPlace(map) ? from
                                          : k.shared.makePanel(from.rows, from.depth,
                                                               type.getElementType(), /*copies=*/1);
  scope.setPanel(map.getResult(0), to);
  // A thread maps the chunks that it has copied, so it waits only for its own copies. The chunks of
  // other threads are read after the next barrier, which for owners is in the first step.
  scope.waitForCopies();
  mapChunks(k, map, from, to);
  if (!k.isOwnerSide(type.getSpaces()))
    k.b.barrier();
}

void mlir::tile::gpu::emitMap(Scope &scope, MapOp map) {
  if (map.getInputs().size() == 1 && scope.isPanel(map.getInputs()[0]))
    return mapPanel(scope, map);
  if (needsPairLoop(map))
    return emitPairLoop(scope.step(), map);
  MapWriter(scope, map).run();
}
