//===- ContentTerm.cpp - score terms of the query and the distance --------===//
#include "passes/ToTile/ContentTerm.h"

#include "passes/Analysis/Dependence.h"
#include "passes/Analysis/Structure.h"

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

ContentQueries::ContentQueries(PlanContext &context, pe::ContentFnOp op, const ContentSite &site,
                               std::string name)
    : context(context), shift(op.getShift()), projection(op.getProjection()), site(site),
      unscaled(site.queries), name(std::move(name)) {
  if (!op.getFactor())
    return;
  auto function = cast<pe::FactorFnOp>(op.getFactor().getDefiningOp());
  factor =
      std::make_unique<QueryNumbers>(context, function.getBody().front(), function.getCaptures(),
                                     /*isScore=*/false, this->name + "_factor");
}

/// Returns an element of q + v; `at` is batch, head and row.
Value ContentQueries::shifted(Scalar &s, ValueRange at, Value dim) {
  Value q = s.widen(readElement(s, site.queries, {at[0], at[1], at[2], dim}));
  return shift ? s.add(q, readElement(s, context.parameters[shift].buffer, {at[1], dim})) : q;
}

LogicalResult ContentQueries::prepare(Type element) {
  if (context.grad) {
    dQueries = dUnscaled =
        site.isOwn ? site.gradient : context.temporary("d_" + name + "_queries", extents());
    dRows = factor ? context.temporary("d_" + name + "_rows", extents()) : dUnscaled;
  }
  // Queries of the attention have the type of operands.
  const bool isRounded = site.isOwn && element && elementOf(site.queries) != element;
  if (shift || projection || (isRounded && !factor)) {
    unscaled = context.kept(name + "_queries", extents(), factor ? Type() : element);
    prepareUnscaled();
  }
  if (!factor)
    return success();
  if (failed(factor->prepare()))
    return failure();
  scaled = context.kept(name + "_rows", extents(), element);
  factor->multiply(name + "_scale_rows", Phase::Prepare, depth(), unscaled, scaled);
  return success();
}

void ContentQueries::prepareUnscaled() {
  auto round = [&](Scalar &s, Value element) { return s.round(element, elementOf(unscaled)); };
  TileBuilder t = beginStage(context.plan, name + "_prepare_queries", Phase::Prepare, {"b", "hq"});
  if (!projection) {
    t.foreach ({"r", depth()}, [&](Scalar &s, ValueRange at) {
      writeElement(s, round(s, shifted(s, at.take_front(3), at[3])), unscaled, at);
    });
    return;
  }
  Value matrix = context.parameters[projection].buffer;
  t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    eachPiece(size(), [&](int64_t first, unsigned count) {
      SmallVector<Value> sums = emitSums(
          s, s.size(depth()), count, s.getF32Type(),
          [&](Scalar &x, Value k) { return shifted(x, at, k); },
          [&](Scalar &x, Value k, unsigned n) {
            return readElement(x, matrix, {k, x.index(first + n)});
          });
      for (auto [n, sum] : llvm::enumerate(sums))
        writeElement(s, round(s, sum), unscaled, {at[0], at[1], at[2], s.index(first + n)});
    });
  });
}

/// Adds the stages for the gradients of q + v and of the matrix.
void ContentQueries::finishProjection() {
  dQueries = context.temporary("d_" + name + "_shifted", extents());
  dQueries.getDefiningOp()->moveAfter(dUnscaled.getDefiningOp());
  const Parameter &matrix = context.parameters[projection];
  TileBuilder back =
      beginStage(context.plan, name + "_back_projection", Phase::Finish, {"b", "hq"});
  back.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    eachPiece(size(), [&](int64_t first, unsigned count) {
      SmallVector<Value> sums = emitSums(
          s, s.size(depth()), count, s.getF32Type(),
          [&](Scalar &x, Value k) { return readElement(x, dUnscaled, {at[0], at[1], at[2], k}); },
          [&](Scalar &x, Value k, unsigned n) {
            return readElement(x, matrix.buffer, {x.index(first + n), k});
          });
      for (auto [n, sum] : llvm::enumerate(sums))
        writeElement(s, sum, dQueries, {at[0], at[1], at[2], s.index(first + n)});
    });
  });
  TileBuilder t = beginStage(context.plan, name + "_d_projection", Phase::Finish, {depth()});
  t.foreach ({"b", "hq", "r"}, [&](Scalar &s, ValueRange at) {
    Value factor = shifted(s, at.drop_front(), at[0]);
    auto loop = s.create<scf::ForOp>(s.index(0), s.size(depth()), s.index(1));
    Scalar inner(s.getLoc(), OpBuilder::atBlockBegin(loop.getBody()));
    Value column = loop.getInductionVar();
    Value product = inner.mul(
        inner.create<arith::ExtFOp>(inner.getF64Type(), factor),
        inner.create<arith::ExtFOp>(inner.getF64Type(),
                                    readElement(inner, dUnscaled, {at[1], at[2], at[3], column})));
    accumulateElement(inner, product, matrix.gradientSums, {at[0], column});
  });
}

