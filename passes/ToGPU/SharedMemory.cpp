//===- SharedMemory.cpp - shared memory of a kernel -----------------------===//
#include "passes/ToGPU/SharedMemory.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tile::gpu;

int64_t SharedMemory::allocate(int64_t bytes) {
  const int64_t offset = used;
  used += llvm::alignTo(bytes, 128);
  return offset;
}

static Panel panelOf(int64_t rows, int64_t depth, Type element) {
  Panel panel;
  panel.rows = rows, panel.depth = depth;
  panel.elementBytes = element.getIntOrFloatBitWidth() <= 16 ? 2 : 4;
  panel.element = element;
  return panel;
}

Panel SharedMemory::makePaddedPanel(int64_t rows, int64_t depth, Type element, int64_t border) {
  Panel panel = panelOf(rows, depth, element);
  panel.isPadded = true;
  panel.offset = allocate((rows + 2 * border) * panel.pitch()) + border * panel.pitch();
  return panel;
}

Panel SharedMemory::makePanel(int64_t rows, int64_t depth, Type element, int64_t copies) {
  Panel panel = panelOf(rows, depth, element);
  panel.offset = allocate(panel.bytes() * copies);
  return panel;
}

Window SharedMemory::makeWindow(int64_t entries, int64_t copies) {
  Window window;
  window.entries = entries;
  window.copyBytes = llvm::alignTo(entries * 4, 128);
  window.offset = allocate(window.copyBytes * copies);
  return window;
}

Value SharedMemory::at(const Num &offset) const { return fn.b.shared(fn.shared(), offset); }

Value SharedMemory::chunkAddress(const Panel &panel, int64_t rowConstant, const Num &row,
                                 int64_t chunkConstant, const Num &chunk) const {
  auto offset = panel.offsetOf(rowConstant, row, chunkConstant, chunk, panel.copy);
  // The exclusive or applies to the complete sum, so the sum is materialized before it.
  Num sum = offset.bytes + Num(panel.offset);
  if (offset.flipped)
    sum = fn.b.fromValue(fn.b.toValue(sum)) ^ Num(offset.flipped);
  return at(sum + Num(offset.behind));
}
