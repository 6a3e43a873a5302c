//===- RowParts.cpp - the parts of a key head's rows ----------------------===//
#include "passes/ToCPU/RowParts.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {
/// Returns the buffers that the stream's body adds to.
llvm::SetVector<Value> addedTo(StreamOp stream) {
  llvm::SetVector<Value> buffers;
  auto add = [&](Value buffer) {
    if (buffer)
      buffers.insert(buffer);
  };
  stream.getBody().walk([&](Operation *op) {
    if (auto grad = dyn_cast<WindowGradOp>(op))
      add(grad.getTable());
    if (auto outer = dyn_cast<WindowOuterOp>(op))
      add(outer.getTable());
    if (auto sum = dyn_cast<AccumulateOp>(op))
      add(sum.getBuffer());
    if (auto grad = dyn_cast<SegmentsGradOp>(op))
      for (Value buffer : {grad.getMoments(), grad.getVGrad(), grad.getUGrad()})
        add(buffer);
  });
  return buffers;
}

} // namespace

//===- Sizes and buffers -----------------------------------------------------------===//

Value mlir::tile::cpu::createTemporary(StageOp stage, const Twine &name,
                                       ArrayRef<std::string> extents, Type element, bool zero) {
  OpBuilder b(stage);
  auto texts =
      llvm::map_to_vector(extents, [&](const std::string &text) { return b.getStringAttr(text); });
  auto type = BufferType::get(b.getContext(), texts, element);
  return BufferOp::create(b, stage.getLoc(), type, (stage.getSymName() + "_" + name).str(),
                          Role::Temporary, zero, /*strided=*/false, /*slots=*/SlotsAttr(),
                          /*pages=*/StringAttr());
}

PartSizes::PartSizes(StageOp stage, const CpuSchedule &cpu) {
  StringRef over = cast<StringAttr>(stage.getOver()[1]).getValue();
  overQueryHeads = over == "hq";
  heads = ("b*" + over).str();
  auto text = [](int64_t number) { return std::to_string(number); };
  const std::string strips = "ceildiv(r," + text(cpu.stripRows()) + ")", rows = text(cpu.partRows);
  const std::string wanted =
      overQueryHeads ? "ceildiv(r," + rows + ")" : "ceildiv(hq*r," + rows + "*max(1,hkv))";
  // At most one part per strip, so that no part is empty.
  parts = "max(1,min(min(" + text(cpu.mostParts) + "," + strips + ")," + wanted + "))";
  // The first operand is at least most_parts if there are fewer heads than split_below, else 0.
  const std::string missing =
      "(" + text(cpu.splitBelow) + "-min(" + text(cpu.splitBelow) + "," + heads + "))";
  slots = "max(1,min(" + text(cpu.mostParts) + "*" + missing + "," + parts + "))";
}

PartBuffers::PartBuffers(StageOp stage, const CpuSchedule &cpu, const PartSizes &sizes) {
  StreamOp stream = stage.getStream();
  auto plan = stage->getParentOfType<PlanOp>();
  Type f32 = Float32Type::get(stage.getContext());
  const std::string block = std::to_string(cpu.keyBlock), two = std::to_string(2 * cpu.keyBlock);
  // Small sums of the current block are on the stack, where they stay in the first-level cache;
  // larger ones would not.
  constexpr int64_t kMostLocalFloats = 1 << 12;
  const bool isLocal =
      2 * cpu.keyBlock * (plan.getHeadDim() + plan.getValueDim()) <= kMostLocalFloats;
  const std::string all = "ceildiv(c," + block + ")*" + block,
                    isSplit = "min(1," + sizes.slots + "-1)";
  const std::string keys =
      isLocal ? isSplit + "*" + all : two + "+" + isSplit + "*(" + all + "-" + two + ")";
  for (unsigned i = stream.getNumCarries(); i < stream.getNumResults(); ++i) {
    const SpaceSet &spaces = spacesOf(stream.getResult(i));
    if (!hasColumns(spaces))
      continue;
    int64_t depth =
        isColumn(spaces) ? 1 : sizeOfDepth(depthOf(spaces), plan.getHeadDim(), plan.getValueDim());
    Value sums =
        createTemporary(stage, "sums" + Twine(columns.size()),
                        {sizes.slots, sizes.heads, keys, std::to_string(depth)}, f32, false);
    columns.push_back({stream.getResult(i), stream.getYielded(i), sums, depth, isLocal});
  }
  for (Value buffer : addedTo(stream)) {
    auto type = cast<BufferType>(buffer.getType());
    SmallVector<std::string> extents = {sizes.parts + "-1"};
    for (StringAttr extent : type.getExtents())
      extents.push_back(extent.str());
    StringRef name = buffer.getDefiningOp<BufferOp>().getName();
    added.push_back({buffer, createTemporary(stage, "parts_of_" + Twine(name), extents,
                                             type.getElementType(), true)});
  }
}

SmallVector<Value> PartBuffers::all() const {
  SmallVector<Value> buffers;
  for (const Columns &fold : columns)
    buffers.push_back(fold.sums);
  for (const Copies &copy : added)
    buffers.push_back(copy.copies);
  return buffers;
}

//===- Rows --------------------------------------------------------------------------===//

RowParts::RowParts(StageContext &context, const PartSizes &sizes)
    : context(context), e(context.e), data(context), overQueryHeads(sizes.overQueryHeads) {
  auto size = [&](StringRef expression) { return e.fromValue(context.emitSize(expression)); };
  heads = size(sizes.heads), parts = size(sizes.parts);
  slots = size(sizes.slots), split = minOf(1, slots - Index(1));
  group = overQueryHeads ? Index(1) : context.queryHeads / context.keyHeads;
  strips = ceilDiv(context.rows, context.cpu.stripRows());
}

