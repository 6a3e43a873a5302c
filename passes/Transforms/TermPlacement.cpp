//===- TermPlacement.cpp - positions that are data, in terms --------------===//
//
// A term keeps its class if positions restart, because i - j is row - column within a document. If
// they are given, a function of the distance becomes one of the pair, and a multiple of the
// distance one of the row plus one of the column.
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEScalarBuilder.h"
#include "dialect/PE/PEScalars.h"
#include "passes/Analysis/Slice.h"
#include "passes/Transforms/Placement.h"

namespace mlir::pe {
namespace {

class TermPlacer {
public:
  TermPlacer(TermOp term, const Placement &placement) : term(term), placement(placement) {}
  /// Returns the term with its positions, which may be a new op.
  FailureOr<TermOp> place();

private:
  void capture(TermOp op);
  LogicalResult placePart(TermOp op, TermPart part);
  TermOp create(TermClass cls, StringRef reason);
  TermOp splitAffine();
  TermOp makeGeneral();

  TermOp term;
  const Placement &placement;
};

/// Appends the placement's tensors to the captures.
void TermPlacer::capture(TermOp op) {
  for (Value tensor : {placement.queries, placement.keys}) {
    op->insertOperands(op->getNumOperands(), tensor);
    for (Region &part : op.getParts())
      part.addArgument(tensor.getType(), op.getLoc());
  }
}

LogicalResult TermPlacer::placePart(TermOp op, TermPart part) {
  Block &block = op.getPart(part);
  CodeBlock code{block, block.getArgument(0), {}, {}, op.getCaptures(), {}, {}};
  const unsigned count = block.getNumArguments();
  code.queryTensor = block.getArgument(count - 2);
  code.keyTensor = block.getArgument(count - 1);
  (part == TermPart::Column ? code.column : code.row) = block.getArgument(2);
  if (part == TermPart::Pair)
    code.column = block.getArgument(3);
  return placeBlock(code, placement);
}

/// Creates an empty term with the captures of this one and the placement's tensors.
TermOp TermPlacer::create(TermClass cls, StringRef reason) {
  OpBuilder builder(term);
  auto structure = TermAttr::get(term.getContext(), cls, reason);
  ArrayRef<TermPart> parts = partsOf(cls);
  auto op = TermOp::create(builder, term.getLoc(), term.getType(), structure, term.getCaptures(),
                           term.getFormula(), parts.size());
  for (auto [part, region] : llvm::zip_equal(parts, op.getParts())) {
    Block &block = region.emplaceBlock();
    SmallVector<Type> types(2, builder.getIndexType());
    llvm::append_range(types, pointTypesOf(part, builder.getContext()));
    llvm::append_range(types, term.getCaptures().getTypes());
    block.addArguments(types, SmallVector<Location>(types.size(), term.getLoc()));
  }
  capture(op);
  return op;
}

/// Splits c (i - j) into c i plus c (0 - j).
TermOp TermPlacer::splitAffine() {
  TermOp op = create(TermClass::RowColumn, "is proportional to i - j, the difference of two given "
                                           "positions");
  Block &source = term.getPart(TermPart::Distance);
  for (TermPart part : {TermPart::Row, TermPart::Column}) {
    Block &block = op.getPart(part);
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    Location loc = term.getLoc();
    const bool isRow = part == TermPart::Row;
    const unsigned count = block.getNumArguments();
    Value position = placement.at(builder, loc, block.getArgument(0), block.getArgument(2),
                                  block.getArgument(count - (isRow ? 2 : 1)));
    if (!isRow)
      position = arith::SubIOp::create(builder, loc,
                                       arith::ConstantIndexOp::create(builder, loc, 0), position);
    IRMapping mapping;
    mapping.map(source.getArguments().take_front(3),
                ValueRange{block.getArgument(0), block.getArgument(1), position});
    mapping.map(source.getArguments().drop_front(3),
                block.getArguments().drop_front(3).drop_back(2));
    Value value = cloneSlice(term.getPartValue(TermPart::Distance), mapping, builder);
    YieldOp::create(builder, loc, value);
  }
  return op;
}

/// Makes a function of the difference of two given positions a function of the pair.
TermOp TermPlacer::makeGeneral() {
  TermOp op = create(TermClass::General, "is a function of i - j, the difference of two given "
                                         "positions");
  Block &block = op.getPart(TermPart::Pair);
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  const unsigned count = block.getNumArguments();
  Value batch = block.getArgument(0);
  PairPoint point{batch, block.getArgument(1),
                  placement.at(builder, term.getLoc(), batch, block.getArgument(2),
                               block.getArgument(count - 2)),
                  placement.at(builder, term.getLoc(), batch, block.getArgument(3),
                               block.getArgument(count - 1))};
  ValueRange captures = block.getArguments().drop_front(4).drop_back(2);
  Value value = term.buildScalar(builder, term.getLoc(), point, captures);
  YieldOp::create(builder, term.getLoc(), value);
  return op;
}

FailureOr<TermOp> TermPlacer::place() {
  TermOp op = term;
  switch (term.getTermClass()) {
  case TermClass::Affine:
    op = placement.restarts ? term : splitAffine();
    break;
  case TermClass::Distance:
    op = placement.restarts ? term : makeGeneral();
    break;
  case TermClass::Segments:
    if (!placement.restarts) {
      op = makeGeneral();
      break;
    }
    capture(op);
    if (failed(placePart(op, TermPart::RowFactor)))
      return failure();
    break;
  case TermClass::Row:
  case TermClass::Column:
  case TermClass::RowColumn:
  case TermClass::General:
    capture(op);
    for (TermPart part : partsOf(term.getTermClass()))
      if (failed(placePart(op, part)))
        return failure();
    break;
  }
  op.dropUnusedCaptures();
  return op;
}

} // namespace

FailureOr<TermOp> placeTerm(TermOp term, const Placement &placement) {
  return TermPlacer(term, placement).place();
}

} // namespace mlir::pe
