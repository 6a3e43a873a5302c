//===- LinePart.cpp - a part of a bias that depends on one position -------===//
#include "passes/ToTile/LinePart.h"

#include "dialect/PE/PE.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::tile;

LinePart::LinePart(PlanContext &context, pe::TermOp term, pe::TermPart part, std::string name,
                   const Attention &attention)
    : context(context), term(term), part(part), rows(part == pe::TermPart::Row),
      name(std::move(name)), attention(attention),
      perBatch(!term.getPart(part).getArgument(0).use_empty()), perHead(term.dependsOnHead(part)) {}

SmallVector<StringRef> LinePart::heads() const {
  SmallVector<StringRef> extents;
  if (perBatch)
    extents.push_back("b");
  if (perHead)
    extents.push_back("hq");
  return extents;
}

/// Returns true if the part is an element of a tensor or its negation, which is exact in f32.
bool LinePart::isStored() {
  Value value = term.getPartValue(part);
  while (Operation *op = value.getDefiningOp()) {
    FloatAttr factor;
    auto isUnit = [&](Value v) {
      return matchPattern(v, m_Constant(&factor)) && std::abs(factor.getValueAsDouble()) == 1.0;
    };
    if (isa<arith::NegFOp>(op))
      value = op->getOperand(0);
    else if (isa<arith::MulFOp>(op) && isUnit(op->getOperand(0)))
      value = op->getOperand(1);
    else if (isa<arith::MulFOp>(op) && isUnit(op->getOperand(1)))
      value = op->getOperand(0);
    else
      return isa<pe::ReadOp>(op);
  }
  return false;
}

//===- Values ------------------------------------------------------------------===//

/// Emits the part's value in float64. `at` is the batch and the head, if the part depends on them,
/// and the row or column within this call.
Value LinePart::emitPrimal(Scalar &s, IRMapping &mapping, ValueRange at) {
  Value position = s.add(at.back(), s.size(rows ? "q_start" : "k_start"));
  Value zero = s.index(0);
  Value batch = perBatch ? at.front() : zero, head = perHead ? at[perBatch] : zero;
  mapping.map(term.getPart(part).getArguments().take_front(3), ValueRange{batch, head, position});
  TileParameters params(context, term.getPart(part), term.getCaptures());
  params.compute = s.getF64Type();
  return vjp->emitPrimal(s, mapping, params, s.getF64Type());
}

/// Writes the value as a sum of two f32.
void LinePart::emitSplit(Scalar &s, ValueRange at) {
  IRMapping mapping;
  Value value = emitPrimal(s, mapping, at);
  Value rounded = s.create<arith::TruncFOp>(s.getF32Type(), value);
  Value rest = s.sub(value, s.create<arith::ExtFOp>(s.getF64Type(), rounded));
  // The low part of infinity is 0 rather than NaN.
  Value isInfinite = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ,
                                             s.create<math::AbsFOp>(rounded), s.number(INFINITY));
  Value narrow = s.create<arith::TruncFOp>(s.getF32Type(), rest);
  writeElement(s, rounded, high, at);
  writeElement(s, s.select(isInfinite, s.number(0.0), narrow), low, at);
}

/// Runs `body` if the tensors of the part are not empty. A row may read data of keys in a call
/// without keys, and vice versa; no pair needs the value then.
void LinePart::ifReadable(Scalar &s, llvm::function_ref<void(Scalar &)> body) {
  StringRef other = rows ? "c" : "r";
  const bool readsOther = llvm::any_of(context.sourcesOf(term.getCaptures()), [&](Value capture) {
    return llvm::is_contained(context.parameters[capture].extents(), other);
  });
  if (!readsOther)
    return body(s);
  Value exists = s.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, s.size(other), s.index(0));
  auto branch = s.create<scf::IfOp>(exists, /*withElseRegion=*/false);
  Scalar inner(s.getLoc(), OpBuilder::atBlockBegin(branch.thenBlock()));
  body(inner);
}

