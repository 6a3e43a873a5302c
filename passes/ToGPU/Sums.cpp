//===- Sums.cpp - sums over pairs, other than a stream's folds ------------===//
#include "passes/ToGPU/Sums.h"

#include "dialect/Tile/Owner.h"

#include "passes/ToGPU/Emitters.h"
#include "passes/ToGPU/Folds.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

//===- Targets ------------------------------------------------------------------===//

PairSums::PairSums(StageOp stage, const GpuSchedule &schedule)
    : schedule(schedule), rows(getOwner(stage) == Owner::Rows) {
  llvm::SetVector<Value> headTargets, diagonalTargets;
  stage.getStream().getBody().walk([&](Operation *op) {
    if (auto sum = dyn_cast<AccumulateOp>(op); sum && slotsOf(sum.getBuffer()))
      headTargets.insert(sum.getBuffer());
    if (auto grad = dyn_cast<WindowGradOp>(op))
      diagonalTargets.insert(grad.getTable());
    if (auto grad = dyn_cast<SegmentsGradOp>(op)) {
      headTargets.insert(grad.getMoments());
      if (grad.getUGrad())
        diagonalTargets.insert(grad.getUGrad());
    }
  });
  for (Value slots : headTargets)
    heads.push_back({slots, elementsOfHead(slots)});
  Type i32 = IntegerType::get(stage.getContext(), 32);
  for (Value slots : diagonalTargets) {
    const StringRef count = cast<BufferType>(slots.getType()).getExtents()[2].getValue();
    tickets.push_back(addTemporary(stage, "_order" + Twine(tickets.size()),
                                   {"b", "hq", count.str()}, i32, /*zero=*/true));
    diagonals.push_back({slots, tickets.back(), DiagonalUnits(stage, schedule)});
  }
}

namespace {

/// Calls `body` for every element of [0, count), divided among the threads.
void eachElement(FragmentKernel &k, int64_t count, llvm::function_ref<void(Num)> body) {
  k.b.loop(k.thread, count, k.schedule.threads(), body);
}

Value sharedFloat(FragmentKernel &k, int64_t offset, const Num &index) {
  return k.shared.at(index * Num(4) + Num(offset));
}

} // namespace

//===- Per head ---------------------------------------------------------------------===//

void PairSums::declare(FragmentKernel &k) {
  for (HeadSum &sum : heads)
    sum.offset = k.shared.allocate(schedule.warps * sum.count * 4);
  for (Diagonal &diagonal : diagonals) {
    // A division in every step would delay the warps that add.
    diagonal.slotCount = k.fn.extents(diagonal.slots)[2];
    diagonal.slot = k.b.fromValue(k.b.toValue(k.item.ownerBlock % diagonal.slotCount));
    diagonal.carry = k.shared.allocate(2 * schedule.ownerBlock() * 4);
    if (k.isPermuted)
      continue;
    const int64_t count = schedule.warps * table().rows() * 8;
    diagonal.skewed = k.shared.allocate(count * 4);
    eachElement(k, count,
                [&](Num i) { k.b.store(k.b.number(0.0), sharedFloat(k, diagonal.skewed, i)); });
  }
}

void PairSums::beginStep(Step &step) {
  if (isEmpty())
    return;
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  b.ifThen(step.isFirst(), [&] {
    // Each warp has its own sums. Carries are read after the barrier that follows staged pairs.
    for (HeadSum &sum : heads)
      b.loop(k.lane, sum.count, 32, [&](Num i) {
        b.store(b.number(0.0), sharedFloat(k, sum.offset, k.warp * Num(sum.count) + i));
      });
    if (!heads.empty())
      b.syncWarp();
    for (Diagonal &diagonal : diagonals)
      eachElement(k, 2 * schedule.ownerBlock(),
                  [&](Num i) { b.store(b.number(0.0), sharedFloat(k, diagonal.carry, i)); });
    // The barrier that follows staged pairs also follows this wait.
    for (const Diagonal &diagonal : diagonals)
      b.ifThen(isLater(k, diagonal), [&] { waitForTurns(k, slotTurnOf(step, diagonal)); });
  });
}

