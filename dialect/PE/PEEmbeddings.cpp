//===- PEEmbeddings.cpp - Embeddings added to tokens ----------------------===//
//
// Verifies constraints embedding_fn-C1 to embedding_fn-C9 of docs/spec.md (PERegions.h has C1 to
// C6), and dropout-C1 to dropout-C3 for tokens.
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEEmbeddings.h"

#include "dialect/PE/PEDropout.h"
#include "dialect/PE/PERegions.h"
#include "dialect/PE/PEScalars.h"
#include "runtime/plan/SizeExpression.h"

using namespace mlir;
using namespace mlir::pe;

#define GET_OP_CLASSES
#include "dialect/PE/PEEmbeddings.cpp.inc"

constexpr RegionForm kForm = {"embedding_fn", RegionForm::Point::Token};

ParseResult EmbeddingFnOp::parse(OpAsmParser &parser, OperationState &result) {
  result.addTypes(EmbeddingType::get(parser.getContext()));
  return parseScalarRegion(parser, result, kForm);
}

void EmbeddingFnOp::print(OpAsmPrinter &printer) { printScalarRegion(printer, *this); }

LogicalResult EmbeddingFnOp::verify() {
  if (getWidthMultiple() && *getWidthMultiple() < 1) // embedding_fn-C8
    return emitOpError("expected width_multiple of at least 1, found ")
           << *getWidthMultiple() << " (embedding_fn-C8)";
  for (NamedAttribute entry : getLeast().value_or(DictionaryAttr::get(getContext()))) {
    auto text = dyn_cast<StringAttr>(entry.getValue());
    std::string problem = "it is not a string";
    std::optional<::pe::plan::SizeExpression> size;
    if (text)
      size = ::pe::plan::SizeExpression::parse(text.str(), problem);
    if (size && !size->resolve(std::vector<std::string>{"n"}))
      problem = "only n is known", size.reset();
    if (!size) // embedding_fn-C9
      return emitOpError("expected least to give sizes of axes as expressions over n such as "
                         "\"2 * n - 1\", found ")
             << entry.getName() << " = " << entry.getValue() << "; " << problem
             << " (embedding_fn-C9)";
  }
  return verifyRegionArguments(*this, kForm);
}

LogicalResult EmbeddingFnOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (isa<GlobalHeadOp, HeadsTotalOp, PiecewiseOpInterface>(op)) // embedding_fn-C7
      return op.emitOpError("expected no heads and no network in an embedding (embedding_fn-C7)");
  return verifyRegionCode(*this, kForm);
}

LogicalResult EmbedOp::verify() {
  return verifyDropout(*this, getDropout(), getSeed(), {getInput().getType(), "the tokens"});
}

LogicalResult EmbedGradOp::verify() {
  return verifyDropout(*this, getDropout(), getSeed(), {getCotangent().getType(), "the cotangent"});
}

Value EmbeddingFnOp::buildElement(OpBuilder &builder, Location, const TokenPoint &point,
                                  ValueRange operands) {
  return cloneRegionCode(builder, getBody(), {point.position, point.dim, point.dims, point.end},
                         operands);
}

DictionaryAttr EmbeddingFnOp::getLeastSizes() { return getLeastAttr(); }

int64_t EmbeddingFnOp::getDimsMultiple() { return getWidthMultiple().value_or(1); }

LogicalResult EmbeddingPullbackOp::verify() {
  auto embedding = getEmbedding().getDefiningOp<EmbeddingFnOp>();
  if (!embedding) // embedding_pullback-C1
    return emitOpError("expected an embedding made by pe.embedding_fn, found another value "
                       "(embedding_pullback-C1)");
  if (getGradients().getTypes() != embedding.getCaptures().getTypes()) // embedding_pullback-C2
    return emitOpError("expected one gradient per capture of the embedding, of types ")
           << embedding.getCaptures().getTypes() << ", found " << getGradients().getTypes()
           << " (embedding_pullback-C2)";
  return success();
}
