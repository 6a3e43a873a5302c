//===- SweepEmitter.cpp - one pass over the keys of a block ---------------===//
#include "passes/ToCPU/SweepEmitter.h"

#include "passes/ToCPU/MicroKernels.h"
#include "passes/ToCPU/VectorMath.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {
bool isDepthDot(Operation *op) { return isa<DotOp, WindowDotOp>(op); }
/// Returns true if all pairs add to one element: the indices are b, h and constants.
bool addsToOnePlace(AccumulateOp op) {
  auto map = dyn_cast<MapOp>(op->getParentOp());
  return map && llvm::all_of(op.getIndices(), [&](Value index) {
           Operation *source = index.getDefiningOp();
           return source ? source->hasTrait<OpTrait::ConstantLike>()
                         : map.isIndexOf(index, "b") || map.isIndexOf(index, "hq");
         });
}
} // namespace

SweepEmitter::SweepEmitter(StageContext &context, const StripSchedule::Step &step,
                           StripValues &values, const Slots &slots, const StripSchedule &schedule,
                           const StripMask &mask, const ColumnFolds &folds, bool hasScores)
    : context(context), e(context.e), step(step), values(values), slots(slots), schedule(schedule),
      mask(mask), folds(folds), place(values.getPlace()), vectors(context.cpu.queryVectors),
      hasScores(hasScores) {}

int64_t SweepEmitter::keysPerStep() const {
  if (context.cpu.isAlongKeys())
    return 1;
  if (step.tiles)
    return context.cpu.keyRows;
  if (!mask.isOn())
    return context.cpu.sweepKeys;
  return context.cpu.isByPairs() ? 2 : 1; // keep the code of rare masked blocks small
}

//===- The loop --------------------------------------------------------------------===//

void SweepEmitter::emit() {
  if (step.sweep.empty())
    return;
  prepare();
  SmallVector<Value> inits;
  for (Carry &carry : carries)
    inits.append(carry.vectors);
  auto carried = [&](ValueRange from) {
    for (Carry &carry : carries) {
      carry.vectors.assign(from.begin(), from.begin() + carry.vectors.size());
      from = from.drop_front(carry.vectors.size());
    }
  };
  int64_t count = keysPerStep() * keysOfElement();
  bool descending = step.order == Order::Descending;
  Index end = descending ? place.keyEnd - place.keyBegin : place.keyEnd;
  SmallVector<Value> results = e.loop(descending ? Index(0) : place.keyBegin, end, count, inits,
                                      [&](Index i, ValueRange args) {
                                        carried(args);
                                        emitStep(descending ? place.keyEnd - Index(count) - i : i);
                                        SmallVector<Value> next;
                                        for (Carry &carry : carries)
                                          next.append(carry.vectors);
                                        return next;
                                      });
  carried(results);
  finish();
}

/// Emits the code before the loop: per-strip parts of maps, base addresses, initial carries.
void SweepEmitter::prepare() {
  for (Operation *op : step.sweep) {
    if (isLeftOut(op))
      continue;
    if (auto map = dyn_cast<MapOp>(op)) {
      values.maps.prepare(map);
      for (auto accumulate : map.getBody().getOps<AccumulateOp>())
        if (addsToOnePlace(accumulate))
          carries.push_back({accumulate, {e.splat(0.0)}});
    } else if (auto window = dyn_cast<WindowOp>(op)) {
      prepareWindow(window.getTable());
    } else if (auto dot = dyn_cast<WindowDotOp>(op)) {
      prepareWindow(dot.getTable());
    } else if (auto reduce = dyn_cast<ReduceOp>(op); reduce && reduce.getAxis() == "c") {
      double start = reduce.getKind() == Reduction::Add ? 0.0 : -1.0e30;
      carries.push_back({op, SmallVector<Value>(vectors, e.splat(start))});
    } else if (auto scan = dyn_cast<ScanOp>(op)) {
      SmallVector<Value> start;
      for (int64_t v = 0; v < vectors; ++v)
        start.push_back(vectorOfRow(scan.getCarryIn(), v));
      carries.push_back({op, start});
    } else if (auto dot = dyn_cast<DotOp>(op)) {
      Place at = place.place();
      at.c = mask.isOn() ? Index(0) : place.block;
      keyPanels[dot.getRhs()] = context.keyPanel(dot.getRhs(), at);
    }
  }
}

void SweepEmitter::prepareWindow(Value table) {
  bases[table] = context.offset(table, place.place());
  distance = place.row - place.block + context.columns - Index(1);
}

