//===- Biases.h - functions of the distance on fragments ------------------===//
#ifndef PE_PASSES_TOGPU_BIASES_H
#define PE_PASSES_TOGPU_BIASES_H

#include "passes/ToGPU/Emitters.h"

namespace mlir::tile::gpu {

/// table[row - column + (c - 1)] for every pair of the warp's block, from its window; pairs of one
/// diagonal share a register. Pairs that do not exist get an entry of the table or zero.
Registers loadWindow(Step &step, Value table);

/// One piece's polynomial.
struct Piece {
  Registers coefficients; // by power
  Value minusCentre;      // null where the powers are of u * v
};

/// u of every pair, v of every row of the warp's block, and which pieces the range of their
/// products touches; the same in all lanes.
struct SegmentBlock {
  Registers u, v; // v by owner or inner vector, whichever rows are
  Num firstPiece, lastPiece;
  int64_t degree = 1;
  Value knots, coefficients; // addresses of element 0

  Value vOf(FragmentKernel &k, int64_t pair) const {
    return v[k.indexOf({"r"}, k.elementAt({"r", "c"}, pair))];
  }
  Value knot(FragmentKernel &k, const Num &end) const;
  Piece piece(FragmentKernel &k, const Num &number) const;
};
SegmentBlock findSegmentBlock(Step &step, Value u, Value v, Value knots, Value coefficients,
                              Value count);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_BIASES_H
