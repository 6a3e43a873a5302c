//===- ExpandFunctions.h - ops as regions of scalar code --------*- C++ -*-===//
#ifndef PE_PASSES_TRANSFORMS_EXPANDFUNCTIONS_H
#define PE_PASSES_TRANSFORMS_EXPANDFUNCTIONS_H

#include "dialect/PE/PEContents.h"
#include "dialect/PE/PEEmbeddings.h"
#include "dialect/PE/PEScores.h"
#include "dialect/PE/PEWeights.h"

namespace mlir::pe {

/// Create, at `builder`, the op whose region is the scalar code of another op. Its captures are the
/// tensors that the code may read, in the order of the op's operands.
ScoreFnOp createScoreFunction(OpBuilder &builder, ScoreOpInterface op);
ContentFnOp createContentFunction(OpBuilder &builder, ContentOpInterface op);
FactorFnOp createFactorFunction(OpBuilder &builder, FactorOpInterface op);
SinkFnOp createSinkFunction(OpBuilder &builder, SinkOpInterface op);
EmbeddingFnOp createEmbeddingFunction(OpBuilder &builder, EmbeddingOpInterface op);

/// Creates the product of factors (results of pe.factor_fn) as one factor.
FactorFnOp createProduct(OpBuilder &builder, Location loc, ArrayRef<Value> factors);

} // namespace mlir::pe

#endif // PE_PASSES_TRANSFORMS_EXPANDFUNCTIONS_H