void SweepEmitter::emitStep(const Index &firstKey) {
  keys.clear();
  for (int64_t k = 0; k < keysPerStep(); ++k)
    keys.push_back(firstKey + Index(k * keysOfElement()));
  registers.clear(), narrow.clear();
  masks.assign(keys.size() * vectors, Value());
  SmallVector<Operation *> segment;
  for (Operation *op : step.sweep) {
    if (isLeftOut(op))
      continue;
    if (!isDepthDot(op)) {
      segment.push_back(op);
      continue;
    }
    emitSegment(segment);
    segment.clear();
    if (auto dot = dyn_cast<DotOp>(op))
      emitDot(dot);
    else
      emitWindowDot(cast<WindowDotOp>(op));
  }
  emitSegment(segment);
}

void SweepEmitter::emitSegment(ArrayRef<Operation *> ops) {
  if (ops.empty())
    return;
  for (int64_t k = 0, n = keys.size(); k < n; ++k) {
    int64_t key = step.order == Order::Descending ? n - 1 - k : k;
    values.beginKey(columnOf(key));
    for (int64_t v = 0; v < vectors; ++v)
      for (Operation *op : ops)
        emitElement(op, key, v);
  }
}

//===- Registers, slots and the mask ---------------------------------------------------===//

Value SweepEmitter::element(Value value, int64_t key, int64_t vector) {
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return e.splat(constant.getNumber().convertToDouble());
  SmallVector<Value> &regs = registers[value];
  regs.resize(keys.size() * vectors);
  Value &reg = regs[key * vectors + vector];
  if (!reg)
    reg = e.loadVector(slots.getMemory(), slots.at(value, keys[key], Index(vector * e.lanes)));
  return reg;
}

void SweepEmitter::define(Value value, int64_t key, int64_t vector, Value reg) {
  SmallVector<Value> &regs = registers[value];
  regs.resize(keys.size() * vectors);
  regs[key * vectors + vector] = reg;
  if (!slots.has(value))
    return;
  if (schedule.zeroOutside.contains(value) && !isFilledWith(value, 0.0))
    reg = inside(reg, key, vector, 0.0);
  if (context.cpu.isByPairs())
    storeWords(value, key, vector, reg);
  auto isReadAsFloats = [&](Operation *user) {
    auto dot = dyn_cast<DotOp>(user);
    return dot && !isByPairs(context.cpu, dot);
  };
  if (schedule.readByOthers.contains(value) || llvm::any_of(value.getUsers(), isReadAsFloats))
    e.storeVector(reg, slots.getMemory(), slots.at(value, keys[key], Index(vector * e.lanes)));
}

/// Stores the words of a value for the contractions by pairs that read it. The word of a pair of
/// keys is stored when both exist.
void SweepEmitter::storeWords(Value value, int64_t key, int64_t vector, Value reg) {
  bool isOverKeys = false, isOverRows = false;
  for (Operation *user : value.getUsers())
    if (readsWords(user, value)) {
      isOverKeys |= cast<DotOp>(user).getAxis() == "c";
      isOverRows |= cast<DotOp>(user).getAxis() == "r";
    }
  if (!isOverKeys && !isOverRows)
    return;
  SmallVector<Value> &regs = narrow[value];
  regs.resize(keys.size() * vectors);
  regs[key * vectors + vector] = reg = e.toBf16(reg);
  if (isOverRows)
    e.storeVector(e.wordsOf(reg), slots.getWords(),
                  slots.atRowPair(value, keys[key], Index(vector * e.lanes / 2)));
  const int64_t even = key / 2 * 2;
  Value low = regs[even * vectors + vector], high = regs[(even + 1) * vectors + vector];
  if (isOverKeys && low && high)
    e.storeVector(e.pairs(low, high), slots.getWords(),
                  slots.atKeyPair(value, keys[even] / Index(2), Index(vector * e.lanes)));
}

Value SweepEmitter::maskAt(int64_t key, int64_t vector) {
  if (Value known = masks[key * vectors + vector])
    return known;
  Value lanes = mask.at(columnOf(key), vector);
  if (schedule.condition) {
    Value where = element(schedule.condition, key, vector);
    lanes = e.create<arith::AndIOp>(lanes, e.isNotZero(where));
  }
  return masks[key * vectors + vector] = lanes;
}

Value SweepEmitter::inside(Value reg, int64_t key, int64_t vector, double outside) {
  return mask.isOn() ? e.select(maskAt(key, vector), reg, e.splat(outside)) : reg;
}

bool SweepEmitter::isFilledWith(Value value, double number) const {
  auto masked = value.getDefiningOp<MaskOp>();
  return masked && masked.getFill().convertToDouble() == number;
}

