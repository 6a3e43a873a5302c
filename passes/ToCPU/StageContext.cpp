//===- StageContext.cpp - sizes, mask and buffers of a stage --------------===//
#include "passes/ToCPU/StageContext.h"

#include "passes/Schedule/StripSchedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;
static CpuSchedule applied(CpuSchedule cpu) {
  if (cpu.isAlongKeys())
    cpu.queryVectors = 1;
  return cpu;
}

StageContext::StageContext(StageOp stage, const CpuSchedule &given, StageFunction &function)
    : e(stage.getLoc(), function.getFunction(), given.lanes), stage(stage), cpu(applied(given)),
      tileRows(given.isAlongKeys() ? given.queryVectors : 1), function(function) {
  e.setInsertionPoint(function.getFunction().getBody().front().getTerminator());
  auto streams = stage.getBody().front().getOps<StreamOp>();
  if (!streams.empty())
    stream = *streams.begin();
  auto size = [&](StringRef name) { return e.fromValue(emitSize(name)); };
  batch = size("b"), queryHeads = size("hq"), keyHeads = size("hkv");
  rows = size("r"), columns = size("c");
  rowStart = size("q_start"), columnStart = size("k_start");
  headDim = function.getPlan().getHeadDim(), valueDim = function.getPlan().getValueDim();
  const MaskBand band = stage.getBand();
  const Index apart = rowStart - columnStart;
  if (band.lower)
    mask.lower = apart + Index(*band.lower);
  if (band.upper)
    mask.upper = apart + Index(*band.upper);
  mask.keepsSomething = band.keepsSomething();
  // Rows at negative positions attend to nothing.
  mask.rows = {maxOf(0, Index(0) - rowStart), rows};
  mask.columns = {0, columns};
}

Value StageContext::memory(Value buffer) {
  Value &memory = memories[buffer];
  if (memory)
    return memory;
  unsigned position = llvm::find(function.getBuffers(), buffer) - function.getBuffers().begin();
  Value argument = function.getFunction().getArgument(position);
  // The size has no effect, because every access has an explicit offset.
  Value size = e.constant(e.getIndexAttr(1));
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointAfter(size.getDefiningOp());
  auto type =
      MemRefType::get({ShapedType::kDynamic}, cast<BufferType>(buffer.getType()).getElementType());
  memory = e.create<memref::ReinterpretCastOp>(
      type, argument, OpFoldResult(e.getIndexAttr(0)), ArrayRef<OpFoldResult>{OpFoldResult(size)},
      ArrayRef<OpFoldResult>{OpFoldResult(e.getIndexAttr(1))});
  return memory;
}

Index StageContext::offset(Value buffer, const Place &place) {
  auto type = cast<BufferType>(buffer.getType());
  Index at = 0;
  for (auto [name, stride] : llvm::zip(type.getExtents(), function.getStrides(buffer))) {
    const Index *index = place.find(name.getValue());
    if (index)
      at = at + *index * e.fromValue(stride);
  }
  return at + firsts.lookup(buffer);
}

void StageContext::useCopy(Value buffer, Value copies, const Index &number) {
  Index size = 1;
  for (Value extent : function.getExtents(copies).drop_front())
    size = size * e.fromValue(extent);
  Value isCopy = e.less(0, number);
  memories[buffer] = e.select(isCopy, memory(copies), memory(buffer));
  firsts[buffer] = maxOf(0, number - Index(1)) * size;
  function.useCopy(e, buffer, copies, isCopy, e.toValue(firsts[buffer]));
}

Index StageContext::pitch(Value buffer) {
  return e.fromValue(function.getStrides(buffer).drop_back().back());
}

void KeyPanel::readAhead(Emitter &e, const Index &at, int64_t number, int64_t bytes) const {
  const int64_t bits = e.lanes * cast<MemRefType>(memory.getType()).getElementTypeBitWidth();
  const bool isOff = ahead.isConstant() && ahead.getConstant() == 0;
  if (!isOff && number * bits % (8 * bytes) == 0)
    e.prefetch(memory, at + ahead);
}

