//===- ColumnsOuter.cpp - columns own the loop: one item is a key head ----===//
#include "passes/ToCPU/Skeletons.h"
#include "passes/ToCPU/VectorMath.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {

class ColumnsOuter : Skeleton {
public:
  ColumnsOuter(StageOp stage, const CpuSchedule &cpu, const StripSchedule &schedule,
               const RowInterface &interface, StageFunction &function, Value rowBuffer)
      : Skeleton(stage, cpu, schedule, interface, function),
        state(context, values, interface, context.memory(rowBuffer)),
        overHeads(stage.getOver().size() == 2 &&
                  cast<StringAttr>(stage.getOver()[1]).getValue() == "hq") {}

  void emit() {
    Index item = e.fromValue(context.function.getItem());
    Index heads = overHeads ? context.queryHeads : context.keyHeads;
    start.b = item / heads;
    group = context.queryHeads / context.keyHeads;
    start.hkv = overHeads ? item % heads / group : item % heads;
    firstHead = overHeads ? item % heads : start.hkv * group;
    headCount = overHeads ? Index(1) : group;

    createFolds();
    eachStrip([&](const StripPlace &place, const Index &at) {
      values.begin(place);
      state.begin(at);
    });
    eachBlock({0, context.columns}, [&](Index block) {
      zeroFolds();
      e.loop(0, headCount, 1, [&](Index head) { visitRows(firstHead + head, block); });
      emitColumns(block);
    });
    eachStrip([&](const StripPlace &place, const Index &at) {
      values.begin(place);
      state.end(at);
    });
  }

private:
  //===- Rows --------------------------------------------------------------------===//

  StripPlace placeAt(const Index &hq, const Index &row) {
    StripPlace place = start;
    place.hq = hq;
    place.row = row;
    place.rowCount = rowsOfStrip(row);
    place.masked = true;
    return place;
  }
  Index stateAt(const StripPlace &place) {
    int64_t rows = context.cpu.stripRows();
    Index strip = (place.b * context.queryHeads + place.hq) * ceilDiv(context.rows, rows) +
                  place.row / Index(rows);
    return strip * Index(state.stripFloats());
  }
  void eachStrip(llvm::function_ref<void(const StripPlace &, const Index &)> body) {
    e.loop(0, headCount, 1, [&](Index head) {
      e.loop(0, context.rows, context.cpu.stripRows(), [&](Index row) {
        StripPlace place = placeAt(firstHead + head, row);
        body(place, stateAt(place));
      });
    });
  }

  /// The strips that some key of the block concerns.
  void visitRows(const Index &hq, const Index &block) {
    int64_t rows = context.cpu.stripRows();
    Index blockEnd = minOf(block + Index(context.cpu.keyBlock), context.columns);
    auto range = context.mask.rowsTouching(block, blockEnd, context.rows);
    e.loop(roundDown(range.begin, rows), range.end, rows, [&](Index row) {
      StripPlace place = placeAt(hq, row);
      place.block = block;
      visitStrip(place, [&](const StripPlace &strip) {
        auto carryAt = [&](int64_t lane) {
          return state.carryAt(stateAt(strip), context.stream.getStopCarry().value_or(0)) +
                 Index(lane);
        };
        unlessStopped(
            strip, carryAt, state.carryMemory(), [&] { emitStrip(strip); },
            [&] { storeSkippedSnapshots(strip); });
      });
    });
  }

  void emitStrip(const StripPlace &place) {
    Index at = stateAt(place);
    values.begin(place);
    RowPanels panels = state.enter(at);
    strips.emit(panels, folds);
    state.leave(at);
    strips.emitColumnDots(place, folds);
  }

  //===- Columns -------------------------------------------------------------------===//

