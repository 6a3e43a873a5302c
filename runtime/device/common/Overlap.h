//===- Overlap.h - Overlap of strided views ---------------------*- C++ -*-===//
//
// The outputs of a call must not share a byte with any other tensor of the call. Comparing address
// ranges is not enough because views of one tensor may be interleaved: q, k and v of a packed
// projection [B, S, 3, H, D] share a range of addresses and no element. The test is therefore exact
// and compares elements. Two of them overlap if
//
//   sum_k i_k s_k - sum_k j_k t_k = distance of the views
//
// has a solution with indices inside the shapes. Axes of equal stride form one unknown. The search
// proceeds from the largest stride down and skips values whose remainder the smaller strides cannot
// reach; for views of one tensor, one or two values per axis are left.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_OVERLAP_H
#define PE_RUNTIME_DEVICE_COMMON_OVERLAP_H

#include "pe/View.h"

namespace pe::device {

/// Returns true if the views share a byte. The number of search steps is bounded; views that exceed
/// it count as overlapping. Ranks, shapes and addresses must have been checked.
bool doOverlap(const View &a, const View &b);

/// Returns true if two elements of one view share memory, for example along an axis of stride 0.
/// The test is conservative: it is also true for some interleaved views without overlap.
bool overlapsItself(const View &view);

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_OVERLAP_H