SweepEmitter::Carry &SweepEmitter::carryOf(Operation *op) {
  return *llvm::find_if(carries, [&](Carry &carry) { return carry.op == op; });
}

//===- Operations ------------------------------------------------------------------------===//

void SweepEmitter::emitElement(Operation *op, int64_t key, int64_t vector) {
  if (auto map = dyn_cast<MapOp>(op))
    return emitMap(map, key, vector);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return emitReduce(reduce, key, vector);
  if (auto scan = dyn_cast<ScanOp>(op))
    return emitScan(scan, key, vector);
  if (auto window = dyn_cast<WindowOp>(op))
    return define(window.getValue(), key, vector, emitWindow(window, key, vector));
  auto masked = cast<MaskOp>(op);
  Value reg = element(masked.getInput(), key, vector);
  define(masked.getOutput(), key, vector,
         inside(reg, key, vector, masked.getFill().convertToDouble()));
}

void SweepEmitter::emitMap(MapOp map, int64_t key, int64_t vector) {
  // A loop that accumulates reads the mask. Emitted before the loop, it also dominates later uses.
  const bool addsInLoop =
      map.walk([&](AccumulateOp sum) {
           return sum->getParentOp() != map ? WalkResult::interrupt() : WalkResult::advance();
         })
          .wasInterrupted();
  if (addsInLoop && mask.isOn())
    maskAt(key, vector);
  SmallVector<Value> results = values.maps.emit(
      map, vector, [&](Value operand) { return element(operand, key, vector); },
      [&](AccumulateOp accumulate) { emitAccumulate(accumulate, key, vector); });
  for (auto [output, reg] : llvm::zip(map.getOutputs(), results))
    define(output, key, vector, reg);
}

/// Accumulates the lanes. If there is one element for the entire sweep, the sum stays in registers
/// and is added at the end; if there is one element for these rows, the sum of the lanes is added;
/// otherwise each lane is added separately.
void SweepEmitter::emitAccumulate(AccumulateOp op, int64_t key, int64_t vector) {
  Value reg = inside(values.maps.vectorOf(op.getValue(), vector), key, vector, 0.0);
  if (addsToOnePlace(op)) {
    Value &sum = carryOf(op).vectors[0];
    sum = e.add(sum, reg);
    return;
  }
  if (llvm::none_of(op.getIndices(), [&](Value i) { return values.maps.dependsOnRow(i); }))
    return addTo(op, e.sumLanes(reg), [&](Value i) { return values.maps.scalarAt(i); });
  addLanes(op, reg, vector);
}

/// Adds each lane to the element that its indices name, in lane order. This is a loop because
/// unrolled code per lane and sum would take most of the compile time of a map with many sums.
void SweepEmitter::addLanes(AccumulateOp op, Value reg, int64_t vector) {
  llvm::DenseMap<Value, Value> memory; // a vector for every value that differs between lanes
  auto keep = [&](Value value, Value lanes) {
    Type element = cast<VectorType>(lanes.getType()).getElementType();
    Value &scratch = laneScratch[{element, memory.size()}];
    if (!scratch)
      scratch = e.scratch(e.lanes, element);
    e.storeVector(lanes, scratch, 0);
    memory[value] = scratch;
  };
  keep(op.getValue(), reg);
  for (Value index : op.getIndices())
    if (values.maps.dependsOnRow(index) && !memory.count(index))
      keep(index, values.maps.vectorOf(index, vector));
  e.loop(0, e.lanes, 1, [&](Index lane) {
    addTo(op, e.load(memory[op.getValue()], lane), [&](Value index) -> Value {
      if (!memory.count(index))
        return values.maps.scalarAt(index);
      return e.create<arith::IndexCastOp>(e.getIndexType(), e.load(memory[index], lane));
    });
  });
}

/// Adds a scalar to the element that `indexOf` gives for the indices of `op`.
void SweepEmitter::addTo(AccumulateOp op, Value scalar, llvm::function_ref<Value(Value)> indexOf) {
  IRMapping scalars;
  if (op.getValue().getType().isF64() && !scalar.getType().isF64())
    scalar = e.create<arith::ExtFOp>(e.getF64Type(), scalar);
  scalars.map(op.getValue(), scalar);
  for (Value index : op.getIndices())
    scalars.map(index, indexOf(index));
  emitScalarOp(e, *op, scalars, context.function);
}

Value SweepEmitter::vectorOfRow(Value value, int64_t vector) {
  Value row = values.row(value, vector);
  return context.cpu.isAlongKeys() ? e.broadcast(row) : row;
}

