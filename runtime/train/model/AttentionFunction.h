//===- AttentionFunction.h - The attention a model is built on --*- C++ -*-===//
//
// Training sees attention through this class alone: a list of the encoding's parameters, what it
// reads besides queries, keys and values, and a forward and a backward call on whole batches.
// EmbeddingFunction is the same for encodings that are added to the token embedding. tools/pe
// implements both by pe's compiler; tests have naive ones.
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

/// What an encoding reads that the layer computes from its own input: y = norm(x) W^T, for each
/// head or for all together.
struct ProjectedInput {
  enum class Form : uint8_t {
    /// y itself.
    Plain,
    /// The running sum along the sequence of log sigmoid(y + bias): logarithms of the products of
    /// forget gates (Lin et al. 2025).
    LogGates,
  };
  std::string name;
  Form form = Form::Plain;
  bool perHead = false;
};

/// A row per token of the batch, one sequence after the other, as matrix products have them: the
/// heads of a token lie side by side.
template <typename Float> struct HeadRows {
  Float *data = nullptr;
  /// From one token to the next.
  int64_t pitch = 0;

  Float *at(int64_t token, int64_t column = 0) const { return data + token * pitch + column; }
};

/// q has heads * headDim numbers per token, k and v keyHeads * headDim, and the encoding's
/// parameters come in the order of AttentionFunction::parameters().
struct AttentionInputs {
  int64_t batch = 0, heads = 0, keyHeads = 0, length = 0, headDim = 0;
  HeadRows<const float> q, k, v;
  std::vector<const float *> parameters;
  /// [batch, heads or 1, length], in the order of AttentionFunction::projected().
  std::vector<const float *> projected;
  /// The document of each token [batch, length], counted in its sequence, and the prefix of each
  /// sequence (data/Batches.h).
  const int32_t *documents = nullptr, *prefixes = nullptr;
  /// Of everything random, different for every layer and step.
  uint64_t seed = 0;
  /// False: nothing is dropped out.
  bool training = false;
};

/// Where backward writes, in the orders of the inputs.
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
  /// o is laid out as q; it stays as it is until the backward call.
  virtual Status forward(const AttentionInputs &inputs, const HeadRows<float> &o) = 0;
  /// The gradients for the cotangent dO of the last forward call, whose inputs are given again.
  virtual Status backward(const AttentionInputs &inputs, const HeadRows<const float> &dO,
                          const AttentionGradients &gradients) = 0;
};

/// Makes the attention of one layer; each layer has its own (it keeps what its backward needs).
using AttentionFactory = std::function<Expected<std::unique_ptr<AttentionFunction>>()>;

/// y = x + an encoding of the position, on the token embedding x [batch, length, dim].
class EmbeddingFunction {
public:
  virtual ~EmbeddingFunction() = default;
  virtual const std::vector<EncodingParameter> &parameters() const = 0;
  virtual Status forward(int64_t batch, int64_t length, const float *x,
                         const std::vector<const float *> &parameters, float *y) = 0;
  /// The gradients of the parameters for the cotangent dY of the last forward call, whose inputs
  /// are given again; that of x is dY.
  virtual Status backward(int64_t batch, int64_t length, const float *x,
                          const std::vector<const float *> &parameters, const float *dY,
                          const std::vector<float *> &gradients) = 0;
};

/// Null where the encoding is none of the embedding.
using EmbeddingFactory = std::function<Expected<std::unique_ptr<EmbeddingFunction>>(int64_t dim)>;

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_ATTENTIONFUNCTION_H