LogicalResult LinePart::prepare(bool isExact) {
  FailureOr<pe::ScalarVjp> derived = pe::ScalarVjp::create(term.getPartValue(part));
  if (failed(derived))
    return failure();
  vjp.emplace(*derived);
  SmallVector<StringRef> extents = heads();
  extents.push_back(axis());
  high = context.kept(name + "_vector", extents);
  if (isExact && !isStored())
    low = context.kept(name + "_low", extents);
  if (context.grad && vjp->isActive() && !hasKnownSums())
    sums = context.temporary(name + "_sums", {"b", sumHead(), axis()}, {}, /*zero=*/!isFold());
  TileBuilder t = beginStage(context.plan, name + "_prepare", Phase::Prepare, heads());
  t.foreach ({axis()}, [&](Scalar &s, ValueRange at) {
    ifReadable(s, [&](Scalar &x) {
      if (low)
        return emitSplit(x, at);
      IRMapping mapping;
      Value value = emitPrimal(x, mapping, at);
      if (!isExact)
        value = x.mul(value, x.number(kLog2E, x.getF64Type()));
      writeElement(x, x.create<arith::TruncFOp>(x.getF32Type(), value), high, at);
    });
  });
  return success();
}

//===- Sums --------------------------------------------------------------------===//

SmallVector<SpaceSet> LinePart::gradientFolds() const {
  return sums && isFold() ? SmallVector<SpaceSet>{spaces()} : SmallVector<SpaceSet>();
}

SmallVector<Value> LinePart::emitGradient(TileBuilder &t, Value cotangent) {
  if (!sums)
    return {};
  if (isFold())
    return {t.reduce(Reduction::Add, rows ? "c" : "r", cotangent)};
  // A fold over columns would sum the heads of a key head, which have separate sums here.
  t.eachPair({cotangent, t.index("b"), t.index("hq"), t.index("c")},
             [&](Scalar &s, ValueRange in) { accumulateElement(s, in[0], sums, in.drop_front()); });
  return {};
}

void LinePart::storeFolds(TileBuilder &t, ValueRange folds) {
  for (Value fold : folds)
    t.store(fold, sums);
}

//===- From sums to parameters -----------------------------------------------------===//

/// Adds the parameters' gradients, given the float64 cotangent of the vector at `at`.
void LinePart::chain(Scalar &s, ValueRange at, Value cotangent) {
  ifNonZero(s, cotangent, [&](Scalar &x) {
    IRMapping mapping;
    emitPrimal(x, mapping, at);
    TileParameters params(context, term.getPart(part), term.getCaptures());
    params.compute = x.getF64Type();
    vjp->emitAdjoint(x, mapping, cotangent, params);
  });
}

/// Returns the sum of a row of dS: the cotangent of its log-sum-exp; NaN if that is NaN.
Value LinePart::knownSum(Scalar &s, Value batch, Value head, Value row) {
  auto read = [&](Value buffer) {
    Value element = readElement(s, buffer, {batch, head, row});
    return s.create<arith::ExtFOp>(s.getF64Type(), element).getResult();
  };
  Value zero = s.number(0.0, s.getF64Type()), lse = read(attention.residual);
  Value sum =
      s.add(attention.dStatistic ? read(attention.dStatistic) : zero, s.sub(lse, lse)); // or NaN
  Value isEmpty =
      s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, lse, s.number(-INFINITY, s.getF64Type()));
  return s.select(isEmpty, zero, sum);
}

