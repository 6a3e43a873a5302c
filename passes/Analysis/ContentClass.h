//===- ContentClass.h - classes of content terms ----------------*- C++ -*-===//
//
// A content term multiplies a query with a vector P(i - j). Its cost follows from P:
//
//   near     P does not change outside of [low, high]:
//              rel_k[clamp(i - j, -16, 16) + 16, d]          low = -16, high = 16
//            The products of a query with these few vectors are computed once per query.
//   angles   The elements are sines and cosines of (i - j) w, with the same w for elements 2n and
//            2n + 1 and factors that do not depend on i - j:
//              let w = 10000 ^ (-2 * (d // 2) / dim) in
//              select(d % 2 == 0, sin((i - j) * w), cos((i - j) * w))
//            By the addition theorem this is the product of a rotated query with features of the
//            key.
//   panel    Any other function: er[2047 - (i - j), d]
//
// Only pe-classify-functions calls this code; everyone else reads ContentFnOp::getStructure.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_ANALYSIS_CONTENTCLASS_H
#define PE_PASSES_ANALYSIS_CONTENTCLASS_H

#include "dialect/PE/PE.h"

#include <optional>

namespace mlir::pe {

struct ContentStructure {
  ContentAttr stored;
  /// Angles: the angle (i - j) w.
  Value angle;
};

/// Classifies `op`; `range` contains the differences that the mask allows.
ContentStructure classifyContent(ContentFnOp op, DifferenceRange range);

/// The bounds of i - j outside which `value` does not change; empty if there is no such bound.
struct ConstantTails {
  std::optional<int64_t> low, high; ///< constant at and below `low`, at and above `high`
};
ConstantTails findConstantTails(Value value, Block &region);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_CONTENTCLASS_H
