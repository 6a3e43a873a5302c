//===- DocumentBounds.cpp - begin and end of the document of every position -===//
//
// The document of position x is the last one that does not begin after x, found by bisection:
//
//   low, high = 0, documents        boundaries[low] <= x < boundaries[high]
//   middle = (low + high) / 2       low = middle if boundaries[middle] <= x, else high = middle
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/DocumentBounds.h"

#include "passes/ToTile/Attention.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

/// Enough to search 2^31 documents. No more steps than documents are needed.
constexpr int64_t kMostSteps = 31;

/// Returns the index of the document that contains `position`.
static Value findDocument(Scalar &s, Value boundaries, StringRef extent, Value position) {
  Value zero = s.index(0), one = s.index(1);
  Value documents = s.create<arith::MaxSIOp>(s.sub(s.size(extent), one), zero);
  Value steps = s.create<arith::MinSIOp>(documents, s.index(kMostSteps));
  // Carried as i32 and clamped, so that the range analysis can bound the values.
  Type i32 = s.getI32Type();
  auto narrow = [&](Scalar &at, Value number) -> Value {
    return at.create<arith::IndexCastOp>(i32, number);
  };
  auto loop =
      s.create<scf::ForOp>(zero, steps, one, ValueRange{narrow(s, zero), narrow(s, documents)});
  Scalar inner(s.getLoc(), OpBuilder::atBlockEnd(loop.getBody()));
  auto inside = [&](Scalar &at, Value number) -> Value {
    Value wide = at.create<arith::IndexCastOp>(at.getIndexType(), number);
    return at.create<arith::MinSIOp>(at.create<arith::MaxSIOp>(wide, zero), documents);
  };
  Value low = inside(inner, loop.getRegionIterArg(0));
  Value high = inside(inner, loop.getRegionIterArg(1));
  Value middle = inner.create<arith::DivUIOp>(inner.add(low, high), inner.index(2));
  Value boundary = inner.create<arith::IndexCastOp>(
      inner.getIndexType(), readElement(inner, boundaries, {middle}, /*inbounds=*/false));
  Value isBefore = inner.create<arith::CmpIOp>(arith::CmpIPredicate::sle, boundary, position);
  inner.create<scf::YieldOp>(ValueRange{narrow(inner, inner.select(isBefore, middle, low)),
                                        narrow(inner, inner.select(isBefore, high, middle))});
  return inside(s, loop.getResult(0));
}

void mlir::tile::createDocumentBounds(PlanContext &context, pe::DocumentBoundsOp op,
                                      const std::string &name) {
  const StringRef rows = op.getKeys() ? "c" : "r", start = op.getKeys() ? "k_start" : "q_start";
  Parameter boundaries = context.parameters[op.getBoundaries()];
  Type i32 = context.plan.getI32Type();
  Parameter begin{name + "_begin", context.kept(name + "_begin", {rows}, i32), {}, {}};
  Parameter end{name + "_end", context.kept(name + "_end", {rows}, i32), {}, {}};
  TileBuilder t = beginStage(context.plan, name, Phase::Prepare, {});
  t.foreach ({rows}, [&](Scalar &s, ValueRange at) {
    Value zero = s.index(0), position = s.add(at[0], s.size(start));
    Value document = findDocument(s, boundaries.buffer, boundaries.extents().front(), position);
    auto boundary = [&](Value number) -> Value {
      return s.create<arith::IndexCastOp>(
          s.getIndexType(), readElement(s, boundaries.buffer, {number}, /*inbounds=*/false));
    };
    // For any boundaries, no position precedes the beginning of its document.
    Value first = s.create<arith::MaxSIOp>(boundary(document), zero);
    first = s.create<arith::MinSIOp>(first, s.create<arith::MaxSIOp>(position, zero));
    Value last = s.create<arith::MaxSIOp>(boundary(s.add(document, s.index(1))), zero);
    writeElement(s, s.create<arith::IndexCastOp>(i32, first), begin.buffer, at);
    writeElement(s, s.create<arith::IndexCastOp>(i32, last), end.buffer, at);
  });
  context.parameters[op.getBegin()] = begin;
  context.parameters[op.getEnd()] = end;
}
