//===- ReinitModel.h - Projecting the weights of a checkpoint ---*- C++ -*-===//
//
// Reads a checkpoint, projects the chosen matrices and writes files that differ from the input only
// in the bytes of these tensors. One matrix is in memory at a time. The output files appear only
// after everything has succeeded, each atomically; after an error no output is written, and
// existing files are unchanged.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_REINITMODEL_H
#define PE_RUNTIME_TRAIN_REINIT_REINITMODEL_H

#include "runtime/train/reinit/Selection.h"

#include <functional>

namespace pe::reinit {

struct ModelJob {
  /// Safetensors files, or directories of shards (ModelFiles.h). `out` is of the same kind as `in`.
  std::string in, out;
  /// An older checkpoint to which the report measures the distance; if empty, `in`.
  std::string against;
  /// The path of a JSON report; empty for no report.
  std::string report;
  SelectionOptions selection;
  Settings settings;
};

struct ModelOutcome {
  int64_t tensors = 0;
  /// The number of projected matrices, and of zero matrices, which are unchanged.
  int64_t projected = 0, zero = 0;
  /// The name of the first tensor that was projected as one matrix although its name suggests that
  /// several matrices are fused in it, and the part of the name that suggests this.
  std::string fused, fusedPart;
  /// True if the output replaced the input.
  bool inPlace = false;
};

/// Projects the weights of a checkpoint. Calls `observe` for each matrix when it is done.
Expected<ModelOutcome> reinitModel(const ModelJob &job, ParallelFor &pool,
                                   const std::function<void(const MatrixReport &)> &observe);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_REINITMODEL_H
