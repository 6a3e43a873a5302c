//===- PartSums.cpp - adds the parts of a stage's sums --------------------===//
#include "passes/ToCPU/PartSums.h"

#include "passes/ToCPU/VectorMath.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

//===- After the stream --------------------------------------------------------------===//

/// Returns a panel of keys at one key, `width` depths from `d`, widened to the target's lanes.
Value ColumnResults::columnAt(Value value, const Index &key, const Index &d, int64_t width,
                              SumFn sum) {
  Emitter &e = context.e;
  for (const PartBuffers::Columns &columns : buffers.columns)
    if (columns.result == value)
      return sum(columns, key, d, width);
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return e.splat(constant.getNumber().convertToDouble());
  auto map = value.getDefiningOp<MapOp>();
  values.maps.prepare(map);
  return values.maps.emit(map, 0, [&](Value operand) {
    return columnAt(operand, key, d, width, sum);
  })[cast<OpResult>(value).getResultNumber()];
}

void ColumnResults::emitStore(StoreOp store, const StripPlace &place, const Index &count,
                              SumFn sum) {
  Emitter &e = context.e;
  Value buffer = store.getBuffer(), memory = context.memory(buffer);
  Index base = context.offset(buffer, place.place());
  const SpaceSet &spaces = spacesOf(store.getValue());
  int64_t depth = isColumn(spaces) ? 1 : context.depthOf(spaces);
  Index pitch = isColumn(spaces) ? Index(1) : context.pitch(buffer);
  e.loop(0, count, 1, [&](Index key) {
    values.begin(place);
    values.maps.beginKey(place.block + key);
    if (isColumn(spaces)) {
      Value scalar = e.create<vector::ExtractOp>(columnAt(store.getValue(), key, 0, 1, sum), 0);
      return e.store(scalar, memory, base + key);
    }
    for (int64_t d = 0; d < depth; d += e.lanes) {
      int64_t width = std::min(e.lanes, depth - d);
      Value wide = columnAt(store.getValue(), key, d, width, sum);
      e.storeVector(narrowed(e, wide, width), memory, base + key * pitch + Index(d));
    }
  });
}

void ColumnResults::emit(const StripPlace &head, const Index &block, SumFn sum) {
  StripPlace place = head;
  place.block = block;
  Index count = minOf(context.cpu.keyBlock, context.columns - block);
  for (Operation *op : interface.afterColumns)
    if (auto store = dyn_cast<StoreOp>(op))
      emitStore(store, place, count, sum);
}

//===- The second launch ---------------------------------------------------------------===//

namespace {

/// The number of elements of a buffer that one item adds.
constexpr int64_t kChunk = 4096;

class PartSums {
public:
  PartSums(StageOp stage, const CpuSchedule &cpu, const RowInterface &interface,
           const PartSizes &sizes, const PartBuffers &buffers, StageFunction &function)
      : context(stage, cpu, function), e(context.e), buffers(buffers), parts(context, sizes),
        values(context), results(context, values, interface, buffers) {}

  void emit() {
    Index item = e.fromValue(context.function.getItem());
    Index blocks = ceilDiv(context.columns, context.cpu.keyBlock);
    if (!buffers.columns.empty())
      e.ifThen(e.less(item, parts.split * parts.heads * blocks),
               [&] { addColumns(item / blocks, item % blocks * Index(context.cpu.keyBlock)); });
    e.ifThen(e.less(1, parts.parts), [&] {
      for (const PartBuffers::Copies &copy : buffers.added)
        addCopies(copy, item * Index(kChunk));
    });
  }

private:
  /// Adds, in a chain, the parts that see one block of keys of one head, and stores its results.
  void addColumns(const Index &head, const Index &block) {
    const StripPlace place = parts.placeOf(head);
    const RowParts::PartList seeing = parts.partsSeeing(place, block);
    auto chain = [&](const PartBuffers::Columns &columns, const Index &key, const Index &d,
                     int64_t width) {
      auto add = [&](Index n, ValueRange sum) {
        Index part = e.fromValue(e.load(seeing.numbers, n));
        ColumnFold fold = parts.keptOf(columns, part, head, block);
        Value more = loadWidened(e, fold.memory, fold.place(key, d), width);
        return SmallVector<Value>{e.add(sum[0], more)};
      };
      return e.loop(0, seeing.count, 1, {e.splat(0.0)}, add)[0];
    };
    results.emit(place, block, chain);
  }

  /// Adds elements [first, first + kChunk) of the copies of a buffer. Every part except the first
  /// has a copy.
  void addCopies(const PartBuffers::Copies &copy, const Index &first) {
    Index size = 1;
    for (Value extent : context.function.getExtents(copy.buffer))
      size = size * e.fromValue(extent);
    Index end = minOf(first + Index(kChunk), size);
    Index whole = first + roundDown(maxOf(0, end - first), e.lanes);
    Value into = context.memory(copy.buffer), from = context.memory(copy.copies);
    auto add = [&](const Index &at, int64_t width) {
      Value start = e.loadVector(into, at, width);
      SmallVector<Value> sum = e.loop(1, parts.parts, 1, {start}, [&](Index part, ValueRange sums) {
        Value more = e.loadVector(from, (part - Index(1)) * size + at, width);
        return SmallVector<Value>{e.add(sums[0], more)};
      });
      e.storeVector(sum[0], into, at);
    };
    e.loop(first, whole, e.lanes, [&](Index at) { add(at, e.lanes); });
    e.loop(whole, end, 1, [&](Index at) { add(at, 1); });
  }

  StageContext context;
  Emitter &e;
  const PartBuffers &buffers;
  RowParts parts;
  StripValues values;
  ColumnResults results;
};

} // namespace

void mlir::tile::cpu::emitPartSums(StageOp stage, const CpuSchedule &cpu,
                                   const RowInterface &interface, const PartSizes &sizes,
                                   const PartBuffers &buffers) {
  SmallVector<Value> used = collectBuffers(stage);
  used.append(buffers.all());
  StageFunction function(stage, "_sums", used);
  PartSums(stage, cpu, interface, sizes, buffers, function).emit();
  std::string items = "0";
  auto alsoFor = [&](const std::string &count) { items = "max(" + items + "," + count + ")"; };
  if (!buffers.columns.empty())
    alsoFor("min(1," + sizes.slots + "-1)*" + sizes.heads + "*ceildiv(c," +
            std::to_string(cpu.keyBlock) + ")");
  for (const PartBuffers::Copies &copy : buffers.added) {
    SmallVector<StringRef> extents;
    for (StringAttr extent : cast<BufferType>(copy.buffer.getType()).getExtents())
      extents.push_back(extent);
    alsoFor("min(1," + sizes.parts + "-1)*ceildiv(" + productOfExtents(extents) + "," +
            std::to_string(kChunk) + ")");
  }
  function.createLaunch(stage, items);
}
