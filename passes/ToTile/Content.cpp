//===- Content.cpp - terms of queries and the distance ---------------------===//
#include "passes/ToTile/Content.h"

#include "passes/Analysis/Dependence.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

SmallVector<Value> mlir::tile::emitSums(Scalar &s, Value end, unsigned count, Type type,
                                        llvm::function_ref<Value(Scalar &, Value)> shared,
                                        llvm::function_ref<Value(Scalar &, Value, unsigned)> own) {
  SmallVector<Value> zeros(count, s.number(0.0, type));
  auto loop = s.create<scf::ForOp>(s.index(0), end, s.index(1), zeros);
  Scalar inner(s.getLoc(), OpBuilder::atBlockEnd(loop.getBody()));
  Value k = loop.getInductionVar(), factor = shared(inner, k);
  SmallVector<Value> next;
  for (unsigned n = 0; n < count; ++n)
    next.push_back(inner.create<math::FmaOp>(factor, own(inner, k, n), loop.getRegionIterArg(n)));
  inner.create<scf::YieldOp>(next);
  return SmallVector<Value>(loop.getResults());
}

void mlir::tile::eachPiece(int64_t size,
                           llvm::function_ref<void(int64_t first, unsigned count)> body) {
  for (int64_t first = 0; first < size; first += kSumsAtATime)
    body(first, static_cast<unsigned>(std::min(kSumsAtATime, size - first)));
}

//===- Queries -------------------------------------------------------------------===//

static const StringRef kRows[] = {"b", "hq", "r", "d"};

ContentQueries::ContentQueries(PlanContext &context, pe::ContentFnOp op, Value callerQueries,
                               std::string name)
    : context(context), shift(op.getShift()), projection(op.getProjection()),
      queries(callerQueries), name(std::move(name)) {}

/// q + v at batch, head and row `at`.
Value ContentQueries::shifted(Scalar &s, ValueRange at, Value dim) {
  Value q = s.widen(readElement(s, queries, {at[0], at[1], at[2], dim}));
  return shift ? s.add(q, readElement(s, context.parameters[shift].buffer, {at[1], dim})) : q;
}

void ContentQueries::prepare() {
  if (context.grad)
    dRows = dQueries = context.temporary("d_" + name + "_queries", kRows);
  if (!shift && !projection)
    return;
  own = context.kept(name + "_queries", kRows);
  TileBuilder t = beginStage(context.plan, name + "_prepare_queries", Phase::Prepare, {"b", "hq"});
  if (!projection) {
    t.foreach ({"r", "d"}, [&](Scalar &s, ValueRange at) {
      writeElement(s, shifted(s, at.take_front(3), at[3]), own, at);
    });
    return;
  }
  Value matrix = context.parameters[projection].buffer;
  t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    eachPiece(context.headDim, [&](int64_t first, unsigned count) {
      SmallVector<Value> sums = emitSums(
          s, s.size("d"), count, s.getF32Type(),
          [&](Scalar &x, Value k) { return shifted(x, at, k); },
          [&](Scalar &x, Value k, unsigned n) {
            return readElement(x, matrix, {k, x.index(first + n)});
          });
      for (auto [n, sum] : llvm::enumerate(sums))
        writeElement(s, sum, own, {at[0], at[1], at[2], s.index(first + n)});
    });
  });
}

/// The gradients of q + v and of the matrix.
void ContentQueries::finishProjection() {
  dQueries = context.temporary("d_" + name + "_shifted", kRows);
  dQueries.getDefiningOp()->moveAfter(dRows.getDefiningOp());
  const Parameter &matrix = context.parameters[projection];
  TileBuilder back =
      beginStage(context.plan, name + "_back_projection", Phase::Finish, {"b", "hq"});
  back.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    eachPiece(context.headDim, [&](int64_t first, unsigned count) {
      SmallVector<Value> sums = emitSums(
          s, s.size("d"), count, s.getF32Type(),
          [&](Scalar &x, Value k) { return readElement(x, dRows, {at[0], at[1], at[2], k}); },
          [&](Scalar &x, Value k, unsigned n) {
            return readElement(x, matrix.buffer, {x.index(first + n), k});
          });
      for (auto [n, sum] : llvm::enumerate(sums))
        writeElement(s, sum, dQueries, {at[0], at[1], at[2], s.index(first + n)});
    });
  });
  TileBuilder t = beginStage(context.plan, name + "_d_projection", Phase::Finish, {"d"});
  t.foreach ({"b", "hq", "r"}, [&](Scalar &s, ValueRange at) {
    Value factor = shifted(s, at.drop_front(), at[0]);
    auto loop = s.create<scf::ForOp>(s.index(0), s.size("d"), s.index(1));
    Scalar inner(s.getLoc(), OpBuilder::atBlockBegin(loop.getBody()));
    Value column = loop.getInductionVar();
    Value product = inner.mul(
        inner.create<arith::ExtFOp>(inner.getF64Type(), factor),
        inner.create<arith::ExtFOp>(inner.getF64Type(),
                                    readElement(inner, dRows, {at[1], at[2], at[3], column})));
    accumulateElement(inner, product, matrix.gradientSums, {at[0], column});
  });
}

