//===- PETerms.cpp - The terms of a sum of biases -------------------------===//

#include "dialect/PE/PETerms.h"

#include "dialect/PE/PERegions.h"
#include "dialect/PE/PEScalarBuilder.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::pe;

#define GET_OP_CLASSES
#include "dialect/PE/PETerms.cpp.inc"

ArrayRef<TermPart> mlir::pe::partsOf(TermClass cls) {
  static constexpr TermPart rowColumn[] = {TermPart::Row, TermPart::Column};
  static constexpr TermPart distance[] = {TermPart::Distance};
  static constexpr TermPart segments[] = {TermPart::Factor, TermPart::RowFactor, TermPart::Scale,
                                          TermPart::Piece};
  static constexpr TermPart pair[] = {TermPart::Pair};
  switch (cls) {
  case TermClass::Row:
    return ArrayRef(rowColumn).take_front(1);
  case TermClass::Column:
    return ArrayRef(rowColumn).take_back(1);
  case TermClass::RowColumn:
    return rowColumn;
  case TermClass::Affine:
  case TermClass::Distance:
    return distance;
  case TermClass::Segments:
    return segments;
  case TermClass::General:
    return pair;
  }
  llvm_unreachable("all classes are listed");
}

StringRef mlir::pe::nameOf(TermPart part) {
  constexpr StringRef names[] = {"row",        "column", "distance", "factor",
                                 "row factor", "scale",  "piece",    "pair"};
  return names[static_cast<unsigned>(part)];
}

SmallVector<Type> mlir::pe::pointTypesOf(TermPart part, MLIRContext *context) {
  Type index = IndexType::get(context);
  switch (part) {
  case TermPart::Scale:
    return {};
  case TermPart::Piece:
    return {Float32Type::get(context)};
  case TermPart::Pair:
    return {index, index};
  default:
    return {index};
  }
}

unsigned mlir::pe::firstCaptureOf(TermPart part) {
  return 2 + (part == TermPart::Scale ? 0 : part == TermPart::Pair ? 2 : 1);
}

Block &TermOp::getPart(TermPart part) {
  ArrayRef<TermPart> parts = partsOf(getTermClass());
  return getParts()[llvm::find(parts, part) - parts.begin()].front();
}

Value TermOp::getPartValue(TermPart part) {
  return cast<YieldOp>(getPart(part).getTerminator()).getValues()[0];
}

bool TermOp::dependsOnBatch() {
  return llvm::any_of(getParts(), [](Region &part) { return !part.getArgument(0).use_empty(); });
}

bool TermOp::dependsOnHead(TermPart part) { return !getPart(part).getArgument(1).use_empty(); }

void TermOp::dropUnusedCaptures() { pe::dropUnusedCaptures(*this, getCaptures().size()); }

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

LogicalResult TermOp::verify() {
  size_t expected = partsOf(getTermClass()).size();
  if (getParts().size() != expected) // term-C1
    return emitOpError("expected a region per part of the class ")
           << stringifyTermClass(getTermClass()) << ", " << expected << ", found "
           << getParts().size() << " (term-C1)";
  return success();
}

static LogicalResult verifyPart(TermOp term, TermPart part, Block &block) {
  SmallVector<Type> types(2, IndexType::get(term.getContext()));
  llvm::append_range(types, pointTypesOf(part, term.getContext()));
  llvm::append_range(types, term.getCaptures().getTypes());
  if (!llvm::equal(block.getArgumentTypes(), types)) // term-C2
    return term.emitOpError("expected the part ")
           << nameOf(part) << " to have arguments of the types " << TypeRange(types) << ", found "
           << block.getArgumentTypes() << " (term-C2)";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != 1 || !yield.getValues()[0].getType().isF32()) // term-C3
    return term.emitOpError("expected the part ") << nameOf(part) << " to yield one f32 (term-C3)";
  for (Operation &op : block.without_terminator())
    if (failed(verifyScalarOp(op)))
      return failure();
  return success();
}

LogicalResult TermOp::verifyRegions() {
  for (auto [part, region] : llvm::zip_equal(partsOf(getTermClass()), getParts()))
    if (failed(verifyPart(*this, part, region.front())))
      return failure();
  const bool isPerHead =
      getTermClass() == TermClass::Distance || getTermClass() == TermClass::Segments;
  if (isPerHead && dependsOnBatch()) // term-C4
    return emitOpError("expected a term of class ")
           << stringifyTermClass(getTermClass()) << " not to depend on b (term-C4)";
  if (getTermClass() != TermClass::Segments)
    return success();
  auto piece = getPartValue(TermPart::Piece).getDefiningOp<PiecewiseOpInterface>();
  if (!piece || piece.getCoordinate() != getPart(TermPart::Piece).getArgument(2)) // term-C5
    return emitOpError("expected the part piece to yield an operation with PiecewiseOpInterface "
                       "whose coordinate is the part's x (term-C5)");
  return success();
}

//===----------------------------------------------------------------------===//
// Value
//===----------------------------------------------------------------------===//

Value TermOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                          ValueRange operands) {
  auto emit = [&](TermPart part, ValueRange at) {
    Block &block = getPart(part);
    IRMapping mapping;
    SmallVector<Value> leaves = {point.batch, point.head};
    llvm::append_range(leaves, at);
    llvm::append_range(leaves, operands);
    mapping.map(block.getArguments(), leaves);
    for (Operation &op : block.without_terminator())
      builder.clone(op, mapping);
    return mapping.lookupOrDefault(getPartValue(part));
  };
  auto difference = [&]() -> Value {
    return arith::SubIOp::create(builder, loc, point.query, point.key);
  };
  ScalarBuilder f(builder, loc, point);
  switch (getTermClass()) {
  case TermClass::Row:
    return emit(TermPart::Row, point.query);
  case TermClass::Column:
    return emit(TermPart::Column, point.key);
  case TermClass::RowColumn: {
    Value row = emit(TermPart::Row, point.query);
    return f.add(row, emit(TermPart::Column, point.key));
  }
  case TermClass::Affine:
  case TermClass::Distance:
    return emit(TermPart::Distance, difference());
  case TermClass::Segments: {
    Value factor = emit(TermPart::Factor, difference());
    Value x = f.mul(factor, emit(TermPart::RowFactor, point.query));
    Value scale = emit(TermPart::Scale, {});
    return f.mul(scale, emit(TermPart::Piece, x));
  }
  case TermClass::General:
    return emit(TermPart::Pair, {point.query, point.key});
  }
  llvm_unreachable("all classes are listed");
}
