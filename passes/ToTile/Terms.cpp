//===- Terms.cpp - the terms of one attention ---===//
#include "passes/ToTile/Terms.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

TermLowering::TermLowering(PlanContext &context, pe::TermOp term, std::string name)
    : context(context), term(term), name(std::move(name)) {}

void TermLowering::mapPart(IRMapping &mapping, pe::TermPart part, Value batch, Value head,
                           ValueRange point) {
  SmallVector<Value> leaves = {batch, head};
  llvm::append_range(leaves, point);
  mapping.map(term.getPart(part).getArguments().take_front(leaves.size()), leaves);
}

Value mlir::tile::sumOver(Scalar &s, ArrayRef<StringRef> extents,
                          llvm::function_ref<Value(Scalar &, ValueRange)> element) {
  SmallVector<Value> indices;
  std::function<Value(Scalar &, Value, ArrayRef<StringRef>)> level =
      [&](Scalar &at, Value sum, ArrayRef<StringRef> rest) -> Value {
    if (rest.empty()) {
      Value value = element(at, indices);
      if (!value.getType().isF64())
        value = at.create<arith::ExtFOp>(at.getF64Type(), value);
      return at.add(sum, value);
    }
    auto loop =
        at.create<scf::ForOp>(at.index(0), at.size(rest.front()), at.index(1), ValueRange{sum});
    Scalar inner(at.getLoc(), OpBuilder::atBlockEnd(loop.getBody()));
    indices.push_back(loop.getInductionVar());
    Value next = level(inner, loop.getRegionIterArg(0), rest.drop_front());
    indices.pop_back();
    inner.create<scf::YieldOp>(next);
    return loop.getResult(0);
  };
  return level(s, s.number(0.0, s.getF64Type()), extents);
}

void mlir::tile::ifNonZero(Scalar &s, Value value, llvm::function_ref<void(Scalar &)> body) {
  Value some =
      s.create<arith::CmpFOp>(arith::CmpFPredicate::UNE, value, s.number(0.0, value.getType()));
  auto branch = s.create<scf::IfOp>(some, /*withElseRegion=*/false);
  Scalar inner(s.getLoc(), OpBuilder::atBlockBegin(branch.thenBlock()));
  body(inner);
}

AttentionTerms::AttentionTerms(PlanContext &context, ArrayRef<pe::TermOp> terms,
                               const Attention &attention, int64_t smallest) {
  for (pe::TermOp term : terms)
    add(context, term, attention, smallest);
}

void AttentionTerms::add(PlanContext &context, pe::TermOp term, const Attention &attention,
                         int64_t smallest) {
  auto name = [&] { return attention.name + "_term" + std::to_string(terms.size()); };
  switch (term.getTermClass()) {
  case pe::TermClass::Row:
    if (attention.isShiftInvariant()) {
      terms.push_back(createRowShift(context, term, name(), attention));
      return;
    }
    [[fallthrough]];
  case pe::TermClass::Column:
  case pe::TermClass::RowColumn:
    terms.push_back(createVectorTerm(context, term, name(), attention));
    return;
  case pe::TermClass::Affine:
  case pe::TermClass::Distance:
    if (!term.dependsOnBatch()) {
      terms.push_back(createDistanceTerm(context, term, name(), smallest));
      return;
    }
    [[fallthrough]];
  case pe::TermClass::General:
    terms.push_back(createGeneralTerm(context, term, name()));
    return;
  case pe::TermClass::Segments:
    terms.push_back(createSegmentsTerm(context, term, name()));
    return;
  }
}

LogicalResult AttentionTerms::prepare() {
  for (auto &term : terms)
    if (failed(term->prepare()))
      return failure();
  return success();
}
void AttentionTerms::finish() {
  for (auto &term : terms)
    term->finish();
}

Value AttentionTerms::sum(TileBuilder &t, bool rowShifts, const SpaceSet &spaces) {
  Value sum;
  for (auto &term : terms) {
    if (term->isRowShift() != rowShifts)
      continue;
    Value value = term->emit(t);
    sum = !sum ? value : t.map({sum, value}, spaces, [](Scalar &s, ValueRange in) {
      return s.add(in[0], in[1]);
    });
  }
  return sum;
}

SmallVector<SpaceSet> AttentionTerms::gradientFolds() const {
  SmallVector<SpaceSet> folds;
  for (auto &term : terms)
    llvm::append_range(folds, term->gradientFolds());
  return folds;
}

SmallVector<Value> AttentionTerms::emitGradient(TileBuilder &t, Value cotangent) {
  SmallVector<Value> folds;
  for (auto &term : terms)
    llvm::append_range(folds, term->emitGradient(t, cotangent));
  return folds;
}

void AttentionTerms::storeFolds(TileBuilder &t, ValueRange folds) {
  for (auto &term : terms) {
    const size_t count = term->gradientFolds().size();
    term->storeFolds(t, folds.take_front(count));
    folds = folds.drop_front(count);
  }
}