/// Returns true (an i1) if CTAs of earlier items may have the same slot.
Value PairSums::isLater(FragmentKernel &k, const Diagonal &diagonal) const {
  return k.b.less(diagonal.slotCount - Num(1), k.item.rank);
}

/// Returns the CTA's turn at its slot. Those before it are of the CTAs with the same slot that have
/// a step. The lanes of a warp test 32 of them at a time.
Turn PairSums::slotTurnOf(Step &step, const Diagonal &diagonal) const {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  const Num &slots = diagonal.slotCount;
  Value count =
      b.loop((k.lane + Num(1)) * slots, k.item.rank + Num(1), slots * Num(32), b.integer(0),
             [&](Num before, ValueRange args) -> Registers {
               Interval<Num> visited = k.innerBlocksOf(k.ownerBlockAt(k.item.rank - before));
               Value adds = b.less(visited.begin, visited.end);
               return {b.create<arith::AddIOp>(args[0], b.create<arith::ExtUIOp>(b.i32(), adds))};
             })[0];
  const Num indices[] = {k.item.batch, step.queryHead(), diagonal.slot};
  return {k.fn.address(diagonal.tickets, ArrayRef<Num>(indices)), b.fromValue(b.warpSum(count))};
}

void PairSums::addToHead(FragmentKernel &k, Value target, const Num &first, Registers values) {
  KernelBuilder &b = k.b;
  const auto *sum = llvm::find_if(heads, [&](HeadSum &s) { return s.slots == target; });
  const int64_t count = values.size();
  const Num mine = first + sumBetweenLanes(k, {16, 8, 4, 2, 1}, values);
  // Lanes with different sums are this far apart.
  const int64_t apart = 32 * static_cast<int64_t>(values.size()) / count;
  b.ifThen(b.compare(arith::CmpIPredicate::eq, k.lane % Num(apart), 0), [&] {
    for (auto [index, value] : llvm::enumerate(values)) {
      Value address = sharedFloat(k, sum->offset, k.warp * Num(sum->count) + mine + Num(index));
      b.store(b.add(b.load(b.f32(), address), value), address);
    }
  });
}

void PairSums::endStep(Step &step) {
  if (isEmpty())
    return;
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  b.ifThen(step.isLast(), [&] {
    b.barrier();
    for (HeadSum &sum : heads) {
      Place place = step.place();
      const unsigned rank = cast<BufferType>(sum.slots.getType()).getRank();
      SmallVector<Num> first = {place.b, place.hq, k.item.ownerBlock};
      first.append(rank - 3, Num(0));
      Value slot = k.fn.address(sum.slots, ArrayRef<Num>(first));
      eachElement(k, sum.count, [&](Num i) {
        Value total = b.load(b.f32(), sharedFloat(k, sum.offset, i));
        for (int64_t w = 1; w < schedule.warps; ++w)
          total = b.add(total, b.load(b.f32(), sharedFloat(k, sum.offset, i + Num(w * sum.count))));
        b.store(total, b.global(slot, i * Num(4)));
      });
    }
    for (const Diagonal &diagonal : diagonals)
      b.ifThen(b.less(diagonal.slotCount, k.item.ownerBlocks),
               [&] { passTurnsOn(k, slotTurnOf(step, diagonal)); });
  });
}

//===- Per distance -------------------------------------------------------------------===//

/// The copies alternate from block to block, so that no barrier is needed between them.
Value PairSums::carryAt(Step &step, const Diagonal &diagonal, int64_t copy, const Num &index) {
  Num place = (step.at.block + Num(copy)) % Num(2);
  return sharedFloat(step.k, diagonal.carry, place * Num(schedule.ownerBlock()) + index);
}

