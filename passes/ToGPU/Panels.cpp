//===- Panels.cpp - loads and stores of fragments -------------------------===//
#include "passes/Schedule/StepPrograms.h"
#include "passes/ToGPU/Emitters.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

void mlir::tile::gpu::copyPanel(FragmentKernel &k, const Panel &panel, LoadOp load,
                                const Place &place, const Num &base) {
  KernelBuilder &b = k.b;
  const SpaceSet &spaces = spacesOf(load.getValue());
  const bool isInner = !k.isOwnerSide(spaces);
  const int64_t threads = k.schedule.threads(), chunks = panel.chunks();
  const int64_t present = panel.depth / panel.perChunk(), total = panel.rows * chunks;
  // Use 64 bits up to the block's first row and 32 inside: the host has checked the row pitch.
  Num pitch = k.fn.rowPitch(load.getBuffer()) * Num(panel.elementBytes);
  Value source = b.moved(k.fn.address(load.getBuffer(), place),
                         b.createOrFold<arith::MulIOp>(b.wide(base), b.wide(pitch)));
  for (int64_t first = 0; first < total; first += threads) {
    Num index = k.thread + Num(first);
    Num row = index / Num(chunks), chunk = index % Num(chunks);
    auto copy = [&] {
      Value exists = b.less(base + row, hasRows(spaces) ? k.rows : k.reach.end);
      // Columns that no row keeps may hold any value, even NaN, so they are replaced by zeros.
      if (hasColumns(spaces) && !k.reach.begin.isConstant(0))
        exists = b.both(exists, b.compare(arith::CmpIPredicate::sge, base + row, k.reach.begin));
      if (Value taken = k.getStage().getTakenColumns(); taken && hasColumns(spaces)) {
        const Num indices[] = {k.item.batch, minOf(base + row, k.columns - Num(1))};
        Value isTaken = b.load(b.i32(), k.fn.address(taken, ArrayRef<Num>(indices)));
        exists = b.both(exists, b.compare(arith::CmpIPredicate::ne, b.fromValue(isTaken), 0));
      }
      if (present < chunks)
        exists = b.both(exists, b.less(chunk, Num(present)));
      Num stored = isInner ? k.layout.standing(row) : row;
      Value to = k.shared.chunkAddress(panel, 0, stored, 0, chunk);
      Num bytes = row * pitch + chunk * Num(16);
      b.copyAsync(to, b.global(source, bytes), exists);
    };
    if (first + threads <= total)
      copy();
    else
      b.ifThen(b.less(index, Num(total)), copy);
  }
}

Num mlir::tile::gpu::placeInVector(FragmentKernel &k, const Num &index) {
  return k.isPermuted ? index + index / Num(2 * k.layout.innerTiles()) * Num(4) : index;
}

void mlir::tile::gpu::copyVector(FragmentKernel &k, LoadOp load, const Window &vector,
                                 const Place &place, const Num &base) {
  KernelBuilder &b = k.b;
  const SpaceSet &spaces = spacesOf(load.getValue());
  for (int64_t first = 0; first < k.schedule.innerBlock; first += k.schedule.threads()) {
    const Num index = k.thread + Num(first);
    auto copy = [&] {
      Place at = place;
      (hasRows(spaces) ? at.r : at.c) = base + index;
      const Num to = vector.copy * Num(vector.copyBytes) + placeInVector(k, index) * Num(4);
      b.copyAsync(k.shared.at(to + Num(vector.offset)), k.fn.address(load.getBuffer(), at),
                  b.less(base + index, k.limitOf(spaces)), 4);
    };
    if (first + k.schedule.threads() <= k.schedule.innerBlock)
      copy();
    else
      b.ifThen(b.less(index, Num(k.schedule.innerBlock)), copy);
  }
}

/// Reads the vector of a step's block from shared memory.
static Registers readVector(Step &step, LoadOp load, const Window &vector) {
  FragmentKernel &k = step.k;
  const SpaceSet &spaces = spacesOf(load.getValue());
  Registers result;
  for (int64_t i = 0, e = k.registersOf(spaces); i < e; i += 2) { // 2t and 2t + 1 of a tile
    const Num index = k.layout.innerAt(k.t, k.elementAt(spaces, i));
    const Num at = vector.copy * Num(vector.copyBytes) + placeInVector(k, index) * Num(4);
    llvm::append_range(result, k.b.loadVector(2, k.shared.at(at + Num(vector.offset)),
                                              elementOf(load.getValue())));
  }
  return result;
}

