//===- Checkpoint.h - Saving a run and going on with it ---------*- C++ -*-===//
//
// A checkpoint is a folder DIR/step-N with model.safetensors (the weights by name, usable by any
// tool) and optimizer.safetensors (the parts of State.h by name: the optimizers' blocks, counts of
// updates, steps, what events remember). DIR/latest names the folder to resume from and is replaced
// atomically when both files are complete and on the disk; only then are the previous checkpoint
// and leftovers of killed processes removed. The process may end at any moment: DIR/latest names a
// complete checkpoint, the new one or the previous one. If DIR/latest already names step-N, the new
// one is DIR/step-N.1. A run may keep some of the checkpoints before it. Each file holds the
// SHA-256 of its tensors, and the optimizer's file that of the model it belongs to. Batches depend
// on seed and step alone, so nothing else is needed for a resumed run to be bit for bit the
// uninterrupted run.
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

/// Creates the checkpoint folder if it is missing; an error where that is impossible, as when a
/// file has its name.
Status makeCheckpointFolder(const std::string &directory);

/// Writes the state of `trainer`, and `more` of others, to `directory` (created if missing) and
/// leaves the last `keep` checkpoints there. `metadata` goes into the model file. An error leaves
/// the previous checkpoint.
Status saveCheckpoint(const std::string &directory, Trainer &trainer, const Metadata &metadata,
                      const std::vector<StatePart> &more = {}, int64_t keep = 1);

/// The model's file of the latest checkpoint in a folder of pe train, or of DIR/step-N itself; an
/// error if there is none.
Expected<std::string> modelFileOf(const std::string &folder);

/// Whether there is something to resume from: DIR/latest, even if it cannot be read.
bool hasCheckpoint(const std::string &directory);

/// What the latest checkpoint says of its run: the steps done and the metadata.
struct SavedRun {
  int64_t steps;
  Metadata metadata;
};
Expected<SavedRun> readSavedRun(const std::string &directory);

/// Loads the state of the latest checkpoint into `trainer` and `more`. Every required tensor must
/// be there with its shape, undamaged and finite, counts must be plausible, and every entry of
/// `metadata` must agree; otherwise an error says what differs and nothing is changed. `defaults`:
/// what the entries mean that a checkpoint of an older version lacks; where an entry is a number
/// there, numbers agree by value. Where an entry "KEY.sha256" is in both, it decides, not KEY: a
/// file may have moved, but must have its content.
Status loadCheckpoint(const std::string &directory, Trainer &trainer, const Metadata &metadata,
                      const Metadata &defaults = {}, const std::vector<StatePart> &more = {});

/// Loads the weights of a checkpoint's folder or of a safetensors file, and with `keepsOptimizer`
/// what the optimizers remember there; steps begin at 0. Tensors must be those of the model. The
/// metadata of the file.
Expected<Metadata> loadWarmStart(const std::string &from, bool keepsOptimizer, Trainer &trainer);

/// The weights of a checkpoint's folder or of a model's file, which must be those of the trainer's
/// parameters: float32, in their shapes.
Expected<std::map<std::string, Tensor>> readWeights(const std::string &from, Trainer &trainer);

/// The SHA-256 of what loadWarmStart would load.
Expected<std::string> digestOfWarmStart(const std::string &from, bool keepsOptimizer);

/// Removes what a killed process left beside the latest checkpoint and the `keep` - 1 before it:
/// other ones and partly written files. Files that saveCheckpoint does not write stay.
void removeLeftovers(const std::string &directory, int64_t keep = 1);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_CHECKPOINT_H
