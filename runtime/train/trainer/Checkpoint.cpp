//===- Checkpoint.cpp - Save and resume a run -----------------------------===//
//
// Stores the weights and the parts of the state as safetensors, and the name of the latest
// checkpoint. A run resumes only with the flags and files of the first run.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/trainer/Checkpoint.h"
#include "runtime/core/File.h"
#include "runtime/train/trainer/RestoredState.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

namespace pe::train {
namespace {

namespace fs = std::filesystem;

Tensor copyOf(const ParameterBlock &block, const Parameter &parameter) {
  Tensor tensor = Tensor::empty(DType::F32, parameter.shape);
  std::copy_n(block.at(parameter), parameter.count, tensor.data<float>());
  return tensor;
}

Safetensors modelFile(Trainer &trainer, const Metadata &metadata) {
  Safetensors file;
  file.metadata = metadata;
  for (const Parameter &parameter : trainer.model().layout().all())
    file.tensors.push_back({parameter.name, copyOf(trainer.model().values(), parameter)});
  file.metadata[kDigest] = digestOf(file);
  return file;
}

/// Returns the state of the trainer, followed by the other parts.
std::vector<StatePart> partsOf(Trainer &trainer, const std::vector<StatePart> &more) {
  std::vector<StatePart> parts = trainer.state();
  parts.insert(parts.end(), more.begin(), more.end());
  return parts;
}

Safetensors stateFile(const std::vector<StatePart> &parts, const Safetensors &model) {
  Safetensors file;
  for (const StatePart &part : parts)
    file.tensors.push_back({part.name, part.view});
  file.metadata[kDigest] = digestOf(file);
  file.metadata[kModelDigest] = model.metadata.at(kDigest);
  return file;
}

/// Returns "--steps" for "pe.train.steps".
std::string spellingOf(std::string_view key) {
  constexpr std::string_view prefix = "pe.train.";
  return key.starts_with(prefix) ? "--" + std::string(key.substr(prefix.size())) : std::string(key);
}

/// Returns the value of `key` in the first map that contains it, or null.
const std::string *findEntry(const std::string &key, std::initializer_list<const Metadata *> maps) {
  for (const Metadata *map : maps)
    if (auto found = map->find(key); found != map->end())
      return &found->second;
  return nullptr;
}

/// Parses a number, or returns nothing.
template <typename Number> std::optional<Number> numberOf(const std::string &text) {
  Number value{};
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// Returns true if two values of a flag are equal; numbers are compared by value (3e-3 is 0.003).
bool areEqual(const std::string &a, const std::string &b, const std::string *preset) {
  if (a == b || !preset || !numberOf<double>(*preset))
    return a == b;
  if (auto x = numberOf<uint64_t>(a), y = numberOf<uint64_t>(b); x && y)
    return *x == *y; // exact above 2^53
  auto x = numberOf<double>(a), y = numberOf<double>(b);
  return x && y && *x == *y;
}

constexpr std::string_view kContent = ".sha256";

/// Returns true if the hash of a file's content was saved, which then decides instead of its name.
bool isByContent(const Safetensors &model, const Metadata &metadata, const std::string &key) {
  const std::string hash = key + std::string(kContent);
  return metadata.count(hash) && model.metadata.count(hash);
}

/// Returns an error that names the flag whose file has changed since the first run.
Status checkContent(const Safetensors &model, const std::string &path, const std::string &key,
                    const std::string &value) {
  auto found = model.metadata.find(key);
  if (found == model.metadata.end() || found->second == value)
    return Status::success(); // older versions saved only the name
  const std::string name = spellingOf(key.substr(0, key.size() - kContent.size()));
  return makeError("file '", path, "': expected ", name,
                   " to have the content of the first run, SHA-256 ", found->second, ", found ",
                   value, "; resume with the same text and files");
}

Status checkMetadata(const Safetensors &model, const std::string &path, const Metadata &metadata,
                     const Metadata &defaults) {
  for (const auto &[key, value] : metadata) {
    if (key.ends_with(kContent)) {
      if (Status status = checkContent(model, path, key, value); !status)
        return status;
      continue;
    }
    const std::string *found = findEntry(key, {&model.metadata, &defaults});
    if (isByContent(model, metadata, key) ||
        (found && areEqual(*found, value, findEntry(key, {&defaults}))))
      continue;
    const std::string name = spellingOf(key);
    return makeError("file '", path, "': expected ", name, "=", value, " as given, found ",
                     found ? name + "=" + *found : "none",
                     "; resume with the flags of the first run");
  }
  return Status::success();
}

Expected<Restored> readState(const std::string &folder, int64_t step, Trainer &trainer,
                             const Metadata &metadata, const Metadata &defaults,
                             const std::vector<StatePart> &more) {
  const std::string modelPath = folder + "/" + kModelFile;
  const std::string optimizerPath = folder + "/" + kOptimizerFile;
  auto model = readUndamaged(modelPath);
  if (!model)
    return model.takeError();
  auto optimizer = readUndamaged(optimizerPath);
  if (!optimizer)
    return optimizer.takeError();
  if (entryOf(*optimizer, kModelDigest) != entryOf(*model, kDigest))
    return makeError("file '", optimizerPath,
                     "': expected the optimizer state of the model in the same directory, "
                     "found that of another model");
  if (Status status = checkMetadata(*model, modelPath, metadata, defaults); !status)
    return status.takeError();
  Restored restored;
  if (Status status = readParts(*model, modelPath, weightsOf(trainer), step, restored); !status)
    return status.takeError();
  if (Status status = readParts(*optimizer, optimizerPath, partsOf(trainer, more),
                                step + stepsBefore(*optimizer), restored);
      !status)
    return status.takeError();
  if (int64_t steps = *optimizer->find("steps")->data<int64_t>(); steps != step)
    return makeError("file '", optimizerPath, "': expected ", step, " steps in '", folder,
                     "', found ", steps);
  return restored;
}

} // namespace

Status makeCheckpointFolder(const std::string &directory) {
  std::error_code failure;
  fs::create_directories(directory, failure);
  if (failure)
    return makeError("cannot create the checkpoint directory '", directory,
                     "': ", failure.message());
  return Status::success();
}

Status saveCheckpoint(const std::string &directory, Trainer &trainer, const Metadata &metadata,
                      const std::vector<StatePart> &more, int64_t keep) {
  std::string name = "step-" + std::to_string(trainer.steps());
  // Never write into the directory to resume from until this one is complete.
  if (auto previous = latestName(directory); previous && *previous == name)
    name += ".1";
  const fs::path folder = fs::path(directory) / name;
  if (Status status = makeCheckpointFolder(folder.string()); !status)
    return status;
  const Safetensors model = modelFile(trainer, metadata);
  if (Status status = writeSafetensors((folder / kModelFile).string(), model); !status)
    return status;
  if (Status status = writeSafetensors((folder / kOptimizerFile).string(),
                                       stateFile(partsOf(trainer, more), model));
      !status)
    return status;
  if (Status status = syncFolder(directory); !status)
    return status;
  if (Status status = writeFileAtomically(latestFile(directory), name, Durability::Disk); !status)
    return status;
  removeOthers(directory, name, keep);
  return Status::success();
}

Expected<SavedRun> readSavedRun(const std::string &directory) {
  auto name = latestName(directory);
  if (!name)
    return name.takeError();
  auto model = readUndamaged(directory + "/" + *name + "/" + kModelFile);
  if (!model)
    return model.takeError();
  return SavedRun{*stepOf(*name), std::move(model->metadata)};
}

Status loadCheckpoint(const std::string &directory, Trainer &trainer, const Metadata &metadata,
                      const Metadata &defaults, const std::vector<StatePart> &more) {
  auto name = latestName(directory);
  if (!name)
    return name.takeError();
  auto restored =
      readState(directory + "/" + *name, *stepOf(*name), trainer, metadata, defaults, more);
  if (!restored)
    return restored.takeError();
  for (auto &[part, tensor] : *restored)
    part.view.copyFrom(tensor);
  return Status::success();
}

} // namespace pe::train
