//===- StageFunction.cpp - function, sizes and views of a lowered stage ---===//
#include "passes/ToLoops/StageFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::tile;

SmallVector<Value> mlir::tile::collectBuffers(StageOp stage) {
  llvm::DenseSet<Value> used;
  stage.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<BufferType>(operand.getType()))
        used.insert(operand);
  });
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
  arguments.push_back(MemRefType::get({kNumSizes}, builder.getI64Type()));
  arguments.push_back(builder.getIndexType());

  std::string name = (plan.getSymName() + "_" + stage.getSymName() + suffix).str();
  function = func::FuncOp::create(stage.getLoc(), name, FunctionType::get(context, arguments, {}));
  SymbolTable(plan->getParentOp()).insert(function, Block::iterator(plan));
  Block *entry = function.addEntryBlock();

  builder.setInsertionPointToStart(entry);
  Value array = entry->getArgument(buffers.size());
  constexpr StringRef kArrayNames[] = {"b",       "hq",      "hkv",        "r",          "c",
                                       "q_start", "k_start", "head_start", "heads_total"};
  for (auto [index, sizeName] : llvm::enumerate(kArrayNames)) {
    Value position = arith::ConstantIndexOp::create(builder, getLoc(), index);
    Value number = memref::LoadOp::create(builder, getLoc(), array, position);
    sizes[sizeName] = arith::IndexCastOp::create(builder, getLoc(), builder.getIndexType(), number);
  }
  sizes["d"] = arith::ConstantIndexOp::create(builder, getLoc(), plan.getHeadDim());
  sizes["e"] = arith::ConstantIndexOp::create(builder, getLoc(), plan.getValueDim());
  for (auto [buffer, argument] : llvm::zip(buffers, entry->getArguments()))
    bindBuffer(builder, buffer, argument);
  item = entry->getArguments().back();
  func::ReturnOp::create(builder, getLoc());
}

OpBuilder StageFunction::getBodyBuilder() const {
  return OpBuilder(function.getBody().front().getTerminator());
}

OpBuilder StageFunction::getEntryBuilder() const {
  return OpBuilder::atBlockBegin(&function.getBody().front());
}

/// Extents, row-major strides and the view of one buffer.
void StageFunction::bindBuffer(OpBuilder &builder, Value buffer, Value argument) {
  SmallVector<Value> values;
  for (StringAttr extent : cast<BufferType>(buffer.getType()).getExtents())
    values.push_back(emitSize(builder, getLoc(), extent));
  views[buffer] = createView(builder, argument, builder.getIndexAttr(0), values);
  extents[buffer] = values;
}

void StageFunction::useCopy(OpBuilder &builder, Value buffer, Value copies, Value first) {
  SmallVector<Value> values(getExtents(copies).drop_front());
  Value argument = function.getArgument(llvm::find(buffers, copies) - buffers.begin());
  views[buffer] = createView(builder, argument, first, values);
  extents[buffer] = values;
}

/// Row-major from element `first` on.
Value StageFunction::createView(OpBuilder &builder, Value argument, OpFoldResult first,
                                ValueRange values) const {
  int64_t rank = values.size();
  SmallVector<OpFoldResult> shape, strides(rank);
  OpFoldResult stride = builder.getIndexAttr(1);
  for (Value value : values)
    shape.push_back(getAsOpFoldResult(value));
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    strides[dim] = stride;
    if (dim == 0)
      break;
    Value factor = getValueOrCreateConstantIndexOp(builder, getLoc(), stride);
    stride = getAsOpFoldResult(builder.createOrFold<arith::MulIOp>(getLoc(), factor, values[dim]));
  }
  return memref::ReinterpretCastOp::create(builder, getLoc(), argument, first, shape, strides);
}

Value StageFunction::getScratch(memref::AllocaOp scratch) const {
  Value &copy = scratches[scratch];
  if (!copy) {
    OpBuilder builder = getEntryBuilder();
    copy = memref::AllocaOp::create(builder, scratch.getLoc(), scratch.getType());
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
    default: { // CeilDiv of numbers that are not negative by one that is positive
      Value one = arith::ConstantIndexOp::create(builder, loc, 1);
      Value less = emit.operator()<arith::SubIOp>(right, one);
      Value sum = emit.operator()<arith::AddIOp>(left, less);
      return emit.operator()<arith::DivSIOp>(sum, right);
    }
    }
  };
  return parseForPlan(expression, plan.getKeyBlock()).fold<Value>(leaf, apply);
}

SmallVector<Value> StageFunction::decomposeItem(OpBuilder &builder, Location loc,
                                                ArrayRef<StringRef> names) const {
  SmallVector<Value> indices(names.size());
  Value rest = item;
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
  return LaunchOp::create(builder, stage.getLoc(), function.getSymName(), stage.getPhase(),
                          forPlan(items, plan.getKeyBlock()), buffers, /*threads=*/{},
                          /*shared_bytes=*/{});
}