Num PairSums::apartOf(const Diagonal &diagonal, const Num &n) const {
  return diagonal.units.isDescending() ? Num(schedule.innerBlock - 1) - n
                                       : n - Num(schedule.ownerBlock() - 1);
}

/// Adds the value of every thread below the inner block's size to the unit's diagonals, which no
/// other step of the CTA and the head adds to.
void PairSums::addToSlot(Step &step, const Diagonal &diagonal, const Num &unit, Value value) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  const int64_t block = schedule.innerBlock;
  // The distance of the inner from the owner side; the table counts rows minus columns.
  Num apart = apartOf(diagonal, k.thread) + unit * Num(block);
  Num entry = (rows ? Num(0) - apart : apart) + k.columns - Num(1);
  Value exists = b.both(b.less(k.thread, Num(block)),
                        b.both(b.less(Num(-1), entry), b.less(entry, k.rows + k.columns - Num(1))));
  const Num first[] = {k.item.batch, step.queryHead(), diagonal.slot, Num(0)};
  Value address = b.global(k.fn.address(diagonal.slots, ArrayRef<Num>(first)), entry * Num(4));
  b.ifThen(exists, [&] {
    Value before = b.ifElse(
        isLater(k, diagonal), b.f32(), [&] { return Registers{b.load(b.f32(), address)}; },
        [&] { return Registers{b.number(0.0)}; })[0];
    b.store(b.add(before, value), address);
  });
}

int64_t PairSums::lineSums(FragmentKernel &k) const {
  return k.isPermuted ? k.registersOf({"r", "c"}) : table().sums();
}

int64_t PairSums::sumOfPair(FragmentKernel &k, int64_t pair) const {
  return k.isPermuted ? pair : table().numberOf(k.elementAt({"r", "c"}, pair));
}

/// Stores the lane's sums in the warp's table. Entries that no lane stores remain zero.
void PairSums::writeSkewed(FragmentKernel &k, const Diagonal &diagonal, const Registers &sums) {
  using ::pe::math::SkewedTable;
  const Num lane[] = {table().placeOf(k.warp, k.g, k.t, 0), table().placeOf(k.warp, k.g, k.t, 1)};
  for (auto [number, sum] : llvm::enumerate(sums)) {
    const int tile = static_cast<int>(number / 2) - static_cast<int>(table().tilesBefore());
    const Num place = lane[number % 2] + Num(SkewedTable::distanceOf(tile));
    k.b.store(sum, sharedFloat(k, diagonal.skewed, place));
  }
}

/// Returns the sum over all warps of the diagonal with inner - owner = apart; another diagonal's if
/// there is none. All addresses are at constant distances, which takes few registers.
Value PairSums::sumOfSkewed(FragmentKernel &k, const Diagonal &diagonal, const Num &apart) {
  KernelBuilder &b = k.b;
  const auto table = this->table();
  const Num number = maxOf(Num(0), minOf(table.diagonalOf(apart), Num(table.diagonals() - 1)));
  Value total = b.number(0.0);
  for (int64_t j = 0; j < schedule.warps; ++j) {
    Value sum;
    for (int half = 0; half < 2; ++half) {
      const Num chunk = table.chunkOf(number, half) + Num(j * table.step() * 8);
      for (Value value : b.loadVector(4, sharedFloat(k, diagonal.skewed, chunk)))
        sum = sum ? b.add(sum, value) : value;
    }
    Value isMet = b.both(b.less(Num(table.before(j) - 1), number),
                         b.less(number, Num(table.before(j) + table.rows())));
    total = b.add(total, b.select(isMet, sum, b.number(0.0)));
  }
  return total;
}

