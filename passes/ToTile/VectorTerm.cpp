//===- VectorTerm.cpp - functions of the query or the key alone ---===//
//
// One number per (batch, head, row) or (batch, head, column), built once per call; the
// adjoint is a row sum or a column sum.
//
// Under softmax a row of dS adds up to the cotangent of its log-sum-exp, if there is one, and to 0
// otherwise. So a function of the query alone needs no sum at all (`RowShift`), and the sums of the
// columns of one head have a sum that is known: what rounding has left of it would be multiplied by
// functions that are large far from position 0, and is taken back where the weight is.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Terms.h"
#include "passes/Transforms/ScalarVjp.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

class VectorTerm : public TermLowering {
public:
  VectorTerm(PlanContext &context, pe::TermOp term, pe::TermPart part, std::string name,
             const Attention &attention)
      : TermLowering(context, term, std::move(name)), attention(attention), part(part),
        rows(part == pe::TermPart::Row), axis(rows ? "r" : "c") {}

  LogicalResult prepare() override {
    FailureOr<pe::ScalarVjp> derived = pe::ScalarVjp::create(term.getPartValue(part));
    if (failed(derived))
      return failure();
    vjp.emplace(*derived);
    vector = context.kept(name + "_vector", {"b", "hq", axis});
    TileBuilder t = beginStage(context.plan, name + "_prepare", Phase::Prepare, {"b", "hq"});
    t.foreach ({axis}, [&](Scalar &s, ValueRange at) {
      TileParameters params = parameters(part);
      IRMapping mapping;
      mapPosition(s, mapping, at);
      Value value = vjp->emitPrimal(s, mapping, params);
      writeElement(s, s.mul(value, s.number(kLog2E)), vector, at);
    });
    return success();
  }

  Value emit(TileBuilder &t) override {
    Value value = load(t);
    return t.map({value}, {"r", "c"}, [](Scalar &, ValueRange in) { return in[0]; });
  }

  void emitGradient(TileBuilder &t, Value cotangent) override {
    if (!vjp->isActive())
      return;
    sums = context.temporary(name + "_sums", {"b", "hq", axis}, {}, /*zero=*/true);
    sums.getDefiningOp()->moveBefore(vector.getDefiningOp());
    t.eachPair(
        {cotangent, t.index("b"), t.index("hq"), t.index(axis)},
        [&](Scalar &s, ValueRange in) { accumulateElement(s, in[0], sums, in.drop_front()); });
  }

  void finish() override {
    if (!vjp->isActive())
      return;
    const bool addsUpToZero = attention.isSoftmax && !attention.dLse;
    if (addsUpToZero)
      rest = context.temporary(name + "_rest", {"b", "hq", "2"}, context.plan.getF64Type());
    TileBuilder t = beginStage(context.plan, name + "_finish", Phase::Finish, {});
    if (addsUpToZero)
      findRest(t);
    t.foreach ({"b", "hq", axis}, [&](Scalar &s, ValueRange at) {
      Value sum = s.create<arith::ExtFOp>(s.getF64Type(), readElement(s, sums, at));
      chain(s, at, addsUpToZero ? s.sub(sum, restAt(s, at)) : sum);
    });
  }

private:
  /// Per head, what its sums add up to, and the mean of their places weighted by magnitude.
  void findRest(TileBuilder &t) {
    t.foreach ({"b", "hq"}, [&](Scalar &s, ValueRange at) {
      Type f64 = s.getF64Type();
      auto total = [&](llvm::function_ref<Value(Scalar &, Value sum, Value place)> element) {
        return sumOver(s, {axis}, [&](Scalar &x, ValueRange place) {
          Value sum = readElement(x, sums, {at[0], at[1], place[0]});
          return element(x, x.create<arith::ExtFOp>(f64, sum), x.toFloat(place[0], f64));
        });
      };
      Value sum = total([](Scalar &, Value value, Value) { return value; });
      Value size = total(
          [](Scalar &x, Value value, Value) -> Value { return x.create<math::AbsFOp>(value); });
      Value moment = total([](Scalar &x, Value value, Value place) {
        return x.mul(x.create<math::AbsFOp>(value), place);
      });
      Value zero = s.number(0.0, f64), isNumber = s.greater(size, zero); // and not NaN
      writeElement(s, s.select(isNumber, sum, zero), rest, {at[0], at[1], s.index(0)});
      writeElement(s, s.select(isNumber, s.div(moment, size), zero), rest,
                   {at[0], at[1], s.index(1)});
    });
  }

