//===- Placement.cpp - positions in one block of scalar code --------------===//

#include "passes/Transforms/Placement.h"

#include "dialect/PE/PEScalarBuilder.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Analysis/Slice.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::pe {
namespace {

/// Given positions are below 2^30 (checked where the host can read them, clamped here).
constexpr int64_t kLastPosition = (int64_t(1) << 30) - 1;

/// Writes positions into one block.
class BlockPlacer {
public:
  BlockPlacer(const Placement &placement, const CodeBlock &code)
      : placement(placement), code(code) {}

  LogicalResult place();

private:
  LogicalResult keepPlaces(ReadOp read, ArrayAttr axes);
  LogicalResult keepPlaces();
  ArrayAttr axesOf(Value tensor) const;
  void replace(Value from, Value to);

  const Placement &placement;
  const CodeBlock &code;
  llvm::SmallPtrSet<Operation *, 8> own; ///< code that uses the rows and columns unchanged
  llvm::SmallPtrSet<OpOperand *, 8> ownUses;
};

/// Returns the axes of a captured argument of the entry function, or null if unknown.
ArrayAttr BlockPlacer::axesOf(Value tensor) const {
  auto argument = dyn_cast<BlockArgument>(tensor);
  if (!argument || argument.getOwner() != &code.block)
    return {};
  const unsigned first = code.block.getNumArguments() - code.captures.size();
  if (argument.getArgNumber() < first)
    return {};
  auto outer = dyn_cast<BlockArgument>(code.captures[argument.getArgNumber() - first]);
  auto function = outer ? dyn_cast<func::FuncOp>(outer.getOwner()->getParentOp()) : func::FuncOp();
  return function ? function.getArgAttrOfType<ArrayAttr>(outer.getArgNumber(), "pe.axes")
                  : ArrayAttr();
}

/// Keeps indices of axes over tokens as functions of the row and the column.
LogicalResult BlockPlacer::keepPlaces(ReadOp read, ArrayAttr axes) {
  OpBuilder builder(read);
  for (auto [number, word] : llvm::enumerate(axes.getAsValueRange<StringAttr>())) {
    if (word != "query" && word != "key")
      continue;
    Value index = read.getIndices()[number];
    llvm::DenseSet<Value> leaves = {index};
    for (Operation *op : collectSlice(index))
      leaves.insert_range(op->getOperands());
    Value other = word == "query" ? code.column : code.row;
    if (!placement.restarts && other && leaves.contains(other))
      return read.emitError() << "expected a tensor over the axis \"" << word << "\" to be read at "
                              << (word == "query" ? "i" : "j")
                              << " if positions(...) are given, found it read at "
                              << (word == "query" ? "j" : "i")
                              << "; a given position is not an index of the tensor (positions-C5)";
    IRMapping mapping;
    Value kept = index.getDefiningOp() ? cloneSlice(index, mapping, builder) : index;
    for (Operation *op : collectSlice(kept))
      own.insert(op);
    read->setOperand(1 + number, kept);
    ownUses.insert(&read->getOpOperand(1 + number)); // may be a use of i or j itself
  }
  return success();
}

LogicalResult BlockPlacer::keepPlaces() {
  SmallVector<ReadOp> reads(code.block.getOps<ReadOp>());
  for (ReadOp read : reads)
    if (ArrayAttr axes = axesOf(read.getSource()); axes && failed(keepPlaces(read, axes)))
      return failure();
  for (auto sum : code.block.getOps<SumOp>())
    for (Value input : sum.getInputs()) {
      ArrayAttr axes = axesOf(input);
      if (axes && llvm::any_of(axes.getAsValueRange<StringAttr>(),
                               [](StringRef word) { return word == "query" || word == "key"; }))
        return sum.emitError() << "expected a sum that reads no data of tokens if positions are "
                                  "data, found one that does (positions-C6)";
    }
  return success();
}

/// Replaces uses in code that computes with positions.
void BlockPlacer::replace(Value from, Value to) {
  from.replaceUsesWithIf(
      to, [&](OpOperand &use) { return !own.contains(use.getOwner()) && !ownUses.contains(&use); });
}

LogicalResult BlockPlacer::place() {
  if (failed(keepPlaces()))
    return failure();
  OpBuilder builder = OpBuilder::atBlockBegin(&code.block);
  Location loc = code.block.getTerminator()->getLoc();
  Value query, key;
  if (code.row)
    query = placement.at(builder, loc, code.batch, code.row, code.queryTensor);
  if (code.column && placement.restarts && code.row)
    key = Placement::after(builder, loc, code.column, code.queryTensor, code.row);
  else if (code.column)
    key = placement.at(builder, loc, code.batch, code.column, code.keyTensor);
  for (Value position : {query, key})
    if (position)
      for (Operation *op : collectSlice(position))
        own.insert(op);
  for (auto [from, to] : {std::pair(code.row, query), {code.column, key}})
    if (from)
      replace(from, to);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(code.block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return success();
}

} // namespace

Value readNumber(OpBuilder &builder, Location loc, Value tensor, ValueRange indices) {
  Value number = ReadOp::create(builder, loc, builder.getI32Type(), tensor, indices);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), number);
}

Value Placement::after(OpBuilder &builder, Location loc, Value place, Value tensor, Value row) {
  return arith::SubIOp::create(builder, loc, place, readNumber(builder, loc, tensor, row));
}

Value Placement::at(OpBuilder &builder, Location loc, Value batch, Value place,
                    Value tensor) const {
  if (restarts)
    return after(builder, loc, place, tensor, place);
  Value least = arith::ConstantIndexOp::create(builder, loc, 0);
  Value most = arith::ConstantIndexOp::create(builder, loc, kLastPosition);
  Value number = readNumber(builder, loc, tensor, {batch, place});
  number = arith::MaxSIOp::create(builder, loc, number, least);
  return arith::MinSIOp::create(builder, loc, number, most);
}

LogicalResult placeBlock(const CodeBlock &code, const Placement &placement) {
  return BlockPlacer(placement, code).place();
}

LogicalResult placeRegion(Operation *op, unsigned first, const Placement &placement,
                          bool hasColumn) {
  Block &block = op->getRegion(0).front();
  const unsigned leading = first + (hasColumn ? 4 : 3);
  SmallVector<Value> tensors;
  for (Value tensor : {placement.queries, placement.keys}) {
    op->insertOperands(op->getNumOperands(), tensor);
    tensors.push_back(block.addArgument(tensor.getType(), op->getLoc()));
  }
  CodeBlock code{block,
                 block.getArgument(first),
                 block.getArgument(first + 2),
                 hasColumn ? block.getArgument(first + 3) : Value(),
                 op->getOperands(),
                 tensors[0],
                 tensors[1]};
  if (failed(placeBlock(code, placement)))
    return failure();
  for (unsigned n = 0, last = block.getNumArguments() - 1; n < 2; ++n)
    if (block.getArgument(last - n).use_empty()) {
      block.eraseArgument(last - n);
      op->eraseOperand(last - n - leading);
    }
  return success();
}

} // namespace mlir::pe
