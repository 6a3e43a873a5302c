//===- AttentionFunction.h - Interface of the attention in a model -*- C++ -*-===//
//
// Training uses attention only through this class: a list of the encoding's parameters, the inputs
// it reads besides queries, keys and values, and a forward and a backward call on entire batches.
// EmbeddingFunction is the counterpart for encodings that are added to the token embedding.
// runtime/train/api implements both with pe's compiler; tests have naive implementations.
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
  /// The initial value, as the value of pe.init ("0.1", "linear", "normal(0.02)" ...).
  std::string init;
  bool decay = true;
  float minimum = -std::numeric_limits<float>::infinity();
  /// Named formulas over the encoding's parameters, which are logged (pe.monitor).
  std::vector<std::pair<std::string, std::string>> monitor = {};
};

/// An input of an encoding that the layer computes from its own input: y = norm(x) W^T, per head or
/// shared by all heads.
struct ProjectedInput {
  enum class Form : uint8_t {
    /// y itself.
    Plain,
    /// The prefix sum along the sequence of log sigmoid(y + bias), that is, the logarithm of the
    /// product of forget gates (Lin et al. 2025).
    LogGates,
  };
  std::string name;
  Form form = Form::Plain;
  bool perHead = false;
};

/// The layout of matrix products: one row per token of the batch, sequence by sequence, with the
/// heads of a token adjacent.
template <typename Float> struct HeadRows {
  Float *data = nullptr;
  /// The stride between tokens, in elements.
  int64_t pitch = 0;

  Float *at(int64_t token, int64_t column = 0) const { return data + token * pitch + column; }
};

/// The inputs of attention. A token has heads * headDim elements in q, and keyHeads * headDim in k
/// and v. The encoding's parameters are in the order of AttentionFunction::parameters().
struct AttentionInputs {
  int64_t batch = 0, heads = 0, keyHeads = 0, length = 0, headDim = 0;
  HeadRows<const float> q, k, v;
  std::vector<const float *> parameters;
  /// [batch, heads or 1, length], in the order of AttentionFunction::projected().
  std::vector<const float *> projected;
  /// The document of each token [batch, length], numbered in its sequence, and the prefix length of
  /// each sequence (data/Batches.h).
  const int32_t *documents = nullptr, *prefixes = nullptr;
  /// The random seed, different for every layer and step.
  uint64_t seed = 0;
  /// Enables dropout.
  bool training = false;
};

/// The outputs of a backward call, in the order of the inputs.
struct AttentionGradients {
  HeadRows<float> dQ, dK, dV;
  std::vector<float *> parameters;
  std::vector<float *> projected;
};

class AttentionFunction {
public:
  virtual ~AttentionFunction() = default;
  virtual const std::vector<EncodingParameter> &parameters() const = 0;
  virtual std::vector<ProjectedInput> projected() const { return {}; }
  virtual bool readsPrefixes() const { return false; }
  /// Computes `o`, which has the layout of q. The caller keeps `o` unchanged until the backward
  /// call.
  virtual Status forward(const AttentionInputs &inputs, const HeadRows<float> &o) = 0;
  /// Computes the gradients for the cotangent dO of the last forward call, whose inputs are passed
  /// again.
  virtual Status backward(const AttentionInputs &inputs, const HeadRows<const float> &dO,
                          const AttentionGradients &gradients) = 0;
};

/// Creates the attention of one layer. Each layer has its own, which stores the values its backward
/// call needs.
using AttentionFactory = std::function<Expected<std::unique_ptr<AttentionFunction>>()>;

/// y = x + an encoding of the position, on the token embedding x [batch, length, dim].
class EmbeddingFunction {
public:
  virtual ~EmbeddingFunction() = default;
  virtual const std::vector<EncodingParameter> &parameters() const = 0;
  virtual Status forward(int64_t batch, int64_t length, const float *x,
                         const std::vector<const float *> &parameters, float *y) = 0;
  /// Computes the gradients of the parameters for the cotangent dY of the last forward call, whose
  /// inputs are passed again. The gradient of x is dY.
  virtual Status backward(int64_t batch, int64_t length, const float *x,
                          const std::vector<const float *> &parameters, const float *dY,
                          const std::vector<float *> &gradients) = 0;
};

/// Creates the encoding of the token embedding; null if the encoding does not change it.
using EmbeddingFactory = std::function<Expected<std::unique_ptr<EmbeddingFunction>>(int64_t dim)>;

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_ATTENTIONFUNCTION_H
