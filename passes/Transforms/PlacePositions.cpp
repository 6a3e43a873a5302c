//===- PlacePositions.cpp - replacing i and j by positions that are data --===//
//
// See Passes.td for an example. The positions in formulas are either the rows and columns of a call
// or data: given by the caller, or counted from the beginning of each document. This pass writes
// the data into the formulas, so that later passes need no support for it. Data of tokens is still
// read at the row and the column:
//
//   given      i = q_pos[b, row]           j = k_pos[b, column]
//   restarts   i = row - begin[row]        j = column - begin[row]       (of one document)
//
// In the second case i - j is row - column, so functions of the distance keep their class.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "dialect/PE/PEAttention.h"
#include "dialect/PE/PEContents.h"
#include "dialect/PE/PEMasks.h"
#include "dialect/PE/PEScalars.h"
#include "dialect/PE/PEScores.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Analysis/SourceNames.h"
#include "passes/Analysis/Structure.h"
#include "passes/Transforms/Placement.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "pe-place-positions"

namespace mlir::pe {
#define GEN_PASS_DEF_PEPLACEPOSITIONSPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// Replaces the function that `operand` names by a copy that reads the positions.
LogicalResult placeFunction(OpBuilder &builder, OpOperand &operand, const Placement &placement) {
  Operation *function = builder.clone(*operand.get().getDefiningOp());
  operand.set(function->getResult(0));
  return placeRegion(function, /*first=*/isa<ScoreFnOp>(function) ? 1 : 0, placement,
                     /*hasColumn=*/!isa<SinkFnOp>(function));
}

/// Writes positions into the score functions, factors and the sink of this attention, and into the
/// factors of its content terms. The vectors of these depend only on i - j, which does not change.
LogicalResult placeFunctions(AttentionOp attention, const Placement &placement) {
  for (OpOperand &operand : attention->getOpOperands()) {
    Operation *source = operand.get().getDefiningOp();
    OpBuilder builder(attention);
    if (auto content = dyn_cast_or_null<ContentFnOp>(source); content && content.getFactor()) {
      content = cast<ContentFnOp>(builder.clone(*content));
      operand.set(content);
      builder.setInsertionPoint(content);
      if (failed(placeFunction(builder, content.getFactorMutable()[0], placement)))
        return failure();
    }
    if (isa_and_nonnull<ScoreFnOp, FactorFnOp, SinkFnOp>(source) &&
        failed(placeFunction(builder, operand, placement)))
      return failure();
  }
  return success();
}

/// The conjuncts of an attention's mask, and all ops that they use.
struct MaskOps {
  SmallVector<Value> conjuncts;
  llvm::SetVector<Operation *> all;
};

MaskOps collectMasks(Value mask) {
  MaskOps ops;
  llvm::SetVector<Value> pending;
  if (mask)
    pending.insert(mask);
  for (SmallVector<Value> open(pending.getArrayRef()); !open.empty();) {
    Value next = open.pop_back_val();
    if (auto both = next.getDefiningOp<MaskAndOp>())
      llvm::append_range(open, ValueRange{both.getRhs(), both.getLhs()});
    else
      ops.conjuncts.push_back(next);
  }
  for (size_t n = 0; n < pending.size(); ++n) {
    Operation *op = pending[n].getDefiningOp();
    if (!op)
      continue;
    ops.all.insert(op);
    for (Value operand : op->getOperands())
      if (isa<MaskType>(operand.getType()))
        pending.insert(operand);
  }
  return ops;
}

/// Returns the documents that positions restart in, or null. Fails if the restart is not supported.
FailureOr<MaskOpInterface> findRestart(AttentionOp attention, const MaskOps &masks) {
  MaskOpInterface found;
  for (Operation *op : masks.all) {
    auto documents = cast<MaskOpInterface>(op);
    if (!documents.getDocumentBoundaries() || !documents.restartsPositions())
      continue;
    if (!llvm::is_contained(masks.conjuncts, documents->getResult(0))) // documents-C1
      return documents->emitError()
             << "expected documents with restart to be required by the whole "
                "mask, found them under pe.mask_or; join them by pe.mask_and "
                "(documents-C1)";
    if (found) // documents-C2
      return documents->emitError()
             << "expected positions to restart in one set of documents, found "
                "two (documents-C2)";
    found = documents;
  }
  if (found && attention.getQueryPositions()) // documents-C3
    return attention.emitError() << "expected either positions(...) or documents with restart, "
                                    "found both (documents-C3)";
  if (found && !attention.getPrologues().empty()) // documents-C4
    return attention.emitError()
           << "expected no prologue(...) together with documents with restart, "
              "found one (documents-C4)";
  return found;
}

/// Returns true if the rotation's frequencies depend on the end of the keys.
bool dependsOnEnd(RotationOpInterface rotation) {
  Block scratch;
  OpBuilder builder(rotation.getContext());
  Type index = builder.getIndexType();
  Location loc = rotation.getLoc();
  for (int n = 0; n < 3; ++n)
    scratch.addArgument(index, loc);
  for (Type type : rotation->getOperandTypes())
    scratch.addArgument(type, loc);
  builder.setInsertionPointToEnd(&scratch);
  ValueRange arguments = scratch.getArguments();
  RotationPoint point{arguments[0], arguments[1], arguments[2], rotation.getRotatedDims(256)};
  rotation.buildFrequency(builder, loc, point, arguments.drop_front(3));
  const bool usesEnd = !arguments[2].use_empty();
  scratch.dropAllReferences();
  return usesEnd;
}

/// Rejects turned keys under frequencies that depend on the end of the keys: a key would have to be
/// turned again whenever the keys grow.
LogicalResult checkRotatedKeys(AttentionOp attention) {
  if (!attention.getRotatedKeys())
    return success();
  auto rotation = cast<RotationOpInterface>(attention.getRotation().getDefiningOp());
  if (!rotation.getTables() && dependsOnEnd(rotation)) // rotated_keys-C4
    return attention.emitError()
           << "expected a rotation by frequencies that do not depend on the length together with "
              "rotated_keys, found frequencies that depend on the end of the keys "
              "(rotated_keys-C4)";
  return success();
}

/// Rejects rotations by given tables, or by frequencies that depend on the end of the keys, which
/// are undefined if positions are data.
LogicalResult checkRotation(Value value) {
  if (!value)
    return success();
  auto rotation = cast<RotationOpInterface>(value.getDefiningOp());
  auto refuse = [&](StringRef what) {
    return rotation.emitError() << "expected a rotation by frequencies that do not depend on the "
                                   "length if positions are data, found "
                                << what << " (positions-C8)";
  };
  if (rotation.getTables())
    return refuse("tables over positions");
  return dependsOnEnd(rotation) ? refuse("frequencies that depend on the end of the keys")
                                : success();
}

struct PlacePositionsPass : impl::PEPlacePositionsPassBase<PlacePositionsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<AttentionOp> attentions(getOperation().getOps<AttentionOp>());
    for (AttentionOp attention : attentions)
      if (failed(checkRotatedKeys(attention)) ||
          (!attention->hasAttr(kPositionsAttr) && failed(place(attention))))
        return signalPassFailure();
  }

  LogicalResult place(AttentionOp attention);
  LogicalResult placeTerms(AttentionOp attention, const Placement &placement);
};

