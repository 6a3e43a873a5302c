//===- Project.cpp - Implementation of pe/reinit.h ------------------------===//

#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/train/blas/Blas.h"
#include "runtime/train/reinit/Reinit.h"

#include <algorithm>

namespace pe::reinit {
namespace {

Status check(const View &weights) {
  const std::string name = weights.name ? weights.name : "";
  const auto dtype = static_cast<DType>(weights.dtype);
  if (!isFloating(dtype))
    return makeError("tensor '", name, "': expected weights of f32, f64, bf16 or f16");
  if (weights.rank != 2 && weights.rank != 3)
    return makeError("tensor '", name, "': expected a matrix or a stack of matrices, found rank ",
                     weights.rank);
  int64_t stride = 1;
  for (int32_t axis = weights.rank; axis-- > 0;) {
    if (weights.shape[axis] < 1)
      return makeError("tensor '", name, "': expected at least one element, found axis ", axis,
                       " of size ", weights.shape[axis]);
    if (weights.shape[axis] > 1 && weights.strides[axis] != stride)
      return makeError("tensor '", name, "': expected contiguous weights, found stride ",
                       weights.strides[axis], " for axis ", axis, " instead of ", stride);
    if (__builtin_mul_overflow(stride, weights.shape[axis], &stride))
      return makeError("tensor '", name, "': expected a size below 2^63 elements");
  }
  if (!weights.data)
    return makeError("tensor '", name, "': expected an address, found none");
  return Status::success();
}

} // namespace

Expected<std::vector<MatrixReport>> project(const View &weights, const Settings &settings,
                                            ParallelFor *parallel) {
  if (Status checked = check(weights); !checked)
    return checked.takeError();
  if (settings.engine == Engine::Cubic && settings.iterations < 1)
    return makeError("expected at least one iteration of engine cubic, found ",
                     settings.iterations);
  if (Status loaded = blas::load(); !loaded)
    return loaded.takeError();
  ParallelFor &pool = parallel ? *parallel : cpu::ThreadPool::ofProcess();
  const bool stack = weights.rank == 3;
  const int64_t count = stack ? weights.shape[0] : 1;
  const int64_t rows = weights.shape[weights.rank - 2], cols = weights.shape[weights.rank - 1];
  const auto dtype = static_cast<DType>(weights.dtype);
  // Computes all results before writing any: an error must change nothing.
  std::vector<double> values(count * rows * cols);
  readValues(dtype, weights.data, values);
  std::vector<MatrixReport> reports;
  for (int64_t index = 0; index < count; ++index) {
    std::string name = weights.name ? weights.name : "";
    if (stack)
      name += "[" + std::to_string(index) + "]";
    auto report =
        projectValues(name, rows, cols, std::span(values).subspan(index * rows * cols, rows * cols),
                      dtype, settings, pool);
    if (!report)
      return report.takeError();
    reports.push_back(*std::move(report));
  }
  const size_t bytes = static_cast<size_t>(rows * cols) * sizeOf(dtype);
  for (int64_t index = 0; index < count; ++index)
    if (reports[index].chosen)
      writeValues(dtype, std::span(values).subspan(index * rows * cols, rows * cols),
                  static_cast<char *>(weights.data) + index * bytes);
  return reports;
}

} // namespace pe::reinit
