//===- MaskPlacement.cpp - documents and positions in masks ---------------===//

#include "dialect/PE/PEMasks.h"
#include "dialect/PE/PEScalarBuilder.h"
#include "dialect/PE/PEScalars.h"
#include "passes/Transforms/Placement.h"

namespace mlir::pe {
namespace {

/// Builds the mask of one attention, with documents and positions written into it.
class MaskPlacer {
public:
  MaskPlacer(AttentionOp attention, const Placement *placement)
      : attention(attention), placement(placement), builder(attention) {}

  /// Returns null after an error.
  Value place(Value mask);

private:
  Value placeLeaf(MaskOpInterface op);
  Value placeDocuments(MaskOpInterface op);
  Value combine(MaskOpInterface op);

  AttentionOp attention;
  const Placement *placement; ///< null: rows and columns
  OpBuilder builder;
  DenseMap<Value, Value> placed;
};

/// Builds j >= begin[i] and j < end[i], for rows and columns.
Value MaskPlacer::placeDocuments(MaskOpInterface op) {
  Location loc = op.getLoc();
  Value boundaries = op.getDocumentBoundaries();
  Type tensor = boundaries.getType();
  auto bounds = placement && placement->restarts
                    ? placement->queries.getDefiningOp<DocumentBoundsOp>()
                    : DocumentBoundsOp();
  if (!bounds || bounds.getBoundaries() != boundaries)
    bounds = DocumentBoundsOp::create(builder, loc, tensor, tensor, boundaries, false);
  auto function = MaskFnOp::create(builder, loc, op->getResult(0).getType(), bounds->getResults());
  Block &block = function.getBody().emplaceBlock();
  block.addArguments(SmallVector<Type>(4, builder.getIndexType()), SmallVector<Location>(4, loc));
  Value begin = block.addArgument(tensor, loc), end = block.addArgument(tensor, loc);
  Value row = block.getArgument(2), column = block.getArgument(3);
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  Value isAfter = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::sge, column,
                                        readNumber(inner, loc, begin, row));
  Value isBefore = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::slt, column,
                                         readNumber(inner, loc, end, row));
  YieldOp::create(inner, loc, arith::AndIOp::create(inner, loc, isAfter, isBefore).getResult());
  return function;
}

/// Builds scalar code of rows and columns, into which positions are written. If they restart, a
/// mask that is a range of i - j is unchanged.
Value MaskPlacer::placeLeaf(MaskOpInterface op) {
  if (op.getDocumentBoundaries())
    return placeDocuments(op);
  Value mask = op->getResult(0);
  if (!placement || (placement->restarts && getDifferenceRange(mask)->exact))
    return mask;
  SmallVector<Value> captures(op->getOperands());
  auto function = MaskFnOp::create(builder, op.getLoc(), mask.getType(), captures);
  Block &block = function.getBody().emplaceBlock();
  SmallVector<Type> types(4, builder.getIndexType());
  llvm::append_range(types, op->getOperandTypes());
  block.addArguments(types, SmallVector<Location>(types.size(), op.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  PairPoint point{block.getArgument(0), block.getArgument(1), block.getArgument(2),
                  block.getArgument(3)};
  Value isKept =
      op.buildScalar(inner, op.getLoc(), point, ValueRange(block.getArguments()).drop_front(4));
  YieldOp::create(inner, op.getLoc(), isKept);
  return succeeded(placeRegion(function, /*first=*/0, *placement)) ? function.getResult() : Value();
}

/// Returns true if the value of a mask of masks reads no position directly.
bool isFreeOfPositions(MaskOpInterface op) {
  Block scratch;
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&scratch);
  Location loc = op.getLoc();
  scratch.addArguments(SmallVector<Type>(4, builder.getIndexType()), SmallVector<Location>(4, loc));
  SmallVector<Value> operands;
  for (Type type : op->getOperandTypes())
    operands.push_back(scratch.addArgument(isa<MaskType>(type) ? builder.getI1Type() : type, loc));
  PairPoint point{scratch.getArgument(0), scratch.getArgument(1), scratch.getArgument(2),
                  scratch.getArgument(3)};
  op.buildScalar(builder, loc, point, operands);
  const bool isFree = point.query.use_empty() && point.key.use_empty();
  scratch.dropAllReferences();
  return isFree;
}

/// Creates the same op on masks that are already placed.
Value MaskPlacer::combine(MaskOpInterface op) {
  if (placement && !isFreeOfPositions(op)) {
    op->emitError() << "expected ops that combine masks to read no positions if positions are "
                       "data, found '"
                    << op->getName() << "' (positions-C7)";
    return {};
  }
  Operation *copy = builder.clone(*op);
  for (OpOperand &operand : copy->getOpOperands())
    if (Value known = placed.lookup(operand.get()))
      operand.set(known);
  return copy->getResult(0);
}

/// Works without recursion, because masks may form long chains.
Value MaskPlacer::place(Value mask) {
  SmallVector<Value> pending = {mask};
  while (!pending.empty()) {
    Value current = pending.back();
    auto op = current.getDefiningOp<MaskOpInterface>();
    const size_t before = pending.size();
    bool isLeaf = true;
    for (Value operand : op->getOperands())
      if (isa<MaskType>(operand.getType())) {
        isLeaf = false;
        if (!placed.contains(operand))
          pending.push_back(operand);
      }
    if (pending.size() != before)
      continue;
    pending.pop_back();
    if (placed.contains(current))
      continue;
    Value result = isLeaf ? placeLeaf(op) : combine(op);
    if (!result)
      return {};
    placed[current] = result;
  }
  return placed.lookup(mask);
}

} // namespace

Value placeMask(AttentionOp attention, const Placement *placement) {
  return MaskPlacer(attention, placement).place(attention.getMask());
}

} // namespace mlir::pe
