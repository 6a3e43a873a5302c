//===- SharedMemory.h - what a kernel keeps in shared memory ----*- C++ -*-===//
//
// Every piece of shared memory is a range of its own for the whole kernel. A panel or window that
// comes in several copies is handed on with the number of the copy that is meant.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_SHAREDMEMORY_H
#define PE_PASSES_TOGPU_SHAREDMEMORY_H

#include "dialect/Math/PanelLayout.h"
#include "passes/ToGPU/KernelFunction.h"

namespace mlir::tile::gpu {

/// A block of a panel in shared memory.
struct Panel : ::pe::math::PanelLayout {
  Type element;       // tf32 is kept as f32
  int64_t offset = 0; // bytes, of the first copy
  Num copy = 0;       // which copy is meant

  Panel at(const Num &number) const {
    Panel panel = *this;
    panel.copy = number;
    return panel;
  }
};

/// The part of a table of distances that a block needs, in shared memory: entry n belongs to the
/// pairs with row - column = n - (columns - 1) within the block.
struct Window {
  int64_t offset = 0, copyBytes = 0; // bytes, of the first copy and of one
  int64_t entries = 0;
  Num copy = 0; // which copy is meant

  Window at(const Num &number) const { return {offset, copyBytes, entries, number}; }
};

class SharedMemory {
public:
  explicit SharedMemory(KernelFunction &function) : fn(function) {}

  /// The offset of so many bytes that nothing else uses.
  int64_t allocate(int64_t bytes);
  int64_t bytes() const { return used; }
  Panel makePanel(int64_t rows, int64_t depth, Type element, int64_t copies);
  /// A padded panel between `border` rows on either side, which are memory, too.
  Panel makePaddedPanel(int64_t rows, int64_t depth, Type element, int64_t border);
  Window makeWindow(int64_t entries, int64_t copies);

  /// The address of the byte at `offset`.
  Value at(const Num &offset) const;
  /// The address of a chunk of 16 bytes in row `rowConstant + row`, `rowConstant` a multiple of 8;
  /// the chunk is `chunkConstant + chunk`, and no bit is set in both.
  Value chunkAddress(const Panel &panel, int64_t rowConstant, const Num &row, int64_t chunkConstant,
                     const Num &chunk) const;

private:
  KernelFunction &fn;
  int64_t used = 0;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_SHAREDMEMORY_H
