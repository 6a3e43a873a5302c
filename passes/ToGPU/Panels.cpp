//===- Panels.cpp - loads and stores of fragments -------------------------===//
#include "passes/Schedule/StepPrograms.h"
#include "passes/ToGPU/Emitters.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

namespace {

/// Copies a panel: every thread copies chunks of 16 bytes. Pairs are a panel of the inner columns
/// by the rows of the CTA. If the threads are whole rows, a thread has the same chunk of each of
/// its rows, and one pointer moves from row to row, so that no offset occupies a register across
/// the loop. Offsets of a constant pitch are immediates. If columns own, the head changes in the
/// loop, and such pointers would take more registers than offsets.
class PanelCopy {
public:
  PanelCopy(FragmentKernel &k, const Panel &panel, LoadOp load, const Place &place, const Num &base)
      : k(k), b(k.b), panel(panel), spaces(spacesOf(load.getValue())), base(base),
        chunks(panel.chunks()), threads(k.schedule.threads()),
        pitch(k.fn.rowPitch(load.getBuffer()) * Num(panel.elementBytes)),
        hasPointer(k.rowsOwn && threads % chunks == 0 && !pitch.isConstant()),
        firstRow(k.thread / Num(chunks)), chunk(k.thread % Num(chunks)) {
    Place first = place;
    if (isPair(spaces))
      (k.rowsOwn ? first.r : first.c) = k.item.ownerBase;
    // Use 64 bits up to the block's first row and 32 inside: the host has checked the row pitch.
    source = b.moved(k.fn.address(load.getBuffer(), first),
                     b.createOrFold<arith::MulIOp>(b.wide(base), b.wide(pitch)));
    if (hasPointer)
      source = b.global(source, firstRow * pitch + chunk * Num(16));
    room = limit() - base - firstRow;
  }

  void run() {
    const int64_t total = panel.rows * chunks;
    for (int64_t first = 0; first < total; first += threads) {
      if (hasPointer && first > 0)
        source = b.moved(source, b.wide(pitch * Num(threads / chunks)));
      Num index = k.thread + Num(first);
      if (first + threads <= total)
        copy(first);
      else
        b.ifThen(b.less(index, Num(total)), [&] { copy(first); });
    }
  }

private:
  /// Returns the end of the rows of the panel that exist. A block of pairs is whole.
  Num limit() const {
    return isPair(spaces) ? base + Num(panel.rows) : hasRows(spaces) ? k.rows : k.reach.end;
  }

  /// Copies the chunk of this thread among those from `first` on.
  void copy(int64_t first) {
    if (hasPointer) {
      const int64_t rows = first / chunks;
      copy(firstRow + Num(rows), chunk, source, b.less(Num(rows), room));
      return;
    }
    Num index = k.thread + Num(first);
    Num row = index / Num(chunks), at = index % Num(chunks);
    copy(row, at, b.global(source, row * pitch + at * Num(16)), b.less(base + row, limit()));
  }
  void copy(const Num &row, const Num &at, Value from, Value exists) {
    // Columns that no row keeps may hold any value, even NaN, so they are replaced by zeros.
    const bool isOfCaller = hasColumns(spaces) && !isPair(spaces);
    if (isOfCaller && !k.reach.begin.isConstant(0))
      exists = b.both(exists, b.compare(arith::CmpIPredicate::sge, base + row, k.reach.begin));
    if (Value taken = k.getStage().getTakenColumns(); taken && isOfCaller) {
      const Num indices[] = {k.item.batch, minOf(base + row, k.columns - Num(1))};
      Value isTaken = b.load(b.i32(), k.fn.address(taken, ArrayRef<Num>(indices)));
      exists = b.both(exists, b.compare(arith::CmpIPredicate::ne, b.fromValue(isTaken), 0));
    }
    if (const int64_t present = panel.depth / panel.perChunk(); present < chunks)
      exists = b.both(exists, b.less(at, Num(present)));
    Num stored = k.isOwnerSide(spaces) ? row : k.layout.standing(row);
    b.copyAsync(k.shared.chunkAddress(panel, 0, stored, 0, at), from, exists);
  }

  FragmentKernel &k;
  KernelBuilder &b;
  const Panel &panel;
  const SpaceSet &spaces;
  const Num &base;
  const int64_t chunks, threads;
  const Num pitch; // in bytes
  const bool hasPointer;
  const Num firstRow, chunk; // of this thread, if hasPointer
  Num room;                  // rows of the block, from the thread's first on, that exist
  Value source;
};

} // namespace

void mlir::tile::gpu::copyPanel(FragmentKernel &k, const Panel &panel, LoadOp load,
                                const Place &place, const Num &base) {
  PanelCopy(k, panel, load, place, base).run();
}

Num mlir::tile::gpu::placeInVector(FragmentKernel &k, const Num &index) {
  return k.isPermuted ? index + index / Num(2 * k.layout.innerTiles()) * Num(4) : index;
}

