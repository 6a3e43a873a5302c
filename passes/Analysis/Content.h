//===- Content.h - What kind of function of the distance a content term is -*- C++ -*-===//
//
// A content term multiplies a query with a vector P(i - j). What that costs follows from P:
//
//   near     outside of [low, high] it does not change with the distance:
//              rel_k[clamp(i - j, -16, 16) + 16, d]          low = -16, high = 16
//            The products of a query with these few vectors are computed once per query.
//   angles   its elements are sines and cosines of (i - j) w, where elements 2n and 2n + 1 have the
//            same w, with factors free of i - j:
//              let w = 10000 ^ (-2 * (d // 2) / dim) in
//              select(d % 2 == 0, sin((i - j) * w), cos((i - j) * w))
//            By the addition theorem that is the product of a turned query with features of the
//            key.
//   panel    anything else: er[2047 - (i - j), d]
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_ANALYSIS_CONTENT_H
#define PE_PASSES_ANALYSIS_CONTENT_H

#include "dialect/PE/PE.h"

#include <optional>

namespace mlir::pe {

enum class ContentClass { Near, Angles, Panel };

struct ContentStructure {
  ContentClass cls = ContentClass::Panel;
  /// Near: the vectors at the distances that the mask allows are those at [low, high].
  int64_t low = 0, high = -1;
  /// Angles: the angle (i - j) w.
  Value angle;
  /// Why it has this class, in words.
  std::string reason;
};

/// The most vectors of a term of the class near: products with all of them are kept per query.
inline constexpr int64_t kMostNearVectors = 128;

/// `range` holds the differences that the mask allows.
ContentStructure classifyContent(ContentFnOp op, DifferenceRange range);

/// The values over i - j outside which `value` does not change; none where there is no such end.
struct ConstantTails {
  std::optional<int64_t> low, high; ///< constant at and below `low`, at and above `high`
};
ConstantTails findConstantTails(Value value, Block &region);

StringRef stringify(ContentClass cls);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_CONTENT_H
