//===- Biases.h - functions of the distance on fragments ------------------===//
#ifndef PE_PASSES_TOGPU_BIASES_H
#define PE_PASSES_TOGPU_BIASES_H

#include "passes/ToGPU/Emitters.h"

namespace mlir::tile::gpu {

/// Loads table[row - column + (c - 1)] for every pair of the warp's block from its window. Pairs of
/// one diagonal share a register. Pairs that do not exist get an entry of the table or zero.
Registers loadWindow(Step &step, Value table);

/// The polynomial of one piece.
struct Piece {
  Registers coefficients; // by power
  Value minusCentre;      // null if the powers are of u * v
};

/// The u of every pair, the v of every row of the warp's block, and the range of pieces that
/// contain their products. The range is the same in all lanes.
struct SegmentBlock {
  Registers u, v; // v by owner or inner vector, depending on the side of the rows
  Num firstPiece, lastPiece;
  int64_t degree = 1;
  Value knots, coefficients; // addresses of element 0

  Value vOf(FragmentKernel &k, int64_t pair) const {
    return v[k.indexOf({"r"}, k.elementAt({"r", "c"}, pair))];
  }
  Value knot(FragmentKernel &k, const Num &end) const;
  Piece piece(FragmentKernel &k, const Num &number) const;
};
/// Loads the block and determines its range of pieces.
SegmentBlock findSegmentBlock(Step &step, Value u, Value v, Value knots, Value coefficients,
                              Value count);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_BIASES_H
