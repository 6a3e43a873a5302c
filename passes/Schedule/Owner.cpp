//===- Owner.cpp - whether rows or columns own a stage's loops ------------===//
#include "passes/Schedule/Schedule.h"

using namespace mlir;
using namespace mlir::tile;

static bool hasColumnFold(StreamOp stream) {
  return llvm::any_of(stream.getResults().drop_front(stream.getNumCarries()),
                      [](Value value) { return hasColumns(spacesOf(value)); });
}

static bool addsInPlace(StreamOp stream) {
  return stream.getBody()
      .walk([](Operation *op) {
        return isa<WindowGradOp, WindowOuterOp, SegmentsGradOp, AccumulateOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

Owner mlir::tile::chooseOwner(StageOp stage, Machine machine) {
  StreamOp stream = stage.getStream();
  // The sums of a column block then stay in the cache, and row state waits in memory, packed for
  // the next block.
  const bool sumsRows = hasColumnFold(stream) || addsInPlace(stream);
  if (machine == Machine::Cpu)
    return sumsRows ? Owner::Columns : Owner::Rows;
  // Row carries are in registers, which last only as long as the work item.
  return hasColumnFold(stream) && !stream.getNumCarries() ? Owner::Columns : Owner::Rows;
}
