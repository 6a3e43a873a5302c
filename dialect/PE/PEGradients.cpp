//===- PEGradients.cpp - Constraints of derivatives -----------------------===//

#include "dialect/PE/PEGradients.h"

#include "dialect/PE/PEBiases.h"
#include "dialect/PE/PEContents.h"
#include "dialect/PE/PEScores.h"
#include "dialect/PE/PETerms.h"
#include "dialect/PE/PEWeights.h"

using namespace mlir;
using namespace mlir::pe;

#define GET_OP_CLASSES
#include "dialect/PE/PEGradients.cpp.inc"

AttentionOp AttentionGradOp::getAttention() { return getOutput().getDefiningOp<AttentionOp>(); }

SmallVector<Value> AttentionGradOp::getDifferentiated(AttentionOp attention) {
  SmallVector<Value> values(attention.getBiases());
  if (attention.getScore())
    values.push_back(attention.getScore());
  auto addIfActive = [&](Value value) {
    if (value && value.getDefiningOp() && value.getDefiningOp()->getNumOperands() > 0)
      values.push_back(value);
  };
  llvm::for_each(attention.getPrologues(), addIfActive);
  addIfActive(attention.getRotation());
  addIfActive(attention.getValueRotation());
  llvm::for_each(attention.getContents(), addIfActive);
  addIfActive(attention.getValueContent());
  addIfActive(attention.getSink());
  llvm::for_each(attention.getFactors(), addIfActive);
  return values;
}

LogicalResult AttentionGradOp::verify() {
  AttentionOp attention = getAttention();
  if (!attention || attention.getOutput() != getOutput()) // attention_grad-C1
    return emitOpError("expected the output of a pe.attention, found another value "
                       "(attention_grad-C1)");
  const size_t adjoints = getDifferentiated(attention).size();
  if (getAdjoints().size() != adjoints) // attention_grad-C2
    return emitOpError("expected one adjoint per bias, score function, and prologue, rotation, "
                       "content term, sink or factor with tensors, ")
           << adjoints << ", found " << getAdjoints().size() << " (attention_grad-C2)";
  const std::pair<Type, Type> types[] = {
      {attention.getOutput().getType(), getCotangent().getType()},
      {attention.getQuery().getType(), getQueryGrad().getType()},
      {attention.getKey().getType(), getKeyGrad().getType()},
      {attention.getValue().getType(), getValueGrad().getType()}};
  for (auto [expected, found] : types)
    if (expected != found) // attention_grad-C3
      return emitOpError("expected a gradient of type ")
             << expected << " like the tensor it belongs to, found " << found
             << " (attention_grad-C3)";
  if (attention.getLogits() || attention.getSeed()) // attention_grad-C5
    return emitOpError("expected sinks and dropout as values before differentiation, found ")
           << (attention.getSeed() ? "dropout(...)" : "a tensor of sinks")
           << "; run pe-expand-functions first (attention_grad-C5)";
  if (getLseCotangent() && !attention.getLse()) // attention_grad-C4
    return emitOpError("expected no cotangent of the log-sum-exp, which the attention does not "
                       "compute (attention_grad-C4)");
  return success();
}

MergeOp MergeGradOp::getMerge() { return getOutput().getDefiningOp<MergeOp>(); }

LogicalResult MergeGradOp::verify() {
  MergeOp merge = getMerge();
  if (!merge || merge.getOutput() != getOutput()) // merge_grad-C1
    return emitOpError("expected the output of a pe.merge, found another value (merge_grad-C1)");
  if (getGradients().getTypes() != merge->getOperandTypes()) // merge_grad-C2
    return emitOpError("expected one gradient per operand of the merge, of types ")
           << merge->getOperandTypes() << ", found " << getGradients().getTypes()
           << " (merge_grad-C2)";
  return success();
}

LogicalResult PullbackOp::verify() {
  Operation *bias = getBias().getDefiningOp();
  if (!isa_and_nonnull<BiasFnOp, TermOp>(bias)) // pullback-C1
    return emitOpError("expected a bias made by pe.bias_fn or pe.term, found another value "
                       "(pullback-C1)");
  TypeRange captures = bias->getOperandTypes();
  if (getGradients().getTypes() != captures) // pullback-C2
    return emitOpError("expected one gradient per capture of the bias, of types ")
           << captures << ", found " << getGradients().getTypes() << " (pullback-C2)";
  return success();
}

LogicalResult ScorePullbackOp::verify() {
  auto score = getScore().getDefiningOp<ScoreFnOp>();
  if (!score) // score_pullback-C1
    return emitOpError("expected a function made by pe.score_fn, found another value "
                       "(score_pullback-C1)");
  if (getGradients().getTypes() != score.getCaptures().getTypes()) // score_pullback-C2
    return emitOpError("expected one gradient per capture of the function, of types ")
           << score.getCaptures().getTypes() << ", found " << getGradients().getTypes()
           << " (score_pullback-C2)";
  return success();
}

LogicalResult WeightPullbackOp::verify() {
  Operation *op = getSource().getDefiningOp();
  if (!isa_and_nonnull<FactorFnOp, SinkFnOp>(op)) // weight_pullback-C1
    return emitOpError("expected the result of pe.factor_fn or pe.sink_fn, found another value "
                       "(weight_pullback-C1)");
  if (getGradients().getTypes() != op->getOperandTypes()) // weight_pullback-C2
    return emitOpError("expected one gradient per capture, of types ")
           << op->getOperandTypes() << ", found " << getGradients().getTypes()
           << " (weight_pullback-C2)";
  return success();
}

LogicalResult ProloguePullbackOp::verify() {
  Operation *op = getPrologue().getDefiningOp();
  if (!isa_and_nonnull<PrologueOpInterface, RotationOpInterface, ContentFnOp>(
          op)) // prologue_pullback-C1
    return emitOpError(
        "expected a prologue, rotation or content term that an op defines, found another value "
        "(prologue_pullback-C1)");
  if (getGradients().getTypes() != op->getOperandTypes()) // prologue_pullback-C2
    return emitOpError("expected one gradient per tensor of the op, of types ")
           << op->getOperandTypes() << ", found " << getGradients().getTypes()
           << " (prologue_pullback-C2)";
  return success();
}
