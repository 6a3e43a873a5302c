//===- RestoredState.h - State read from a checkpoint -----------*- C++ -*-===//
//
// Reads the parts of the state that a file contains, and checks them before any is restored.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_RESTOREDSTATE_H
#define PE_RUNTIME_TRAIN_TRAINER_RESTOREDSTATE_H

#include "runtime/core/Safetensors.h"
#include "runtime/train/trainer/Trainer.h"

#include <utility>
#include <vector>

namespace pe::train {

/// Parts of the state with the tensors to restore them from.
using Restored = std::vector<std::pair<StatePart, Tensor>>;

/// Returns the weights as parts of the state.
std::vector<StatePart> weightsOf(Trainer &trainer);

/// Returns the steps of the warm start that the optimizer's counts include.
int64_t stepsBefore(const Safetensors &optimizer);

/// Adds the parts contained in `file`, whose counts are at most `steps`. A missing required part is
/// an error.
Status readParts(const Safetensors &file, const std::string &path,
                 const std::vector<StatePart> &parts, int64_t steps, Restored &restored);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_RESTOREDSTATE_H
