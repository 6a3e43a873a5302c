//===- FewRows.cpp - the skeletons of stages with few rows ----------------===//
//
// Lanes are keys, and a strip is one row. An item has up to `query_block` rows of the query heads
// of a key head, which share every block of its keys:
//
//   item = b, hkv, some of its rows, split
//     for rows: before the stream
//     for key blocks of the split, in order       read from memory once
//       for rows: body                            a tile of rows together, if all keep the block
//     for rows: after it
//
// A stage that merges splits visits, for every row, the values that such items stored.
//
//===----------------------------------------------------------------------===//
#include "passes/ToCPU/Biases.h"
#include "passes/ToCPU/Skeletons.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

LogicalResult mlir::tile::cpu::checkFewRows(StageOp stage, std::string &why) {
  WalkResult result = stage.walk([&](Operation *op) {
    auto scan = dyn_cast<ScanOp>(op);
    if (!isa<WindowSumOp, WindowGradOp, WindowOuterOp, SegmentsGradOp, AccumulateOp>(op) &&
        !(scan && scan.getKind() == ScanKind::Linear))
      return WalkResult::advance();
    why = ("'" + op->getName().getStringRef() + "' has no form with lanes along keys").str();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {

class FewRows : Skeleton {
public:
  FewRows(StageOp stage, const CpuSchedule &cpu, const StripSchedule &schedule,
          const RowInterface &interface, StageFunction &function)
      : Skeleton(stage, cpu, schedule, interface, function),
        state(context, values, interface,
              e.scratch(interface.stripFloats(cpu, context.headDim, context.valueDim) *
                        cpu.queryBlock)) {}

  void emit() {
    const Index group = context.queryHeads / context.keyHeads;
    Index rest = e.fromValue(context.function.getItem());
    if (context.stage.isOver("ks")) {
      const Index splits = e.fromValue(context.emitSize("ks"));
      start.split = rest % splits;
      rest = rest / splits;
    }
    const Index chunks = ceilDiv(group * context.rows, context.cpu.queryBlock);
    first = rest % chunks * Index(context.cpu.queryBlock);
    end = minOf(first + Index(context.cpu.queryBlock), group * context.rows);
    start.hkv = rest / chunks % context.keyHeads;
    start.b = rest / chunks / context.keyHeads;

    eachRow([&](const StripPlace &place, const Index &at) {
      values.begin(place);
      state.begin(at);
    });
    const Interval<Index> columns = columnsOfItem();
    auto eachKeyBlock = [&](bool packs) {
      // Without packing, 16 bits are those of a single row.
      const bool shares = canShareTiles() && (packs || !context.hasPackedKeys());
      context.rowsAhead = rowsToNextBlock();
      auto visit = [&](Index block) {
        findSegmentPieces(context, block);
        visitRows(block, shares);
      };
      eachBlock(columns, visit, packs);
    };
    // A single row reads every key once, and extends it in registers.
    if (context.hasPagedKeys())
      eachKeyBlock(true);
    else if (context.hasPackedKeys())
      e.ifThen(e.less(1, end - first), [&] { eachKeyBlock(true); }, [&] { eachKeyBlock(false); });
    else
      eachKeyBlock(false);
    eachRow([&](const StripPlace &place, const Index &at) {
      values.begin(place);
      state.end(at);
    });
  }

private:
  /// Returns the place of row `number` among those of the key head's query heads.
  StripPlace placeOf(const Index &number, const Index &block = 0) {
    StripPlace place = start;
    place.block = block;
    place.hq = start.hkv * (context.queryHeads / context.keyHeads) + number / context.rows;
    place.row = number % context.rows;
    place.rowCount = 1;
    place.masked = true;
    return place;
  }
  Index stateOf(const Index &number) { return (number - first) * Index(state.stripFloats()); }
  void eachRow(llvm::function_ref<void(const StripPlace &, const Index &)> body) {
    e.loop(first, end, 1, [&](Index number) { body(placeOf(number), stateOf(number)); });
  }
  /// Returns the columns of the split that any row of the item keeps.
  Interval<Index> columnsOfItem() {
    Interval<Index> columns = context.mask.columnsOfAny(0, context.rows - Index(1));
    if (context.stage.isOver("ks")) {
      const int64_t keys = context.function.getPlan().getKeySplit().value();
      const Index begin = start.split * Index(keys);
      columns = {maxOf(columns.begin, begin), minOf(columns.end, begin + Index(keys))};
    }
    if (!data.hasBounds())
      return columns;
    SmallVector<Value> kept =
        e.loop(first, end, 1, {e.toValue(context.columns), e.toValue(0)},
               [&](Index number, ValueRange found) {
                 Interval<Index> bounds = data.columnsOf(placeOf(number));
                 return SmallVector<Value>{e.toValue(minOf(e.fromValue(found[0]), bounds.begin)),
                                           e.toValue(maxOf(e.fromValue(found[1]), bounds.end))};
               });
    return {maxOf(columns.begin, e.fromValue(kept[0])), minOf(columns.end, e.fromValue(kept[1]))};
  }

  /// Returns true if rows can be visited together. Rows with a bound stop one by one.
  bool canShareTiles() {
    StreamOp stream = context.stream;
    return strips.canShareTiles() && !stream.getSkipBuffer() && !stream.getStopCarry() &&
           (!stream.getCondition() || data.hasStates());
  }

  /// Visits the rows: tiles of them together if all rows of the item keep the entire block, and all
  /// others one by one.
  void visitRows(const Index &block, bool shares) {
    Index next = first;
    if (shares) {
      const Index limit = endOfSharing(block);
      for (int64_t count = context.tileRows; count > 1; count /= 2) {
        const Index last = next + roundDown(limit - next, count);
        e.loop(next, last, count, [&](Index tile) { visitTile(tile, count, block); });
        next = last;
      }
    }
    e.loop(next, end, 1, [&](Index number) {
      llvm::SaveAndRestore<Index> saved(context.rowsAhead, rowsAhead(number));
      visit(placeOf(number, block), stateOf(number));
    });
  }
  /// The first row reads keys ahead for all rows.
  Index rowsAhead(const Index &number) {
    return e.fromValue(
        e.select(e.less(number, first + Index(1)), e.toValue(rowsToNextBlock()), e.toValue(0)));
  }
  Index rowsToNextBlock() {
    const bool descends = context.stream.getOrder() == Order::Descending;
    return descends ? -context.cpu.keyBlock : context.cpu.keyBlock;
  }

  /// Returns the end of the rows if there are several, and all keep the entire block, else their
  /// begin.
  Index endOfSharing(const Index &block) {
    auto endIf = [&](Value condition) {
      return e.fromValue(e.select(condition, e.toValue(end), e.toValue(first)));
    };
    Value several = e.less(first + Index(1), end);
    return endIf(e.loop(first, endIf(several), 1, {several}, [&](Index number, ValueRange all) {
      Value kept = keepsAll(placeOf(number, block));
      return SmallVector<Value>{e.create<arith::AndIOp>(all[0], kept)};
    })[0]);
  }

  /// Visits `count` rows, from `tile` on, which keep the entire block.
  void visitTile(const Index &tile, int64_t count, const Index &block) {
    llvm::SaveAndRestore<Index> saved(context.rowsAhead, rowsAhead(tile));
    auto enter = [&](const Index &row) {
      StripPlace place = placeOf(tile + row, block);
      place.masked = false;
      place.keyBegin = 0;
      place.keyEnd = context.cpu.keyBlock;
      values.begin(place);
      return state.enter(stateOf(tile + row));
    };
    strips.emitRows(count, enter, [&](const Index &row) { state.leave(stateOf(tile + row)); });
  }

  /// Returns true (an i1) if the row keeps the entire block.
  Value keepsAll(const StripPlace &place) {
    Value full = isFull(place);
    if (!data.hasStates())
      return full;
    Value all = e.create<arith::ConstantOp>(e.getI32IntegerAttr(2));
    Value states = e.compare(arith::CmpIPredicate::eq, data.statesOf(place).least, all);
    return e.create<arith::AndIOp>(full, states);
  }

  void visit(StripPlace place, const Index &at) {
    visitStrip(place, [&](const StripPlace &strip) {
      auto body = [&] {
        values.begin(strip);
        RowPanels panels = state.enter(at);
        strips.emit(panels, ColumnFolds());
        state.leave(at);
      };
      auto carryAt = [&](int64_t row) {
        return state.carryAt(at, context.stream.getStopCarry().value_or(0)) + Index(row);
      };
      unlessStopped(strip, carryAt, state.carryMemory(), body,
                    [&] { storeSkippedSnapshots(strip); });
    });
  }

  RowState state;
  Index first, end; // the rows of the item
};

/// Merges the splits of the rows of one head.
class SplitsMerge : Skeleton {
public:
  SplitsMerge(StageOp stage, const CpuSchedule &cpu, const StripSchedule &schedule,
              const RowInterface &interface, StageFunction &function)
      : Skeleton(stage, cpu, schedule, interface, function),
        state(context, values, interface,
              e.scratch(interface.stripFloats(cpu, context.headDim, context.valueDim))) {
    for (auto load : context.stream.getBody().getOps<LoadOp>())
      if (isRowPanel(spacesOf(load.getValue())))
        packed[load] = e.scratch(cpu.panelFloats(context.depthOf(spacesOf(load.getValue()))));
  }

  void emit() {
    const Index item = e.fromValue(context.function.getItem());
    start.b = item / context.queryHeads;
    start.hq = item % context.queryHeads;
    start.hkv = start.hq / (context.queryHeads / context.keyHeads);
    start.rowCount = 1;
    start.masked = true;
    const Index splits = e.fromValue(context.emitSize("ks"));
    const bool descending = context.stream.getOrder() == Order::Descending;
    e.loop(0, context.rows, 1, [&](Index row) {
      StripPlace place = start;
      place.row = row;
      values.begin(place);
      state.begin(0);
      e.loop(0, splits, 1, [&](Index number) {
        place.split = descending ? splits - Index(1) - number : number;
        visit(place);
      });
      values.begin(place);
      state.end(0);
    });
  }

private:
  void visit(const StripPlace &place) {
    values.begin(place);
    RowPanels panels = state.enter(0);
    for (Operation &op : context.stream.getBody().front().without_terminator()) {
      auto load = dyn_cast<LoadOp>(op);
      if (load && packed.count(load))
        values.pack(load, {packed.lookup(load), 0});
      else
        values.evaluate(&op);
    }
    for (auto &[value, panel] : panels)
      values.materialize(value, panel);
    state.leave(0);
  }

  RowState state;
  llvm::MapVector<Operation *, Value> packed;
};

} // namespace

void mlir::tile::cpu::lowerFewRows(StageOp stage, const CpuSchedule &cpu,
                                   const StripSchedule &schedule) {
  RowInterface interface(stage, cpu);
  StageFunction function(stage, "", collectBuffers(stage));
  FewRows(stage, cpu, schedule, interface, function).emit();
  std::string items =
      "b*hkv*ceildiv(ceildiv(hq,max(hkv,1))*r," + std::to_string(cpu.queryBlock) + ")";
  function.createLaunch(stage, stage.isOver("ks") ? items + "*ks" : items);
  stage.erase();
}

void mlir::tile::cpu::lowerMerge(StageOp stage, const CpuSchedule &cpu) {
  RowInterface interface(stage, cpu);
  StageFunction function(stage, "", collectBuffers(stage));
  SplitsMerge(stage, cpu, StripSchedule(), interface, function).emit();
  function.createLaunch(stage, "b*hq");
  stage.erase();
}