void mlir::tile::gpu::copyVector(FragmentKernel &k, LoadOp load, const Window &vector,
                                 const Place &place, const Num &base) {
  KernelBuilder &b = k.b;
  const SpaceSet &spaces = spacesOf(load.getValue());
  k.divideAmongThreads(k.schedule.innerBlock, [&](const Num &index) {
    Place at = place;
    (hasRows(spaces) ? at.r : at.c) = base + index;
    const Num to = vector.copy * Num(vector.copyBytes) + placeInVector(k, index) * Num(4);
    b.copyAsync(k.shared.at(to + Num(vector.offset)), k.fn.address(load.getBuffer(), at),
                b.less(base + index, k.limitOf(spaces)), 4);
  });
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

/// Transposes a 4 x 4 matrix of words in each quad of lanes: lane t passes column t and gets row t.
static void transposeInQuad(FragmentKernel &k, MutableArrayRef<Value> words) {
  KernelBuilder &b = k.b;
  for (int bit : {1, 2}) {
    Value isUpper = b.compare(arith::CmpIPredicate::ne, k.t / Num(bit) % Num(2), 0);
    for (int low : {0, bit == 1 ? 2 : 1}) {
      // A lane keeps the word on its side and exchanges the other one.
      Value &first = words[low], &second = words[low + bit];
      Value got = b.shuffleXor(b.select(isUpper, first, second), bit);
      first = b.select(isUpper, got, first);
      second = b.select(isUpper, second, got);
    }
  }
}

/// Stores the 16-bit elements of a row of an owner panel, from register `first` on. The lanes of a
/// quad hold two depths of each tile of eight; they exchange four tiles so that each stores a
/// tile in one access of 16 bytes.
static void storeOwner(FragmentKernel &k, ArrayRef<Value> values, int64_t first, int64_t tiles,
                       Value row, Value exists) {
  KernelBuilder &b = k.b;
  const auto word = [&](int64_t tile) {
    return b.pack(values[first + tile * 4], values[first + tile * 4 + 1]);
  };
  int64_t tile = 0;
  for (; tile + 4 <= tiles; tile += 4) {
    Registers words = {word(tile), word(tile + 1), word(tile + 2), word(tile + 3)};
    transposeInQuad(k, words);
    b.ifThen(exists, [&] { b.storeVector(words, b.global(row, (k.t + Num(tile)) * Num(16))); });
  }
  for (; tile < tiles; ++tile)
    b.ifThen(exists, [&] { b.store(word(tile), b.global(row, k.t * Num(4) + Num(tile * 16)), 4); });
}

/// Stores a panel. Sums of the inner side, which the last of several CTAs stores, keep accesses of
/// 4 bytes: they are few, and exchanges there cost softmax 5 % in the model (scripts/gpu-model).
static void storePanel(Scope &scope, StoreOp store, const SpaceSet &spaces) {
  FragmentKernel &k = scope.k;
  KernelBuilder &b = k.b;
  const Registers &values = scope.registers(store.getValue());
  Type element = cast<ValType>(store.getValue().getType()).getElementType();
  const int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  const bool folded = !k.isOwnerSide(spaces);
  if (!folded && bytes == 2) {
    for (int tile = 0; tile < k.schedule.ownerTiles; ++tile)
      for (int half : {0, 1}) {
        const Element at{.ownerTile = tile, .ownerHalf = half};
        Target target = targetOf(scope, spaces, at);
        storeOwner(k, values, k.indexOf(spaces, at), k.depthOf(spaces) / 8,
                   k.fn.address(store.getBuffer(), target.place), target.exists);
      }
    return;
  }
  // One access stores two consecutive depths of a lane.
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
      b.storeVector(ArrayRef<Value>(values).slice(i, 2), address);
    });
  }
}

/// Stores the pairs of a block. Each owner is a line; a lane holds two consecutive elements of it
/// or, in a permuted block, all of its elements one after the other.
static void storePairs(Step &step, StoreOp store) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  const Registers &values = step.registers(store.getValue());
  Place place = step.place();
  (k.rowsOwn ? place.r : place.c) = k.ownerAt(Element());
  (k.rowsOwn ? place.c : place.r) = step.at.base + k.layout.innerAt(k.t, Element());
  Value first = k.fn.address(store.getBuffer(), place);
  const Num pitch = k.fn.rowPitch(store.getBuffer()) * Num(2);
  const Num lines = k.fn.extents(store.getBuffer())[2];
  const bool isWhole = k.schedule.ownerBlock() <= pairBlocksOf(store.getBuffer())->line;
  const int64_t words = k.isPermuted ? std::min<int64_t>(4, k.layout.innerTiles()) : 1;
  for (int64_t i = 0, e = values.size(); i < e; i += 4 * words)
    for (int64_t half = 0; half < 2; ++half) {
      const Element at = k.elementAt({"r", "c"}, i + half * 2);
      auto put = [&] {
        Registers packed;
        for (int64_t word = 0; word < words; ++word)
          packed.push_back(
              b.pack(values[i + word * 4 + half * 2], values[i + word * 4 + half * 2 + 1]));
        const Num offset = Num(at.ownerTile * 16 + at.ownerHalf * 8) * pitch +
                           (k.layout.innerAt(Num(0), at) * Num(2));
        b.storeVector(packed, b.global(first, offset));
      };
      isWhole ? put() : b.ifThen(b.less(k.ownerAt(at), lines), put);
    }
}

void mlir::tile::gpu::emitStore(Scope &scope, StoreOp store) {
  FragmentKernel &k = scope.k;
  KernelBuilder &b = k.b;
  const SpaceSet &spaces = spacesOf(store.getValue());
  if (isPair(spaces))
    return storePairs(scope.step(), store);
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
