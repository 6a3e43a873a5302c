//===- PEInterfaces.h - What passes know about encodings --------*- C++ -*-===//
//
// The plain data types that the interfaces of PEInterfaces.td use, and the interfaces themselves.
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

/// The point a scalar function is evaluated at. All are `index` values.
struct PairPoint {
  Value batch; ///< batch entry of this call
  Value head;  ///< head of this call; `pe.global_head` gives its number in the model
  Value query; ///< global query position i
  Value key;   ///< global key position j
};

/// One element of the vector of a content term. `dim` and `dims` are `index` values.
struct ContentPoint {
  PairPoint pair;
  Value dim;  ///< in [0, dims)
  Value dims; ///< the size of a head
};

/// One element of an embedding. All are `index` values.
struct TokenPoint {
  Value position; ///< global
  Value dim;      ///< in [0, dims)
  Value dims;     ///< the size of a token
  Value end;      ///< the position after the last token
};

/// Where one frequency of a rotation is computed. All values are `index`.
struct RotationPoint {
  Value head;   ///< head of this call
  Value pair;   ///< in [0, rotated dims / 2)
  Value length; ///< the end of the keys, k_start + Sk
  int64_t headDim;
};

/// Cosines and sines of a rotation, [positions, pairs] or [batch, positions, pairs]; null where it
/// has frequencies.
struct RotationTensors {
  Value cosines, sines;
  explicit operator bool() const { return static_cast<bool>(cosines); }
  bool hasBatch() const { return cosines && cast<ShapedType>(cosines.getType()).getRank() == 3; }
};

/// One element of queries or keys. All values are `index`.
struct RowPoint {
  Value batch;    ///< batch entry of this call
  Value head;     ///< query head of this call; of a key, the first one that reads it
  Value position; ///< global
  Value dim;
};

/// What a call must fulfil: `size` is at least `least`, both size expressions over sizes and
/// positions of the call; `what` names what is counted.
struct Requirement {
  std::string size, least, what;
};

/// What the numbers of an argument must be: each of `first` to `last`, or ascending from the one to
/// the other (expressions over sizes and parameters).
struct ValueRequirement {
  std::string tensor;
  bool isAscending;
  std::string first, last;
};

/// The positions [low, high) of keys, as `index` values; null where an end is open.
struct KeyInterval {
  Value low, high;
};

/// x -> function(weight x + bias): one link of a PiecewiseOpInterface. `weight` is [outputs,
/// inputs], or [outputs] where there is one input, and `bias` [outputs].
struct ChainLink {
  Value weight, bias;
  Activation function;
};

/// PiecewiseOpInterface::getDegree of a function that is composed so.
std::optional<int64_t> degreeOfChain(ArrayRef<ChainLink> chain);
/// Whether the function is neither piecewise linear nor piecewise constant.
bool isSmooth(Activation function);

/// The interval of keys that a query at `row` keeps if i - j must be in `range`; none where the
/// range is not exact.
std::optional<KeyInterval> intervalOfRange(OpBuilder &builder, Location loc, const PairPoint &row,
                                           const DifferenceRange &range);

/// Emits the interval of keys that the mask value keeps for the query at `row` (see
/// MaskOpInterface); none where a row is not an interval or the mask depends on a block argument.
std::optional<KeyInterval>
buildKeyInterval(Value mask, OpBuilder &builder, Location loc, const PairPoint &row,
                 llvm::function_ref<Value(Value tensor, ValueRange indices)> read);

/// Whether the mask keeps an interval of keys for every row, whatever its tensors hold.
bool keepsInterval(Value mask);

/// The range of a mask value, by its defining ops; none when it depends on a block argument.
std::optional<DifferenceRange> getDifferenceRange(Value mask);

} // namespace mlir::pe

#include "dialect/PE/PEInterfaces.h.inc"

#endif // PE_DIALECT_PE_PEINTERFACES_H
