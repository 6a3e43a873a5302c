//===- ViewRuns.h - The contiguous runs of a view ---------------*- C++ -*-===//
//
// The elements of a strided view as runs of consecutive bytes, as long as possible, for fills: rows
// [h, s, d] that are stored as [s, h, d] are one run.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_VIEWRUNS_H
#define PE_RUNTIME_DEVICE_COMMON_VIEWRUNS_H

#include "pe/View.h"

namespace pe::device {

class ViewRuns {
public:
  explicit ViewRuns(const View &view);
  int64_t size() const { return count; }
  /// The bytes of every run.
  int64_t bytes() const { return length; }
  void *operator[](int64_t run) const;

private:
  struct Axis {
    int64_t size = 0, stride = 0; // in bytes
  };
  /// The axes between runs, the one with the largest stride first.
  Axis axes[PE_MAX_RANK];
  int rank = 0;
  char *data = nullptr;
  int64_t count = 1, length = 0;
};

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_VIEWRUNS_H
