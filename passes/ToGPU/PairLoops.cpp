//===- PairLoops.cpp - maps over pairs with loops or long code inside -----===//
//
// A map whose region has loops (such as the layers of a smooth network) or hundreds of operations,
// or adds at indices that depend on the pair, is not emitted once per register: the region is
// emitted once, in a loop over the lane's pairs, with inputs and results in memory of the thread.
// Its sums over the elements of a head are first accumulated in an array of the thread; after the
// loop, these arrays are summed over the warp, element by element. Nothing depends on the order of
// threads. A region that consists of one loop, with the same trip count for all pairs, costs
// nothing if the trip count is zero.
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/Emitters.h"
#include "passes/ToGPU/Folds.h"
#include "passes/ToGPU/Maps.h"
#include "passes/ToGPU/Sums.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

/// Returns the number of the first indices of a buffer: batch, head, and slot if it has slots.
static int64_t leadingExtents(Value buffer) { return slotsOf(buffer) ? 3 : 2; }

bool mlir::tile::gpu::hasPlaceInHead(AccumulateOp sum) {
  auto map = sum->getParentOfType<MapOp>();
  if (!map || !isPair(map.getIterationSpaces()))
    return false;
  int64_t size, count = 1;
  for (auto [index, extent] : llvm::drop_begin(
           llvm::zip(sum.getIndices(), cast<BufferType>(sum.getBuffer().getType()).getExtents()),
           leadingExtents(sum.getBuffer()))) {
    if (extent.getValue() == "hq" && map.isIndexOf(index, "hq"))
      continue;
    if (extent.getValue().getAsInteger(10, size))
      return false;
    count *= size;
  }
  return count <= kMostSumsOfThread;
}

int64_t mlir::tile::gpu::elementsOfHead(Value buffer) {
  int64_t size, count = 1;
  for (StringAttr extent :
       cast<BufferType>(buffer.getType()).getExtents().drop_front(leadingExtents(buffer)))
    if (!extent.getValue().getAsInteger(10, size))
      count *= size;
  return count;
}

Num mlir::tile::gpu::placeInHead(FragmentKernel &k, AccumulateOp sum, RegionWriter &writer) {
  Num place = 0;
  for (auto [index, name, extent] : llvm::drop_begin(
           llvm::zip(sum.getIndices(), cast<BufferType>(sum.getBuffer().getType()).getExtents(),
                     k.fn.extents(sum.getBuffer())),
           leadingExtents(sum.getBuffer()))) {
    if (name.getValue() == "hq") // the head itself
      continue;
    Num at = k.b.fromValue(writer.lookup(index));
    place = place * extent + maxOf(Num(0), minOf(at, extent - Num(1)));
  }
  return place;
}

/// Returns true if all indices are constants, apart from the head.
static bool hasFixedPlace(AccumulateOp sum) {
  auto map = sum->getParentOfType<MapOp>();
  auto places = sum.getIndices().drop_front(leadingExtents(sum.getBuffer()));
  return llvm::all_of(places, [&](Value index) {
    Operation *op = index.getDefiningOp();
    return op ? op->hasTrait<OpTrait::ConstantLike>() : map.isIndexOf(index, "hq");
  });
}