Value SweepEmitter::scanFactor(ScanOp scan, int64_t key, int64_t vector) {
  Value a = element(scan.getA(), key, vector);
  if (scan.getKind() == ScanKind::Odds)
    a = e.div(e.splat(1.0), e.add(a, e.splat(1.0)));
  return inside(a, key, vector, 1.0);
}

void SweepEmitter::emitScan(ScanOp scan, int64_t key, int64_t vector) {
  if (context.cpu.isAlongKeys())
    return define(scan.getResult(), key, vector, emitRowScan(scan, key));
  Value a = scanFactor(scan, key, vector);
  Value &state = carryOf(scan).vectors[vector];
  Value next;
  if (scan.getKind() == ScanKind::Linear)
    next = e.fma(a, state, inside(element(scan.getB(), key, vector), key, vector, 0.0));
  else
    next = e.mul(a, state);
  define(scan.getResult(), key, vector, scan.getExclusive() ? state : next);
  state = next;
}

void SweepEmitter::emitReduce(ReduceOp reduce, int64_t key, int64_t vector) {
  bool add = reduce.getKind() == Reduction::Add;
  double neutral = add ? 0.0 : -1.0e30;
  Value reg = element(reduce.getInput(), key, vector);
  if (!isFilledWith(reduce.getInput(), neutral))
    reg = inside(reg, key, vector, neutral);
  if (reduce.getAxis() == "r") {
    const ColumnFold fold = folds.lookup(reduce.getOutput());
    const Index at = fold.place(keys[key], 0);
    return e.store(e.add(e.load(fold.memory, at), e.sumLanes(reg)), fold.memory, at);
  }
  Value &state = carryOf(reduce).vectors[vector];
  state = add ? e.add(state, reg) : e.larger(state, reg);
}

Value SweepEmitter::emitWindow(WindowOp window, int64_t key, int64_t vector) {
  Value table = window.getTable();
  if (context.cpu.isAlongKeys())
    return loadDistances(e, context.memory(table), bases[table], distance - keys[key], mask.isOn());
  return e.loadVector(context.memory(table), bases[table] + entryOf(key) + Index(vector * e.lanes));
}

/// Returns the entry of a table for the distance between the strip's first row and a key.
Index SweepEmitter::entryOf(int64_t key) {
  Index entry = distance - keys[key];
  return mask.isOn() ? maxOf(0, entry) : entry; // keys after the last have no entry
}

void SweepEmitter::emitDot(DotOp dot) {
  if (context.cpu.isAlongKeys())
    return keepTile(dot.getOutput(), {emitRowDot(dot, 0)});
  SmallVector<Value> acc;
  Value init = dot.getInit();
  for (int64_t key = 0, n = keys.size(); key < n; ++key)
    for (int64_t v = 0; v < vectors; ++v)
      acc.push_back(!init                   ? e.splat(0.0)
                    : isRow(spacesOf(init)) ? values.row(init, v)
                                            : element(init, key, v));
  // No register is live across the contraction; values that are used after it are in slots.
  registers.clear();
  masks.assign(keys.size() * vectors, Value());
  int64_t depth = context.depthOf(spacesOf(dot.getRhs()));
  const KeyPanel rows = keyPanels.lookup(dot.getRhs());
  SmallVector<Index> rowsOfKeys;
  for (int64_t key = 0, n = keys.size(); key < n; ++key) {
    // Keys after the last are copies of it; the mask excludes them.
    Index row = mask.isOn() ? minOf(columnOf(key), context.columns - Index(1)) : keys[key];
    rowsOfKeys.push_back(rows.at + row * rows.pitch);
  }
  if (isByPairs(context.cpu, dot))
    return keepTile(dot.getOutput(), emitDotOfPairs(dot, rowsOfKeys, acc));
  const Panel &panel = values.getPanel(dot.getLhs());
  TileShape shape = {static_cast<int64_t>(keys.size()), vectors,
                     mask.isOn() ? 1 : context.cpu.unroll};
  SmallVector<Value> tile = emitTileProduct(
      e, shape, 0, depth, acc,
      [&](Index d, int64_t v) {
        return e.loadVector(panel.memory,
                            panel.at + d * Index(context.cpu.stripRows()) + Index(v * e.lanes));
      },
      [&](Index d, int64_t key) { return e.load(rows.memory, rowsOfKeys[key] + d); });
  keepTile(dot.getOutput(), std::move(tile));
}

