//===- Folds.cpp - sums over the owner side, across CTAs ------------------===//
#include "passes/ToGPU/Folds.h"

#include "dialect/Tile/Owner.h"

#include "passes/Schedule/Layouts.h"
#include "passes/ToGPU/Emitters.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

std::optional<SpaceSet> mlir::tile::gpu::lineOf(AccumulateOp sum) {
  auto map = sum->getParentOfType<MapOp>();
  auto extents = cast<BufferType>(sum.getBuffer().getType()).getExtents();
  if (!map || !isPair(map.getIterationSpaces()) || extents.size() != 3 ||
      extents[0].getValue() != "b" || extents[1].getValue() != "hq")
    return std::nullopt;
  for (StringRef line : {"r", "c"})
    if (extents[2].getValue() == line && map.isIndexOf(sum.getIndices()[2], line))
      return SpaceSet{line};
  return std::nullopt;
}

/// Returns true if the stream adds to elements of the inner side other than by its folds.
static bool hasInnerLineSums(StageOp stage) {
  const SpaceSet inner = {getOwner(stage) == Owner::Rows ? "c" : "r"};
  return stage.getStream()
      .getBody()
      .walk([&](Operation *op) {
        auto sum = dyn_cast<AccumulateOp>(op);
        auto segments = dyn_cast<SegmentsGradOp>(op);
        const bool isInner =
            (sum && lineOf(sum) == inner) || (segments && segments.getVGrad() && isRow(inner));
        return isInner ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns the number of inner blocks of a head, as a size expression.
static std::string innerBlocks(StageOp stage, const GpuSchedule &schedule) {
  return std::string("ceildiv(") + (getOwner(stage) == Owner::Rows ? "c," : "r,") +
         std::to_string(schedule.innerBlock) + ")";
}

/// Returns the registers per lane of a sum over the owners.
static int64_t registersOf(StageOp stage, const SpaceSet &spaces, const GpuSchedule &schedule) {
  auto plan = stage->getParentOfType<PlanOp>();
  const ::pe::math::FragmentLayout layout{schedule.ownerTiles, schedule.innerBlock, schedule.warps};
  return layout.registersOf(kindOf(spaces, getOwner(stage)),
                            sizeOfDepth(depthOf(spaces), plan.getHeadDim(), plan.getValueDim()));
}

OuterFolds::OuterFolds(StageOp stage, const GpuSchedule &schedule)
    : stage(stage), stream(stage.getStream()) {
  const bool rows = getOwner(stage) == Owner::Rows;
  Type f32 = Float32Type::get(stage.getContext());
  auto make = [&](const Twine &name, ArrayRef<std::string> extents, Type element, bool zero) {
    return buffers.emplace_back(addTemporary(stage, name, extents, element, zero));
  };
  llvm::SetVector<Operation *> dependent;
  for (auto [index, result] : llvm::enumerate(stream.getResults())) {
    const SpaceSet &s = spacesOf(result);
    const bool isOwner = rows ? hasRows(s) : hasColumns(s);
    if (index < stream.getCarries().size() || isOwner)
      continue;
    SmallVector<std::string> extents = {"b", hasRows(s) ? "hq" : "hkv"};
    if (hasDepth(s))
      extents.append({innerBlocks(stage, schedule),
                      std::to_string(registersOf(stage, s, schedule) * schedule.threads())});
    else
      extents.push_back(hasRows(s) ? "r" : "c");
    outer[index] = make("_sum" + Twine(index), extents, f32, /*zero=*/false);
    for (Operation *user : result.getUsers())
      dependent.insert(user);
  }
  for (size_t i = 0; i < dependent.size(); ++i)
    for (Operation *user : dependent[i]->getUsers())
      dependent.insert(user);
  bool isAfter = false;
  for (Operation &op : stage.getBody().front()) {
    if (isAfter)
      (dependent.contains(&op) ? foldOps : ownerOps).push_back(&op);
    isAfter |= isa<StreamOp>(op);
  }
  if (outer.empty() && !hasInnerLineSums(stage))
    return;
  tickets = make("_tickets", {"b", rows ? "hkv" : "hq", innerBlocks(stage, schedule)},
                 IntegerType::get(stage.getContext(), 32), true);
  SmallVector<Value> results;
  for (Operation *op : foldOps)
    if (auto store = dyn_cast<StoreOp>(op))
      results.push_back(store.getBuffer());
  if (!results.empty())
    clearUnvisitedBlocks(stage, schedule, results);
}

namespace {

/// The elements that a lane holds and adds to a sum across CTAs at once: four registers of a panel,
/// or one of a vector.
struct Access {
  int64_t first, count;  // registers
  Value address, exists; // exists: true (an i1) if there are such elements and this lane adds them
};

} // namespace

/// Returns the elements of an inner block in `buffer`. A sum of panels is stored in the order of
/// fragments, [block][warp][register / 4][lane][4], so that every access of a warp is contiguous.
static SmallVector<Access> accessesOf(Step &step, Value buffer, const SpaceSet &spaces) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  const int64_t registers = k.registersOf(spaces);
  SmallVector<Access> accesses;
  Place place = step.place();
  if (hasDepth(spaces)) {
    const Num block[] = {place.b, hasRows(spaces) ? place.hq : place.hkv, step.at.block, Num(0)};
    Value base = b.global(k.fn.address(buffer, ArrayRef<Num>(block)),
                          (k.warp * Num(registers / 4 * 32) + k.lane) * Num(16));
    for (int64_t i = 0; i < registers; i += 4)
      accesses.push_back({i, 4, b.global(base, Num(i / 4 * 512)), Value()});
    return accesses;
  }
  for (int64_t i = 0; i < registers; ++i) {
    Num inner = step.innerAt(k.elementAt(spaces, i));
    (hasRows(spaces) ? place.r : place.c) = inner;
    Value exists = b.both(b.less(inner, k.limitOf(spaces)), b.less(k.thread, Num(4)));
    accesses.push_back({i, 1, k.fn.address(buffer, place), exists});
  }
  return accesses;
}

void mlir::tile::gpu::addToLine(Step &step, Value buffer, const SpaceSet &spaces, Registers sums) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  if (!k.isOwnerSide(spaces)) {
    step.addLine(stageLine(k, buffer, spaces, std::move(sums)));
    return;
  }
  reduceAcrossLanes(k, spaces, Reduction::Add, sums);
  for (auto [index, value] : llvm::enumerate(sums)) {
    Num owner = k.ownerAt(k.elementAt(spaces, index));
    Place place = step.place();
    (hasRows(spaces) ? place.r : place.c) = owner;
    Value adds =
        b.both(b.less(owner, k.limitOf(spaces)), b.compare(arith::CmpIPredicate::eq, k.t, 0));
    b.ifThen(adds, [&, v = value] {
      Value address = k.fn.address(buffer, place);
      b.store(b.add(b.load(b.f32(), address), v), address);
    });
  }
}

/// Returns the registers plus the sums of earlier CTAs, if there are some (`isLater`, an i1).
static Registers addTo(Step &step, Value buffer, const SpaceSet &spaces, const Registers &registers,
                       Value isLater) {
  KernelBuilder &b = step.k.b;
  Registers sums;
  for (const Access &access : accessesOf(step, buffer, spaces)) {
    const SmallVector<Type> types(access.count, b.f32());
    const Registers before = b.ifElse(
        access.exists ? b.both(access.exists, isLater) : isLater, types,
        [&] { return b.loadVector(access.count, access.address); },
        [&] { return Registers(access.count, b.number(0.0)); });
    for (auto [x, y] : llvm::zip(before, ArrayRef(registers).drop_front(access.first)))
      sums.push_back(b.add(x, y));
  }
  return sums;
}

static void write(Step &step, Value buffer, const SpaceSet &spaces, const Registers &registers) {
  KernelBuilder &b = step.k.b;
  for (const Access &access : accessesOf(step, buffer, spaces)) {
    auto store = [&] {
      b.storeVector(ArrayRef<Value>(registers).slice(access.first, access.count), access.address);
    };
    access.exists ? b.ifThen(access.exists, store) : store();
  }
}

void OuterFolds::emitStep(Step &step) {
  if (!tickets)
    return;
  FragmentKernel &k = step.k;
  Visit<Num> visit = k.visitOf(k.item.ownerBlock, step.at.block);
  if (k.rowsOwn) { // for each row block, the query heads of the key head
    visit.number = visit.number * k.item.group + step.queryHead() % k.item.group;
    visit.total = visit.total * k.item.group;
  }
  const Num indices[] = {k.item.batch, k.rowsOwn ? k.item.keyHead : step.queryHead(),
                         step.at.block};
  step.addTurn({k.fn.address(tickets, ArrayRef<Num>(indices)), visit.number,
                [this, &step, visit] { addStep(step, visit); }});
}

void OuterFolds::addStep(Step &step, const Visit<Num> &visit) {
  KernelBuilder &b = step.k.b;
  Value isLater = b.compare(arith::CmpIPredicate::ne, visit.number, 0);
  Value isLast = b.compare(arith::CmpIPredicate::eq, visit.number + Num(1), visit.total);
  SmallVector<Registers> totals;
  for (auto [index, buffer] : outer) {
    Value yielded = stream.getYielded(index);
    const LocationScope location(b, yielded.getLoc());
    totals.push_back(addTo(step, buffer, spacesOf(yielded), step.registers(yielded), isLater));
  }
  for (const LineSum &line : step.takeLines())
    addLineSum(step, line);
  b.ifElse(
      isLast, TypeRange(),
      [&] {
        for (auto [sum, total] : llvm::zip(outer, totals))
          step.set(stream.getResult(sum.first), total);
        for (Operation *op : foldOps)
          emitOp(step, op);
        return Registers();
      },
      [&] {
        for (auto [sum, total] : llvm::zip(outer, totals))
          write(step, sum.second, spacesOf(stream.getResult(sum.first)), total);
        return Registers();
      });
}
