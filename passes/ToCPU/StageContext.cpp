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
      function(function) {
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

KeyPanel StageContext::pack(Value panel, const Place &place) {
  Value buffer = panel.getDefiningOp<LoadOp>().getBuffer(), from = memory(buffer);
  const int64_t depth = depthOf(spacesOf(panel)), whole = depth / e.lanes * e.lanes;
  const Index first = offset(buffer, place), step = pitch(buffer);
  Value into = e.scratch(cpu.keyBlock * depth);
  e.loop(0, minOf(cpu.keyBlock, columns - place.c), 1, [&](Index key) {
    auto extend = [&](const Index &d, int64_t width) {
      e.storeVector(e.loadVector(from, first + key * step + d, width), into,
                    key * Index(depth) + d);
    };
    e.loop(0, whole, e.lanes, [&](Index d) { extend(d, e.lanes); });
    if (whole != depth)
      extend(whole, depth - whole);
  });
  return {into, 0, depth};
}

/// The block of such a panel is the same for all query heads of a key head.
static bool isNarrowPanel(LoadOp load) {
  return elementOf(load.getBuffer()) != elementOf(load.getValue()) &&
         isColumnPanel(spacesOf(load.getValue())) && !load.getBuffer().getType().has("hq");
}

bool StageContext::hasNarrowKeys() {
  return llvm::any_of(stream.getBody().getOps<LoadOp>(), isNarrowPanel);
}

void StageContext::packKeys(const Place &place) {
  for (auto load : stream.getBody().getOps<LoadOp>())
    if (isNarrowPanel(load))
      packed[load.getValue()] = {pack(load.getValue(), place), place.c};
}

KeyPanel StageContext::keyPanel(Value panel, const Place &place) {
  if (auto found = packed.find(panel); found != packed.end()) {
    const auto &[block, column] = found->second;
    return {block.memory, (place.c - column) * block.pitch, block.pitch};
  }
  Value buffer = panel.getDefiningOp<LoadOp>().getBuffer();
  return {memory(buffer), offset(buffer, place), pitch(buffer)};
}