  /// All of the rest at its place, and zero elsewhere.
  Value restAt(Scalar &s, ValueRange at) {
    Type f64 = s.getF64Type();
    Value mean = readElement(s, rest, {at[0], at[1], s.index(1)});
    Value offset = s.sub(mean, s.toFloat(at[2], f64)), zero = s.number(0.0, f64);
    auto compare = [&](arith::CmpFPredicate predicate, Value bound) -> Value {
      return s.create<arith::CmpFOp>(predicate, offset, bound);
    };
    Value isHere = s.create<arith::AndIOp>(compare(arith::CmpFPredicate::OGE, zero),
                                           compare(arith::CmpFPredicate::OLT, s.number(1.0, f64)));
    return s.select(isHere, readElement(s, rest, {at[0], at[1], s.index(0)}), zero);
  }

protected:
  Value load(TileBuilder &t) { return t.load(vector, {rows ? "r" : "c"}); }

  /// Adds the parameters' gradients, given the cotangent in float64 of the vector at `at`.
  void chain(Scalar &s, ValueRange at, Value cotangent) {
    ifNonZero(s, cotangent, [&](Scalar &x) {
      TileParameters params = parameters(part);
      IRMapping mapping;
      mapPosition(x, mapping, at);
      params.compute = x.getF64Type();
      vjp->emitPrimal(x, mapping, params, x.getF64Type());
      vjp->emitAdjoint(x, mapping, cotangent, params);
    });
  }

  /// `at` is batch, head and the row or column within this call.
  void mapPosition(Scalar &s, IRMapping &mapping, ValueRange at) {
    Value position = s.add(at[2], s.size(rows ? "q_start" : "k_start"));
    mapPart(mapping, part, at[0], at[1], position);
  }

  const Attention &attention;
  pe::TermPart part;
  bool rows;
  StringRef axis;
  std::optional<pe::ScalarVjp> vjp;
  Value vector, sums, rest;
};

class RowShift : public VectorTerm {
public:
  RowShift(PlanContext &context, pe::TermOp term, std::string name, const Attention &attention)
      : VectorTerm(context, term, pe::TermPart::Row, std::move(name), attention) {}

  bool isRowShift() const override { return true; }
  Value emit(TileBuilder &t) override { return load(t); }
  void emitGradient(TileBuilder &, Value) override {}

  void finish() override {
    if (!vjp->isActive())
      return;
    TileBuilder t = beginStage(context.plan, name + "_finish", Phase::Finish, {});
    t.foreach ({"b", "hq", axis}, [&](Scalar &s, ValueRange at) {
      auto read = [&](Value buffer) {
        return s.create<arith::ExtFOp>(s.getF64Type(), readElement(s, buffer, at)).getResult();
      };
      Value zero = s.number(0.0, s.getF64Type()), lse = read(attention.lse);
      Value sum = s.add(attention.dLse ? read(attention.dLse) : zero, s.sub(lse, lse)); // or NaN
      Value isEmpty = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, lse,
                                              s.number(INFINITY, s.getF64Type()));
      chain(s, at, s.select(isEmpty, zero, sum));
    });
  }
};

} // namespace

std::unique_ptr<TermLowering> mlir::tile::createRowShift(PlanContext &context, pe::TermOp term,
                                                         std::string name,
                                                         const Attention &attention) {
  return std::make_unique<RowShift>(context, term, std::move(name), attention);
}

std::unique_ptr<TermLowering> mlir::tile::createVectorTerm(PlanContext &context, pe::TermOp term,
                                                           pe::TermPart part, std::string name,
                                                           const Attention &attention) {
  return std::make_unique<VectorTerm>(context, term, part, std::move(name), attention);
}
