//===- SimplifyUnderNormalizer.cpp - Drop terms that change nothing -------===//
//
// See Passes.td for an example.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "passes/Analysis/Explain.h"
#include "passes/Analysis/Structure.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#define DEBUG_TYPE "pe-simplify-under-normalizer"

namespace mlir::pe {
#define GEN_PASS_DEF_PESIMPLIFYUNDERNORMALIZERPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// Whether the term's value is finite whatever the parameters hold: it reads none, and what it
/// computes of positions and finite constants has no poles.
bool isAlwaysFinite(const Term &term) {
  Block &body = BiasFnOp(term.bias).getBody().front();
  return llvm::all_of(body.without_terminator(), [](Operation &op) {
    FloatAttr number;
    if (matchPattern(&op, m_Constant(&number)))
      return number.getValue().isFinite();
    const bool isWhole =
        llvm::all_of(op.getResultTypes(), [](Type type) { return type.isIntOrIndex(); });
    return isWhole ? !isa<ReadOp>(op)
                   : isa<arith::SIToFPOp, arith::UIToFPOp, arith::AddFOp, arith::SubFOp,
                         arith::MulFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
                         arith::SelectOp, math::AbsFOp, math::SinOp, math::CosOp>(op);
  });
}

/// Why the attention's result is the same without the term, or "" if it is not. A row term that is
/// infinite or NaN is not without effect: it masks its row or makes NaN of it.
StringRef whyUnneeded(AttentionOp attention, const Term &term) {
  if (term.cls == TermClass::Zero)
    return "is zero";
  if (term.cls == TermClass::Row && ignoresRowTerms(attention) && isAlwaysFinite(term))
    return "softmax is unchanged by a number added to a whole row";
  return "";
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
    FailureOr<BiasStructure> structure = analyzeStructure(attention);
    if (failed(structure))
      return failure();
    SmallVector<Value> kept;
    SmallVector<Attribute> notes;
    Builder builder(&getContext());
    for (const Term &term : structure->terms) {
      StringRef why = whyUnneeded(attention, term);
      if (why.empty()) {
        kept.push_back(BiasFnOp(term.bias).getResult());
        continue;
      }
      std::string note = "a term that " + term.reason + ", at " +
                         describeLocation(term.root.getLoc()) + ": " + why.str();
      notes.push_back(builder.getStringAttr(note));
    }
    if (notes.empty())
      return success();
    numDropped += notes.size();
    attention.getBiasesMutable().assign(kept);
    if (auto before = attention->getAttrOfType<ArrayAttr>("pe.dropped"))
      notes.insert(notes.begin(), before.begin(), before.end());
    attention->setAttr("pe.dropped", builder.getArrayAttr(notes));
    for (const Term &term : structure->terms)
      if (term.bias->use_empty())
        term.bias->erase();
    return success();
  }
};

} // namespace
} // namespace mlir::pe