void ContentQueries::finishShift() {
  Value sums = context.parameters[shift].gradientSums;
  TileBuilder t = beginStage(context.plan, name + "_d_shift", Phase::Finish, {"hq"});
  t.foreach ({"d"}, [&](Scalar &s, ValueRange at) {
    Value sum = sumOver(s, {"b", "r"}, [&](Scalar &x, ValueRange in) {
      return readElement(x, dQueries, {in[0], at[0], in[1], at[1]});
    });
    accumulateElement(s, sum, sums, at);
  });
}

void ContentQueries::finish() {
  if (projection)
    finishProjection();
  if (shift)
    finishShift();
}

//===- One term ------------------------------------------------------------------===//

ContentTerm::ContentTerm(PlanContext &context, pe::ContentFnOp op, pe::ContentStructure structure,
                         const Attention &attention, std::string name)
    : TermLowering(context, /*term=*/{}, name), op(op), structure(std::move(structure)),
      scale(attention.scale), queries(context, op, attention.q, std::move(name)) {}

LogicalResult ContentTerm::derive() {
  auto yield = cast<pe::YieldOp>(op.getBody().front().getTerminator());
  FailureOr<pe::ScalarVjp> derived = pe::ScalarVjp::create(yield.getValues()[0]);
  if (failed(derived))
    return failure();
  vjp.emplace(*derived);
  return success();
}

IRMapping ContentTerm::mapPoint(Scalar &s, Value head, Value distance, Value dim) {
  IRMapping mapping;
  pe::PairPoint point = pe::distancePoint(s, s.getLoc(), s.index(0), head, distance);
  const Value leading[] = {point.batch, point.head, point.query, point.key, dim, s.size("d")};
  mapping.map(op.getBody().front().getArguments().take_front(std::size(leading)), leading);
  return mapping;
}

Value ContentTerm::emitElement(Scalar &s, Value head, Value distance, Value dim) {
  TileParameters params(context, op.getBody().front(), op.getCaptures());
  params.compute = s.getF64Type();
  IRMapping mapping = mapPoint(s, head, distance, dim);
  return vjp->emitPrimal(s, mapping, params, params.compute);
}

void ContentTerm::emitAdjoint(Scalar &s, Value head, Value distance, Value dim, Value cotangent) {
  TileParameters params(context, op.getBody().front(), op.getCaptures());
  params.compute = s.getF64Type();
  IRMapping mapping = mapPoint(s, head, distance, dim);
  vjp->emitPrimal(s, mapping, params, params.compute);
  vjp->emitAdjoint(s, mapping, cotangent, params);
}

//===- All terms of an attention ---------------------------------------------------===//

FailureOr<Contents> Contents::create(PlanContext &context, pe::AttentionOp op, Attention &attention,
                                     pe::DifferenceRange range, AttentionTerms &terms) {
  if (op.getValueContent())
    return op.emitError("expected no value_content(...), which is not built yet");
  Contents result;
  result.context = &context;
  result.name = attention.name;
  for (auto [number, value] : llvm::enumerate(op.getContents())) {
    auto content = cast<pe::ContentFnOp>(value.getDefiningOp());
    pe::ContentStructure structure = pe::classifyContent(content, range);
    std::string name = attention.name + "_content" + std::to_string(number);
    std::unique_ptr<ContentTerm> term;
    switch (structure.cls) {
    case pe::ContentClass::Near:
      term = createNearTerm(context, content, structure, range, attention, name);
      break;
    case pe::ContentClass::Angles:
      term = createAnglesTerm(context, content, structure, attention, name);
      break;
    case pe::ContentClass::Panel:
      return content.emitError("expected a content term with at most ")
             << pe::kMostNearVectors
             << " different vectors, or of sines and cosines of (i - j) * w where w takes d "
                "through "
                "d // 2 alone, found one that "
             << structure.reason << "; this is not built yet";
    }
    result.terms.push_back(term.get());
    terms.add(std::move(term));
  }
  if (attention.dQ && !result.terms.empty()) {
    result.gradient = attention.dQ;
    result.ofOthers = attention.dQ = context.temporary("d_" + attention.name + "_products", kRows);
  }
  return std::move(result);
}

void Contents::finish() {
  if (!gradient)
    return;
  TileBuilder t = beginStage(context->plan, name + "_d_queries", Phase::Finish, {"b", "hq"});
  t.foreach ({"r", "d"}, [&](Scalar &s, ValueRange at) {
    Value sum = readElement(s, ofOthers, at);
    for (ContentTerm *term : terms)
      sum = s.add(sum, readElement(s, term->gradientOfQueries(), at));
    auto element = cast<BufferType>(gradient.getType()).getElementType();
    writeElement(s, s.round(sum, element), gradient, at);
  });
}
