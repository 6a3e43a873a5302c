//===- PEInterfaces.h - What passes know about encodings --------*- C++ -*-===//
//
// The plain data the interfaces of PEInterfaces.td speak in, and the interfaces themselves.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PEINTERFACES_H
#define PE_DIALECT_PE_PEINTERFACES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include <cstdint>
#include <limits>
#include <optional>

namespace mlir::pe {

/// The point a scalar function is evaluated at. All are `index` values.
struct PairPoint {
  Value batch; ///< batch entry of this call
  Value head;  ///< head of this call; `pe.global_head` gives its number in the model
  Value query; ///< global query position i
  Value key;   ///< global key position j
};

/// The pairs with min <= i - j <= max. The limits of int64_t mean unbounded.
struct DifferenceRange {
  static constexpr int64_t kUnboundedMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kUnboundedMax = std::numeric_limits<int64_t>::max();

  int64_t min = kUnboundedMin;
  int64_t max = kUnboundedMax;
  /// True: a mask is precisely this range. False: the mask lies inside it.
  bool exact = true;

  /// Every pair has j <= i, so keys have an order seen from the query.
  bool isCausal() const { return min >= 0; }
  bool isEmpty() const { return min > max; }
};

/// The range of a mask value, by its defining ops; none when it depends on a block argument.
std::optional<DifferenceRange> getDifferenceRange(Value mask);

} // namespace mlir::pe

#include "dialect/PE/PEInterfaces.h.inc"

#endif // PE_DIALECT_PE_PEINTERFACES_H
