//===- VectorStage.cpp - stages of row values without a stream ------------===//
//
// Eight lanes share a row. Lane n holds the depths n, n + 8, n + 16, ... of a panel, and all eight
// lanes hold every value over r.
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/Maps.h"
#include "passes/ToGPU/ToGPU.h"

#include "passes/ToLoops/StageFunction.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

namespace {

constexpr int64_t kThreads = 128, kLanes = 8, kRows = kThreads / kLanes;

/// Emits the kernel of one stage.
class VectorStage {
public:
  explicit VectorStage(StageOp stage)
      : stage(stage), b(stage.getLoc(), stage.getContext()),
        fn(stage, "", collectBuffers(stage), kThreads, b) {}
  void run();

private:
  int64_t registersOf(const SpaceSet &s) const {
    if (!hasDepth(s))
      return 1;
    return sizeOfDepth(depthOf(s), fn.headDim, fn.valueDim) / kLanes;
  }
  void emit(LoadOp load);
  void emit(PositionOp position);
  void emit(IndexOp number);
  void emit(StoreOp store);
  void emit(ReduceOp reduce);
  void emit(MapOp map);
  Value address(Value buffer, const SpaceSet &spaces, int64_t register_);

  StageOp stage;
  KernelBuilder b;
  KernelFunction fn;
  Num lane, index;
  Place place;
  llvm::DenseMap<Value, Registers> values;
};

Value VectorStage::address(Value buffer, const SpaceSet &spaces, int64_t register_) {
  Value row = fn.address(buffer, place);
  if (!hasDepth(spaces))
    return row;
  const int64_t bytes =
      cast<BufferType>(buffer.getType()).getElementType().getIntOrFloatBitWidth() / 8;
  return b.global(row, (lane + Num(register_ * kLanes)) * Num(bytes));
}

void VectorStage::emit(LoadOp load) {
  auto type = cast<ValType>(load.getValue().getType());
  Registers &result = values[load.getValue()];
  for (int64_t i = 0, e = registersOf(type.getSpaces()); i < e; ++i)
    result.push_back(b.load(type.getElementType(), address(load.getBuffer(), type.getSpaces(), i)));
}

void VectorStage::emit(PositionOp position) {
  Num start = fn.size(position.getSpace() == "r" ? "q_start" : "k_start");
  values[position.getValue()] = {b.toValue(index + start)};
}

void VectorStage::emit(IndexOp number) {
  StringRef space = number.getSpace();
  values[number.getValue()] = {b.toValue(space == "b"    ? place.b
                                         : space == "hq" ? place.hq
                                                         : index)};
}

void VectorStage::emit(StoreOp store) {
  const SpaceSet &spaces = spacesOf(store.getValue());
  Registers &source = values[store.getValue()];
  auto write = [&] {
    for (auto [i, value] : llvm::enumerate(source))
      b.store(value, address(store.getBuffer(), spaces, i));
  };
  if (hasDepth(spaces))
    return write();
  b.ifThen(b.compare(arith::CmpIPredicate::eq, lane, 0), write);
}

void VectorStage::emit(ReduceOp reduce) {
  auto combine = [&](Value x, Value y) {
    return reduce.getKind() == Reduction::Max ? b.max(x, y) : b.add(x, y);
  };
  Registers &source = values[reduce.getInput()];
  Value result = source.front();
  for (Value value : ArrayRef(source).drop_front())
    result = combine(result, value);
  for (int mask : {4, 2, 1})
    result = combine(result, b.shuffleXor(result, mask));
  values[reduce.getOutput()] = {result};
}

void VectorStage::emit(MapOp map) {
  SmallVector<Registers> results(map.getNumResults());
  Block &body = map.getBody().front();
  for (int64_t i = 0, e = registersOf(map.getIterationSpaces()); i < e; ++i) {
    RegionWriter writer(fn, body);
    for (auto [argument, input] : llvm::zip(body.getArguments(), map.getInputs())) {
      Registers &source = values[input];
      writer.mapping[argument] = source[source.size() == 1 ? 0 : i];
    }
    for (auto [list, value] : llvm::zip(results, writer.writeBody()))
      list.push_back(value);
  }
  for (auto [result, list] : llvm::zip(map.getResults(), results))
    values[result] = std::move(list);
}

void VectorStage::run() {
  const bool overRows = stage
                            .walk([](StoreOp store) {
                              const SpaceSet &s = spacesOf(store.getValue());
                              return hasRows(s) ? WalkResult::interrupt() : WalkResult::advance();
                            })
                            .wasInterrupted();
  const StringRef extent = overRows ? "r" : "c";
  SmallVector<StringRef> over = getStrings(stage.getOver());
  const bool byKeyHead = over.back() == "hkv" && !overRows;
  Num thread = b.threadIndex(), item = b.blockIndex();
  lane = thread % Num(kLanes);
  Num blocks = ceilDiv(fn.size(extent), Num(kRows));
  index = item % blocks * Num(kRows) + thread / Num(kLanes);
  Num rest = item / blocks, heads = fn.size(byKeyHead ? "hkv" : "hq");
  Num head = rest % heads;
  place.b = rest / heads;
  place.hkv = byKeyHead ? head : head / (fn.size("hq") / fn.size("hkv"));
  place.hq = head;
  // Lanes of rows that do not exist compute the last row and store nothing.
  Value exists = b.less(index, fn.size(extent));
  (overRows ? place.r : place.c) = minOf(index, fn.size(extent) - Num(1));
  for (Operation &op : stage.getBody().front()) {
    const LocationScope location(b, op.getLoc());
    llvm::TypeSwitch<Operation *>(&op)
        .Case<LoadOp, PositionOp, IndexOp, ReduceOp, MapOp>([&](auto o) { emit(o); })
        .Case([&](ConstantOp o) {
          auto type = cast<ValType>(o.getValue().getType());
          Value number = b.create<arith::ConstantOp>(
              b.getFloatAttr(type.getElementType(), o.getNumber().convertToDouble()));
          values[o.getValue()] = Registers(registersOf(type.getSpaces()), number);
        })
        .Case([&](StoreOp o) { b.ifThen(exists, [&] { emit(o); }); });
  }
  std::string items = std::string("b*") + (byKeyHead ? "hkv" : "hq") + "*ceildiv(" + extent.str() +
                      "," + std::to_string(kRows) + ")";
  fn.finish(stage, items, /*sharedBytes=*/0);
}

} // namespace

void mlir::tile::gpu::lowerVectorStage(StageOp stage) { VectorStage(stage).run(); }
