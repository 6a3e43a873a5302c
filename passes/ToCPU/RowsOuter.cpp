//===- RowsOuter.cpp - the skeleton in which rows own the loop ------------===//
#include "passes/ToCPU/Skeletons.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {

class RowsOuter : Skeleton {
public:
  RowsOuter(StageOp stage, const CpuSchedule &cpu, const StripSchedule &schedule,
            const RowInterface &interface, StageFunction &function)
      : Skeleton(stage, cpu, schedule, interface, function),
        state(context, values, interface,
              e.scratch(interface.stripFloats(cpu, context.headDim, context.valueDim) *
                        (cpu.queryBlock / cpu.stripRows()))) {}

  void emit() {
    const int64_t blockRows = context.cpu.queryBlock;
    // The last blocks have the most work under a causal mask, so they come first.
    Index blocks = ceilDiv(context.rows, blockRows), item = e.fromValue(context.function.getItem());
    first = (blocks - Index(1) - item % blocks) * Index(blockRows);
    Index head = item / blocks;
    start.b = head / context.queryHeads;
    start.hq = head % context.queryHeads;
    start.hkv = start.hq / (context.queryHeads / context.keyHeads);
    end = minOf(first + Index(blockRows), context.rows);

    eachStrip([&](const StripPlace &place, const Index &at) {
      values.begin(place);
      state.begin(at);
    });
    eachBlock(columnsOfItem(), [&](Index block) {
      eachStrip([&](StripPlace place, const Index &at) {
        place.block = block;
        visit(place, at);
      });
    });
    eachStrip([&](const StripPlace &place, const Index &at) {
      values.begin(place);
      state.end(at);
    });
  }

private:
  /// Returns the columns that any row of the item keeps, by the band and by the bounds of the rows.
  Interval<Index> columnsOfItem() {
    Interval<Index> columns = context.mask.columnsOfAny(first, end - Index(1));
    if (!data.hasBounds())
      return columns;
    Interval<Index> kept = {context.columns, 0};
    for (int64_t row = 0; row < context.cpu.queryBlock; row += context.cpu.stripRows()) {
      StripPlace place = start;
      place.row = first + Index(row);
      place.rowCount = rowsOfStrip(place.row); // not positive after the last row
      Interval<Index> bounds = data.columnsOf(place);
      kept = {minOf(kept.begin, bounds.begin), maxOf(kept.end, bounds.end)};
    }
    return {maxOf(columns.begin, kept.begin), minOf(columns.end, kept.end)};
  }
  void eachStrip(llvm::function_ref<void(const StripPlace &, const Index &)> body) {
    int64_t rows = context.cpu.stripRows();
    e.loop(first, end, rows, [&](Index row) {
      StripPlace place = start;
      place.row = row;
      place.rowCount = rowsOfStrip(row);
      place.masked = true;
      body(place, (row - first) / Index(rows) * Index(state.stripFloats()));
    });
  }

  void visit(StripPlace place, const Index &at) {
    auto run = [&](const StripPlace &strip) {
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
    };
    visitStrip(place, run);
  }

  RowState state;
  Index first, end;
};

} // namespace

void mlir::tile::cpu::lowerRowsOuter(StageOp stage, const CpuSchedule &cpu,
                                     const StripSchedule &schedule) {
  RowInterface interface(stage, cpu);
  StageFunction function(stage, "", collectBuffers(stage));
  RowsOuter(stage, cpu, schedule, interface, function).emit();
  function.createLaunch(stage, "b*hq*ceildiv(r," + std::to_string(cpu.queryBlock) + ")");
  stage.erase();
}
