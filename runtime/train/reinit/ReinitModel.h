//===- ReinitModel.h - Projecting the weights of a checkpoint ---*- C++ -*-===//
//
// Reads a checkpoint, projects the chosen matrices and writes the result: the same files with other
// bytes in the chosen tensors and nothing else changed. One matrix is in memory at a time. Output
// files appear when everything has succeeded, each atomically; after an error there is none, and
// existing ones are what they were.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_REINITMODEL_H
#define PE_RUNTIME_TRAIN_REINIT_REINITMODEL_H

#include "runtime/train/reinit/Selection.h"

#include <functional>

namespace pe::reinit {

struct ModelJob {
  /// Safetensors files, or folders of shards (ModelFiles.h). `out` is of the kind of `in`.
  std::string in, out;
  /// An older checkpoint that the report measures the distance to; empty: `in` itself.
  std::string against;
  /// A JSON list; empty: none.
  std::string report;
  SelectionOptions selection;
  Settings settings;
};

struct ModelOutcome {
  int64_t tensors = 0;
  /// Matrices that were projected, and zero ones that were left alone.
  int64_t projected = 0, zero = 0;
  /// Of tensors that were projected as one matrix though their names say that several are fused in
  /// them: the first name, and the part of it that says so.
  std::string fused, fusedPart;
  /// Whether the output replaced the input.
  bool inPlace = false;
};

/// Tells `observe` about every matrix as soon as it is done.
Expected<ModelOutcome> reinitModel(const ModelJob &job, ParallelFor &pool,
                                   const std::function<void(const MatrixReport &)> &observe);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_REINITMODEL_H
