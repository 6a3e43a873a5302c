//===- DistanceSums.cpp - sums of vectors per distance, across CTAs -------===//
#include "passes/ToGPU/DistanceSums.h"

#include "passes/ToGPU/Windows.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

using ::pe::math::FragmentKind;

//===- Across steps and CTAs ----------------------------------------------------------===//

DistanceSums::DistanceSums(StageOp stage, const GpuSchedule &schedule) : units(stage, schedule) {
  llvm::SetVector<Value> tables;
  stage.getStream().getBody().walk([&](WindowOuterOp op) { tables.insert(op.getTable()); });
  auto plan = stage->getParentOfType<PlanOp>();
  Type i32 = IntegerType::get(stage.getContext(), 32);
  for (Value table : tables) {
    Value tickets = addTemporary(stage, "_turns" + Twine(buffers.size()), units.ticketExtents(),
                                 i32, /*zero=*/true);
    buffers.push_back(tickets);
    const int64_t depth = sizeOfDepth(cast<BufferType>(table.getType()).getExtents().back(),
                                      plan.getHeadDim(), plan.getValueDim());
    targets.push_back({table, tickets, depth});
  }
}

/// Returns the n-th block of distances to be completed, n = 0 ... perOwner(). A stream that
/// advances over rows completes the lowest distances first; a stream over columns completes the
/// highest first.
static int64_t blockOf(const FragmentKernel &k, const DiagonalUnits &units, int64_t n) {
  return k.rowsOwn == units.isDescending() ? n : units.perOwner() - n;
}

int64_t DistanceSums::registersOf(const FragmentKernel &k, const Target &target) const {
  return k.layout.registersOf(FragmentKind::InnerPanel, target.depth);
}

Registers DistanceSums::startValues(FragmentKernel &k) const {
  Registers values;
  for (const Target &target : targets)
    values.append(units.perOwner() * registersOf(k, target), k.b.number(0.0));
  return values;
}

void DistanceSums::beginStep(Step &step, ValueRange &carried) const {
  for (const Target &target : targets) {
    const int64_t count = registersOf(step.k, target), left = units.perOwner() * count;
    Registers sums(carried.begin(), carried.begin() + left);
    sums.append(count, step.k.b.number(0.0));
    carried = carried.drop_front(left);
    step.set(target.table, std::move(sums));
  }
}

void DistanceSums::add(Step &step, const Target &target, int64_t n, ArrayRef<Value> sums) const {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  const auto extents = k.fn.extents(target.table);
  const Num first = firstEntryOf(k, step.at.base) +
                    Num(blockOf(k, units, n) * k.schedule.innerBlock) +
                    k.layout.foldedTile(k.warp) * Num(16) + k.g;
  const Num head[] = {k.item.batch, step.queryHead(), 0, 0};
  const int64_t pitch = target.depth * 4;
  Value start = b.moved(k.fn.address(target.table, ArrayRef<Num>(head)),
                        b.createOrFold<arith::MulIOp>(b.wide(first), b.wide(Num(pitch))));
  for (int64_t i = 0, e = sums.size(); i < e; i += 2) {
    Element at = k.layout.elementAt(FragmentKind::InnerPanel, i, target.depth);
    const int64_t row = at.ownerTile * 16 + at.ownerHalf * 8;
    const Num entry = first + Num(row);
    const Num depth = k.layout.foldedDepthTile(k.warp, at, target.depth) * Num(8) + k.t * Num(2);
    Value exists = b.both(b.less(Num(-1), entry), b.less(entry, extents[2]));
    if (k.layout.foldParts() > 1)
      exists = b.both(exists, b.less(depth, Num(target.depth)));
    b.ifThen(exists, [&] {
      Value address = b.global(start, depth * Num(4) + Num(row * pitch));
      Registers values = b.loadVector(2, address);
      for (int64_t c = 0; c < 2; ++c)
        values[c] = b.add(values[c], sums[i + c]);
      b.storeVector(values, address);
    });
  }
}

Turn DistanceSums::turnOf(Step &step, const Target &target, int64_t n, ArrayRef<Value> sums) const {
  return units.turnAt(
      step, target.tickets, units.unitOf(step, n),
      [this, &step, &target, n, values = Registers(sums)] { add(step, target, n, values); });
}

void DistanceSums::endStep(Step &step, SmallVector<Value> &yielded) const {
  KernelBuilder &b = step.k.b;
  for (const Target &target : targets) {
    const Registers &sums = step.registers(target.table);
    const int64_t count = registersOf(step.k, target);
    step.addTurn(turnOf(step, target, 0, ArrayRef<Value>(sums).take_front(count)));
    Registers left(llvm::drop_begin(sums, count));
    llvm::append_range(yielded, b.ifElse(
                                    step.isLast(), SmallVector<Type>(left.size(), b.f32()),
                                    [&] {
                                      for (int64_t n = 1; n <= units.perOwner(); ++n)
                                        takeTurns(step.k, turnOf(step, target, n,
                                                                 ArrayRef<Value>(left).slice(
                                                                     (n - 1) * count, count)));
                                      return Registers(left.size(), b.number(0.0));
                                    },
                                    [&] { return left; }));
  }
}

