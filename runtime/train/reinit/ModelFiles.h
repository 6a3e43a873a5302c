//===- ModelFiles.h - A checkpoint of one file or of many -------*- C++ -*-===//
//
// A safetensors file, or a folder as Hugging Face lays it out: model.safetensors, or shards and
// model.safetensors.index.json, whose "weight_map" says which tensor is in which shard. The index
// and the shards must agree.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_MODELFILES_H
#define PE_RUNTIME_TRAIN_REINIT_MODELFILES_H

#include "runtime/core/Safetensors.h"

namespace pe::reinit {

inline constexpr const char *kIndexName = "model.safetensors.index.json";

struct ModelFiles {
  struct Shard {
    /// In the folder; empty for a single file.
    std::string name;
    SafetensorsFile file;
  };
  bool folder = false;
  std::vector<Shard> shards;
  /// The index file's bytes; empty: there is none.
  std::string index;

  static Expected<ModelFiles> open(const std::string &path);

  /// The tensor of that name and its file, or nulls.
  std::pair<const SafetensorsFile *, const SafetensorsFile::Entry *>
  find(const std::string &name) const;
};

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_MODELFILES_H