bool mlir::tile::gpu::needsPairLoop(MapOp map) {
  if (!isPair(map.getIterationSpaces()))
    return false;
  constexpr int64_t kMostWritten = 256; // operations that are emitted once per pair
  int64_t count = 0;
  return map
      .walk([&](Operation *op) {
        auto sum = dyn_cast<AccumulateOp>(op);
        const bool isNeeded = isa<scf::ForOp>(op) ||
                              (sum && !lineOf(sum) && !hasFixedPlace(sum) && !sum.getOwn()) ||
                              ++count > kMostWritten;
        return isNeeded ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {

/// An array in memory of the thread.
class ThreadArray {
public:
  ThreadArray(KernelBuilder &b, Type element, int64_t count) : b(b), element(element) {
    OpBuilder::InsertionGuard guard(b);
    auto function = b.getBlock()->getParentOp()->getParentOfType<LLVM::LLVMFuncOp>();
    b.setInsertionPointToStart(&function.getBody().front());
    base = b.create<LLVM::AllocaOp>(LLVM::LLVMPointerType::get(b.getContext()), element,
                                    b.integer(count));
  }
  Value load(const Num &index) const { return b.load(element, at(index)); }
  void store(Value value, const Num &index) const { b.store(value, at(index)); }

private:
  Value at(const Num &index) const {
    return b.create<LLVM::GEPOp>(base.getType(), element, base,
                                 ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(b.toValue(index))});
  }
  KernelBuilder &b;
  Type element;
  Value base;
};

class PairLoop {
public:
  PairLoop(Step &step, MapOp map)
      : step(step), k(step.k), b(k.b), map(map), count(k.registersOf({"r", "c"})) {}
  void run();

private:
  struct Sum {
    int64_t count = 1;
    std::optional<ThreadArray> array;
  };
  void declareSums();
  void writePair(const Num &pair, ArrayRef<ThreadArray> results);
  void add(AccumulateOp sum, RegionWriter &writer, const Num &pair, Value counts);
  void addLines();
  void reduceSums();
  scf::ForOp wholeLoop();
  Registers compute();

  Step &step;
  FragmentKernel &k;
  KernelBuilder &b;
  MapOp map;
  const int64_t count;
  llvm::MapVector<unsigned, ThreadArray> inputs;   // by operand index; except index values
  llvm::MapVector<Value, Sum> sums;                // by buffer
  llvm::MapVector<Operation *, ThreadArray> lines; // terms of rows and columns, per pair
  bool hasLines = false;                           // true if there are such terms
};

void PairLoop::declareSums() {
  map.walk([&](AccumulateOp op) {
    if (lineOf(op)) {
      auto &array = lines.try_emplace(op, b, b.f32(), count).first->second;
      b.loop(0, count, 1, [&](Num pair) { array.store(b.number(0.0), pair); });
      return;
    }
    if (op.getOwn())
      return;
    Sum &sum = sums[op.getBuffer()];
    if (sum.array)
      return;
    sum.count = elementsOfHead(op.getBuffer());
    sum.array.emplace(b, b.f32(), sum.count);
  });
  for (auto &[buffer, sum] : sums)
    b.loop(0, sum.count, 1, [&, &s = sum](Num i) { s.array->store(b.number(0.0), i); });
}

void PairLoop::add(AccumulateOp op, RegionWriter &writer, const Num &pair, Value counts) {
  if (op.getOwn())
    return writer.addToElement(op, counts);
  Value value = writer.lookup(op.getValue());
  if (!value.getType().isF32())
    value = b.create<arith::TruncFOp>(b.f32(), value);
  value = b.select(counts, value, b.number(0.0));
  const bool isLine = lineOf(op).has_value();
  Num place = isLine ? pair : placeInHead(k, op, writer);
  ThreadArray &array = isLine ? lines.find(op)->second : *sums[op.getBuffer()].array;
  array.store(b.add(array.load(place), value), place);
}

/// Emits the region for pair number `pair` of the lane, in the order of the registers.
void PairLoop::writePair(const Num &pair, ArrayRef<ThreadArray> results) {
  const Num tiles(k.layout.innerTiles());
  Num tile = pair / Num(4), innerHalf = pair % Num(2), ownerHalf = pair / Num(2) % Num(2);
  Num ownerTile = tile / tiles, innerTile = tile % tiles;
  Num owner = k.ownerAt(Element()) + ownerTile * Num(16) + ownerHalf * Num(8);
  Num inner = step.innerAt(Element()) + innerTile * Num(k.isPermuted ? 2 : 8) + innerHalf;
  Num row = k.rowsOwn ? owner : inner, column = k.rowsOwn ? inner : owner;

  RegionWriter writer(k.fn, map.getBody().front());
  Block &body = map.getBody().front();
  for (auto &[index, array] : inputs)
    writer.mapping[body.getArgument(index)] = array.load(pair);
  for (auto [argument, input] : llvm::zip(body.getArguments(), map.getInputs()))
    if (elementOf(input).isIndex())
      writer.mapping[argument] = b.toValue(
          indexAt(step, input.getDefiningOp(), [&] { return row; }, [&] { return column; }));
  Value counts = b.create<arith::OrIOp>(step.isFull(), isInside(step, row, column));
  writer.accumulate = [&](AccumulateOp sum, RegionWriter &w) { add(sum, w, pair, counts); };
  for (auto [array, value] : llvm::zip(results, writer.writeBody()))
    array.store(value, pair);
}

void PairLoop::reduceSums() {
  for (auto &[buffer, sum] : sums)
    b.loop(0, sum.count, 1, [&, buffer = buffer, &s = sum](Num i) {
      k.sums.addToHead(k, buffer, i, {s.array->load(i)});
    });
}

void PairLoop::addLines() {
  for (auto &[op, array] : lines) {
    auto sum = cast<AccumulateOp>(op);
    const SpaceSet line = *lineOf(sum);
    Registers registers(k.registersOf(line));
    for (int64_t i = 0; i < count; ++i) {
      Value &total = registers[k.indexOf(line, k.elementAt({"r", "c"}, i))];
      Value value = array.load(Num(i));
      total = total ? b.add(total, value) : value;
    }
    addToLine(step, sum.getBuffer(), line, std::move(registers));
  }
}

/// Returns true if a value in the region depends only on constants and buffers.
static bool isOfConstants(Value value) {
  if (isa<BufferType>(value.getType()))
    return true;
  Operation *op = value.getDefiningOp();
  return op && !op->getNumRegions() && llvm::all_of(op->getOperands(), isOfConstants);
}

/// Returns the loop that makes up the region if its trip count depends only on constants and
/// buffers, otherwise null.
scf::ForOp PairLoop::wholeLoop() {
  scf::ForOp loop;
  for (Operation &op : map.getBody().front().without_terminator()) {
    if (!loop && isa<scf::ForOp>(op))
      loop = cast<scf::ForOp>(op);
    else if (op.getNumRegions() || isa<AccumulateOp, memref::StoreOp>(op))
      return {};
  }
  auto isInput = [&](Value init) { return static_cast<bool>(map.getInputOf(init)); };
  Operation *end = map.getBody().front().getTerminator();
  const bool isWhole = loop && loop.getResults() == end->getOperands() && !hasLines &&
                       llvm::all_of(loop.getInitArgs(), isInput);
  return isWhole && isOfConstants(loop.getLowerBound()) && isOfConstants(loop.getUpperBound())
             ? loop
             : scf::ForOp();
}

/// Returns the registers of all results, one result after the other.
Registers PairLoop::compute() {
  for (auto [index, input] : llvm::enumerate(map.getInputs())) {
    if (elementOf(input).isIndex())
      continue;
    auto &array = inputs.try_emplace(index, b, elementOf(input), count).first->second;
    const SpaceSet &spaces = spacesOf(input);
    for (int64_t i = 0; i < count; ++i)
      array.store(step.registers(input)[k.indexOf(spaces, k.elementAt({"r", "c"}, i))], Num(i));
  }
  SmallVector<ThreadArray> results;
  for (Value result : map.getResults())
    results.emplace_back(b, elementOf(result), count);
  declareSums();
  b.loop(0, count, 1, [&](Num pair) { writePair(pair, results); });
  reduceSums();
  addLines();
  Registers registers;
  for (ThreadArray &array : results)
    for (int64_t i = 0; i < count; ++i)
      registers.push_back(array.load(Num(i)));
  return registers;
}

void PairLoop::run() {
  map.walk([&](AccumulateOp sum) { hasLines |= lineOf(sum).has_value(); });
  Registers all;
  if (scf::ForOp loop = wholeLoop()) {
    RegionWriter writer(k.fn, map.getBody().front());
    Num begin = b.fromValue(writer.lookup(loop.getLowerBound()));
    Value runs = b.less(begin, b.fromValue(writer.lookup(loop.getUpperBound())));
    SmallVector<Type> types;
    for (Value result : map.getResults())
      types.append(count, elementOf(result));
    all = b.ifElse(
        runs, types, [&] { return compute(); },
        [&] {
          Registers before;
          for (Value init : loop.getInitArgs()) {
            Value input = map.getInputOf(init);
            for (int64_t i = 0; i < count; ++i)
              before.push_back(
                  step.registers(input)[k.indexOf(spacesOf(input), k.elementAt({"r", "c"}, i))]);
          }
          return before;
        });
  } else {
    all = compute();
  }
  for (auto [number, value] : llvm::enumerate(map.getResults()))
    step.set(value, Registers(ArrayRef(all).slice(number * count, count)));
}

} // namespace

void mlir::tile::gpu::emitPairLoop(Step &step, MapOp map) { PairLoop(step, map).run(); }