namespace {

/// The place of one element of a vector or panel in its buffer, and whether it exists.
struct Target {
  Place place;
  Value exists;
};

/// Returns the rows or columns of an element over `spaces`. Inner panels exist only as sums.
Target targetOf(Scope &scope, const SpaceSet &spaces, const Element &at) {
  FragmentKernel &k = scope.k;
  Target target{scope.place(), Value()};
  if (spaces.isEmpty())
    return target;
  Num index = k.isOwnerSide(spaces) ? k.ownerAt(at)
              : hasDepth(spaces)    ? scope.foldedInnerAt(at)
                                    : scope.innerAt(at);
  (hasRows(spaces) ? target.place.r : target.place.c) = index;
  target.exists = k.b.less(index, k.limitOf(spaces));
  return target;
}

} // namespace

void mlir::tile::gpu::emitLoad(Scope &scope, LoadOp load) {
  FragmentKernel &k = scope.k;
  KernelBuilder &b = k.b;
  auto type = cast<ValType>(load.getValue().getType());
  const SpaceSet &spaces = type.getSpaces();
  if (isCopiedVector(load)) {
    Step &step = scope.step();
    return scope.set(load.getValue(), readVector(step, load, step.windowOf(load.getValue())));
  }
  Registers result;
  for (int64_t i = 0, e = k.registersOf(spaces); i < e; ++i) {
    Target target = targetOf(scope, spaces, k.elementAt(spaces, i));
    Value address = k.fn.address(load.getBuffer(), target.place);
    auto read = [&] { return b.load(type.getElementType(), address); };
    if (!target.exists) {
      result.push_back(read());
      continue;
    }
    Value zero = b.create<arith::ConstantOp>(cast<TypedAttr>(b.getZeroAttr(type.getElementType())));
    result.push_back(b.ifElse(
        target.exists, type.getElementType(), [&] { return Registers{read()}; },
        [&] { return Registers{zero}; })[0]);
  }
  scope.set(load.getValue(), std::move(result));
}

/// Stores a panel, with one access for two consecutive depths of a lane.
static void storePanel(Scope &scope, StoreOp store, const SpaceSet &spaces) {
  FragmentKernel &k = scope.k;
  KernelBuilder &b = k.b;
  const Registers &values = scope.registers(store.getValue());
  Type element = cast<ValType>(store.getValue().getType()).getElementType();
  const int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  const bool folded = !k.isOwnerSide(spaces);
  for (int64_t i = 0, e = k.registersOf(spaces); i < e; i += 2) {
    Element at = k.elementAt(spaces, i);
    Target target = targetOf(scope, spaces, at);
    Num depth =
        (folded ? k.foldedDepthTile(at, spaces) : Num(at.depthTile)) * Num(8) + k.t * Num(2);
    if (folded && k.layout.foldParts() > 1)
      target.exists = b.both(target.exists, b.less(depth, Num(k.depthOf(spaces))));
    b.ifThen(target.exists, [&] {
      Value address = b.global(k.fn.address(store.getBuffer(), target.place), depth * Num(bytes));
      if (bytes == 2) {
        b.store(b.pack(values[i], values[i + 1]), address, 4);
        return;
      }
      auto pairType = VectorType::get({2}, element);
      Value pair = b.create<LLVM::PoisonOp>(pairType);
      pair = b.create<LLVM::InsertElementOp>(pairType, pair, values[i], b.integer(0));
      pair = b.create<LLVM::InsertElementOp>(pairType, pair, values[i + 1], b.integer(1));
      b.store(pair, address, 2 * bytes);
    });
  }
}

void mlir::tile::gpu::emitStore(Scope &scope, StoreOp store) {
  FragmentKernel &k = scope.k;
  KernelBuilder &b = k.b;
  const SpaceSet &spaces = spacesOf(store.getValue());
  if (hasDepth(spaces))
    return storePanel(scope, store, spaces);
  const Registers &values = scope.registers(store.getValue());
  // Several lanes hold the same element; one of them stores it.
  Value chosen = spaces.isEmpty()        ? b.compare(arith::CmpIPredicate::eq, k.thread, 0)
                 : k.isOwnerSide(spaces) ? b.compare(arith::CmpIPredicate::eq, k.t, 0)
                                         : b.less(k.thread, Num(4));
  for (int64_t i = 0, e = k.registersOf(spaces); i < e; ++i) {
    Target target = targetOf(scope, spaces, k.elementAt(spaces, i));
    Value writes = target.exists ? b.both(chosen, target.exists) : chosen;
    b.ifThen(writes, [&] { b.store(values[i], k.fn.address(store.getBuffer(), target.place)); });
  }
}
