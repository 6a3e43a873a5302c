//===- Sides.cpp - stick-breaking on both sides or with a remainder -------===//
#include "passes/ToTile/Sides.h"

#include "passes/ToTile/Terms.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

static Value compare(Scalar &s, arith::CmpIPredicate predicate, Value a, Value b) {
  return s.create<arith::CmpIOp>(predicate, a, b);
}

/// Returns true (i1) if the remainder is used, also for NaN.
static Value isKept(Scalar &s, Value rest) {
  return s.create<arith::CmpFOp>(arith::CmpFPredicate::UGE, rest, s.number(0.0));
}

Sides::Sides(PlanContext &context, const Attention &whole, bool hasTwoPasses, bool keepsRemainder,
             MaskFunction *predicate)
    : context(context), whole(whole), hasTwoPasses(hasTwoPasses), keepsRemainder(keepsRemainder),
      predicate(predicate), share(whole.dO) {
  if (context.grad && hasTwoPasses)
    share = context.temporary(whole.name + "_d_share", {"b", "hq", "r", "e"},
                              context.plan.widens ? Type() : elementOf(whole.dO));
  if (context.grad && keepsRemainder)
    dRest = context.temporary(whole.name + "_d_rest", {"b", "hq", "r"});
}

/// Returns true if a query's own key may be masked.
bool Sides::mayBeMasked() const {
  return predicate || whole.pairs.getDefiningOp<PairsOp>().getLow();
}

void Sides::add(Attention &pass) {
  const std::string name = pass.name;
  Pass buffers{name, {}, {}, {}, {}, {}, {}};
  buffers.o = pass.o = context.temporary(name + "_part", {"b", "hq", "r", "e"});
  if (keepsRemainder) {
    buffers.rest = pass.rest = context.kept(name + "_rest", {"b", "hq", "r"});
    if (mayBeMasked())
      buffers.raw = pass.rest = context.temporary(name + "_rest_unmasked", {"b", "hq", "r"});
  }
  pass.dO = share;
  pass.dRest = dRest;
  auto own = [&](Value &slot, StringRef suffix, ArrayRef<StringRef> extents) {
    return slot = slot ? context.temporary(name + suffix, extents) : Value();
  };
  buffers.dV = own(pass.rows.dV, "_d_values", {"b", "hkv", "c", "e"});
  if (hasTwoPasses) {
    buffers.dQ = own(pass.rows.dQ, "_d_queries", {"b", "hq", "r", "d"});
    buffers.dK = own(pass.rows.dK, "_d_keys", {"b", "hkv", "c", "d"});
  }
  passes.push_back(std::move(buffers));
}

//===- Forward ----------------------------------------------------------------===//

/// Marks the queries whose own key is masked.
void Sides::markMasked(const Pass &pass) {
  auto pairs = whole.pairs.getDefiningOp<PairsOp>();
  TileBuilder t = beginStage(context.plan, pass.name + "_own_keys", Phase::Forward, {"b", "hq"});
  t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    Value kept;
    auto require = [&](Value condition) {
      kept = kept ? s.create<arith::AndIOp>(kept, condition).getResult() : condition;
    };
    if (pairs.getLow()) {
      auto bound = [&](Value buffer) -> Value {
        const bool perHead = cast<BufferType>(buffer.getType()).getRank() == 3;
        Value column = readElement(
            s, buffer, perHead ? SmallVector<Value>(at) : SmallVector<Value>{at[0], at[2]});
        return s.create<arith::IndexCastOp>(s.getIndexType(), column);
      };
      Value column = s.add(at[2], s.size("q_start - k_start"));
      require(compare(s, arith::CmpIPredicate::slt, column, bound(pairs.getHigh())));
      require(compare(s, arith::CmpIPredicate::sge, column, bound(pairs.getLow())));
    }
    Value position = s.add(at[2], s.size("q_start"));
    if (predicate)
      require(predicate->emitAt(s, {at[0], at[1], position, position}));
    Value rest = readElement(s, pass.raw, at);
    writeElement(s, s.select(kept, rest, s.number(-1.0)), pass.rest, at);
  });
}

Value Sides::sumOfPasses(Scalar &s, Value Pass::*buffer, ValueRange at) {
  Value sum;
  for (const Pass &pass : passes) {
    Value next = readElement(s, pass.*buffer, at);
    sum = sum ? s.add(sum, next) : next;
  }
  return sum;
}

/// Returns factor * v'_i, or 0 if the remainder is not used. `at` is batch, query head, row and
/// dim.
Value Sides::ownProduct(Scalar &s, Value rest, Value factor, ValueRange at) {
  Value keyHead = s.create<arith::DivSIOp>(at[1], s.size("ceildiv(hq,hkv)"));
  Value column = s.add(at[2], s.size("q_start - k_start"));
  Value value = s.widen(readElement(s, whole.rows.v, {at[0], keyHead, column, at[3]}));
  return s.select(isKept(s, rest), s.mul(factor, value), s.number(0.0));
}

