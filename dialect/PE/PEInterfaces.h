//===- PEInterfaces.h - Interfaces of encodings -----------------*- C++ -*-===//
//
// The interfaces of PEInterfaces.td and the plain data types that they use.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PEINTERFACES_H
#define PE_DIALECT_PE_PEINTERFACES_H

#include "dialect/Math/DifferenceRange.h"
#include "dialect/PE/PEDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include <cstdint>
#include <optional>
#include <string>

namespace mlir::pe {

/// The point at which a scalar function is evaluated. All members are `index` values.
struct PairPoint {
  Value batch; ///< batch entry of this call
  Value head;  ///< head of this call; `pe.global_head` returns its index in the model
  Value query; ///< global query position i
  Value key;   ///< global key position j
};

/// One element of the vector of a content term. `dim` and `dims` are `index` values.
struct ContentPoint {
  PairPoint pair;
  Value dim;  ///< in [0, dims)
  Value dims; ///< the size of a head
};

/// One element of an embedding. All members are `index` values.
struct TokenPoint {
  Value position; ///< global
  Value dim;      ///< in [0, dims)
  Value dims;     ///< the size of a token
  Value end;      ///< the position after the last token
};

/// The point at which a frequency of a rotation is computed. All values are `index`.
struct RotationPoint {
  Value head;   ///< head of this call
  Value pair;   ///< in [0, rotated dims / 2)
  Value length; ///< the end of the keys, k_start + Sk
  int64_t headDim;
};

/// Cosines and sines of a rotation, [positions, pairs] or [batch, positions, pairs]. Null if the
/// rotation has frequencies.
struct RotationTensors {
  Value cosines, sines;
  explicit operator bool() const { return static_cast<bool>(cosines); }
  bool hasBatch() const { return cosines && cast<ShapedType>(cosines.getType()).getRank() == 3; }
};

/// Positions of the rows of queries and of keys, [axes, batch, rows] each. Both may be one tensor.
/// Null if positions follow from rows.
struct AxisPositions {
  Value queries, keys;
  explicit operator bool() const { return static_cast<bool>(queries); }
};

/// One element of queries or keys. All values are `index`.
struct RowPoint {
  Value batch;    ///< batch entry of this call
  Value head;     ///< query head of this call; for a key, the first one that reads it
  Value position; ///< global
  Value dim;
};

/// A requirement on a call: `size` is at least `least`. Both are size expressions over sizes and
/// positions of the call. `what` describes the size in messages.
struct Requirement {
  std::string size, least, what;
};

/// A requirement on the values of an argument: all are in [`first`, `last`] or, if `isAscending`,
/// they ascend from `first` to `last`. Both are expressions over sizes and parameters.
struct ValueRequirement {
  std::string tensor;
  bool isAscending;
  std::string first, last;
};

/// The key positions [low, high), as `index` values. An end is null if it is unbounded.
struct KeyInterval {
  Value low, high;
};

/// x -> function(weight x + bias), a link of a PiecewiseOpInterface. `weight` is [outputs, inputs],
/// or [outputs] if there is one input. `bias` is [outputs].
struct ChainLink {
  Value weight, bias;
  Activation function;
};

/// Returns PiecewiseOpInterface::getDegree of a chain.
std::optional<int64_t> degreeOfChain(ArrayRef<ChainLink> chain);
/// Returns true if the function is neither piecewise linear nor piecewise constant.
bool isSmooth(Activation function);

/// Emits the interval of keys for which i - j is in `range`, for the query at `row`. Returns
/// nullopt if the range is not exact.
std::optional<KeyInterval> intervalOfRange(OpBuilder &builder, Location loc, const PairPoint &row,
                                           const DifferenceRange &range);

/// Emits the interval of keys that the mask value keeps for the head and query at `row` (see
/// MaskOpInterface). Returns nullopt if the keys of a row are not an interval, or if the mask
/// depends on a block argument.
std::optional<KeyInterval>
buildKeyInterval(Value mask, OpBuilder &builder, Location loc, const PairPoint &row,
                 llvm::function_ref<Value(Value tensor, ValueRange indices)> read);

/// The values that an interval of keys depends on: batch and row, or also the head.
enum class IntervalScope { Row, RowOfHead };

/// Returns the scope of the intervals of keys that the mask keeps; nullopt if it does not keep an
/// interval in every row, for all values of its tensors.
std::optional<IntervalScope> findIntervalScope(Value mask);

/// Returns the scope of the interval that `build` emits at a row; nullopt if `build` returns
/// nullopt.
std::optional<IntervalScope>
findIntervalScope(Location loc,
                  llvm::function_ref<std::optional<KeyInterval>(
                      OpBuilder &, const PairPoint &row,
                      llvm::function_ref<Value(Value tensor, ValueRange indices)> read)>
                      build);

/// Returns the range of a mask value; nullopt if it depends on a block argument.
std::optional<DifferenceRange> getDifferenceRange(Value mask);

} // namespace mlir::pe

#include "dialect/PE/PEInterfaces.h.inc"

#endif // PE_DIALECT_PE_PEINTERFACES_H