void ContentQueries::finishShift() {
  Value sums = context.parameters[shift].gradientSums;
  TileBuilder t = beginStage(context.plan, name + "_d_shift", Phase::Finish, {"hq"});
  t.foreach ({depth()}, [&](Scalar &s, ValueRange at) {
    Value sum = sumOver(s, {"b", "r"}, [&](Scalar &x, ValueRange in) {
      return readElement(x, dQueries, {in[0], at[0], in[1], at[1]});
    });
    accumulateElement(s, sum, sums, at);
  });
}

void ContentQueries::finish() {
  if (factor) {
    factor->multiply(name + "_back_rows", Phase::Finish, depth(), dRows, dUnscaled);
    factor->finish(depth(), unscaled, dRows);
  }
  if (projection)
    finishProjection();
  if (shift)
    finishShift();
}

//===- One term ------------------------------------------------------------------===//

ContentTerm::ContentTerm(PlanContext &context, pe::ContentFnOp op, const ContentSite &site,
                         std::string name)
    : TermLowering(context, /*term=*/{}, name), op(op), scale(site.scale),
      function(context, op, site.depth()), queries(context, op, site, std::move(name)) {}

LogicalResult ContentFunction::derive() {
  auto yield = cast<pe::YieldOp>(op.getBody().front().getTerminator());
  FailureOr<pe::ScalarVjp> derived = pe::ScalarVjp::create(yield.getValues()[0]);
  if (failed(derived))
    return failure();
  vjp.emplace(*derived);
  return success();
}

IRMapping ContentFunction::mapPoint(Scalar &s, Value head, Value distance, Value dim) const {
  IRMapping mapping;
  pe::PairPoint point = pe::distancePoint(s, s.getLoc(), s.index(0), head, distance);
  const Value leading[] = {point.batch, point.head, point.query, point.key, dim, s.size(depth)};
  mapping.map(op.getBody().front().getArguments().take_front(std::size(leading)), leading);
  return mapping;
}

/// Returns true (i1) if |distance| is below the extent.
Value ContentFunction::isWithinExtent(Scalar &s, Value distance) const {
  const auto extent = static_cast<int64_t>(*op.getExtent());
  Value shifted = s.add(distance, s.index(extent - 1));
  return s.create<arith::CmpIOp>(arith::CmpIPredicate::ult, shifted, s.index(2 * extent - 1));
}

Value ContentFunction::emitElement(Scalar &s, Value head, Value distance, Value dim) const {
  TileParameters params(context, op.getBody().front(), op.getCaptures());
  params.compute = s.getF64Type();
  IRMapping mapping = mapPoint(s, head, distance, dim);
  Value element = vjp->emitPrimal(s, mapping, params, params.compute);
  if (!op.getExtent())
    return element;
  return s.select(isWithinExtent(s, distance), element, s.number(0.0, element.getType()));
}

void ContentFunction::emitAdjoint(Scalar &outer, Value head, Value distance, Value dim,
                                  Value cotangent) const {
  Scalar s = outer;
  if (op.getExtent()) {
    auto branch = s.create<scf::IfOp>(isWithinExtent(s, distance), /*withElseRegion=*/false);
    s = Scalar(s.getLoc(), OpBuilder::atBlockBegin(branch.thenBlock()));
  }
  TileParameters params(context, op.getBody().front(), op.getCaptures());
  params.compute = s.getF64Type();
  IRMapping mapping = mapPoint(s, head, distance, dim);
  vjp->emitPrimal(s, mapping, params, params.compute);
  vjp->emitAdjoint(s, mapping, cotangent, params);
}

void ContentFunction::emitVectors(StringRef name, int64_t low, Value vectors,
                                  Value transposed) const {
  StringRef extent = cast<BufferType>(vectors.getType()).getExtents()[1];
  TileBuilder t =
      beginStage(context.plan, (name + "_prepare_vectors").str(), Phase::Prepare, {"hq"});
  t.foreach ({extent, depth}, [&](Scalar &s, ValueRange at) {
    Value distance = s.add(at[1], s.index(low));
    Value element =
        s.create<arith::TruncFOp>(s.getF32Type(), emitElement(s, at[0], distance, at[2]));
    writeElement(s, element, vectors, at);
    if (transposed)
      writeElement(s, element, transposed, {at[0], at[2], at[1]});
  });
}

