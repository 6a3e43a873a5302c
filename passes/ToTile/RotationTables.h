//===- RotationTables.h - cos and sin of the angles of rotations ----------===//
//
// Angles are products of the position and a frequency in float64; cos and sin of position 64 m + n
// come from those of 64 m and n by the addition theorem, so that a call evaluates few of them. If
// positions are given, they may be in any order: then 64 m and n are digits, and a position of
// 64^2 or more evaluates the part above its two digits. If cosines and sines are given, the rows of
// a call are copied from the caller's tensors.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_ROTATIONTABLES_H
#define PE_PASSES_TOTILE_ROTATIONTABLES_H

#include "passes/ToTile/Prologue.h"

namespace mlir::tile {

/// A pair of elements, its image, or cos and sin of an angle.
struct ValuePair {
  Value x, y;
};

/// The tables of a rotation.
class TabulatedRotation : public RowRotation {
public:
  TabulatedRotation(PlanContext &context, pe::RotationOpInterface op, std::string name,
                    RowDims dims, GivenPositions positions);

  LogicalResult prepare() override;
  const RotationTables &getQueryTables() const { return queryTables; }

protected:
  std::string pairCount() const { return std::to_string(pairs); }
  /// Returns `extents` of a table or loop, preceded by the head if frequencies depend on it.
  SmallVector<StringRef> perHead(ArrayRef<StringRef> extents) const;
  /// Returns the indices in the tables of a side; `at` is batch, head, row and pair.
  SmallVector<Value> placeOf(ValueRange at) const;
  /// Reads the given position of a row, or its position along the axis of a pair, and clamps it to
  /// [0, 2^30), because the memory may hold any value.
  Value readPosition(Scalar &s, Side side, Value batch, Value row, Value pair);
  RotationTables &tablesOf(Side side) { return side.isQueries ? queryTables : keyTables; }

  pe::RotationOpInterface op;
  RowDims dims;
  GivenPositions positions;
  bool hasAxes;              // positions are those of an axis per pair
  pe::RotationTensors given; // null if frequencies are used
  std::optional<OpCode> frequency;
  int64_t pairs;
  bool isPerHead;

private:
  void copyTables(Side side);
  void computeTables(Side side);
  void computeTablesOfGiven(Side side);
  void writeFrequencies(TileBuilder &t, Value frequencies);
  void writeAngles(TileBuilder &t, Value frequencies, Value table, StringRef start, int64_t step,
                   StringRef count);
  void combine(TileBuilder &t, Value coarse, Value fine, StringRef count, RotationTables to);
  void writeDigits(TileBuilder &t, Value frequencies, Value digits);
  void combineDigits(Scalar &s, Value position, Value frequencies, Value digits, RotationTables to,
                     ValueRange at);
  static ValuePair turnBy(Scalar &s, Value position, Value frequency);
  static ValuePair product(Scalar &s, ValuePair a, ValuePair b);
  void writeTurn(Scalar &s, ValuePair turn, RotationTables to, ValueRange at);
  /// Returns the place of the frequency of an element of the tables of given positions.
  SmallVector<Value> placeOfPair(ValueRange at) const {
    return isPerHead ? SmallVector<Value>{at[1], at.back()} : SmallVector<Value>{at.back()};
  }

  RotationTables queryTables, keyTables;
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_ROTATIONTABLES_H
