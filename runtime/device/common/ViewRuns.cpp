//===- ViewRuns.cpp - The contiguous runs of a view -----------------------===//

#include "runtime/device/common/ViewRuns.h"

#include <algorithm>
#include <cstdlib>

namespace pe::device {

ViewRuns::ViewRuns(const View &view) : data(static_cast<char *>(view.data)) {
  length = static_cast<int64_t>(sizeOf(static_cast<DType>(view.dtype)));
  for (int k = 0; k < view.rank; ++k) {
    count *= view.shape[k];
    if (view.shape[k] > 1)
      axes[rank++] = {view.shape[k], view.strides[k] * length};
  }
  std::sort(axes, axes + rank,
            [](const Axis &a, const Axis &b) { return std::abs(a.stride) > std::abs(b.stride); });
  for (; rank > 0 && axes[rank - 1].stride == length && count > 0; --rank) {
    count /= axes[rank - 1].size;
    length *= axes[rank - 1].size;
  }
}

void *ViewRuns::operator[](int64_t run) const {
  int64_t offset = 0;
  for (int k = rank; k-- > 0; run /= axes[k].size)
    offset += run % axes[k].size * axes[k].stride;
  return data + offset;
}

} // namespace pe::device