/// Returns, per head, the excess of the sums over the total of the rows, and the mean position of
/// the sums weighted by magnitude. The totals are a separate stage: they are long sums to few
/// elements, which any number of threads can share.
Value LinePart::findRest() {
  Type f64 = context.plan.getF64Type();
  enum Total { Sum, Size, Moment };
  Value totals = context.temporary(name + "_totals", {"b", sumHead(), "3"}, f64, /*zero=*/true);
  TileBuilder t = beginStage(context.plan, name + "_totals", Phase::Finish, {"b", sumHead()});
  t.foreach ({axis()}, [&](Scalar &s, ValueRange at) {
    Value sum = s.create<arith::ExtFOp>(f64, readElement(s, sums, at));
    Value size = s.create<math::AbsFOp>(sum);
    auto add = [&](Total total, Value value) {
      accumulateElement(s, value, totals, {at[0], at[1], s.index(total)});
    };
    add(Sum, sum);
    add(Size, size);
    add(Moment, s.mul(size, s.toFloat(at[2], f64)));
  });
  if (Value rowSums = this->rowSums()) {
    const bool isPerHead = sumHead() == "hq";
    SmallVector<StringRef> group = {"ceildiv(hq,hkv)", "r"};
    t.foreach (ArrayRef(group).drop_front(isPerHead), [&](Scalar &s, ValueRange at) {
      Value head = isPerHead ? at[1] : s.add(s.mul(at[1], s.size(group[0])), at[2]);
      Value sum = readElement(s, rowSums, {at[0], head, at.back()});
      Value negated = s.create<arith::NegFOp>(s.create<arith::ExtFOp>(f64, sum));
      accumulateElement(s, negated, totals, {at[0], at[1], s.index(Sum)});
    });
  }
  Value rest = context.temporary(name + "_rest", {"b", sumHead(), "2"}, f64);
  TileBuilder means = beginStage(context.plan, name + "_rest", Phase::Finish, {});
  means.foreach ({"b", sumHead()}, [&](Scalar &s, ValueRange at) {
    auto read = [&](Total total) { return readElement(s, totals, {at[0], at[1], s.index(total)}); };
    Value size = read(Size), zero = s.number(0.0, f64);
    Value isNumber = s.greater(size, zero); // false for NaN
    writeElement(s, s.select(isNumber, read(Sum), zero), rest, {at[0], at[1], s.index(0)});
    writeElement(s, s.select(isNumber, s.div(read(Moment), size), zero), rest,
                 {at[0], at[1], s.index(1)});
  });
  return rest;
}

/// Returns the excess if `place` is its position, and zero otherwise.
Value LinePart::restAt(Scalar &s, Value rest, Value batch, Value head, Value place) {
  Type f64 = s.getF64Type();
  Value mean = readElement(s, rest, {batch, head, s.index(1)});
  Value offset = s.sub(mean, s.toFloat(place, f64)), zero = s.number(0.0, f64);
  auto compare = [&](arith::CmpFPredicate predicate, Value bound) -> Value {
    return s.create<arith::CmpFOp>(predicate, offset, bound);
  };
  Value isHere = s.create<arith::AndIOp>(compare(arith::CmpFPredicate::OGE, zero),
                                         compare(arith::CmpFPredicate::OLT, s.number(1.0, f64)));
  return s.select(isHere, readElement(s, rest, {batch, head, s.index(0)}), zero);
}

/// Subtracts the excess from a sum. A sum of exactly 0 is kept: its position is masked or has no
/// weight, so its gradients must stay 0.
static Value subtractRest(Scalar &s, Value sum, Value rest) {
  Value isZero =
      s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, sum, s.number(0.0, s.getF64Type()));
  return s.select(isZero, sum, s.sub(sum, rest));
}

/// Sums over the axes that the part does not depend on, key heads and batches ascending, and chains
/// the sums to the parameters.
void LinePart::finish() {
  if (!vjp->isActive())
    return;
  const bool isTotalKnown =
      !rows && (rowSums() || (attention.isShiftInvariant() && !attention.dStatistic));
  Value rest = isTotalKnown ? findRest() : Value();
  TileBuilder t = beginStage(context.plan, name + "_finish", Phase::Finish, {});
  SmallVector<StringRef> outer = heads(), inner;
  outer.push_back(axis());
  if (!perBatch)
    inner.push_back("b");
  if (!perHead)
    inner.push_back(sums ? sumHead() : "hq");
  t.foreach (outer, [&](Scalar &s, ValueRange at) {
    Value total = sumOver(s, inner, [&](Scalar &x, ValueRange in) -> Value {
      Value batch = perBatch ? at.front() : in.front();
      Value head = perHead ? at[perBatch] : in.back();
      if (!sums)
        return knownSum(x, batch, head, at.back());
      Value sum =
          x.create<arith::ExtFOp>(x.getF64Type(), readElement(x, sums, {batch, head, at.back()}));
      return rest ? subtractRest(x, sum, restAt(x, rest, batch, head, at.back())) : sum;
    });
    chain(s, at, total);
  });
}