//===- Within a step ------------------------------------------------------------------===//

namespace {

/// Emits sums by distance: the product of pairs, by distance and row, and the rows.
class WindowOuterEmitter : DistanceReader {
public:
  WindowOuterEmitter(Step &step, WindowOuterOp op)
      : DistanceReader(step, elementOf(op.getRows())), op(op),
        pairs(step.stagedPairs(op.getValue())), rows(step.panelOf(op.getRows())),
        depth(k.depthOf(spacesOf(op.getRows()))), tiles(k.layout.foldTiles()),
        across(k.layout.foldDepthTiles(depth)), firstTile(k.layout.foldedTile(k.warp)),
        depthTile(k.layout.foldedDepthTile(k.warp, Element(), depth)),
        blocks(k.schedule.ownerBlock() / k.schedule.innerBlock + 1),
        sums(step.registers(op.getTable())), isLowFirst(k.rowsOwn == k.order.innersDescend) {}

  void emit() {
    here.set(op.getTable(), emitWithin(here, op, sums, [&] {
               if (isMatrixType())
                 for (int64_t s = 0; s < block.rows / stepSize(); ++s)
                   byMatrices(s);
               else
                 exact();
               return sums;
             }));
  }

private:
  void byMatrices(int64_t step);
  void exact();
  /// Calls body(tile, at) per tile of 16 distances, counted from the warp's first, and its first
  /// register.
  void eachTile(llvm::function_ref<void(int64_t tile, int64_t at)> body) {
    for (int64_t n = 0; n < blocks; ++n)
      for (int64_t i = 0; i < tiles; ++i)
        body((isLowFirst ? n : blocks - 1 - n) * (k.schedule.innerBlock / 16) + i,
             (n * tiles + i) * across * 4);
  }

  WindowOuterOp op;
  const Panel pairs;
  const Panel &rows;
  const int64_t depth, tiles, across;
  const Num firstTile, depthTile;
  const int64_t blocks;
  Registers sums;
  const bool isLowFirst;
};

void WindowOuterEmitter::byMatrices(int64_t step) {
  const int64_t row = step * stepSize();
  SmallVector<SmallVector<Value>> right;
  for (int64_t pair = 0; pair < (across + 1) / 2; ++pair)
    right.push_back(k.layout.foldParts() > 1
                        ? loadBTransposed(rows, row, 0, 0, depthTile + Num(pair * 2))
                        : loadBTransposed(rows, row, 0, pair * 2, 0));
  eachTile([&](int64_t tile, int64_t at) {
    // For some tiles it is known at compile time whether the rows meet their distances. For the
    // others, the condition is the same in the entire warp.
    const Num behind = block.behind(Num(row / 16), firstTile + Num(tile));
    const int64_t least = tile - row / 16, most = least + k.schedule.innerBlock / 16 - tiles;
    if (most < 0 || least > block.mostBehind())
      return;
    auto product = [&] {
      SmallVector<Value> a = fragmentOf([&](int half, int64_t number) {
        const Num at = k.t * Num(2) + Num(row + number);
        return pairAt(pairs, at,
                      block.reflected(at, (firstTile + Num(tile)) * Num(16) + k.g + Num(half * 8)));
      });
      Registers own(ArrayRef<Value>(sums).slice(at, across * 4));
      for (int64_t i = 0; i < across; ++i)
        addProduct(own, i * 4, a, ArrayRef<Value>(right[i / 2]).slice(i % 2 * 2, 2));
      return own;
    };
    Registers own;
    if (least >= 0 && most <= block.mostBehind()) {
      own = product();
    } else {
      Value meets = b.compare(arith::CmpIPredicate::ule, behind, Num(block.mostBehind()));
      Registers before(ArrayRef<Value>(sums).slice(at, across * 4));
      own = b.ifElse(meets, SmallVector<Type>(before.size(), b.f32()), product,
                     [&] { return before; });
    }
    llvm::copy(own, sums.begin() + at);
  });
}

void WindowOuterEmitter::exact() {
  sums = b.loop(0, block.rows, 1, sums, [&](Num row, ValueRange carried) {
    Registers next(carried);
    SmallVector<SmallVector<Value>> right;
    for (int64_t i = 0; i < across; ++i)
      right.push_back(twoAt(rows, row, depthTile + Num(i)));
    eachTile([&](int64_t tile, int64_t at) {
      for (int64_t half = 0; half < 2; ++half) {
        const Num number = (firstTile + Num(tile)) * Num(16) + Num(half * 8) + k.g;
        Value left = pairAt(pairs, row, block.reflected(row, number), /*isFar=*/true);
        for (int64_t i = 0; i < across * 2; ++i) {
          Value &sum = next[at + i / 2 * 4 + half * 2 + i % 2];
          sum = b.fma(left, right[i / 2][i % 2], sum);
        }
      }
    });
    return next;
  });
}

} // namespace

void mlir::tile::gpu::emitWindowOuter(Step &step, WindowOuterOp op) {
  WindowOuterEmitter(step, op).emit();
}
