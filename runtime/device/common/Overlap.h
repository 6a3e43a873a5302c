//===- Overlap.h - Whether strided views share memory -----------*- C++ -*-===//
//
// What a call writes may not share a byte with anything else it uses. Views of one tensor may lie
// between each other: q, k and v of a packed projection [B, S, 3, H, D] share a range of addresses
// and no element. So it is decided by the elements, exactly: two of them meet if
//
//   sum_k i_k s_k - sum_k j_k t_k = distance of the views
//
// has a solution with indices inside the shapes. Axes of equal stride are one unknown; the search
// goes from the largest stride down and leaves out what the smaller ones cannot reach, which for
// views of one tensor is all but one or two values an axis.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_OVERLAP_H
#define PE_RUNTIME_DEVICE_COMMON_OVERLAP_H

#include "pe/View.h"

namespace pe::device {

/// Whether the views have a byte in common. Views so tangled that the search is given up count as
/// overlapping. Ranks, shapes and addresses were checked.
bool doOverlap(const View &a, const View &b);

/// Whether two elements of one view share memory (an axis of stride 0, rows closer than they are
/// long ...); also true for some tangled views where none do.
bool overlapsItself(const View &view);

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_OVERLAP_H
