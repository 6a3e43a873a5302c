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

Value mlir::tile::batchSum(Scalar &s, ArrayRef<Value> sums, ValueRange at) {
  Value total;
  for (Value buffer : sums) {
    Value sum = sumOver(s, {"b"}, [&](Scalar &x, ValueRange batch) {
      SmallVector<Value> indices = {batch[0]};
      llvm::append_range(indices, at);
      return readElement(x, buffer, indices);
    });
    total = total ? s.add(total, sum) : sum;
  }
  return total;
}

std::string mlir::tile::numbered(const std::string &name, size_t number) {
  return number == 0 ? name : name + "_" + std::to_string(number);
}

void mlir::tile::ifNonZero(Scalar &s, Value value, llvm::function_ref<void(Scalar &)> body) {
  Value some =
      s.create<arith::CmpFOp>(arith::CmpFPredicate::UNE, value, s.number(0.0, value.getType()));
  auto branch = s.create<scf::IfOp>(some, /*withElseRegion=*/false);
  Scalar inner(s.getLoc(), OpBuilder::atBlockBegin(branch.thenBlock()));
  body(inner);
}

std::shared_ptr<TermLowering> SharedTerms::find(pe::TermOp term, int64_t smallest) const {
  auto isEqual = [&](const Known &other) {
    return other.smallest == smallest &&
           OperationEquivalence::isEquivalentTo(other.term, term,
                                                OperationEquivalence::IgnoreLocations);
  };
  auto found = llvm::find_if(known, isEqual);
  return found == known.end() ? nullptr : found->lowering;
}

AttentionTerms::AttentionTerms(PlanContext &context, ArrayRef<pe::TermOp> ops,
                               const Attention &attention, pe::DifferenceRange range,
                               SharedTerms &shared) {
  for (pe::TermOp op : ops) {
    if (std::shared_ptr<TermLowering> known = shared.find(op, range.min)) {
      terms.push_back(std::move(known));
      continue;
    }
    terms.push_back(create(context, op, attention, range));
    owned.push_back(terms.back().get());
    if (terms.back()->isSharable())
      shared.add(op, range.min, terms.back());
  }
}

std::unique_ptr<TermLowering> AttentionTerms::create(PlanContext &context, pe::TermOp term,
                                                     const Attention &attention,
                                                     pe::DifferenceRange range) {
  const std::string name = attention.name + "_term" + std::to_string(terms.size());
  switch (term.getTermClass()) {
  case pe::TermClass::Row:
    if (attention.isShiftInvariant())
      return createRowShift(context, term, name, attention);
    [[fallthrough]];
  case pe::TermClass::Column:
  case pe::TermClass::RowColumn:
    return createVectorTerm(context, term, name, attention);
  case pe::TermClass::Affine:
  case pe::TermClass::Distance:
    if (!term.dependsOnBatch())
      return createDistanceTerm(context, term, name, range.min);
    [[fallthrough]];
  case pe::TermClass::General:
    return createGeneralTerm(context, term, name, range);
  case pe::TermClass::Segments:
    return createSegmentsTerm(context, term, name);
  }
  llvm_unreachable("all classes are listed");
}

LogicalResult AttentionTerms::prepare() {
  for (TermLowering *term : owned)
    if (failed(term->prepare()))
      return failure();
  return success();
}
void AttentionTerms::finish() {
  for (TermLowering *term : owned)
    term->finish();
}

namespace {
/// Sets the location to that of the term in the user's file while it is alive.
class AtPlaceOf {
public:
  AtPlaceOf(TileBuilder &t, const TermLowering &term) : t(t), outer(t.getLoc()) {
    t.setLoc(term.getLoc());
  }
  ~AtPlaceOf() { t.setLoc(outer); }

private:
  TileBuilder &t;
  Location outer;
};
} // namespace

Value AttentionTerms::sum(TileBuilder &t, bool rowShifts, const SpaceSet &spaces) {
  Value sum;
  for (auto &term : terms) {
    if (term->isRowShift() != rowShifts)
      continue;
    AtPlaceOf place(t, *term);
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
  for (auto &term : terms) {
    AtPlaceOf place(t, *term);
    llvm::append_range(folds, term->emitGradient(t, cotangent));
  }
  return folds;
}

void AttentionTerms::storeFolds(TileBuilder &t, ValueRange folds) {
  for (auto &term : terms) {
    const size_t count = term->gradientFolds().size();
    term->storeFolds(t, folds.take_front(count));
    folds = folds.drop_front(count);
  }
}