StripPlace RowParts::placeOf(const Index &head) {
  StripPlace place;
  Index perBatch = overQueryHeads ? context.queryHeads : context.keyHeads;
  place.b = head / perBatch;
  place.hq = head % perBatch;
  place.hkv = overQueryHeads ? place.hq / (context.queryHeads / context.keyHeads) : place.hq;
  return place;
}

Index RowParts::firstQueryHead(const StripPlace &place) {
  return overQueryHeads ? place.hq : place.hkv * group;
}

Interval<Index> RowParts::rowsOf(const Index &part) {
  auto firstRow = [&](const Index &p) {
    return p * strips / parts * Index(context.cpu.stripRows());
  };
  return {firstRow(part), minOf(firstRow(part + Index(1)), context.rows)};
}

Interval<Index> RowParts::rowsSeeing(const StripPlace &head, const Index &part,
                                     const Index &block) {
  Index blockEnd = minOf(block + Index(context.cpu.keyBlock), context.columns);
  auto touched = context.mask.rowsOfAny(block, blockEnd), own = rowsOf(part);
  const Interval<Index> rows = {maxOf(own.begin, roundDown(touched.begin, context.cpu.stripRows())),
                                minOf(own.end, touched.end)};
  if (!data.hasBounds() && !data.hasStates())
    return rows;
  StripPlace place = head;
  place.block = block;
  place.hq = firstQueryHead(head);
  if (!data.dependOnHead())
    return data.rowsSeeing(place, rows);
  SmallVector<Value> none = {e.toValue(context.rows), e.toValue(0)};
  SmallVector<Value> found = e.loop(0, group, 1, none, [&](Index n, ValueRange so) {
    place.hq = firstQueryHead(head) + n;
    Interval<Index> more = data.rowsSeeing(place, rows);
    return SmallVector<Value>{e.toValue(minOf(e.fromValue(so[0]), more.begin)),
                              e.toValue(maxOf(e.fromValue(so[1]), more.end))};
  });
  return {e.fromValue(found[0]), e.fromValue(found[1])};
}

RowParts::PartList RowParts::partsSeeing(const StripPlace &head, const Index &block) {
  // Also stores one entry past the end of the list.
  Value numbers = e.scratch(context.cpu.mostParts + 1, e.getIndexType());
  SmallVector<Value> count = e.loop(0, parts, 1, {e.toValue(0)}, [&](Index part, ValueRange so) {
    Interval<Index> rows = rowsSeeing(head, part, block);
    e.store(e.toValue(part), numbers, e.fromValue(so[0]));
    Value more = e.select(e.less(rows.begin, rows.end), e.toValue(1), e.toValue(0));
    return SmallVector<Value>{e.create<arith::AddIOp>(so[0], more)};
  });
  return {e.fromValue(count[0]), numbers};
}

//===- Columns -----------------------------------------------------------------------===//

ColumnFold RowParts::rowOf(const PartBuffers::Columns &columns, const Index &slot,
                           const Index &head, const Index &row) {
  Index keys = e.fromValue(context.function.getExtents(columns.sums)[2]);
  Index at = ((slot * heads + head) * keys + row) * Index(columns.depth);
  return {context.memory(columns.sums), columns.depth, at};
}
ColumnFold RowParts::keptOf(const PartBuffers::Columns &columns, const Index &slot,
                            const Index &head, const Index &block) {
  return rowOf(columns, slot, head, block);
}
ColumnFold RowParts::sumOf(const PartBuffers::Columns &columns, const Index &slot,
                           const Index &head, const Index &block) {
  ColumnFold fold = rowOf(columns, slot, head, split * block);
  if (!columns.isLocal)
    return fold;
  Value isSplit = e.less(0, split);
  fold.memory = e.select(isSplit, fold.memory, localOf(columns));
  fold.at = e.fromValue(e.select(isSplit, e.toValue(fold.at), e.toValue(0)));
  return fold;
}
ColumnFold RowParts::currentOf(const PartBuffers::Columns &columns, const Index &head) {
  if (columns.isLocal)
    return {localOf(columns), columns.depth, Index(context.cpu.keyBlock * columns.depth)};
  return rowOf(columns, 0, head, context.cpu.keyBlock);
}
Value RowParts::localOf(const PartBuffers::Columns &columns) {
  Value &local = locals[columns.sums];
  if (!local) {
    Value scratch = e.scratch(2 * context.cpu.keyBlock * columns.depth);
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointAfterValue(scratch);
    auto type = MemRefType::get({ShapedType::kDynamic}, e.getF32Type());
    local = e.create<memref::CastOp>(type, scratch);
  }
  return local;
}

void RowParts::eachVector(const ColumnFold &fold, llvm::function_ref<void(Index)> body) {
  constexpr int64_t kLanes = 8;
  e.loop(0, context.cpu.keyBlock * fold.depth, kLanes, body);
}
void RowParts::zero(const ColumnFold &fold) {
  Value zero = e.constant(DenseElementsAttr::get(e.vectorType({}, 8), 0.0f));
  eachVector(fold, [&](Index i) { e.storeVector(zero, fold.memory, fold.at + i); });
}
void RowParts::add(const ColumnFold &into, const ColumnFold &from) {
  eachVector(into, [&](Index i) {
    Value sum =
        e.add(e.loadVector(into.memory, into.at + i, 8), e.loadVector(from.memory, from.at + i, 8));
    e.storeVector(sum, into.memory, into.at + i);
  });
}