  void createFolds() {
    StreamOp stream = context.stream;
    for (unsigned i = stream.getCarries().size(); i < stream.getNumResults(); ++i) {
      const SpaceSet &spaces = spacesOf(stream.getResult(i));
      if (!hasColumns(spaces))
        continue;
      int64_t depth = isColumn(spaces) ? 1 : context.depthOf(spaces);
      ColumnFold fold = {e.scratch(context.cpu.keyBlock * depth), depth};
      folds[stream.getYielded(i)] = fold;
      results[stream.getResult(i)] = fold;
    }
  }
  void zeroFolds() {
    for (auto &[value, fold] : results) {
      Value memory = fold.memory;
      e.loop(0, context.cpu.keyBlock * fold.depth, 8, [&](Index at) {
        Value zero = e.constant(DenseElementsAttr::get(e.vectorType({}, 8), 0.0f));
        e.storeVector(zero, memory, at);
      });
    }
  }
  void emitColumns(const Index &block);
  Value columnAt(Value value, const Index &key, const Index &d, int64_t width);

  RowState state;
  bool overHeads;
  StripPlace start;
  Index group, firstHead, headCount;
  ColumnFolds folds;                          // by what the body yields
  llvm::MapVector<Value, ColumnFold> results; // by the stream's result
};

/// A panel of keys at one key, `width` depths from `d`, widened to the target's lanes.
Value ColumnsOuter::columnAt(Value value, const Index &key, const Index &d, int64_t width) {
  if (auto found = results.find(value); found != results.end())
    return loadWidened(e, found->second.memory, key * Index(found->second.depth) + d, width);
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return e.splat(constant.getNumber().convertToDouble());
  auto map = value.getDefiningOp<MapOp>();
  values.maps.prepare(map);
  return values.maps.emit(map, 0, [&](Value operand) {
    return columnAt(operand, key, d, width);
  })[cast<OpResult>(value).getResultNumber()];
}

/// What comes after the stream, for the keys of one block.
void ColumnsOuter::emitColumns(const Index &block) {
  Index count = minOf(context.cpu.keyBlock, context.columns - block);
  for (Operation *op : interface.afterColumns) {
    auto store = dyn_cast<StoreOp>(op);
    if (!store)
      continue;
    Value buffer = store.getBuffer(), memory = context.memory(buffer);
    StripPlace place = start;
    place.block = block;
    Index base = context.offset(buffer, place.place());
    const SpaceSet &spaces = spacesOf(store.getValue());
    int64_t depth = isColumn(spaces) ? 1 : context.depthOf(spaces);
    e.loop(0, count, 1, [&](Index key) {
      values.begin(place);
      values.maps.beginKey(block + key);
      if (isColumn(spaces)) {
        Value scalar = e.create<vector::ExtractOp>(columnAt(store.getValue(), key, 0, 1), 0);
        return e.store(scalar, memory, base + key);
      }
      for (int64_t d = 0; d < depth; d += e.lanes) {
        int64_t width = std::min(e.lanes, depth - d);
        Value wide = columnAt(store.getValue(), key, d, width);
        e.storeVector(narrowed(e, wide, width), memory, base + key * Index(depth) + Index(d));
      }
    });
  }
}

} // namespace

void mlir::tile::cpu::lowerColumnsOuter(StageOp stage, const CpuSchedule &cpu,
                                        const StripSchedule &schedule) {
  RowInterface interface(stage);
  auto plan = stage->getParentOfType<PlanOp>();
  // What rows keep: one block per strip.
  OpBuilder builder(stage);
  std::string stripsExtent = "ceildiv(r," + std::to_string(cpu.stripRows()) + ")";
  int64_t floats = interface.stripFloats(cpu.stripRows(), plan.getHeadDim(), plan.getValueDim());
  SmallVector<StringAttr> extents;
  for (StringRef extent : {StringRef("b"), StringRef("hq"), StringRef(stripsExtent)})
    extents.push_back(builder.getStringAttr(extent));
  extents.push_back(builder.getStringAttr(std::to_string(floats)));
  auto type = BufferType::get(builder.getContext(), extents, builder.getF32Type());
  Value rowBuffer = BufferOp::create(builder, stage.getLoc(), type,
                                     (stage.getSymName() + "_rows").str(), Role::Temporary,
                                     /*zero=*/false);
  SmallVector<Value> buffers = collectBuffers(stage);
  buffers.push_back(rowBuffer);
  StageFunction function(stage, "", buffers);
  ColumnsOuter(stage, cpu, schedule, interface, function, rowBuffer).emit();
  auto over = cast<StringAttr>(stage.getOver()[1]).getValue();
  function.createLaunch(stage, ("b*" + over).str());
  stage.erase();
}
