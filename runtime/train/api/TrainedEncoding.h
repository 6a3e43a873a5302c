//===- TrainedEncoding.h - An encoding file as training uses it -*- C++ -*-===//
//
// Classifies the arguments of an encoding file: queries, keys and values; parameters; and data that
// training recognizes by name and feeds. A file with the entry @embed is added to the token
// embedding, and attention then has no positions.
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

  bool has(FedData kind) const;
};

struct TrainedEncoding {
  std::shared_ptr<const TrainedFunction> attention;
  /// Null if nothing is added to the token embedding.
  std::shared_ptr<const TrainedFunction> embedding;
  /// The source of the encoding file.
  std::string text;

  /// Create the functions of a model; their calls run on `parallel`.
  AttentionFactory attentionFactory(ParallelFor &parallel) const;
  EmbeddingFactory embeddingFactory(ParallelFor &parallel) const;
};

/// Compiles the encoding of a run. Returns an error if training cannot feed an argument.
Expected<TrainedEncoding> compileEncoding(const std::string &file, const TrainConfig &config);

/// Returns the source of an activation (TrainConfig::activation).
Expected<std::string> readActivation(const std::string &activation);

/// Loads OpenBLAS and compiles the training kernels with the given activation. The kernels live
/// until the process ends.
Expected<Kernels> prepareTraining(const std::string &activation);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_API_TRAINEDENCODING_H
