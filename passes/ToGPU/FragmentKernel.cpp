//===- FragmentKernel.cpp - geometry and work item of a fragment kernel ---===//
#include "passes/ToGPU/FragmentKernel.h"

#include "dialect/Tile/Owner.h"
#include "passes/Schedule/Layouts.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

/// The bytes that the CTAs of heads that alternate may stream, about the L2 cache of a large chip.
/// A smaller cache suffices, because CTAs of a head that run at the same time share the blocks
/// between them.
static constexpr int64_t kStreamedBytes = 32 << 20;

BlockOrder mlir::tile::gpu::blockOrderOf(StageOp stage) {
  // The last rows and the first columns keep the most pairs, unless only the lower end of a band
  // cuts pairs.
  const MaskBand band = stage.getBand();
  const bool isReversed = band.lower && !band.upper;
  const bool ownersDescend = (getOwner(stage) == Owner::Rows) != isReversed;
  const Order order = stage.getStream().getOrder();
  return {ownersDescend, order == Order::Any ? !ownersDescend : order == Order::Descending};
}

static bool hasScan(StageOp stage) {
  return stage.walk([](ScanOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

FragmentKernel::FragmentKernel(StageOp stage, const GpuSchedule &schedule, KernelFunction &function,
                               PairSums &sums, Value itemCounter)
    : stage(stage), stream(stage.getStream()), schedule(schedule), fn(function), b(function.b),
      rowsOwn(getOwner(stage) == Owner::Rows), order(blockOrderOf(stage)),
      isPermuted(hasScan(stage)),
      layout{schedule.ownerTiles, schedule.innerBlock, schedule.warps, isPermuted}, sums(sums),
      shared(function), thread(b.threadIndex()), lane(thread % Num(32)), warp(thread / Num(32)),
      g(lane / Num(4)), t(lane % Num(4)), rows(fn.size("r")), columns(fn.size("c")),
      mask(stage, schedule, fn), item(decode(takeItem(itemCounter))), reach(findReach()) {}

Interval<Num> FragmentKernel::findReach() const {
  Value buffer = getStage().getReach();
  if (!buffer)
    return {0, columns};
  auto read = [&](int64_t end) {
    const Num indices[] = {item.batch, Num(end)};
    return b.fromValue(b.load(b.i32(), fn.address(buffer, ArrayRef<Num>(indices))));
  };
  return {columns - read(0), read(1)};
}

CallPairs::CallPairs(StageOp stage, const GpuSchedule &schedule, KernelFunction &fn)
    : rowStart(fn.size("q_start")), columnStart(fn.size("k_start")) {
  KernelBuilder &b = fn.b;
  // The distance of row 0 from column 0 plus an end of the mask, computed in 64 bits and clamped to
  // the range of any call (rows and columns are far below 2^30), so that later sums fit in 32 bits.
  constexpr int64_t kFar = int64_t(1) << 30;
  auto fromStarts = [&](int64_t end) {
    Type i64 = b.getI64Type();
    auto wide = [&](int64_t n) { return b.create<arith::ConstantOp>(b.getI64IntegerAttr(n)); };
    Value apart = b.create<arith::SubIOp>(b.create<arith::ExtSIOp>(i64, b.toValue(rowStart)),
                                          b.create<arith::ExtSIOp>(i64, b.toValue(columnStart)));
    Value sum = b.create<arith::AddIOp>(apart, wide(std::clamp(end, -4 * kFar, 4 * kFar)));
    sum = b.create<arith::MaxSIOp>(b.create<arith::MinSIOp>(sum, wide(kFar)), wide(-kFar));
    return b.fromValue(b.create<arith::TruncIOp>(b.i32(), sum));
  };
  const MaskBand band = stage.getBand();
  if (band.lower)
    lower = fromStarts(*band.lower);
  if (band.upper)
    upper = fromStarts(*band.upper);
  keepsSomething = band.keepsSomething();
  const bool rowsOwn = getOwner(stage) == Owner::Rows;
  const int64_t owners = schedule.ownerBlock(), inners = schedule.innerBlock;
  // Rows at negative positions attend to nothing.
  rows = {maxOf(Num(0), Num(0) - rowStart), fn.size("r"), rowsOwn ? owners : inners};
  columns = {0, fn.size("c"), rowsOwn ? inners : owners};
}

//===- The work item ---------------------------------------------------------------===//

/// Returns the item of this CTA. If it may wait for lower items, it takes the next one from a
/// counter: the CTA that took a lower one is then running or has finished, regardless of the order
/// in which CTAs start.
Num FragmentKernel::takeItem(Value itemCounter) {
  if (!itemCounter)
    return b.blockIndex();
  Value slot = shared.at(Num(shared.allocate(4)));
  b.ifThen(b.compare(arith::CmpIPredicate::eq, thread, 0),
           [&] { b.store(b.countUp(fn.pointer(itemCounter)), slot); });
  b.barrier();
  return b.fromValue(b.load(b.i32(), slot));
}

/// Returns the number of heads whose owner blocks alternate: as many key heads, with all their
/// query heads, as stream at most `kStreamedBytes`, and at least one.
Num FragmentKernel::headsTogether(const Num &group) const {
  int64_t bytes = 0; // of an inner row or column
  stage->walk([&](LoadOp load) {
    const SpaceSet &s = spacesOf(load.getValue());
    if (hasDepth(s) && isInnerSide(s))
      bytes += depthOf(s) * elementOf(load.getBuffer()).getIntOrFloatBitWidth() / 8;
  });
  const Num streamed = maxOf(Num(1), rowsOwn ? columns : rows * group);
  const Num keyHeads = maxOf(Num(1), Num(kStreamedBytes / std::max<int64_t>(bytes, 16)) / streamed);
  return rowsOwn ? keyHeads * group : keyHeads;
}

/// Returns the heads and the owner block of an item: the first block of each of a few heads, then
/// the second ones. Blocks with many pairs thus come before those with few, in all these heads. A
/// block only waits for blocks of the same head with lower ranks, or, if rows own, of another query
/// head of the key head with the same or a lower rank, all of which have lower items.
WorkItem FragmentKernel::decode(const Num &number) const {
  WorkItem decoded;
  decoded.ownerBlocks = ceilDiv(rowsOwn ? rows : columns, Num(schedule.ownerBlock()));
  decoded.group = fn.size("hq") / fn.size("hkv");
  const Num heads = fn.size(rowsOwn ? "hq" : "hkv"), all = fn.size("b") * heads;
  const Num together = minOf(headsTogether(decoded.group), all);
  const Num items = together * decoded.ownerBlocks;
  const Num first = number / items * together, count = minOf(together, all - first);
  const Num within = number % items, head = first + within % count;
  decoded.rank = within / count;
  decoded.ownerBlock =
      order.ownersDescend ? decoded.ownerBlocks - Num(1) - decoded.rank : decoded.rank;
  decoded.ownerBase = decoded.ownerBlock * Num(schedule.ownerBlock());
  decoded.batch = head / heads;
  if (rowsOwn) {
    decoded.queryHead = head % heads;
    decoded.keyHead = *decoded.queryHead / decoded.group;
  } else {
    decoded.keyHead = head % heads;
  }
  return decoded;
}

void FragmentKernel::divideAmongThreads(int64_t count,
                                        llvm::function_ref<void(const Num &)> body) const {
  for (int64_t first = 0; first < count; first += schedule.threads()) {
    const Num index = thread + Num(first);
    if (first + schedule.threads() <= count)
      body(index);
    else
      b.ifThen(b.less(index, Num(count)), [&] { body(index); });
  }
}

//===- Geometry ------------------------------------------------------------------===//

::pe::math::FragmentKind FragmentKernel::kindOf(const SpaceSet &s) const {
  return tile::kindOf(s, rowsOwn ? Owner::Rows : Owner::Columns);
}
