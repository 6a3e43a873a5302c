//===- StripMask.cpp - the mask of a strip's pairs as vectors -------------===//
#include "passes/ToCPU/StripEmitter.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

/// The band's ends per row as i32; a row that does not exist or attends to nothing ends at column
/// 0.
void StripMask::begin(StageContext &stage, const StripPlace &place) {
  context = &stage;
  begins.clear(), ends.clear();
  if (!place.masked)
    return;
  Emitter &e = stage.e;
  const Mask &mask = stage.mask;
  Value columns = e.splatIndex(mask.columns), zero = e.splatInt(0);
  for (int64_t v = 0; v < stage.cpu.queryVectors; ++v) {
    Index first = place.row + Index(v * e.lanes);
    Value rows = e.create<arith::AddIOp>(e.iota(), e.splatIndex(first));
    auto endOfBand = [&](int64_t bound) {
      // In 64 bits, then inside what the rows and columns of this call can tell apart.
      Index shift = mask.rowStart - mask.columnStart + Index(bound);
      shift = maxOf(Index(0) - stage.rows, minOf(mask.columns, shift));
      return e.create<arith::AddIOp>(rows, e.splatIndex(shift)).getResult();
    };
    Value end = columns;
    if (mask.band.upper)
      end = e.create<arith::MinSIOp>(columns, endOfBand(*mask.band.upper));
    Value exists = e.laneMask(place.rowCount - Index(v * e.lanes));
    Value attends = e.compare(arith::CmpIPredicate::sge, rows, e.splatIndex(mask.firstRow()));
    exists = e.create<arith::AndIOp>(exists, attends);
    ends.push_back(e.select(exists, end, zero));
    if (mask.band.lower)
      begins.push_back(endOfBand(*mask.band.lower));
  }
}

Value StripMask::at(const Index &column, int64_t vector) const {
  Emitter &e = context->e;
  Value columns = e.splatIndex(column);
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
  kept = e.create<arith::AndIOp>(kept, e.less(mask.firstRow() - Index(1), row));
  if (!mask.band.lower)
    return kept;
  Value after = e.less(mask.firstColumn(row) - Index(1), column);
  return e.create<arith::AndIOp>(kept, after);
}