LogicalResult PlacePositionsPass::placeTerms(AttentionOp attention, const Placement &placement) {
  FailureOr<SmallVector<TermOp>> terms = termsOf(attention);
  if (failed(terms))
    return failure();
  SmallVector<Value> results;
  for (TermOp term : *terms) {
    FailureOr<TermOp> placed = placeTerm(term, placement);
    if (failed(placed))
      return failure();
    results.push_back(*placed);
  }
  attention.getBiasesMutable().assign(results);
  for (TermOp term : *terms)
    if (term->use_empty())
      term->erase();
  return success();
}

LogicalResult PlacePositionsPass::place(AttentionOp attention) {
  const MaskOps masks = collectMasks(attention.getMask());
  const bool hasDocuments = llvm::any_of(masks.all, [](Operation *op) {
    return static_cast<bool>(cast<MaskOpInterface>(op).getDocumentBoundaries());
  });
  FailureOr<MaskOpInterface> restart = findRestart(attention, masks);
  if (failed(restart))
    return failure();
  OpBuilder builder(attention);
  std::optional<Placement> placement;
  std::string note;
  if (*restart) {
    Value boundaries = restart->getDocumentBoundaries();
    Type type = boundaries.getType();
    builder.setInsertionPointAfterValue(boundaries); // before the terms that read them
    auto bounds = [&](bool keys) -> Value {
      return DocumentBoundsOp::create(builder, (*restart)->getLoc(), type, type, boundaries, keys)
          .getBegin();
    };
    placement = Placement{true, bounds(false), bounds(true)};
    note = "i and j count from the beginning of each document in " +
           nameOfCapture(getOperation(), boundaries);
  } else if (attention.getQueryPositions()) {
    placement = Placement{false, attention.getQueryPositions(), attention.getKeyPositions()};
    note = "i is " + nameOfCapture(getOperation(), placement->queries) + "[b, query], j is " +
           nameOfCapture(getOperation(), placement->keys) + "[b, key]";
  }
  if (placement &&
      (failed(checkRotation(attention.getRotation())) ||
       failed(checkRotation(attention.getValueRotation())) ||
       failed(placeTerms(attention, *placement)) || failed(placeFunctions(attention, *placement))))
    return failure();
  if (attention.getMask() && (placement || hasDocuments)) {
    Value mask = placeMask(attention, placement ? &*placement : nullptr);
    if (!mask)
      return failure();
    attention.getMaskMutable().assign(mask);
  }
  if (placement)
    attention->setAttr(kPositionsAttr, builder.getStringAttr(note));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*attention->getBlock())))
    if (!isa<AttentionOp>(op) && isOpTriviallyDead(&op))
      op.erase();
  return success();
}

} // namespace
} // namespace mlir::pe
