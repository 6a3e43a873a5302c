//===- AttentionFunction.h - The attention a model is built on --*- C++ -*-===//
//
// Training sees attention through this class alone: a list of the encoding's parameters, and a
// forward and a backward call on whole batches. CompiledAttention implements it by pe's compiler;
// tests have a naive one.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_ATTENTIONFUNCTION_H
#define PE_RUNTIME_TRAIN_MODEL_ATTENTIONFUNCTION_H

#include "runtime/core/Tensor.h"

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace pe::train {

/// A trained parameter of an encoding.
struct EncodingParameter {
  std::string name;
  Shape shape;
  /// How it starts: the text of pe.init ("0.1", "linear", "normal(0.02)" ...).
  std::string init;
  bool decay = true;
  float minimum = -std::numeric_limits<float>::infinity();
  /// Named formulas over the encoding's parameters, to be logged (pe.monitor).
  std::vector<std::pair<std::string, std::string>> monitor = {};
};

/// q [batch, heads, length, headDim], k and v [batch, keyHeads, length, headDim], and the
/// encoding's parameters in the order of AttentionFunction::parameters().
struct AttentionInputs {
  int64_t batch = 0, heads = 0, keyHeads = 0, length = 0, headDim = 0;
  const float *q = nullptr, *k = nullptr, *v = nullptr;
  std::vector<const float *> parameters;
};

/// Where backward writes; parameters in the same order as the inputs'.
struct AttentionGradients {
  float *dQ = nullptr, *dK = nullptr, *dV = nullptr;
  std::vector<float *> parameters;
};

class AttentionFunction {
public:
  virtual ~AttentionFunction() = default;
  virtual const std::vector<EncodingParameter> &parameters() const = 0;
  /// o [batch, heads, length, headDim]; it stays as it is until the backward call.
  virtual Status forward(const AttentionInputs &inputs, float *o) = 0;
  /// The gradients for the cotangent dO of the last forward call, whose inputs are given again.
  virtual Status backward(const AttentionInputs &inputs, const float *dO,
                          const AttentionGradients &gradients) = 0;
};

/// Makes the attention of one layer; each layer has its own (it keeps what its backward needs).
using AttentionFactory = std::function<Expected<std::unique_ptr<AttentionFunction>>()>;

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_ATTENTIONFUNCTION_H