void Sides::emitForward() {
  for (const Pass &pass : passes)
    if (pass.raw)
      markMasked(pass);
  TileBuilder t = beginStage(context.plan, whole.name + "_sides", Phase::Forward, {"b", "hq"});
  t.foreach ({"r", "e"}, [&](Scalar &s, ValueRange at) {
    Value sum = sumOfPasses(s, &Pass::o, at);
    if (keepsRemainder) {
      Value rest = sumOfPasses(s, &Pass::rest, at.drop_back());
      sum = s.add(sum, ownProduct(s, rest, rest, at));
    }
    if (hasTwoPasses)
      sum = s.mul(sum, s.number(0.5));
    writeElement(s, s.round(sum, elementOf(whole.o)), whole.o, at);
  });
}

//===- Backward ---------------------------------------------------------------===//

void Sides::emitBackward() {
  if (hasTwoPasses) {
    TileBuilder t = beginStage(context.plan, whole.name + "_share", Phase::Backward, {"b", "hq"});
    t.foreach ({"r", "e"}, [&](Scalar &s, ValueRange at) {
      Value half = s.mul(s.widen(readElement(s, whole.dO, at)), s.number(0.5));
      writeElement(s, s.round(half, elementOf(share)), share, at);
    });
  }
  if (!keepsRemainder)
    return;
  TileBuilder t =
      beginStage(context.plan, whole.name + "_own_values", Phase::Backward, {"b", "hq"});
  t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    Value rest = readElement(s, passes.front().rest, at);
    Value sum = sumOver(s, {"e"}, [&](Scalar &x, ValueRange dim) {
      SmallVector<Value> place(at);
      place.append(dim.begin(), dim.end());
      return ownProduct(x, rest, x.widen(readElement(x, share, place)), place);
    });
    writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), sum), dRest, at);
  });
}

void Sides::addUp(StringRef suffix, ArrayRef<StringRef> over, Value Pass::*from, Value to) {
  TileBuilder t =
      beginStage(context.plan, (whole.name + suffix).str(), Phase::Finish, over.take_front(2));
  t.foreach (over.drop_front(2), [&](Scalar &s, ValueRange at) {
    writeElement(s, s.round(sumOfPasses(s, from, at), elementOf(to)), to, at);
  });
}

/// Returns R dO summed over the query heads of a key head, at the query with the position of the
/// key at `at` (batch, key head, column and dim), or 0 if the call has no such query.
Value Sides::emitRemainderGradient(Scalar &s, ValueRange at) {
  Value row = s.sub(at[2], s.size("q_start - k_start"));
  Value exists = s.create<arith::AndIOp>(compare(s, arith::CmpIPredicate::sge, row, s.index(0)),
                                         compare(s, arith::CmpIPredicate::slt, row, s.size("r")));
  Type f32 = s.getF32Type();
  auto branch = s.create<scf::IfOp>(TypeRange{f32}, exists, /*withElseRegion=*/true);
  Scalar inner(s.getLoc(), branch.getThenBodyBuilder());
  Value group = inner.size("ceildiv(hq,hkv)");
  Value sum = sumOver(inner, {"ceildiv(hq,hkv)"}, [&](Scalar &x, ValueRange member) {
    Value head = x.add(x.mul(at[1], group), member[0]);
    Value rest = sumOfPasses(x, &Pass::rest, {at[0], head, row});
    Value cotangent = x.widen(readElement(x, share, {at[0], head, row, at[3]}));
    return x.select(isKept(x, rest), x.mul(rest, cotangent), x.number(0.0));
  });
  inner.create<scf::YieldOp>(ValueRange{inner.create<arith::TruncFOp>(f32, sum)});
  Scalar other(s.getLoc(), branch.getElseBodyBuilder());
  other.create<scf::YieldOp>(ValueRange{other.number(0.0)});
  return branch.getResult(0);
}

void Sides::emitValueGradient() {
  TileBuilder t =
      beginStage(context.plan, whole.name + "_sides_values", Phase::Finish, {"b", "hkv"});
  t.foreach ({"c", "e"}, [&](Scalar &s, ValueRange at) {
    Value sum = sumOfPasses(s, &Pass::dV, at);
    sum = s.add(sum, emitRemainderGradient(s, at));
    writeElement(s, s.round(sum, elementOf(whole.rows.dV)), whole.rows.dV, at);
  });
}

void Sides::finish() {
  if (hasTwoPasses && whole.rows.dQ)
    addUp("_sides_queries", {"b", "hq", "r", "d"}, &Pass::dQ, whole.rows.dQ);
  if (hasTwoPasses && whole.rows.dK)
    addUp("_sides_keys", {"b", "hkv", "c", "d"}, &Pass::dK, whole.rows.dK);
  if (!whole.rows.dV)
    return;
  if (keepsRemainder)
    emitValueGradient();
  else
    addUp("_sides_values", {"b", "hkv", "c", "e"}, &Pass::dV, whole.rows.dV);
}
