//===- DeviceCopy.cpp - Copies of strided views on a GPU ------------------===//

#include "runtime/device/cuda/DeviceCopy.h"

#include "runtime/device/common/BoundCall.h"

#include <optional>

namespace pe::cuda {

namespace {

/// Returns the axis that becomes the rows of the 2-D copies: the longest one along which the runs
/// do not overlap.
std::optional<int> rowsOf(const StridedCopy &copy) {
  std::optional<int> rows;
  for (int k = 0; k < copy.axisCount(); ++k) {
    const StridedCopy::Axis &axis = copy.axis(k);
    if (axis.to >= copy.bytesOfRun() && axis.from >= copy.bytesOfRun() &&
        (!rows || axis.size > copy.axis(*rows).size))
      rows = k;
  }
  return rows;
}

/// Returns the number of copies: the product of the sizes of all other axes.
double copiesOf(const StridedCopy &copy, std::optional<int> rows) {
  double count = 1;
  for (int k = 0; k < copy.axisCount(); ++k)
    count *= k == rows ? 1.0 : double(copy.axis(k).size);
  return count;
}

} // namespace

Status checkCopies(const View &view) {
  StridedCopy copy = device::packingOf(view, false);
  if (copy.parts() == 0)
    return Status::success();
  const double copies = copiesOf(copy, rowsOf(copy));
  if (copies <= double(kMostCopies))
    return Status::success();
  return makeError("tensor '", view.name, "': its strides ",
                   toString(Shape(view.strides, view.strides + view.rank)), " need ", copies,
                   " copies on a GPU, expected at most ", kMostCopies, "; make it contiguous");
}

Status copyView(const Driver &driver, const View &view, DevicePointer packed, bool intoView,
                Stream stream) {
  StridedCopy copy = device::packingOf(view, intoView);
  if (copy.parts() == 0)
    return Status::success();
  const std::optional<int> rows = rowsOf(copy);
  const auto count = static_cast<int64_t>(copiesOf(copy, rows));
  Copy2D one;
  one.widthInBytes = static_cast<size_t>(copy.bytesOfRun());
  one.height = rows ? static_cast<size_t>(copy.axis(*rows).size) : 1;
  one.to.pitch = rows ? static_cast<size_t>(copy.axis(*rows).to) : one.widthInBytes;
  one.from.pitch = rows ? static_cast<size_t>(copy.axis(*rows).from) : one.widthInBytes;
  const auto strided = reinterpret_cast<DevicePointer>(view.data);
  for (int64_t i = 0; i < count; ++i) {
    one.to.device = intoView ? strided : packed;
    one.from.device = intoView ? packed : strided;
    int64_t rest = i;
    for (int k = copy.axisCount(); k-- > 0;) {
      if (k == rows)
        continue;
      const StridedCopy::Axis &axis = copy.axis(k);
      one.to.device += static_cast<DevicePointer>(rest % axis.size * axis.to);
      one.from.device += static_cast<DevicePointer>(rest % axis.size * axis.from);
      rest /= axis.size;
    }
    if (const Result result = driver.copy2D(&one, stream))
      return driver.check(result, std::string("copying tensor '") + view.name + "'");
  }
  return Status::success();
}

} // namespace pe::cuda
