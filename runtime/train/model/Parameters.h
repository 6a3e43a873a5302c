//===- Parameters.h - The parameters of a model -----------------*- C++ -*-===//
//
// All parameters of a model are in one block of memory, each aligned to 64 bytes and padded with
// zeros to a multiple of 16 floats. Gradients and optimizer state use the same layout, so one
// offset locates a parameter in each of them. Parameters added consecutively are adjacent: query,
// key and value weights form one matrix.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_PARAMETERS_H
#define PE_RUNTIME_TRAIN_MODEL_PARAMETERS_H

#include "runtime/core/Tensor.h"

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace pe::train {

/// The role of a parameter in the model, by which reinit and weight decay select.
enum class Role : uint8_t { Embedding, Attention, Mlp, Head, Encoding, Gate };
std::string_view nameOf(Role role);

struct Parameter {
  std::string name;
  Shape shape;
  Role role = Role::Encoding;
  /// Enables weight decay.
  bool decay = true;
  /// True if several layers use it, so that their gradients add up.
  bool shared = false;
  /// True if training leaves it unchanged.
  bool frozen = false;
  /// The optimizer keeps every element at or above this.
  float minimum = -std::numeric_limits<float>::infinity();
  /// Named formulas over the parameters that share its prefix (pe.monitor).
  std::vector<std::pair<std::string, std::string>> monitor = {};
  /// Offset in floats from the start of the block.
  int64_t offset = 0;
  int64_t count = 0;
  /// `count` plus padding.
  int64_t extent = 0;
};

/// Selects if a gradient replaces the stored one or is added to it.
enum class GradientUse : uint8_t { Replace, Add };

/// One value per element of every parameter: weights, gradients or an optimizer moment.
class ParameterBlock {
public:
  ParameterBlock() = default;
  explicit ParameterBlock(int64_t floats) : storage(Tensor::zeros(DType::F32, {floats})) {}

  float *data() { return storage.data<float>(); }
  const float *data() const { return storage.data<float>(); }
  float *at(const Parameter &parameter) { return data() + parameter.offset; }
  const float *at(const Parameter &parameter) const { return data() + parameter.offset; }
  int64_t size() const { return storage.isDefined() ? storage.numel() : 0; }

private:
  Tensor storage;
};

/// The list of parameters and their offsets.
class ParameterLayout {
public:
  /// Appends a parameter and returns its index.
  int64_t add(std::string name, Shape shape, Role role);
  /// Marks the parameter of this name as shared and returns its index. Appends the parameter if it
  /// does not exist.
  int64_t share(const std::string &name, const Shape &shape, Role role);
  /// Returns the index of the parameter of this name, or -1.
  int64_t find(std::string_view name) const;

  Parameter &operator[](int64_t index) { return parameters[index]; }
  const Parameter &operator[](int64_t index) const { return parameters[index]; }
  const std::vector<Parameter> &all() const { return parameters; }
  int64_t size() const { return static_cast<int64_t>(parameters.size()); }
  /// Returns the size in floats of a block with this layout.
  int64_t extent() const { return end; }
  /// Returns the number of elements without padding: of all parameters, or of those of one role.
  int64_t count() const;
  int64_t count(Role role) const;

private:
  std::vector<Parameter> parameters;
  int64_t end = 0;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_PARAMETERS_H
