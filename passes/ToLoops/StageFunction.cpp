//===- StageFunction.cpp - function, sizes and views of a lowered stage ---===//
#include "passes/ToLoops/StageFunction.h"

#include "passes/ToLoops/LaunchWrites.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::tile;

SmallVector<Value> mlir::tile::collectBuffers(StageOp stage) {
  SmallVector<Value> ofPairs = stage.getPairBuffers();
  llvm::DenseSet<Value> used(ofPairs.begin(), ofPairs.end());
  stage.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<BufferType>(operand.getType()))
        used.insert(operand);
  });
  for (Value buffer : SmallVector<Value>(used.begin(), used.end()))
    if (Value table = tableOf(buffer))
      used.insert(table);
  SmallVector<Value> buffers;
  for (BufferOp buffer : stage->getParentOfType<PlanOp>().getOps<BufferOp>())
    if (used.contains(buffer.getBuffer()))
      buffers.push_back(buffer.getBuffer());
  return buffers;
}

SmallVector<StringRef> mlir::tile::getStrings(ArrayAttr attribute) {
  return llvm::map_to_vector(attribute.getAsValueRange<StringAttr>(),
                             [](StringRef text) { return text; });
}

std::string mlir::tile::productOfExtents(ArrayRef<StringRef> extents) {
  auto isWord = [](char ch) { return llvm::isAlnum(ch) || ch == '_'; };
  SmallVector<std::string> factors;
  for (StringRef extent : extents)
    factors.push_back(llvm::all_of(extent, isWord) ? extent.str() : "(" + extent.str() + ")");
  return factors.empty() ? "1" : llvm::join(factors, "*");
}

StageFunction::StageFunction(StageOp stage, StringRef suffix, ArrayRef<Value> buffers)
    : plan(stage->getParentOfType<PlanOp>()), buffers(buffers) {
  MLIRContext *context = stage.getContext();
  OpBuilder builder(plan);
  SmallVector<Type> arguments;
  for (Value buffer : buffers)
    arguments.push_back(MemRefType::get({1}, cast<BufferType>(buffer.getType()).getElementType()));
  const std::vector<::pe::plan::FrameWord> frame = getFrame(plan);
  arguments.push_back(MemRefType::get({static_cast<int64_t>(frame.size())}, builder.getI64Type()));
  arguments.push_back(builder.getIndexType());

  std::string name = (plan.getSymName() + "_" + stage.getSymName() + suffix).str();
  function = func::FuncOp::create(stage.getLoc(), name, FunctionType::get(context, arguments, {}));
  SymbolTable(plan->getParentOp()).insert(function, Block::iterator(plan));
  Block *entry = function.addEntryBlock();

  builder.setInsertionPointToStart(entry);
  loadFrame(builder, frame, entry->getArgument(buffers.size()));
  for (auto [buffer, argument] : llvm::zip(buffers, entry->getArguments()))
    bindBuffer(builder, buffer, argument);
  item = entry->getArguments().back();
  func::ReturnOp::create(builder, getLoc());
}

bool StageFunction::isUsed(StringRef name) const {
  return llvm::any_of(
      buffers, [&](Value buffer) { return buffer.getDefiningOp<BufferOp>().getName() == name; });
}

void StageFunction::loadFrame(OpBuilder &builder, ArrayRef<::pe::plan::FrameWord> frame,
                              Value array) {
  for (auto [index, word] : llvm::enumerate(frame)) {
    if (word.kind == ::pe::plan::FrameWord::Kind::Stride && !isUsed(word.name))
      continue;
    Value position = arith::ConstantIndexOp::create(builder, getLoc(), index);
    Value number = memref::LoadOp::create(builder, getLoc(), array, position);
    Value value = arith::IndexCastOp::create(builder, getLoc(), builder.getIndexType(), number);
    if (word.kind == ::pe::plan::FrameWord::Kind::Stride)
      givenStrides[word.name].push_back(value);
    else
      sizes[word.name] = value;
  }
  // The depths are constants, which exist only in a plan with attention.
  if (plan.getHeadDim() != 0) {
    sizes["d"] = arith::ConstantIndexOp::create(builder, getLoc(), plan.getHeadDim());
    sizes["e"] = arith::ConstantIndexOp::create(builder, getLoc(), plan.getValueDim());
  }
  for (StringRef start : {"q_start", "k_start"})
    if (!sizes.contains(start) || plan.getUnplaced())
      sizes[start] = arith::ConstantIndexOp::create(builder, getLoc(), 0);
}

OpBuilder StageFunction::getBodyBuilder() const {
  return OpBuilder(function.getBody().front().getTerminator());
}

OpBuilder StageFunction::getEntryBuilder() const {
  return OpBuilder::atBlockBegin(&function.getBody().front());
}