/// Emits the contraction with pairs of depths: words of the rows' panel, and of keys as they are in
/// memory.
SmallVector<Value> SweepEmitter::emitDotOfPairs(DotOp dot, ArrayRef<Index> rowsOfKeys,
                                                ValueRange acc) {
  const Panel &panel = values.getDepthPairs(dot.getLhs());
  Value memory = keyPanels.lookup(dot.getRhs()).memory;
  TileShape shape = {static_cast<int64_t>(keys.size()), vectors,
                     mask.isOn() ? 1 : context.cpu.unroll};
  shape.pairs = true;
  return emitTileProduct(
      e, shape, 0, context.depthOf(spacesOf(dot.getRhs())) / 2, acc,
      [&](Index pair, int64_t v) {
        return e.loadVector(panel.memory,
                            panel.at + pair * Index(context.cpu.stripRows()) + Index(v * e.lanes));
      },
      [&](Index pair, int64_t key) {
        return e.loadPair(memory, rowsOfKeys[key] + pair * Index(2));
      });
}

/// Returns true (i1) if a pair of the strip's rows and the current keys can be at a distance from
/// `low` to `high`.
Value SweepEmitter::meetsDistances(int64_t low, int64_t high) {
  const Index last = keys.back() + Index(keysOfElement() - 1);
  const Index least = context.distanceOf(place.row, place.block + last);
  const Index most = context.distanceOf(place.row + place.rowCount - Index(1), columnOf(0));
  return e.create<arith::AndIOp>(e.less(least, Index(high + 1)), e.less(Index(low - 1), most));
}

/// Emits a contraction in which every product loads the table's vector for the distances between
/// the rows and a key, at one depth.
void SweepEmitter::emitWindowDot(WindowDotOp dot) {
  // No register is live across the contraction; values that are used after it are in slots.
  registers.clear();
  masks.assign(keys.size() * vectors, Value());
  SmallVector<Value> zeros(context.cpu.isAlongKeys() ? 1 : keys.size() * vectors, e.splat(0.0));
  auto emitAll = [&] {
    return context.cpu.isAlongKeys() ? SmallVector<Value>{emitRowWindowDot(dot, 0)}
                                     : emitWindowTile(dot, zeros);
  };
  if (!dot.getLow())
    return keepTile(dot.getValue(), emitAll());
  keepTile(dot.getValue(),
           e.chosen(meetsDistances(dot.getLowAttr().getInt(), dot.getHighAttr().getInt()), emitAll,
                    zeros));
}

SmallVector<Value> SweepEmitter::emitWindowTile(WindowDotOp dot, ValueRange zeros) {
  Value table = dot.getTable(), memory = context.memory(table);
  Index pitch = context.pitch(table);
  SmallVector<Index> entries;
  for (int64_t key = 0, n = keys.size(); key < n; ++key)
    entries.push_back(bases[table] + entryOf(key));
  const Panel &panel = values.getPanel(dot.getRows());
  TileShape shape = {static_cast<int64_t>(keys.size()), vectors,
                     mask.isOn() ? 1 : context.cpu.unroll};
  return emitTileProductOfRows(
      e, shape, 0, context.depthOf(spacesOf(dot.getRows())), zeros,
      [&](Index d, int64_t v) {
        return e.loadVector(panel.memory,
                            panel.at + d * Index(context.cpu.stripRows()) + Index(v * e.lanes));
      },
      [&](Index d, int64_t key) {
        SmallVector<Value> row;
        for (int64_t v = 0; v < vectors; ++v)
          row.push_back(e.loadVector(memory, entries[key] + d * pitch + Index(v * e.lanes)));
        return row;
      });
}

/// Keeps the accumulators of a contraction as the registers of its result, and in its slot if any.
void SweepEmitter::keepTile(Value output, SmallVector<Value> tile) {
  registers[output] = std::move(tile);
  if (slots.has(output))
    for (int64_t key = 0, n = keys.size(); key < n; ++key)
      for (int64_t v = 0; v < vectors; ++v)
        define(output, key, v, element(output, key, v));
}

void SweepEmitter::finish() {
  for (Carry &carry : carries) {
    if (context.cpu.isAlongKeys()) {
      finishRow(carry);
      continue;
    }
    if (auto reduce = dyn_cast<ReduceOp>(carry.op))
      values.setRow(reduce.getOutput(), carry.vectors);
    else if (auto scan = dyn_cast<ScanOp>(carry.op))
      values.setRow(scan.getCarryOut(), carry.vectors);
    else
      addTo(cast<AccumulateOp>(carry.op), e.sumLanes(carry.vectors[0]),
            [&](Value index) { return values.maps.scalarAt(index); });
  }
}
