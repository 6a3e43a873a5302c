//===- ModelFiles.h - The safetensors files of a checkpoint -----*- C++ -*-===//
//
// A checkpoint is a safetensors file, or a directory in the layout of Hugging Face:
// model.safetensors, or shards and model.safetensors.index.json, whose "weight_map" assigns tensors
// to shards. The index and the shards must agree.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_MODELFILES_H
#define PE_RUNTIME_TRAIN_REINIT_MODELFILES_H

#include "runtime/core/Safetensors.h"

namespace pe::reinit {

inline constexpr const char *kIndexName = "model.safetensors.index.json";

struct ModelFiles {
  struct Shard {
    /// The file name in the directory; empty for a single file.
    std::string name;
    SafetensorsFile file;
  };
  bool folder = false;
  std::vector<Shard> shards;
  /// The content of the index file; empty if there is none.
  std::string index;

  static Expected<ModelFiles> open(const std::string &path);

  /// Returns the tensor of that name and its file, or null pointers.
  std::pair<const SafetensorsFile *, const SafetensorsFile::Entry *>
  find(const std::string &name) const;
};

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_MODELFILES_H
