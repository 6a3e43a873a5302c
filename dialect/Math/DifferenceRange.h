//===- DifferenceRange.h - The differences i - j that a mask keeps --------===//
//
// A mask that depends only on positions keeps the pairs whose difference i - j is in an interval.
// Intersections and unions are exact for all of int64_t and never overflow.
//
// Example: causal is [0, +inf), a window with left = 4 is (-inf, 3], and their intersection is
// [0, 3].
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_DIFFERENCERANGE_H
#define PE_DIALECT_MATH_DIFFERENCERANGE_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace mlir::pe { // the namespace of the dialect, although this header does not use MLIR

/// The pairs with min <= i - j <= max. The limits of int64_t mean unbounded.
struct DifferenceRange {
  static constexpr int64_t kUnboundedMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kUnboundedMax = std::numeric_limits<int64_t>::max();
  /// Positions have magnitudes below 2^30, so differences are strictly between -2^31 and 2^31.
  static constexpr int64_t kFarthest = (int64_t(1) << 31) - 1;

  int64_t min = kUnboundedMin;
  int64_t max = kUnboundedMax;
  /// True if the mask keeps exactly this range; false if it keeps a subset.
  bool exact = true;

  static DifferenceRange atLeast(int64_t least) { return {least, kUnboundedMax}; }
  /// Returns the range of i - j < left and j - i < right, for bounds of at least 1. A side without
  /// a bound is unbounded.
  static DifferenceRange window(std::optional<int64_t> left, std::optional<int64_t> right) {
    return {right ? 1 - *right : kUnboundedMin, left ? *left - 1 : kUnboundedMax};
  }

  /// Returns true if every pair has j <= i.
  bool isCausal() const { return min >= 0; }
  bool isEmpty() const { return min > max; }
  bool contains(int64_t difference) const { return min <= difference && difference <= max; }

  /// Returns the intersection of both masks.
  static DifferenceRange both(const DifferenceRange &a, const DifferenceRange &b) {
    return {std::max(a.min, b.min), std::min(a.max, b.max), a.exact && b.exact};
  }

  /// Returns the hull of the union of both masks. It is exact if the hull adds no pairs.
  static DifferenceRange either(const DifferenceRange &a, const DifferenceRange &b) {
    if (a.isEmpty() || b.isEmpty())
      return a.isEmpty() ? b : a;
    const DifferenceRange &first = a.min <= b.min ? a : b, &second = a.min <= b.min ? b : a;
    // There is no gap between them. If second.min - 1 would overflow, the first condition holds.
    const bool touches = first.max >= second.min || first.max == second.min - 1;
    DifferenceRange hull = {first.min, std::max(first.max, second.max),
                            first.exact && second.exact && touches};
    // If one mask fills the hull, the other one adds nothing.
    for (const DifferenceRange *part : {&a, &b})
      hull.exact |= part->exact && part->min == hull.min && part->max == hull.max;
    return hull;
  }

  /// Returns the same pairs of positions with bounds of 32 bits. Bounds that no difference reaches
  /// become unbounded, and a range without pairs becomes 1 .. 0.
  DifferenceRange ofPositions() const {
    if (isEmpty() || min > kFarthest || max < -kFarthest)
      return {1, 0, exact};
    return {min <= -kFarthest ? kUnboundedMin : min, max >= kFarthest ? kUnboundedMax : max, exact};
  }
};

} // namespace mlir::pe

#endif // PE_DIALECT_MATH_DIFFERENCERANGE_H
