//===- DiagonalUnits.cpp - the order of sums along diagonals --------------===//
#include "passes/ToGPU/DiagonalUnits.h"

#include "dialect/Tile/Owner.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

DiagonalUnits::DiagonalUnits(StageOp stage, const GpuSchedule &schedule)
    : schedule(schedule), rows(getOwner(stage) == Owner::Rows),
      descends(blockOrderOf(stage).innersDescend) {}

SmallVector<std::string> DiagonalUnits::ticketExtents() const {
  const std::string owners =
      std::string("ceildiv(") + (rows ? "r," : "c,") + std::to_string(schedule.ownerBlock()) + ")";
  const std::string inners =
      std::string("ceildiv(") + (rows ? "c," : "r,") + std::to_string(schedule.innerBlock) + ")";
  return {"b", "hq", std::to_string(perOwner()) + "*" + owners + "+" + inners};
}

Num DiagonalUnits::unitOf(const Step &step, int64_t n) const {
  const Num unit = step.at.block - step.k.item.ownerBlock * Num(perOwner());
  return descends ? unit - Num(n) : unit + Num(n);
}

/// Returns the number of CTAs that add to `unit` before this one. With m inner
/// blocks per owner block, unit u holds the diagonals that inner block u + m * ownerBlock
/// completes; the m units after the last block hold those that it leaves. In descending order these
/// are before the first block, so that each unit is m lower. The lanes of a warp test 32 CTAs at a
/// time.
Num DiagonalUnits::orderOf(FragmentKernel &k, const Num &unit) const {
  KernelBuilder &b = k.b;
  Value count =
      b.loop(k.lane, k.item.rank, 32, b.integer(0), [&](Num rank, ValueRange args) -> Registers {
        const Num other = k.ownerBlockAt(rank);
        Interval<Num> units = diagonalUnitsOf(k.innerBlocksOf(other), perOwner());
        Num inner = unit + (descends ? other + Num(1) : other) * Num(perOwner());
        Value adds = b.both(b.less(units.begin - Num(1), inner), b.less(inner, units.end));
        return {b.create<arith::AddIOp>(args[0], b.create<arith::ExtUIOp>(b.i32(), adds))};
      })[0];
  return b.fromValue(b.warpSum(count));
}

Turn DiagonalUnits::turnAt(Step &step, Value tickets, const Num &unit,
                           std::function<void()> work) const {
  FragmentKernel &k = step.k;
  // The first unit is minus the inner blocks of all owner blocks except the last, or of all owner
  // blocks if descending.
  const Num owners = descends ? k.item.ownerBlocks : k.item.ownerBlocks - Num(1);
  const Num indices[] = {k.item.batch, step.queryHead(), unit + owners * Num(perOwner())};
  return {k.fn.address(tickets, ArrayRef<Num>(indices)), orderOf(k, unit), std::move(work)};
}
