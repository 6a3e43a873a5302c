//===- StripMask.cpp - the mask of a strip's pairs as vectors -------------===//
#include "passes/ToCPU/StripMask.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

Value mlir::tile::cpu::loadColumns(StageContext &context, const StripPlace &place, Value buffer,
                                   int64_t vector, Value exists) {
  Emitter &e = context.e;
  Index at = context.offset(buffer, place.place()) + Index(vector * e.lanes);
  return e.create<mlir::vector::MaskedLoadOp>(e.vectorType(e.getI32Type()), context.memory(buffer),
                                              e.toValue(at), exists, e.splatInt(0));
}

/// Computes the ends of the band per row, as i32. A row that does not exist or attends to nothing
/// ends at column 0.
void StripMask::begin(StageContext &stage, const StripPlace &place) {
  context = &stage;
  this->place = place;
  begins.clear(), ends.clear();
  if (!place.masked)
    return;
  if (stage.cpu.isAlongKeys())
    return beginRow();
  Emitter &e = stage.e;
  const Mask &mask = stage.mask;
  Value columns = e.splatIndex(mask.columns.end), zero = e.splatInt(0);
  for (int64_t v = 0; v < stage.cpu.queryVectors; ++v) {
    Index first = place.row + Index(v * e.lanes);
    Value rows = e.create<arith::AddIOp>(e.iota(), e.splatIndex(first));
    auto endOfBand = [&](const Index &end) {
      // Clamp to the differences that occur in this call, which fit in 32 bits.
      Index shift = maxOf(Index(0) - stage.rows, minOf(mask.columns.end, end));
      return e.create<arith::AddIOp>(rows, e.splatIndex(shift)).getResult();
    };
    Value end = columns;
    if (mask.upper)
      end = e.create<arith::MinSIOp>(columns, endOfBand(*mask.upper));
    Value exists = e.laneMask(place.rowCount - Index(v * e.lanes));
    Value attends = e.compare(arith::CmpIPredicate::sge, rows, e.splatIndex(mask.rows.begin));
    exists = e.create<arith::AndIOp>(exists, attends);
    if (Value high = stage.stage.getHighColumns())
      end = e.create<arith::MinSIOp>(end, loadColumns(stage, place, high, v, exists));
    ends.push_back(e.select(exists, end, zero));
    Value begin = mask.lower ? endOfBand(*mask.lower) : Value();
    if (Value low = stage.stage.getLowColumns()) {
      Value first = loadColumns(stage, place, low, v, exists);
      begin = begin ? e.create<arith::MaxSIOp>(begin, first) : first;
    }
    if (begin)
      begins.push_back(begin);
  }
}

/// Computes the ends of the band and of the bounds of a single row.
void StripMask::beginRow() {
  Emitter &e = context->e;
  Interval<Index> keys = context->mask.columnsOfAny(place.row, place.row);
  if (Value low = context->stage.getLowColumns()) {
    auto bound = [&](Value buffer) {
      Value number = e.load(context->memory(buffer), context->offset(buffer, place.place()));
      return e.fromValue(e.create<arith::IndexCastOp>(e.getIndexType(), number));
    };
    keys = {maxOf(keys.begin, bound(low)), minOf(keys.end, bound(context->stage.getHighColumns()))};
  }
  // A row at a negative position attends to nothing.
  Value attends = e.less(context->mask.rows.begin - Index(1), place.row);
  Value end = e.select(attends, e.toValue(keys.end), e.toValue(0));
  begins.push_back(e.splatIndex(keys.begin));
  ends.push_back(e.splatIndex(e.fromValue(end)));
}

Value StripMask::at(const Index &column, int64_t vector) const {
  Emitter &e = context->e;
  Value columns = e.splatIndex(column);
  if (context->cpu.isAlongKeys())
    columns = e.create<arith::AddIOp>(e.iota(), columns);
  Value kept = e.compare(arith::CmpIPredicate::slt, columns, ends[vector]);
  if (begins.empty())
    return kept;
  Value after = e.compare(arith::CmpIPredicate::sge, columns, begins[vector]);
  return e.create<arith::AndIOp>(kept, after);
}

Value StripMask::at(const Index &row, const Index &column) const {
  Emitter &e = context->e;
  const Mask &mask = context->mask;
  Value kept = e.less(column, mask.endColumn(row));
  kept = e.create<arith::AndIOp>(kept, e.less(mask.rows.begin - Index(1), row));
  auto keep = [&](Value condition) { kept = e.create<arith::AndIOp>(kept, condition); };
  if (mask.lower)
    keep(e.less(mask.firstColumn(row) - Index(1), column));
  if (context->stage.getLowColumns()) {
    auto bound = [&](Value buffer) {
      Place at = place.place();
      at.r = row;
      Value number = e.load(context->memory(buffer), context->offset(buffer, at));
      return e.fromValue(e.create<arith::IndexCastOp>(e.getIndexType(), number));
    };
    keep(e.less(column, bound(context->stage.getHighColumns())));
    keep(e.less(bound(context->stage.getLowColumns()) - Index(1), column));
  }
  return kept;
}
