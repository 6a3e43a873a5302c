//===- StridedCopy.h - Copies between two layouts ---------------*- C++ -*-===//
//
// Copies the elements of a shape from one set of strides to another. Adjacent axes that are
// contiguous to each other in both layouts are merged, and the innermost contiguous axes become one
// run of bytes. Nothing is allocated, and the outermost remaining axis can be divided among
// threads.
//
//   StridedCopy copy(/*rank=*/2, sizeof(float));
//   copy.setAxis(0, rows, columns, 1);          // size, target and source stride: a transposition
//   copy.setAxis(1, columns, 1, rows);
//   for (int64_t part = 0; part < copy.parts(); ++part)
//     copy.run(part, to, from);
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_STRIDEDCOPY_H
#define PE_RUNTIME_CORE_STRIDEDCOPY_H

#include <cstdint>

namespace pe {

/// A copy of one shape.
class StridedCopy {
public:
  /// Up to kMaxRank axes, which must be set before anything else is called.
  StridedCopy(int rank, int64_t elementBytes) : rank(rank), runBytes(elementBytes) {}
  void setAxis(int axis, int64_t size, int64_t stepTo, int64_t stepFrom) {
    axes[axis] = {size, stepTo * runBytes, stepFrom * runBytes};
  }

  static constexpr int kMaxRank = 64;
  struct Axis {
    int64_t size, to, from; // strides in bytes
  };

  /// Returns the number of pieces, which may be copied concurrently; 0 if there are no elements.
  int64_t parts();
  /// Copies one piece.
  void run(int64_t part, void *to, const void *from) const;

  /// After parts(): the remaining axes, outermost first, and the bytes of a run.
  int axisCount() const { return rank; }
  const Axis &axis(int index) const { return axes[index]; }
  int64_t bytesOfRun() const { return runBytes; }

private:
  void simplify();
  void copy(int axis, char *to, const char *from) const;

  int rank;
  int64_t runBytes;
  bool isSimple = false, isEmpty = false;
  Axis axes[kMaxRank];
};

} // namespace pe

#endif // PE_RUNTIME_CORE_STRIDEDCOPY_H
