//===- WarmStart.h - Begin a run with saved weights -------------*- C++ -*-===//
//
// A warm start takes the weights, and with --from-optimizer=keep the state of the optimizer, from
// an earlier run or from a safetensors file. Unlike a resumed run, it begins at step 0.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_WARMSTART_H
#define PE_RUNTIME_TRAIN_TRAINER_WARMSTART_H

#include "runtime/train/trainer/Checkpoint.h"

namespace pe::train {

/// Loads the weights of a checkpoint directory or a safetensors file and, with `keepsOptimizer`,
/// the optimizer state stored there; steps begin at 0. The tensors must be those of the model.
/// Returns the metadata of the file.
Expected<Metadata> loadWarmStart(const std::string &from, bool keepsOptimizer, Trainer &trainer);

/// Returns the weights of a checkpoint directory or a model file. They must match the trainer's
/// parameters in name and shape, and be float32.
Expected<std::map<std::string, Tensor>> readWeights(const std::string &from, Trainer &trainer);

/// Returns the SHA-256 of the data that loadWarmStart would load.
Expected<std::string> digestOfWarmStart(const std::string &from, bool keepsOptimizer);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_WARMSTART_H