/// Copies `count` rows, and extends or rounds their elements.
void StageContext::extendRows(const KeyPanel &from, const KeyPanel &into, const Index &count,
                              int64_t depth) {
  const int64_t whole = depth / e.lanes * e.lanes;
  e.loop(0, count, 1, [&](Index row) {
    auto extend = [&](const Index &d, int64_t width) {
      e.storeVector(e.loadVector(from.memory, from.at + row * from.pitch + d, width), into.memory,
                    into.at + row * into.pitch + d);
    };
    for (int64_t v = 0; v * e.lanes < depth; ++v)
      from.readAhead(e, from.at + row * from.pitch + Index(v * e.lanes), v, kTwoLines);
    e.loop(0, whole, e.lanes, [&](Index d) { extend(d, e.lanes); });
    if (whole != depth)
      extend(whole, depth - whole);
  });
}

KeyPanel StageContext::keyPanelInMemory(Value buffer, const Place &place) {
  const Index pitch = this->pitch(buffer);
  return {memory(buffer), offset(buffer, place), pitch, rowsAhead * pitch};
}

KeyPanel StageContext::pack(Value panel, const Place &place, Type element) {
  Value buffer = panel.getDefiningOp<LoadOp>().getBuffer();
  if (tableOf(buffer))
    return packPages(panel, place, element);
  const int64_t depth = depthOf(spacesOf(panel));
  const KeyPanel into = {e.scratch(cpu.keyBlock * depth, element), 0, depth};
  extendRows(keyPanelInMemory(buffer, place), into, minOf(cpu.keyBlock, columns - place.c), depth);
  return into;
}

/// Copies a block page by page. If the pool has the element type of the copy, a block inside one
/// page is read in place.
KeyPanel StageContext::packPages(Value panel, const Place &place, Type element) {
  Value pool = panel.getDefiningOp<LoadOp>().getBuffer(), table = tableOf(pool);
  const int64_t depth = depthOf(spacesOf(panel));
  const ValueRange strides = function.getStrides(pool); // pages, page, hkv, depth
  const Index page = e.fromValue(emitSize("page")), pitch = e.fromValue(strides[1]);
  const Index end = minOf(place.c + Index(cpu.keyBlock), columns);
  const Index first = place.c / page, last = (end - Index(1)) / page;
  /// Returns the row of the first key at `begin` or after it in page `number` of the entry.
  auto rowsFrom = [&](const Index &number, const Index &begin) {
    Index at = offset(table, place) + number;
    Index index =
        e.fromValue(e.create<arith::IndexCastOp>(e.getIndexType(), e.load(memory(table), at)));
    return KeyPanel{memory(pool),
                    offset(pool, place) + index * e.fromValue(strides[0]) +
                        (begin - number * page) * pitch,
                    pitch};
  };
  const KeyPanel into = {e.scratch(cpu.keyBlock * depth, element), 0, depth};
  auto copy = [&] {
    e.loop(first, last + Index(1), 1, [&](Index number) {
      const Index begin = maxOf(number * page, place.c);
      const Index count = minOf((number + Index(1)) * page, end) - begin;
      const Index row = begin - place.c;
      extendRows(rowsFrom(number, begin), {into.memory, row * into.pitch, into.pitch}, count,
                 depth);
    });
  };
  if (elementOf(pool) != element) {
    copy();
    return into;
  }
  Value isSplit = e.less(first, last);
  e.ifThen(isSplit, copy);
  const KeyPanel from = rowsFrom(first, place.c);
  auto select = [&](const Index &copied, const Index &there) {
    return e.fromValue(e.select(isSplit, e.toValue(copied), e.toValue(there)));
  };
  Value copied = e.create<memref::CastOp>(from.memory.getType(), into.memory);
  return {e.select(isSplit, copied, from.memory), select(into.at, from.at),
          select(into.pitch, from.pitch)};
}

/// The block of such a panel is the same for all query heads of a key head.
static bool isPanelOfKeyHead(LoadOp load) {
  return isColumnPanel(spacesOf(load.getValue())) && !load.getBuffer().getType().has("hq");
}

static bool isPackedPanel(LoadOp load) {
  return isPanelOfKeyHead(load) &&
         (!elementOf(load.getBuffer()).isF32() || tableOf(load.getBuffer()));
}

