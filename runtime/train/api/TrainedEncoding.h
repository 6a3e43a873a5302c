//===- TrainedEncoding.h - An encoding file as training uses it -*- C++ -*-===//
//
// Classifies the arguments of an encoding file: queries, keys and values; parameters; and data that
// training recognizes by name and feeds. A file with the entry @embed is added to the token
// embedding, and attention then has no positions.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_TRAIN_API_TRAINEDENCODING_H
#define PE_RUNTIME_TRAIN_API_TRAINEDENCODING_H

#include "runtime/train/api/TrainedFunction.h"
#include "runtime/train/session/Session.h"

namespace pe::train {

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
