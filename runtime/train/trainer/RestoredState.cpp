//===- RestoredState.cpp - State read from a checkpoint -------------------===//

#include "runtime/train/trainer/RestoredState.h"

#include <algorithm>
#include <cmath>

namespace pe::train {
namespace {

/// Returns the tensor `name` of `file`, which must have this shape and dtype.
Expected<Tensor> takeTensor(const Safetensors &file, const std::string &path,
                            const std::string &name, const Shape &shape, DType dtype) {
  const Tensor *tensor = file.find(name);
  if (!tensor)
    return makeError("file '", path, "': expected a tensor '", name, "', found none");
  if (tensor->dtype() != dtype || tensor->shape() != shape)
    return makeError("file '", path, "': expected tensor '", name, "' to be ", nameOf(dtype), " ",
                     toString(shape), ", found ", nameOf(tensor->dtype()), " ",
                     toString(tensor->shape()));
  return *tensor;
}

/// Checks the elements of a part in a checkpoint of `steps` steps.
Status checkElements(const StatePart &part, const Tensor &tensor, int64_t steps,
                     const std::string &path) {
  if (tensor.dtype() == DType::I64) {
    for (int64_t value : tensor.values<int64_t>())
      if (value < 0 || value > steps)
        return makeError("file '", path, "': expected tensor '", part.name, "' to hold 0 to ",
                         steps, ", found ", value);
    return Status::success();
  }
  auto values = toDoubles(tensor);
  if (!values)
    return values.takeError();
  for (double value : *values)
    if (!(value >= part.least && std::isfinite(value)))
      return makeError("file '", path, "': expected tensor '", part.name,
                       "' to hold finite numbers", part.least < 0 ? "" : " of at least 0",
                       ", found ", value);
  return Status::success();
}

} // namespace

Status readParts(const Safetensors &file, const std::string &path,
                 const std::vector<StatePart> &parts, int64_t steps, Restored &restored) {
  for (const StatePart &part : parts) {
    if (!part.required && !file.find(part.name))
      continue;
    auto tensor = takeTensor(file, path, part.name, part.view.shape(), part.view.dtype());
    if (!tensor)
      return tensor.takeError();
    if (Status status = checkElements(part, *tensor, steps, path); !status)
      return status;
    restored.emplace_back(part, *std::move(tensor));
  }
  return Status::success();
}

std::vector<StatePart> weightsOf(Trainer &trainer) {
  std::vector<StatePart> parts;
  for (const Parameter &parameter : trainer.model().layout().all())
    parts.push_back({parameter.name, Tensor::borrow(trainer.model().values().at(parameter),
                                                    DType::F32, parameter.shape)});
  return parts;
}

int64_t stepsBefore(const Safetensors &optimizer) {
  const Tensor *before = optimizer.find(kStepsBefore);
  if (!before || before->dtype() != DType::I64 || before->numel() != 1)
    return 0;
  return std::clamp<int64_t>(*before->data<int64_t>(), 0, int64_t(1) << 53);
}

} // namespace pe::train
