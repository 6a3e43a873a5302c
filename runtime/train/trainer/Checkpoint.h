//===- Checkpoint.h - Saving a run and going on with it ---------*- C++ -*-===//
//
// A checkpoint is a folder DIR/step-N with model.safetensors (the weights by name, usable by any
// tool) and optimizer.safetensors (both moments, counts of updates, steps). DIR/latest names the
// folder to resume from and is replaced atomically when both files are complete and on the disk;
// only then what was there before is removed, with what a killed process left. The process may end
// at any moment: DIR/latest names a whole checkpoint, the new one or the one before. Where
// DIR/latest already names step-N, the new one is DIR/step-N.1. Each file holds the SHA-256 of its
// tensors, and the optimizer's that of the model it belongs to. Batches depend on seed and step
// alone, so nothing else is needed for a resumed run to be bit for bit the run that was never
// interrupted.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_CHECKPOINT_H
#define PE_RUNTIME_TRAIN_TRAINER_CHECKPOINT_H

#include "runtime/core/Safetensors.h"
#include "runtime/train/trainer/Trainer.h"

#include <map>
#include <string>

namespace pe::train {

using Metadata = std::map<std::string, std::string>;

/// The SHA-256 of a file's tensors, names and bytes: its metadata 'pe.sha256'.
std::string digestOf(const Safetensors &file);

/// Makes the folder of the checkpoints where it is missing; an error where that cannot be, as where
/// a file has its name.
Status makeCheckpointFolder(const std::string &directory);

/// Writes the state of `trainer` to `directory` (made if missing). `metadata` goes into the model
/// file. An error leaves the checkpoint before it.
Status saveCheckpoint(const std::string &directory, Trainer &trainer, const Metadata &metadata);

/// Whether there is something to resume from.
bool hasCheckpoint(const std::string &directory);

/// Puts the state of the latest checkpoint into `trainer`. Every tensor must be there with the
/// shape of the model, undamaged and finite, counts must be possible, and every entry of `metadata`
/// must agree; otherwise an error says what differs and nothing was changed.
Status loadCheckpoint(const std::string &directory, Trainer &trainer, const Metadata &metadata);

/// Removes what a process that was killed left beside the latest checkpoint: older ones and files
/// that were being written. What saveCheckpoint does not write stays.
void removeLeftovers(const std::string &directory);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_CHECKPOINT_H
