//===- ChooseOwner.cpp - chooses whether rows or columns own the loops ----===//
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

bool mlir::tile::sumsOverRows(StreamOp stream) {
  return hasColumnFold(stream) || addsInPlace(stream);
}

const Machine *mlir::tile::findMachine(Operation *op, StringRef name, bool isGpu) {
  const Machine *machine = ::pe::plan::findMachine(name);
  if (machine && machine->isGpu == isGpu)
    return machine;
  op->emitError("expected machine ") << ::pe::plan::namesOf(isGpu, " or ") << ", found " << name;
  return nullptr;
}

Owner mlir::tile::chooseOwner(StageOp stage, const Machine &machine) {
  StreamOp stream = stage.getStream();
  // If columns own the loops, the sums of a column block stay in the cache, and row state is packed
  // in memory for the next block.
  if (!machine.isGpu)
    return sumsOverRows(stream) ? Owner::Columns : Owner::Rows;
  // Row carries are in registers, which live only as long as the work item.
  return hasColumnFold(stream) && !stream.getNumCarries() ? Owner::Columns : Owner::Rows;
}
