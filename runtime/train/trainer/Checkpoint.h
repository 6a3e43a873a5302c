//===- Checkpoint.h - Save and resume a run ---------------------*- C++ -*-===//
//
// A checkpoint is a directory DIR/step-N with model.safetensors (the weights by name, readable by
// any tool) and optimizer.safetensors (the parts of State.h by name: state blocks and update counts
// of the optimizers, steps, and the state of events). DIR/latest names the directory to resume
// from. It is replaced atomically after both files are complete and on disk; only then are the
// previous checkpoint and leftovers of killed processes removed. If the process is killed at any
// moment, DIR/latest names a complete checkpoint, either the new one or the previous one. If
// DIR/latest already names step-N, the new checkpoint is DIR/step-N.1. A run may keep several
// previous checkpoints. Each file contains the SHA-256 of its tensors, and the optimizer file also
// that of its model file. Batches depend only on seed and step, so nothing else is needed to resume
// a run bit for bit.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_CHECKPOINT_H
#define PE_RUNTIME_TRAIN_TRAINER_CHECKPOINT_H

#include "runtime/train/trainer/CheckpointFolder.h"
#include "runtime/train/trainer/Trainer.h"

#include <map>
#include <string>

namespace pe::train {

using Metadata = std::map<std::string, std::string>;

/// Creates the checkpoint directory if it is missing. Returns an error if that fails, for example
/// because a file has its name.
Status makeCheckpointFolder(const std::string &directory);

/// Writes the state of `trainer` and the parts `more` to `directory`, which is created if missing,
/// and keeps the last `keep` checkpoints there. `metadata` is stored in the model file. After an
/// error the previous checkpoint is intact.
Status saveCheckpoint(const std::string &directory, Trainer &trainer, const Metadata &metadata,
                      const std::vector<StatePart> &more = {}, int64_t keep = 1);

/// The number of steps and the metadata stored in the latest checkpoint.
struct SavedRun {
  int64_t steps;
  Metadata metadata;
};
Expected<SavedRun> readSavedRun(const std::string &directory);

/// Loads the state of the latest checkpoint into `trainer` and `more`. Every required tensor must
/// be present with its shape, undamaged and finite, counts must be plausible, and every entry of
/// `metadata` must agree. Otherwise an error reports the difference, and nothing is changed.
/// `defaults` gives the meaning of entries that are missing in checkpoints of older versions; if
/// the default is a number, values are compared numerically. If both sides have an entry
/// "KEY.sha256", it is compared instead of KEY: a file may have moved, but its content must be the
/// same.
Status loadCheckpoint(const std::string &directory, Trainer &trainer, const Metadata &metadata,
                      const Metadata &defaults = {}, const std::vector<StatePart> &more = {});

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_CHECKPOINT_H