/// Sums per batch entry and head, then over all of them through reverse mode of the code.
void ContentFunction::emitVectorGradients(StringRef name, int64_t low, Value vectors, double scale,
                                          llvm::function_ref<Value(Scalar &, ValueRange)> weights,
                                          Value rows) const {
  StringRef extent = cast<BufferType>(vectors.getType()).getExtents()[1];
  Type f64 = context.plan.getF64Type();
  Value partial = context.temporary(name + "_d_vectors", {"b", "hq", extent, depth}, f64);
  partial.getDefiningOp()->moveBefore(vectors.getDefiningOp());
  TileBuilder t =
      beginStage(context.plan, (name + "_finish_vectors").str(), Phase::Finish, {"b", "hq"});
  t.foreach ({extent}, [&](Scalar &s, ValueRange at) {
    auto wide = [&](Scalar &x, Value value) -> Value {
      return x.create<arith::ExtFOp>(f64, x.widen(value));
    };
    eachPiece(size(), [&](int64_t first, unsigned number) {
      SmallVector<Value> results = emitSums(
          s, s.size("r"), number, f64,
          [&](Scalar &x, Value row) { return wide(x, weights(x, {at[0], at[1], at[2], row})); },
          [&](Scalar &x, Value row, unsigned n) {
            return wide(x, readElement(x, rows, {at[0], at[1], row, x.index(first + n)}));
          });
      for (auto [n, sum] : llvm::enumerate(results))
        writeElement(s, s.mul(sum, s.number(scale, f64)), partial,
                     {at[0], at[1], at[2], s.index(first + n)});
    });
  });
  TileBuilder last = beginStage(context.plan, (name + "_finish").str(), Phase::Finish, {});
  last.foreach ({"hq", extent, depth}, [&](Scalar &s, ValueRange at) {
    Value sum = sumOver(s, {"b"}, [&](Scalar &x, ValueRange batch) {
      return readElement(x, partial, {batch[0], at[0], at[1], at[2]});
    });
    ifNonZero(s, sum,
              [&](Scalar &x) { emitAdjoint(x, at[0], x.add(at[1], x.index(low)), at[2], sum); });
  });
}

//===- All terms of an attention ---------------------------------------------------===//

FailureOr<Contents> Contents::create(PlanContext &context, pe::AttentionOp op,
                                     const GivenRows &given, Attention &attention,
                                     pe::DifferenceRange range, AttentionTerms &terms) {
  if (failed(pe::checkContents(op)))
    return failure();
  Contents result;
  static_cast<Rows &>(result.products) = given;
  result.context = &context;
  result.name = attention.name;
  for (auto [number, value] : llvm::enumerate(op.getContents())) {
    auto content = cast<pe::ContentFnOp>(value.getDefiningOp());
    std::string name = attention.name + "_content" + std::to_string(number);
    ContentSite site{given.q, attention.scale};
    if (Value queries = op.getQueriesOfContent(number)) {
      const Parameter &parameter = context.parameters[queries];
      site = {parameter.buffer, 1.0, /*isOwn=*/true, parameter.gradient};
    }
    std::unique_ptr<ContentTerm> term;
    switch (content.getStructure()->getCls()) {
    case pe::ContentClass::Near:
      term = createNearTerm(context, content, range, site, name);
      break;
    case pe::ContentClass::Angles:
      term = createAnglesTerm(context, content, site, name);
      break;
    case pe::ContentClass::Panel:
      term = createPanelTerm(context, content, range, site, name);
      break;
    }
    result.terms.push_back(term.get());
    terms.add(std::move(term));
  }
  if (op.getValueContent()) {
    auto content = cast<pe::ContentFnOp>(op.getValueContent().getDefiningOp());
    const pe::ContentAttr structure = *content.getStructure();
    if (structure.getCls() != pe::ContentClass::Near)
      return content.emitError("expected a value_content(...) with at most ")
             << pe::kMostNearVectors << " different vectors, found one that "
             << structure.getReason() << "; this is not built yet";
    result.values =
        createNearValues(context, content, range, attention, attention.name + "_values");
    attention.content = result.values.get();
  }
  if (given.dQ && !result.terms.empty() && op.getContentQueries().empty()) {
    result.gradient = given.dQ;
    result.products.dQ =
        context.temporary("d_" + attention.name + "_products", {"b", "hq", "r", "d"});
  }
  return std::move(result);
}

void Contents::finish() {
  if (values)
    values->finish();
  if (!gradient)
    return;
  TileBuilder t = beginStage(context->plan, name + "_d_queries", Phase::Finish, {"b", "hq"});
  t.foreach ({"r", "d"}, [&](Scalar &s, ValueRange at) {
    Value sum = readElement(s, products.dQ, at);
    for (ContentTerm *term : terms)
      sum = s.add(sum, readElement(s, term->gradientOfQueries(), at));
    auto element = cast<BufferType>(gradient.getType()).getElementType();
    writeElement(s, s.round(sum, element), gradient, at);
  });
}