/// Returns the same sum of pairs in shared memory.
Value PairSums::sumOfPanel(FragmentKernel &k, const Panel &pairs, const Num &apart) {
  KernelBuilder &b = k.b;
  Num begin = maxOf(Num(0), Num(0) - apart);
  Num end = minOf(Num(schedule.ownerBlock()), Num(schedule.innerBlock) - apart);
  return b.loop(begin, end, 1, b.number(0.0), [&](Num owner, ValueRange args) -> Registers {
    Num column = k.layout.standing(owner + apart);
    const Num perChunk(pairs.perChunk());
    Value chunk = k.shared.chunkAddress(pairs, 0, owner, 0, column / perChunk);
    Value value = b.load(b.f32(), b.shared(chunk, column % perChunk * Num(pairs.elementBytes)));
    return {b.add(args[0], value)};
  })[0];
}

void PairSums::addDiagonals(Step &step, Value target, const Registers &sums, Value value) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  auto *diagonal = llvm::find_if(diagonals, [&](Diagonal &d) { return d.slots == target; });
  Panel panel;
  if (k.isPermuted && value) {
    panel = step.stagedPairs(value);
    assert(panel.element.isF32() && "adjoints are not rounded");
  } else if (k.isPermuted) {
    panel = step.pairsOfAll(sums, b.f32());
  } else {
    writeSkewed(k, *diagonal, sums);
    b.barrier();
  }
  passOn(step, *diagonal, [&](const Num &apart) {
    return k.isPermuted ? sumOfPanel(k, panel, apart) : sumOfSkewed(k, *diagonal, apart);
  });
}

void PairSums::leaveOut(Step &step) {
  beginStep(step);
  if (!diagonals.empty())
    step.k.b.barrier(); // all threads have read the sums left by the previous step
  for (const Diagonal &diagonal : diagonals)
    passOn(step, diagonal, nullptr);
}

/// Returns the element of the sums left by a block, or 0 from `limit` on.
Value PairSums::carriedAt(Step &step, const Diagonal &diagonal, int64_t copy, const Num &index,
                          int64_t limit) {
  KernelBuilder &b = step.k.b;
  return b.ifElse(
      b.less(index, Num(limit)), b.f32(),
      [&] { return Registers{b.load(b.f32(), carryAt(step, diagonal, copy, index))}; },
      [&] { return Registers{b.number(0.0)}; })[0];
}

void PairSums::passOn(Step &step, const Diagonal &diagonal,
                      llvm::function_ref<Value(const Num &)> sumOfBlock) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  const int64_t owners = schedule.ownerBlock(), inners = schedule.innerBlock;
  // Diagonal n holds the pairs with inner - owner = apartOf(n). Thread t computes the diagonals
  // t, t + threads(), and so on.
  auto sumOf = [&](const Num &n) {
    Value carried = carriedAt(step, diagonal, 0, n, owners);
    return sumOfBlock ? b.add(carried, sumOfBlock(apartOf(diagonal, n))) : carried;
  };
  SmallVector<std::pair<Num, Value>> mine;
  for (int64_t first = 0; first < owners + inners - 1; first += schedule.threads()) {
    Num n = k.thread + Num(first);
    mine.emplace_back(n, sumOf(n));
  }
  step.addWork([this, &step, &diagonal, mine] { store(step, diagonal, mine); });
}

void PairSums::store(Step &step, const Diagonal &diagonal, ArrayRef<std::pair<Num, Value>> mine) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  const int64_t owners = schedule.ownerBlock(), inners = schedule.innerBlock;
  addToSlot(step, diagonal, diagonal.units.unitOf(step), mine.front().second);
  // The sums that later blocks complete; an index beyond the last is not a diagonal.
  for (const auto &[n, sum] : mine) {
    Value isLater = b.both(b.less(Num(inners - 1), n), b.less(n, owners + inners - 1));
    b.ifThen(isLater, [&, &n = n, &sum = sum] {
      b.store(sum, carryAt(step, diagonal, 1, n - Num(inners)));
    });
  }
  b.ifThen(step.isLast(), [&] {
    b.barrier();
    for (int64_t n = 0; n < diagonal.units.perOwner(); ++n)
      addToSlot(step, diagonal, diagonal.units.unitOf(step, n + 1),
                carriedAt(step, diagonal, 1, k.thread + Num(n * inners), (n + 1) * inners));
  });
}
