//===- UnvisitedBlocks.cpp - zeros where a stage stores nothing -----------===//
//
// Only the last CTA that visits an inner block stores results there (Folds.h). A block without kept
// pairs, such as one of queries before all keys, has no visitor. A warp per block tests that and
// clears the block, so a call in which all blocks have visitors writes nothing here. The grid
// covers all blocks: the number of work items may depend on shapes only, and the test reads
// positions.
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/StreamStage.h"

#include "dialect/Tile/Owner.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

void mlir::tile::gpu::clearUnvisitedBlocks(StageOp stage, const GpuSchedule &schedule,
                                           ArrayRef<Value> results) {
  constexpr int64_t kWarps = 4;
  const bool rowsAreInner = getOwner(stage) == Owner::Columns;
  const StringRef side = rowsAreInner ? "r" : "c", headName = rowsAreInner ? "hq" : "hkv";
  const int64_t block = schedule.innerBlock;
  KernelBuilder b(stage.getLoc(), stage.getContext());
  KernelFunction fn(stage, "_clear", results, kWarps * 32, b);
  const CallPairs pairs(stage, schedule, fn);
  const Num thread = b.threadIndex(), lane = thread % Num(32);
  const Num unit = b.blockIndex() * Num(kWarps) + thread / Num(32);
  const Num extent = fn.size(side), heads = fn.size(headName), blocks = ceilDiv(extent, Num(block));
  const Num number = unit % blocks, rest = unit / blocks;
  Place place;
  place.b = rest / heads;
  (rowsAreInner ? place.hq : place.hkv) = rest % heads;
  const Interval<Num> visitors =
      rowsAreInner ? pairs.columnBlocksOf(number) : pairs.rowBlocksOf(number);
  Value isUnvisited = b.compare(arith::CmpIPredicate::eq, visitors.begin, visitors.end);
  b.ifThen(b.both(b.less(place.b, fn.size("b")), isUnvisited), [&] {
    const Num first = number * Num(block);
    b.loop(first, minOf(first + Num(block), extent), 1, [&](Num index) {
      (rowsAreInner ? place.r : place.c) = index;
      for (Value result : results) {
        auto type = cast<BufferType>(result.getType());
        const Type element = type.getElementType();
        const StringRef last = type.getExtents().back().getValue();
        const Num depth = last == side ? Num(1) : fn.size(last);
        b.loop(lane, depth, 32, [&](Num at) {
          Value offset = b.wide(at * Num(element.getIntOrFloatBitWidth() / 8));
          Value zero = b.create<arith::ConstantOp>(cast<TypedAttr>(b.getZeroAttr(element)));
          b.store(zero, b.moved(fn.address(result, place), offset));
        });
      }
    });
  });
  const std::string perHead = "ceildiv(" + side.str() + "," + std::to_string(block) + ")";
  fn.finish(stage,
            "ceildiv(b*" + headName.str() + "*" + perHead + "," + std::to_string(kWarps) + ")",
            /*sharedBytes=*/0);
}

/// A reader of pairs visits whole blocks of their buffer, this stage possibly only a part of one.
/// Stores zeros in the rest of the first and the last block of each line.
void StreamStage::clearPairs(Value buffer) {
  const int64_t along = pairBlocksOf(buffer)->along;
  const Num inner(k.schedule.innerBlock), perBlock(along / k.schedule.innerBlock);
  const Num end = firstInner + innerCount;
  const Interval<Num> rests[] = {{firstInner / perBlock * Num(along), firstInner * inner},
                                 {end * inner, ceilDiv(end, perBlock) * Num(along)}};
  const Num pitch = k.fn.rowPitch(buffer) * Num(2);
  const Num lines = k.fn.extents(buffer)[2];
  auto clear = [&](const Num &queryHead) {
    Place place = around.place();
    place.hq = queryHead, (k.rowsOwn ? place.r : place.c) = k.item.ownerBase;
    Value block = k.fn.address(buffer, place);
    b.loop(k.warp, minOf(Num(k.schedule.ownerBlock()), lines - k.item.ownerBase), k.schedule.warps,
           [&](Num line) {
             Value first =
                 b.moved(block, b.createOrFold<arith::MulIOp>(b.wide(line), b.wide(pitch)));
             for (const auto &[begin, stop] : rests)
               b.loop(begin + k.lane * Num(8), stop, 32 * 8, [&](Num at) {
                 b.storeVector(Registers(4, b.integer(0)), b.global(first, at * Num(2)));
               });
           });
  };
  b.ifThen(b.less(0, innerCount), [&] {
    if (k.rowsOwn)
      return clear(*k.item.queryHead);
    b.loop(0, k.item.group, 1, [&](Num head) { clear(k.item.keyHead * k.item.group + head); });
  });
}
