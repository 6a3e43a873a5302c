//===- SimplifyUnderNormalizer.cpp - dropping terms without effect --------===//
//
// See Passes.td for an example.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "passes/Analysis/SourceNames.h"
#include "passes/Analysis/Structure.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "pe-simplify-under-normalizer"

namespace mlir::pe {
#define GEN_PASS_DEF_PESIMPLIFYUNDERNORMALIZERPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// Returns true if the part's value is finite for all parameters: it reads no float parameter, and
/// its computation on positions and finite constants has no poles.
bool isAlwaysFinite(Block &part) {
  return llvm::all_of(part.without_terminator(), [](Operation &op) {
    FloatAttr number;
    if (matchPattern(&op, m_Constant(&number)))
      return number.getValue().isFinite();
    const bool isWhole =
        llvm::all_of(op.getResultTypes(), [](Type type) { return type.isIntOrIndex(); });
    auto read = dyn_cast<ReadOp>(op); // an i32 read is a position
    return isWhole ? !read || read.getResult().getType().isInteger(32)
                   : isa<arith::SIToFPOp, arith::UIToFPOp, arith::AddFOp, arith::SubFOp,
                         arith::MulFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
                         arith::SelectOp, math::AbsFOp, math::SinOp, math::CosOp>(op);
  });
}

/// Returns true if the row part has no effect. An infinite or NaN row part masks its row or makes
/// it NaN.
bool isUnneeded(TermOp term) { return isAlwaysFinite(term.getPart(TermPart::Row)); }

/// Returns the term without its row part.
TermOp keepColumn(TermOp term) {
  OpBuilder builder(term);
  auto structure =
      TermAttr::get(term.getContext(), TermClass::Column, "depends only on the key position");
  auto column = TermOp::create(builder, term.getLoc(), term.getType(), structure,
                               term.getCaptures(), term.getFormula(), /*partsCount=*/1);
  column.getParts().front().takeBody(*term.getPart(TermPart::Column).getParent());
  column.dropUnusedCaptures();
  return column;
}

struct SimplifyUnderNormalizerPass
    : impl::PESimplifyUnderNormalizerPassBase<SimplifyUnderNormalizerPass> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult walk = getOperation().walk([&](AttentionOp attention) {
      return succeeded(simplify(attention)) ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult simplify(AttentionOp attention) {
    FailureOr<SmallVector<TermOp>> terms = termsOf(attention);
    if (failed(terms))
      return failure();
    if (!ignoresRowTerms(attention)) {
      LDBG() << attention.getLoc() << ": kept all terms, because a row's constant has an effect";
      return success();
    }
    SmallVector<Value> kept;
    SmallVector<Attribute> notes;
    Builder builder(&getContext());
    for (TermOp term : *terms) {
      const bool isRow = term.getTermClass() == TermClass::Row;
      const bool hasRow = isRow || term.getTermClass() == TermClass::RowColumn;
      if (!hasRow || !isUnneeded(term)) {
        LDBG() << term.getLoc() << ": kept, "
               << (hasRow ? "because its part for the row may be infinite or NaN"
                          : "because it has no part for the row");
        kept.push_back(term);
        continue;
      }
      Location place = term.getPartValue(TermPart::Row).getLoc();
      StringRef reason = isRow ? term.getReason() : "depends only on the query position";
      std::string note = "a term that " + reason.str() + ", at " + describeLocation(place) +
                         ": softmax is unchanged by a constant added to a row";
      LDBG() << place << ": dropped " << note;
      notes.push_back(builder.getStringAttr(note));
      if (!isRow)
        kept.push_back(keepColumn(term));
    }
    if (notes.empty())
      return success();
    numDropped += notes.size();
    attention.getBiasesMutable().assign(kept);
    if (ArrayAttr before = attention.getDroppedAttr())
      notes.insert(notes.begin(), before.begin(), before.end());
    attention.setDroppedAttr(builder.getArrayAttr(notes));
    for (TermOp term : *terms)
      if (term->use_empty())
        term->erase();
    return success();
  }
};

} // namespace
} // namespace mlir::pe
