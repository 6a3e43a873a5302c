//===- TrainedEncoding.h - an encoding's file, as training sees it ---===//
//
// What the arguments of a file are: queries, keys and values, parameters, and data that training
// knows by name and feeds itself. A file with the entry @embed is added to the token embedding, and
// attention has no positions then.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_TRAIN_API_TRAINEDENCODING_H
#define PE_RUNTIME_TRAIN_API_TRAINEDENCODING_H

#include "runtime/api/Compiler.h"
#include "runtime/train/api/FedData.h"
#include "runtime/train/model/AttentionFunction.h"
#include "runtime/train/session/Session.h"

namespace pe::train {

struct DataArgument {
  std::string name;
  FedData kind;
};

/// One of the attentions in a function: its arguments' names and their gradients'.
struct HeadSet {
  std::string q, k, v, o, dQ, dK, dV, dO;
};

/// What is known of a function before it is called.
struct TrainedFunction {
  std::shared_ptr<const jit::Description> description;
  /// Of training; and without dropout, if the first has any.
  std::shared_ptr<const api::CompiledFunction> function, evaluation;
  std::vector<EncodingParameter> parameters;
  std::vector<DataArgument> data;
  std::vector<ProjectedInput> projected;
  /// Each has an equal part of a layer's heads, in this order.
  std::vector<HeadSet> sets;

  bool has(FedData kind) const;
};

struct TrainedEncoding {
  std::shared_ptr<const TrainedFunction> attention;
  /// Null if nothing is added to the token embedding.
  std::shared_ptr<const TrainedFunction> embedding;
  /// Of the encoding's file.
  std::string text;

  /// The functions of a model; calls run on `parallel`.
  AttentionFactory attentionFactory(ParallelFor &parallel) const;
  EmbeddingFactory embeddingFactory(ParallelFor &parallel) const;
};

/// Compiles the encoding of a run. An argument that training cannot feed is an error.
Expected<TrainedEncoding> compileEncoding(const std::string &file, const TrainConfig &config);

/// The text of an activation (TrainConfig).
Expected<std::string> readActivation(const std::string &activation);

/// Loads OpenBLAS and compiles the kernels of training with that activation; they live
/// until the process ends.
Expected<Kernels> prepareTraining(const std::string &activation);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_API_TRAINEDENCODING_H