bool mlir::tile::cpu::isByPairs(const CpuSchedule &cpu, DotOp dot) {
  auto load = dot.getRhs().getDefiningOp<LoadOp>();
  if (!cpu.isByPairs() || !load || !elementOf(dot.getLhs()).isBF16() ||
      !elementOf(dot.getRhs()).isBF16())
    return false;
  Operation *left = dot.getLhs().getDefiningOp();
  if (isDepth(dot.getAxis()))
    return isPanelOfKeyHead(load) && left && left->getParentOp() != dot->getParentOp();
  const bool isSwept = left && !isa<SegmentsOp, RandomOp, NearOp>(left);
  return isSwept && (dot.getAxis() == "r" || isPanelOfKeyHead(load));
}

/// Packs a panel for contractions by pairs. Rows of bf16 are read in place.
void StageContext::packPairs(LoadOp load, const Place &place) {
  Value panel = load.getValue(), buffer = load.getBuffer();
  const int64_t depth = depthOf(spacesOf(panel));
  KeyPanel rows = {memory(buffer), offset(buffer, place), pitch(buffer)};
  if (!elementOf(buffer).isBF16() || tableOf(buffer)) {
    rows = pack(panel, place, e.getBF16Type());
    packed[panel] = {rows, place.c};
  }
  auto isOverKeys = [](Operation *user) {
    auto dot = dyn_cast<DotOp>(user);
    return dot && dot.getAxis() == "c";
  };
  if (llvm::none_of(panel.getUsers(), isOverKeys))
    return;
  const KeyPanel into = {e.scratch(cpu.keyBlock / 2 * depth), 0, depth};
  packRowPairs(rows, into, minOf(cpu.keyBlock, columns - place.c), depth);
  paired[panel] = into;
}

void StageContext::packRowPairs(const KeyPanel &from, const KeyPanel &into, const Index &count,
                                int64_t depth) {
  const int64_t whole = depth / e.lanes * e.lanes;
  auto pack = [&](const Index &row, bool hasSecond) {
    auto packDepths = [&](const Index &d, int64_t width) {
      auto narrowRow = [&](const Index &at) {
        return e.toBf16(e.loadVector(from.memory, from.at + at * from.pitch + d, width));
      };
      Value first = narrowRow(row);
      Value zero = e.constant(cast<TypedAttr>(e.getZeroAttr(first.getType())));
      Value second = hasSecond ? narrowRow(row + Index(1)) : zero;
      e.storeVector(e.pairs(first, second), into.memory, into.at + row / Index(2) * into.pitch + d);
    };
    e.loop(0, whole, e.lanes, [&](Index d) { packDepths(d, e.lanes); });
    if (whole != depth)
      packDepths(whole, depth - whole);
  };
  const Index even = roundDown(count, 2);
  e.loop(0, even, 2, [&](Index row) { pack(row, true); });
  if (!count.isConstant() || count.getConstant() % 2)
    e.ifThen(e.less(even, count), [&] { pack(even, false); });
}

bool StageContext::sharesPanels() {
  return llvm::all_of(stream.getBody().getOps<LoadOp>(), [](LoadOp load) {
    return !isColumnPanel(spacesOf(load.getValue())) || isPanelOfKeyHead(load);
  });
}

bool StageContext::hasPackedKeys() {
  return llvm::any_of(stream.getBody().getOps<LoadOp>(), isPackedPanel);
}

bool StageContext::hasPagedKeys() {
  return llvm::any_of(stream.getBody().getOps<LoadOp>(),
                      [](LoadOp load) { return tableOf(load.getBuffer()) != nullptr; });
}

void StageContext::packKeys(const Place &place) {
  auto isOfPairs = [&](Operation *user) {
    auto dot = dyn_cast<DotOp>(user);
    return dot && isByPairs(cpu, dot);
  };
  for (auto load : stream.getBody().getOps<LoadOp>()) {
    if (llvm::any_of(load.getValue().getUsers(), isOfPairs))
      packPairs(load, place);
    else if (isPackedPanel(load))
      packed[load.getValue()] = {pack(load.getValue(), place, e.getF32Type()), place.c};
  }
}

KeyPanel StageContext::keyPanel(Value panel, const Place &place) {
  if (auto found = packed.find(panel); found != packed.end()) {
    const auto &[block, column] = found->second;
    return {block.memory, block.at + (place.c - column) * block.pitch, block.pitch};
  }
  return keyPanelInMemory(panel.getDefiningOp<LoadOp>().getBuffer(), place);
}
