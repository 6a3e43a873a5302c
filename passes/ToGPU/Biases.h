//===- Biases.h - functions of the distance on fragments ------------------===//
#ifndef PE_PASSES_TOGPU_BIASES_H
#define PE_PASSES_TOGPU_BIASES_H

#include "passes/ToGPU/Emitters.h"

namespace mlir::tile::gpu {

/// table[row - column + (c - 1)] for every pair of the warp's block, from its window; pairs of one
/// diagonal share a register. Pairs that do not exist get an entry of the table or zero.
Registers loadWindow(Step &step, Value table);

/// u of every pair, v of every row of the warp's block, and which kinks lie inside the range of
/// their products. The block begins in segment `firstKink`; the same in all lanes.
struct SegmentBlock {
  Registers u, v; // v by owner or inner vector, whichever rows are
  Num firstKink, endKink;
  Value knots, slopes; // addresses of element 0

  Value knot(FragmentKernel &k, const Num &z) const;
  Value slope(FragmentKernel &k, const Num &segment) const;
  Value bend(FragmentKernel &k, const Num &z) const;
};
SegmentBlock findSegmentBlock(Step &step, Value u, Value v, Value knots, Value slope, Value count);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_BIASES_H
