//===- DifferenceRange.h - which differences i - j a mask keeps -----------===//
//
// A mask that depends on positions alone keeps the pairs whose difference i - j lies in an
// interval. Intersections and unions are exact over the whole of int64_t: nothing overflows,
// whatever bounds a program gives.
//
// Example: causal is [0, +inf), a window with left = 4 is (-inf, 3]; together [0, 3].
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_DIFFERENCERANGE_H
#define PE_DIALECT_MATH_DIFFERENCERANGE_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace mlir::pe { // the dialect's own word, although nothing of MLIR is needed

/// The pairs with min <= i - j <= max. The limits of int64_t mean unbounded.
struct DifferenceRange {
  static constexpr int64_t kUnboundedMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kUnboundedMax = std::numeric_limits<int64_t>::max();
  /// Positions have magnitudes below 2^30, so differences lie strictly between -2^31 and 2^31.
  static constexpr int64_t kFarthest = (int64_t(1) << 31) - 1;

  int64_t min = kUnboundedMin;
  int64_t max = kUnboundedMax;
  /// True: a mask is precisely this range. False: the mask lies inside it.
  bool exact = true;

  static DifferenceRange atLeast(int64_t least) { return {least, kUnboundedMax}; }
  /// i - j < left and j - i < right, for bounds of at least 1; an absent bound leaves its side
  /// open.
  static DifferenceRange window(std::optional<int64_t> left, std::optional<int64_t> right) {
    return {right ? 1 - *right : kUnboundedMin, left ? *left - 1 : kUnboundedMax};
  }

  /// Every pair has j <= i: no query sees a later key.
  bool isCausal() const { return min >= 0; }
  bool isEmpty() const { return min > max; }
  bool contains(int64_t difference) const { return min <= difference && difference <= max; }

  /// What both masks keep.
  static DifferenceRange both(const DifferenceRange &a, const DifferenceRange &b) {
    return {std::max(a.min, b.min), std::min(a.max, b.max), a.exact && b.exact};
  }

  /// What at least one of the masks keeps, as the hull; exact where the hull adds nothing.
  static DifferenceRange either(const DifferenceRange &a, const DifferenceRange &b) {
    if (a.isEmpty() || b.isEmpty())
      return a.isEmpty() ? b : a;
    const DifferenceRange &first = a.min <= b.min ? a : b, &second = a.min <= b.min ? b : a;
    // No gap between them. Where second.min - 1 would overflow, first.min is no greater.
    const bool touches = first.max >= second.min || first.max == second.min - 1;
    DifferenceRange hull = {first.min, std::max(first.max, second.max),
                            first.exact && second.exact && touches};
    // A mask that fills the hull leaves nothing for the other one to add.
    for (const DifferenceRange *part : {&a, &b})
      hull.exact |= part->exact && part->min == hull.min && part->max == hull.max;
    return hull;
  }

  /// The same pairs of positions, in bounds of 32 bits: those that no difference reaches become
  /// unbounded, and a range without pairs becomes 1 .. 0.
  DifferenceRange ofPositions() const {
    if (isEmpty() || min > kFarthest || max < -kFarthest)
      return {1, 0, exact};
    return {min <= -kFarthest ? kUnboundedMin : min, max >= kFarthest ? kUnboundedMax : max, exact};
  }
};

} // namespace mlir::pe

#endif // PE_DIALECT_MATH_DIFFERENCERANGE_H
