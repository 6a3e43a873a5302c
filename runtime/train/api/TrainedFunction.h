//===- TrainedFunction.h - A compiled function as training calls it ---*- C++ -*-===//
#ifndef PE_RUNTIME_TRAIN_API_TRAINEDFUNCTION_H
#define PE_RUNTIME_TRAIN_API_TRAINEDFUNCTION_H

#include "runtime/api/Compiler.h"
#include "runtime/train/api/FedData.h"
#include "runtime/train/model/AttentionFunction.h"

#include <algorithm>

namespace pe::train {

struct DataArgument {
  std::string name;
  FedData kind;
};

/// The argument names of one attention in a function, and the names of their gradients.
struct HeadSet {
  std::string q, k, v, o, dQ, dK, dV, dO;
};

/// The properties of a function that are known before it is called.
struct TrainedFunction {
  std::shared_ptr<const jit::Description> description;
  /// The function for training, and the one without dropout (null if the first has no dropout).
  std::shared_ptr<const api::CompiledFunction> function, evaluation;
  std::vector<EncodingParameter> parameters;
  std::vector<DataArgument> data;
  std::vector<ProjectedInput> projected;
  /// The attentions of the function. Each gets an equal share of a layer's heads, in this order.
  std::vector<HeadSet> sets;

  bool has(FedData kind) const {
    return std::ranges::any_of(data,
                               [&](const DataArgument &argument) { return argument.kind == kind; });
  }
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_API_TRAINEDFUNCTION_H
