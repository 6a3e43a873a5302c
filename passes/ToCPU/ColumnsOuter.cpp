//===- ColumnsOuter.cpp - the skeleton in which columns own the loop ------===//
#include "passes/ToCPU/PartSums.h"
#include "passes/ToCPU/Skeletons.h"
#include "passes/ToCPU/VectorMath.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {

class ColumnsOuter : Skeleton {
public:
  ColumnsOuter(StageOp stage, const CpuSchedule &cpu, const StripSchedule &schedule,
               const RowInterface &interface, StageFunction &function, Value rowBuffer,
               const PartSizes &sizes, const PartBuffers &buffers)
      : Skeleton(stage, cpu, schedule, interface, function),
        state(context, values, interface, context.memory(rowBuffer)), buffers(buffers),
        parts(context, sizes), results(context, values, interface, buffers) {}

  void emit() {
    // The first items have the last parts, which see the most keys under a causal mask.
    Index item = e.fromValue(context.function.getItem());
    head = item % parts.heads;
    start = parts.placeOf(head);
    firstPart = parts.slots - Index(1) - item / parts.heads;
    Index partsOfItem = parts.parts - parts.split * (parts.parts - Index(1));
    endPart = firstPart + partsOfItem;

    eachStrip([&](const StripPlace &place, const Index &at) {
      values.begin(place);
      state.begin(at);
    });
    eachBlock({0, context.columns}, [&](Index block) {
      e.loop(firstPart, endPart, 1, [&](Index part) { visitPart(part, block); });
      e.ifThen(e.less(parts.split, 1), [&] {
        results.emit(start, block,
                     [&](const PartBuffers::Columns &columns, const Index &key, const Index &d,
                         int64_t width) {
                       ColumnFold fold = parts.sumOf(columns, 0, head, block);
                       return loadWidened(e, fold.memory, fold.place(key, d), width);
                     });
      });
    });
    eachStrip([&](const StripPlace &place, const Index &at) {
      values.begin(place);
      state.end(at);
    });
  }

private:
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
  void eachHead(llvm::function_ref<void(Index)> body) {
    Index first = parts.firstQueryHead(start);
    e.loop(0, parts.queryHeadCount(), 1, [&](Index head) { body(first + head); });
  }
  void eachStrip(llvm::function_ref<void(const StripPlace &, const Index &)> body) {
    Index begin = parts.rowsOf(firstPart).begin, end = parts.rowsOf(endPart - Index(1)).end;
    eachHead([&](Index hq) {
      e.loop(begin, end, context.cpu.stripRows(), [&](Index row) {
        StripPlace place = placeAt(hq, row);
        body(place, stateAt(place));
      });
    });
  }

  /// Computes the block's sums over the rows of the part and adds them to those of previous parts.
  void visitPart(const Index &part, const Index &block) {
    Interval<Index> rows = parts.rowsSeeing(start, part, block);
    Value isFirst = e.compare(arith::CmpIPredicate::eq, e.toValue(part), e.toValue(firstPart));
    // The first part stores the zeros of blocks that no row of the item sees. If parts are separate
    // items, this is unnecessary: the next launch determines the blocks of each part.
    Value makesZeros = e.create<arith::AndIOp>(isFirst, e.less(parts.split, 1));
    Value isSeen = e.less(rows.begin, rows.end);
    e.ifThen(e.create<arith::OrIOp>(isSeen, makesZeros), [&] {
      SmallVector<std::pair<ColumnFold, ColumnFold>> sums; // of previous parts, and of this part
      ColumnFolds folds;
      for (const PartBuffers::Columns &columns : buffers.columns) {
        ColumnFold sum = parts.sumOf(columns, part * parts.split, head, block), fold = sum;
        fold.at = e.fromValue(
            e.select(isFirst, e.toValue(sum.at), e.toValue(parts.currentOf(columns, head).at)));
        parts.zero(fold);
        folds[columns.yielded] = fold;
        sums.emplace_back(sum, fold);
      }
      for (const PartBuffers::Copies &copy : buffers.added)
        context.useCopy(copy.buffer, copy.copies, part);
      eachHead([&](Index hq) { visitRows(hq, rows, block, folds); });
      e.ifThen(
          isFirst, [] {},
          [&] {
            for (const auto &[sum, fold] : sums)
              parts.add(sum, fold);
          });
    });
  }

  void visitRows(const Index &hq, const Interval<Index> &range, const Index &block,
                 const ColumnFolds &folds) {
    e.loop(range.begin, range.end, context.cpu.stripRows(), [&](Index row) {
      StripPlace place = placeAt(hq, row);
      place.block = block;
      visitStrip(place, [&](const StripPlace &strip) {
        auto carryAt = [&](int64_t lane) {
          return state.carryAt(stateAt(strip), context.stream.getStopCarry().value_or(0)) +
                 Index(lane);
        };
        unlessStopped(
            strip, carryAt, state.carryMemory(), [&] { emitStrip(strip, folds); },
            [&] { storeSkippedSnapshots(strip); });
      });
    });
  }

  void emitStrip(const StripPlace &place, const ColumnFolds &folds) {
    Index at = stateAt(place);
    values.begin(place);
    RowPanels panels = state.enter(at);
    strips.emit(panels, folds);
    state.leave(at);
    strips.emitColumnDots(place, folds);
  }

  RowState state;
  const PartBuffers &buffers;
  RowParts parts;
  ColumnResults results;
  Index head, firstPart, endPart;
};

} // namespace

void mlir::tile::cpu::lowerColumnsOuter(StageOp stage, const CpuSchedule &cpu,
                                        const StripSchedule &schedule) {
  RowInterface interface(stage, cpu);
  auto plan = stage->getParentOfType<PlanOp>();
  // One block of row state per strip.
  int64_t floats = interface.stripFloats(cpu, plan.getHeadDim(), plan.getValueDim());
  Value rowBuffer = createTemporary(
      stage, "rows",
      {"b", "hq", "ceildiv(r," + std::to_string(cpu.stripRows()) + ")", std::to_string(floats)},
      Float32Type::get(stage.getContext()), /*zero=*/false);
  PartSizes sizes(stage, cpu);
  PartBuffers parts(stage, cpu, sizes);
  SmallVector<Value> buffers = collectBuffers(stage), own = parts.all();
  buffers.push_back(rowBuffer);
  buffers.append(own);
  StageFunction function(stage, "", buffers);
  ColumnsOuter(stage, cpu, schedule, interface, function, rowBuffer, sizes, parts).emit();
  function.createLaunch(stage, sizes.heads + "*" + sizes.slots);
  emitPartSums(stage, cpu, interface, sizes, parts);
  stage.erase();
}
