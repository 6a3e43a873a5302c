//===- Parameters.cpp - The parameters of a model -------------------------===//
//
// The layout of the block of all parameters.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/Parameters.h"

namespace pe::train {
namespace {

constexpr int64_t kAlignedFloats = Tensor::kAlignment / sizeof(float);

} // namespace

std::string_view nameOf(Role role) {
  switch (role) {
  case Role::Embedding:
    return "embedding";
  case Role::Attention:
    return "attention";
  case Role::Mlp:
    return "mlp";
  case Role::Head:
    return "head";
  case Role::Encoding:
    return "encoding";
  case Role::Gate:
    return "gate";
  }
  return "";
}

int64_t ParameterLayout::add(std::string name, Shape shape, Role role) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.role = role;
  parameter.count = 1;
  for (int64_t dim : shape)
    parameter.count *= dim;
  parameter.shape = std::move(shape);
  parameter.extent = (parameter.count + kAlignedFloats - 1) / kAlignedFloats * kAlignedFloats;
  parameter.offset = end;
  end += parameter.extent;
  parameters.push_back(std::move(parameter));
  return size() - 1;
}

int64_t ParameterLayout::find(std::string_view name) const {
  for (int64_t index = 0; index < size(); ++index)
    if (parameters[index].name == name)
      return index;
  return -1;
}

int64_t ParameterLayout::share(const std::string &name, const Shape &shape, Role role) {
  const int64_t index = find(name);
  if (index < 0)
    return add(name, shape, role);
  parameters[index].shared = true;
  return index;
}

int64_t ParameterLayout::count() const {
  int64_t sum = 0;
  for (const Parameter &parameter : parameters)
    sum += parameter.count;
  return sum;
}

int64_t ParameterLayout::count(Role role) const {
  int64_t sum = 0;
  for (const Parameter &parameter : parameters)
    if (parameter.role == role)
      sum += parameter.count;
  return sum;
}

} // namespace pe::train