/// Binds the extents, strides and view of one buffer.
void StageFunction::bindBuffer(OpBuilder &builder, Value buffer, Value argument) {
  SmallVector<Value> values;
  for (StringAttr extent : cast<BufferType>(buffer.getType()).getExtents())
    values.push_back(emitSize(builder, getLoc(), extent));
  SmallVector<Value> pitches = givenStrides.lookup(buffer.getDefiningOp<BufferOp>().getName());
  bindView(builder, buffer, argument, builder.getIndexAttr(0), std::move(values),
           std::move(pitches));
}

void StageFunction::useCopy(OpBuilder &builder, Value buffer, Value copies, Value isCopy,
                            Value first) {
  SmallVector<Value> values(getExtents(copies).drop_front());
  auto argumentOf = [&](Value of) {
    return function.getArgument(llvm::find(buffers, of) - buffers.begin());
  };
  Value argument =
      arith::SelectOp::create(builder, getLoc(), isCopy, argumentOf(copies), argumentOf(buffer));
  bindView(builder, buffer, argument, first, std::move(values), {});
}

/// Binds the view of a buffer from element `first` on. Missing pitches default to row-major ones.
void StageFunction::bindView(OpBuilder &builder, Value buffer, Value argument, OpFoldResult first,
                             SmallVector<Value> values, SmallVector<Value> pitches) {
  const int64_t rank = values.size();
  pitches.resize(rank);
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    if (dim == rank - 1)
      pitches[dim] = arith::ConstantIndexOp::create(builder, getLoc(), 1);
    else if (!pitches[dim])
      pitches[dim] =
          builder.createOrFold<arith::MulIOp>(getLoc(), pitches[dim + 1], values[dim + 1]);
  }
  auto folded = [](Value value) { return getAsOpFoldResult(value); };
  views[buffer] = memref::ReinterpretCastOp::create(builder, getLoc(), argument, first,
                                                    llvm::map_to_vector(values, folded),
                                                    llvm::map_to_vector(pitches, folded));
  extents[buffer] = std::move(values);
  strides[buffer] = std::move(pitches);
}

Value StageFunction::getScratch(ScratchOp scratch) const {
  Value &copy = scratches[scratch];
  if (!copy) {
    OpBuilder builder = getEntryBuilder();
    copy = memref::AllocaOp::create(builder, scratch.getLoc(),
                                    cast<MemRefType>(scratch.getMemory().getType()));
  }
  return copy;
}

Value StageFunction::emitSize(OpBuilder &builder, Location loc, StringRef expression) const {
  using Expression = ::pe::plan::SizeExpression;
  auto leaf = [&](const Expression::Step &step) -> Value {
    if (step.kind == Expression::Kind::Name)
      return sizes.lookup(step.name);
    return arith::ConstantIndexOp::create(builder, loc, step.value);
  };
  auto apply = [&](Expression::Kind kind, Value left, Value right) -> Value {
    auto emit = [&]<typename Op>(Value a, Value b) { return builder.createOrFold<Op>(loc, a, b); };
    switch (kind) {
    case Expression::Kind::Add:
      return emit.operator()<arith::AddIOp>(left, right);
    case Expression::Kind::Subtract:
      return emit.operator()<arith::SubIOp>(left, right);
    case Expression::Kind::Multiply:
      return emit.operator()<arith::MulIOp>(left, right);
    case Expression::Kind::Max:
      return emit.operator()<arith::MaxSIOp>(left, right);
    case Expression::Kind::Min:
      return emit.operator()<arith::MinSIOp>(left, right);
    default: { // CeilDiv of a nonnegative dividend by a positive divisor
      Value one = arith::ConstantIndexOp::create(builder, loc, 1);
      Value less = emit.operator()<arith::SubIOp>(right, one);
      Value sum = emit.operator()<arith::AddIOp>(left, less);
      return emit.operator()<arith::DivSIOp>(sum, right);
    }
    }
  };
  return parseForPlan(expression, plan).fold<Value>(leaf, apply);
}

SmallVector<Value> StageFunction::decompose(OpBuilder &builder, Location loc, Value number,
                                            ArrayRef<StringRef> names) const {
  SmallVector<Value> indices(names.size());
  Value rest = number;
  for (size_t i = names.size(); i-- > 1;) {
    Value extent = emitSize(builder, loc, names[i]);
    indices[i] = arith::RemSIOp::create(builder, loc, rest, extent);
    rest = arith::DivSIOp::create(builder, loc, rest, extent);
  }
  if (!names.empty())
    indices.front() = rest;
  return indices;
}

LaunchOp StageFunction::createLaunch(StageOp stage, StringRef items) const {
  OpBuilder builder(stage);
  auto launch = LaunchOp::create(builder, stage.getLoc(), function.getSymName(), stage.getPhase(),
                                 builder.getStringAttr(forPlan(items, plan)), stage.getWhenAttr(),
                                 buffers, /*threads=*/{},
                                 /*shared_bytes=*/{}, /*words=*/{}, /*writes=*/{});
  noteWrites(launch, stage);
  return launch;
}
