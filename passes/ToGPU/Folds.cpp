//===- Folds.cpp - sums over the owner side, across CTAs ------------------===//
#include "passes/ToGPU/Folds.h"

#include "dialect/Tile/Owner.h"

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
    SmallVector<std::string> extents = {"b", hasRows(s) ? "hq" : "hkv", hasRows(s) ? "r" : "c"};
    if (hasDepth(s))
      extents.push_back(depthOf(s).str());
    outer[index] = make("_sum" + Twine(index), extents, f32, /*zero=*/false);
    order.push_back(index);
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
  std::string blocks =
      std::string("ceildiv(") + (rows ? "c," : "r,") + std::to_string(schedule.innerBlock) + ")";
  tickets = make("_tickets", {"b", rows ? "hkv" : "hq", blocks},
                 IntegerType::get(stage.getContext(), 32), true);
  SmallVector<Value> results;
  for (Operation *op : foldOps)
    if (auto store = dyn_cast<StoreOp>(op))
      results.push_back(store.getBuffer());
  if (!results.empty())
    clearUnvisitedBlocks(stage, schedule, results);
}

namespace {

/// Calls `body` for every two consecutive depths (or every element of a vector) of this lane, with
/// their address in `buffer` and whether they exist and this lane adds them.
void eachAccess(
    Step &step, Value buffer, const SpaceSet &spaces,
    llvm::function_ref<void(int64_t first, int64_t count, Value address, Value exists)> body) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  const int64_t count = hasDepth(spaces) ? 2 : 1;
  for (int64_t i = 0, e = k.registersOf(spaces); i < e; i += count) {
    Element at = k.elementAt(spaces, i);
    Num inner = hasDepth(spaces) ? step.foldedInnerAt(at) : step.innerAt(at);
    Place place = step.place();
    (hasRows(spaces) ? place.r : place.c) = inner;
    Value exists = b.less(inner, k.limitOf(spaces));
    if (!hasDepth(spaces)) {
      exists = b.both(exists, b.less(k.thread, Num(4)));
      body(i, count, k.fn.address(buffer, place), exists);
      continue;
    }
    Num depth = k.foldedDepthTile(at, spaces) * Num(8) + k.t * Num(2);
    if (k.layout.foldParts() > 1)
      exists = b.both(exists, b.less(depth, Num(k.depthOf(spaces))));
    body(i, count, b.global(k.fn.address(buffer, place), depth * Num(4)), exists);
  }
}

} // namespace

void mlir::tile::gpu::addToLine(Step &step, Value buffer, const SpaceSet &spaces, Registers sums) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  reduceAcrossLanes(k, spaces, Reduction::Add, sums);
  if (!k.isOwnerSide(spaces)) {
    step.addLine({buffer, spaces, std::move(sums)});
    return;
  }
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

/// Returns the registers plus the sums of earlier CTAs.
Registers OuterFolds::addTo(Step &step, Value buffer, const SpaceSet &spaces,
                            const Registers &registers, Value isFirst) {
  KernelBuilder &b = step.k.b;
  Registers sums = registers;
  Value isLater =
      b.create<arith::XOrIOp>(isFirst, b.create<arith::ConstantOp>(b.getBoolAttr(true)));
  eachAccess(step, buffer, spaces, [&](int64_t first, int64_t count, Value address, Value exists) {
    SmallVector<Type> types(count, b.f32());
    Registers before = b.ifElse(
        b.both(exists, isLater), types,
        [&] {
          Registers loaded;
          for (int64_t i = 0; i < count; ++i)
            loaded.push_back(b.load(b.f32(), b.global(address, Num(i * 4))));
          return loaded;
        },
        [&] { return Registers(count, b.number(0.0)); });
    for (int64_t i = 0; i < count; ++i)
      sums[first + i] = b.add(before[i], registers[first + i]);
  });
  return sums;
}

void OuterFolds::write(Step &step, Value buffer, const SpaceSet &spaces,
                       const Registers &registers) {
  KernelBuilder &b = step.k.b;
  eachAccess(step, buffer, spaces, [&](int64_t first, int64_t count, Value address, Value exists) {
    b.ifThen(exists, [&] {
      for (int64_t i = 0; i < count; ++i)
        b.store(registers[first + i], b.global(address, Num(i * 4)));
    });
  });
}

void OuterFolds::emitStep(Step &step) {
  if (!tickets)
    return;
  FragmentKernel &k = step.k;
  auto [number, total] = k.visitOf(k.item.ownerBlock, step.at.block);
  if (k.rowsOwn) { // query heads of the key head in order
    number = number + step.queryHead() % k.item.group * total;
    total = total * k.item.group;
  }
  const Num indices[] = {k.item.batch, k.rowsOwn ? k.item.keyHead : step.queryHead(),
                         step.at.block};
  step.addTurn({k.fn.address(tickets, ArrayRef<Num>(indices)), number,
                [=, this, &step] { addStep(step, number, total); }});
}

void OuterFolds::addStep(Step &step, const Num &number, const Num &total) {
  KernelBuilder &b = step.k.b;
  Value isFirst = b.compare(arith::CmpIPredicate::eq, number, 0);
  Value isLast = b.compare(arith::CmpIPredicate::eq, number + Num(1), total);
  SmallVector<Registers> sums;
  for (unsigned index : order) {
    const LocationScope location(b, stream.getYielded(index).getLoc());
    sums.push_back(addTo(step, outer[index], spacesOf(stream.getResult(index)),
                         step.registers(stream.getYielded(index)), isFirst));
  }
  Value never = b.create<arith::ConstantOp>(b.getBoolAttr(false));
  for (const LineSum &line : step.takeLines())
    write(step, line.buffer, line.spaces, addTo(step, line.buffer, line.spaces, line.sums, never));
  b.ifElse(
      isLast, TypeRange(),
      [&] {
        for (auto [index, sum] : llvm::zip(order, sums))
          step.set(stream.getResult(index), sum);
        for (Operation *op : foldOps)
          emitOp(step, op);
        return Registers();
      },
      [&] {
        for (auto [index, sum] : llvm::zip(order, sums))
          write(step, outer[index], spacesOf(stream.getResult(index)), sum);
        return Registers();
      });
}
