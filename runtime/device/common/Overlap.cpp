//===- Overlap.cpp - Overlap of strided views -----------------------------===//

#include "runtime/device/common/Overlap.h"

#include <algorithm>

namespace pe::device {

namespace {

/// An unknown of the sum: an integer in [lowest, highest], times a nonnegative stride in bytes.
struct Axis {
  int64_t stride = 0, lowest = 0, highest = 0;
};

struct Axes {
  Axis axes[2 * PE_MAX_RANK + 1];
  int count = 0;

  void add(int64_t stride, int64_t lowest, int64_t highest) {
    if (stride < 0) {
      stride = -stride;
      std::swap(lowest, highest);
      lowest = -lowest, highest = -highest;
    }
    if (stride == 0 || lowest == highest)
      return;
    for (int i = 0; i < count; ++i)
      if (axes[i].stride == stride) {
        axes[i].lowest += lowest;
        axes[i].highest += highest;
        return;
      }
    axes[count++] = {stride, lowest, highest};
  }
};

/// Searches for a solution of sum(value * stride) = wanted over the axes from `first` on.
class Search {
public:
  explicit Search(Axes &given) : axes(given) {
    std::sort(axes.axes, axes.axes + axes.count,
              [](const Axis &a, const Axis &b) { return a.stride > b.stride; });
    for (int i = axes.count; i-- > 0;) {
      least[i] = least[i + 1] + __int128(axes.axes[i].stride) * axes.axes[i].lowest;
      most[i] = most[i + 1] + __int128(axes.axes[i].stride) * axes.axes[i].highest;
    }
  }

  /// Returns true if there is a solution, or if the search exceeds kMostSteps.
  bool find(int first, __int128 wanted) {
    if (wanted < least[first] || wanted > most[first])
      return false;
    if (first == axes.count)
      return true; // wanted is 0
    const Axis &axis = axes.axes[first];
    // The values of this axis for which the remaining axes can reach the remainder.
    const __int128 low =
        std::max<__int128>(axis.lowest, ceilDivide(wanted - most[first + 1], axis.stride));
    const __int128 high =
        std::min<__int128>(axis.highest, -ceilDivide(-(wanted - least[first + 1]), axis.stride));
    for (__int128 value = low; value <= high; ++value)
      if (++steps > kMostSteps || find(first + 1, wanted - value * axis.stride))
        return true;
    return false;
  }

private:
  static constexpr int kMostSteps = 2000;
  static __int128 ceilDivide(__int128 a, __int128 b) { return a / b + (a % b > 0); }

  Axes &axes;
  __int128 least[2 * PE_MAX_RANK + 2] = {}, most[2 * PE_MAX_RANK + 2] = {};
  int steps = 0;
};

bool isEmpty(const View &view) {
  return std::find(view.shape, view.shape + view.rank, 0) != view.shape + view.rank;
}

int64_t sizeOfElement(const View &view) {
  return static_cast<int64_t>(sizeOf(static_cast<DType>(view.dtype)));
}

} // namespace

bool doOverlap(const View &a, const View &b) {
  if (isEmpty(a) || isEmpty(b))
    return false;
  Axes axes;
  const int64_t elementA = sizeOfElement(a), elementB = sizeOfElement(b);
  for (int k = 0; k < a.rank; ++k)
    axes.add(a.strides[k] * elementA, 0, a.shape[k] - 1);
  for (int k = 0; k < b.rank; ++k)
    axes.add(b.strides[k] * elementB, -(b.shape[k] - 1), 0);
  // The offset between bytes inside the two elements.
  axes.add(1, -(elementB - 1), elementA - 1);
  const auto address = [](const View &view) { return reinterpret_cast<intptr_t>(view.data); };
  return Search(axes).find(0, __int128(address(b)) - address(a));
}

bool overlapsItself(const View &view) {
  if (isEmpty(view))
    return false;
  std::pair<int64_t, int64_t> axes[PE_MAX_RANK]; // stride, extent
  int count = 0;
  for (int k = 0; k < view.rank; ++k)
    if (view.shape[k] > 1)
      axes[count++] = {std::abs(view.strides[k]), view.shape[k]};
  std::sort(axes, axes + count);
  __int128 reach = 0; // elements from the first to the last of the smaller axes
  for (int k = 0; k < count; ++k) {
    if (axes[k].first <= reach)
      return true;
    reach += __int128(axes[k].first) * (axes[k].second - 1);
  }
  return false;
}

} // namespace pe::device
