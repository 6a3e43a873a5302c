//===- SharedMemory.h - shared memory of a kernel ---------------*- C++ -*-===//
//
// Every allocation is a separate range for the entire kernel. A panel or window that has several
// copies is passed together with the index of the copy.
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
  int64_t offset = 0; // of the first copy, in bytes
  Num copy = 0;       // index of the copy

  Panel at(const Num &number) const {
    Panel panel = *this;
    panel.copy = number;
    return panel;
  }
};

/// The part of a table of distances that a block reads, in shared memory. Entry n belongs to the
/// pairs with row - column = n - (columns - 1) within the block.
struct Window {
  int64_t offset = 0, copyBytes = 0; // of the first copy, and size of one, in bytes
  int64_t entries = 0;
  Num copy = 0; // index of the copy

  Window at(const Num &number) const { return {offset, copyBytes, entries, number}; }
};

/// The knots, coefficients and rows of a function, as a step reads them.
struct SegmentTables {
  Value u, v, knots, coefficients, count; // buffers
  // In shared memory, in bytes: a copy of the tables for each head whose blocks may be in flight.
  // Without a size they are read from global memory.
  int64_t offset = 0, copyBytes = 0, copies = 1;
  int64_t rowsOffset = 0, rows = 0; // v, a copy for each slot of the ring, or one if rows own
  Num copy = 0, rowsCopy = 0;       // the copies that the step reads

  SegmentTables at(const Num &head, const Num &slot) const {
    SegmentTables tables = *this;
    tables.copy = head, tables.rowsCopy = slot;
    return tables;
  }
};

/// Allocates and addresses the shared memory of a kernel.
class SharedMemory {
public:
  explicit SharedMemory(KernelFunction &function) : fn(function) {}

  /// Allocates `bytes` of shared memory; returns their offset.
  int64_t allocate(int64_t bytes);
  int64_t bytes() const { return used; }
  Panel makePanel(int64_t rows, int64_t depth, Type element, int64_t copies);
  /// Allocates a padded panel with `border` additional rows before and after it.
  Panel makePaddedPanel(int64_t rows, int64_t depth, Type element, int64_t border);
  Window makeWindow(int64_t entries, int64_t copies);

  /// Returns the address of the byte at `offset`.
  Value at(const Num &offset) const;
  /// Returns the address of a chunk of 16 bytes. Its row is `rowConstant + row`, with `rowConstant`
  /// a multiple of 8; its index is `chunkConstant + chunk`, with no bit set in both.
  Value chunkAddress(const Panel &panel, int64_t rowConstant, const Num &row, int64_t chunkConstant,
                     const Num &chunk) const;

private:
  KernelFunction &fn;
  int64_t used = 0;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_SHAREDMEMORY_H
