//===- Piecewise.h - piecewise functions on fragments -----------*- C++ -*-===//
//
// A block of tile.segments needs the u of its pairs, the v of its rows, and the pieces that contain
// their products. All are in shared memory before the block is computed: u in a window
// (Biases.cpp), v of the block's rows, or once of the owned rows, and the knots and coefficients of
// a head, which are copied with its first block. Tables that are too large remain in global memory.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_PIECEWISE_H
#define PE_PASSES_TOGPU_PIECEWISE_H

#include "passes/ToGPU/Emitters.h"

namespace mlir::tile::gpu {

/// Allocates the tables of all functions that the stream reads, by their coefficients. `slotsOf`
/// returns the slots of the ring of u.
llvm::MapVector<Value, SegmentTables> makeSegmentTables(FragmentKernel &k,
                                                        llvm::function_ref<int64_t(Value)> slotsOf);
/// Starts copying the tables of a step's head.
void copySegmentTables(Step &step, const SegmentTables &tables);
/// Starts copying v of the owned rows, or of a step's inner rows.
void copySegmentRows(Step &step, const SegmentTables &tables);

/// The polynomial of one piece.
struct Piece {
  Registers coefficients; // by power
  Value minusCentre;      // null if the powers are of u * v
};

/// The u of every pair, the v of every row of the warp's block, and the range of pieces that
/// contain their products. The range is the same in all lanes.
struct SegmentBlock {
  SegmentTables tables;
  Place place;
  Registers u, v; // v by owner or inner vector, depending on the side of the rows
  Num firstPiece, lastPiece;
  int64_t degree = 1;

  Value vOf(FragmentKernel &k, int64_t pair) const {
    return v[k.indexOf({"r"}, k.elementAt({"r", "c"}, pair))];
  }
  Value knot(FragmentKernel &k, const Num &end) const;
  Piece piece(FragmentKernel &k, const Num &number) const;
  /// Returns true (an i1) if the product of a pair is above a knot; false for NaN.
  Value isAbove(FragmentKernel &k, int64_t pair, Value knot) const;
};
/// Loads the block and determines its range of pieces.
SegmentBlock findSegmentBlock(Step &step, Value coefficients);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_PIECEWISE_H
