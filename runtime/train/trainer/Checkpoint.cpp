//===- Checkpoint.cpp - Saving a run and going on with it -----------------===//
//
// The weights and the optimizer's state as safetensors, and the file that names the latest.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/trainer/Checkpoint.h"
#include "runtime/core/File.h"
#include "runtime/core/Hash.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace pe::train {

std::string digestOf(const Safetensors &file) {
  Sha256 hash;
  for (const NamedTensor &entry : file.tensors) {
    hash.update(entry.name + ":" + std::to_string(entry.tensor.byteSize()) + ":");
    hash.update({static_cast<const char *>(entry.tensor.rawData()), entry.tensor.byteSize()});
  }
  return hash.finish();
}

namespace {

namespace fs = std::filesystem;

constexpr const char *kModelFile = "model.safetensors";
constexpr const char *kOptimizerFile = "optimizer.safetensors";
constexpr std::string_view kLatestFile = "latest";
/// Metadata: the SHA-256 of a file's own tensors, and in the optimizer's file that of the model's.
constexpr const char *kDigest = "pe.sha256";
constexpr const char *kModelDigest = "pe.model.sha256";

std::string latestFile(const std::string &directory) {
  return directory + "/" + std::string(kLatestFile);
}

/// N of "step-N" or "step-N.1"; nothing for other names.
std::optional<int64_t> stepOf(std::string_view name) {
  constexpr std::string_view prefix = "step-", second = ".1";
  if (!name.starts_with(prefix))
    return std::nullopt;
  name.remove_prefix(prefix.size());
  if (name.ends_with(second))
    name.remove_suffix(second.size());
  int64_t step = 0;
  auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (failure != std::errc() || end != name.data() + name.size() || step < 0)
    return std::nullopt;
  return step;
}

bool isText(const std::string &name) {
  return name.size() <= 80 &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

/// The folder's name in DIR/latest and nothing else: it becomes part of paths.
Expected<std::string> latestName(const std::string &directory) {
  auto name = readFile(latestFile(directory));
  if (!name)
    return name;
  if (!stepOf(*name))
    return makeError("file '", latestFile(directory), "': expected step-N, found ",
                     isText(*name) ? "'" + *name + "'" : std::to_string(name->size()) + " bytes");
  return name;
}

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

Safetensors optimizerFile(Trainer &trainer, const Safetensors &model) {
  Safetensors file;
  for (const Parameter &parameter : trainer.model().layout().all()) {
    file.tensors.push_back(
        {"m." + parameter.name, copyOf(trainer.optimizer().firstMoments(), parameter)});
    file.tensors.push_back(
        {"v." + parameter.name, copyOf(trainer.optimizer().secondMoments(), parameter)});
  }
  const std::vector<int64_t> &updates = trainer.optimizer().updateCounts();
  file.tensors.push_back({"updates", Tensor::of(updates, {static_cast<int64_t>(updates.size())})});
  file.tensors.push_back({"steps", Tensor::scalar(trainer.steps())});
  file.tensors.push_back({"skipped", Tensor::scalar(trainer.skipped())});
  file.metadata[kDigest] = digestOf(file);
  file.metadata[kModelDigest] = model.metadata.at(kDigest);
  return file;
}

/// The tensor `name` of `file`, which must have this shape and dtype.
Expected<Tensor> takeTensor(const Safetensors &file, const std::string &path,
                            const std::string &name, const Shape &shape, DType dtype) {
  const Tensor *tensor = file.find(name);
  if (!tensor)
    return makeError("file '", path, "': expected a tensor '", name, "', found none");
  if (tensor->dtype() != dtype || tensor->shape() != shape)
    return makeError("file '", path, "': expected tensor '", name, "' to be ", nameOf(dtype), " ",
                     toString(shape), ", found ", nameOf(tensor->dtype()), " ",
                     toString(tensor->shape()));
  return *tensor;
}

/// The entry of the metadata, or an empty string.
std::string entryOf(const Safetensors &file, const std::string &key) {
  auto found = file.metadata.find(key);
  return found == file.metadata.end() ? "" : found->second;
}

/// Reads a file of a checkpoint; its tensors must be those that were written.
Expected<Safetensors> readUndamaged(const std::string &path) {
  auto file = readSafetensors(path);
  if (!file)
    return file;
  const std::string digest = digestOf(*file);
  if (std::string stored = entryOf(*file, kDigest); stored != digest)
    return makeError("file '", path, "': expected tensors of SHA-256 ", digest,
                     ", as they are, in '", kDigest, "', found ", stored.empty() ? "none" : stored,
                     "; the file is damaged or was not written as a checkpoint");
  return file;
}

/// "--steps" of "pe.train.steps".
std::string spellingOf(std::string_view key) {
  constexpr std::string_view prefix = "pe.train.";
  return key.starts_with(prefix) ? "--" + std::string(key.substr(prefix.size())) : std::string(key);
}

Status checkMetadata(const Safetensors &model, const std::string &path, const Metadata &metadata) {
  for (const auto &[key, value] : metadata) {
    auto found = model.metadata.find(key);
    if (found != model.metadata.end() && found->second == value)
      continue;
    const std::string name = spellingOf(key);
    return makeError("file '", path, "': expected ", name, "=", value, " as given, found ",
                     found == model.metadata.end() ? "none" : name + "=" + found->second,
                     "; resume with the flags of the first run");
  }
  return Status::success();
}

struct State {
  std::vector<Tensor> values, first, second;
  Tensor updates;
  int64_t steps = 0, skipped = 0;
};

/// Takes tensors from one file and checks them; the first error is kept.
class TensorReader {
public:
  TensorReader(const Safetensors &file, const std::string &path) : file(file), path(path) {}

  Tensor read(const std::string &name, const Shape &shape, DType dtype) {
    auto taken = takeTensor(file, path, name, shape, dtype);
    if (taken)
      return *std::move(taken);
    adopt(taken.takeError());
    return Tensor::zeros(dtype, shape);
  }
  /// f32, at least `least` and finite.
  Tensor numbers(const std::string &name, const Shape &shape,
                 float least = std::numeric_limits<float>::lowest()) {
    Tensor tensor = read(name, shape, DType::F32);
    for (float value : std::as_const(tensor).values<float>())
      if (!(value >= least && value <= std::numeric_limits<float>::max()))
        adopt(makeError("file '", path, "': expected tensor '", name, "' to hold finite numbers",
                        least < 0 ? "" : " of at least 0", ", found ", value));
    return tensor;
  }
  /// Counts, none larger than `most`.
  Tensor counts(const std::string &name, const Shape &shape, int64_t most) {
    Tensor tensor = read(name, shape, DType::I64);
    for (int64_t value : std::as_const(tensor).values<int64_t>())
      if (value < 0 || value > most)
        adopt(makeError("file '", path, "': expected tensor '", name, "' to hold 0 to ", most,
                        ", found ", value));
    return tensor;
  }
  void adopt(Error error) {
    if (status)
      status = Status(std::move(error));
  }
  Status take() { return std::move(status); }

private:
  const Safetensors &file;
  std::string path;
  Status status;
};

Expected<State> readState(const std::string &folder, const ParameterLayout &layout, int64_t step,
                          const Metadata &metadata) {
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
                     "': expected the optimizer's state of the model beside "
                     "it, found that of another");
  if (Status status = checkMetadata(*model, modelPath, metadata); !status)
    return status.takeError();
  State state;
  TensorReader weights(*model, modelPath), moments(*optimizer, optimizerPath);
  for (const Parameter &parameter : layout.all()) {
    state.values.push_back(weights.numbers(parameter.name, parameter.shape));
    state.first.push_back(moments.numbers("m." + parameter.name, parameter.shape));
    state.second.push_back(moments.numbers("v." + parameter.name, parameter.shape, 0));
  }
  state.updates = moments.counts("updates", {layout.size()}, step);
  state.steps = *moments.counts("steps", {}, step).data<int64_t>();
  state.skipped = *moments.counts("skipped", {}, step).data<int64_t>();
  if (state.steps != step)
    moments.adopt(makeError("file '", optimizerPath, "': expected ", step, " steps in '", folder,
                            "', found ", state.steps));
  for (Status status : {weights.take(), moments.take()})
    if (!status)
      return status.takeError();
  return state;
}

enum class Remove { Leftovers, All };

/// Removes from a checkpoint's folder the partial files of a killed process, or all files that
/// saveCheckpoint writes.
void removeFiles(const fs::path &folder, Remove what) {
  std::error_code ignored;
  std::vector<fs::path> mine;
  for (fs::directory_iterator end, entry(folder, ignored); !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    for (std::string_view file : {kModelFile, kOptimizerFile})
      if ((name == file && what == Remove::All) ||
          (name.starts_with(file) && isTemporaryEnding(std::string_view(name).substr(file.size()))))
        mine.push_back(entry->path());
  }
  for (const fs::path &file : mine)
    fs::remove(file, ignored);
}

/// Removes the checkpoints before `current`, and what killed processes left.
void removeOthers(const std::string &directory, const std::string &current) {
  std::error_code ignored;
  std::vector<fs::path> folders, files;
  for (fs::directory_iterator end, entry(directory, ignored); !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    std::error_code gone;
    if (name != current && stepOf(name) && fs::is_directory(entry->symlink_status(gone)))
      folders.push_back(entry->path());
    if (name.starts_with(kLatestFile) &&
        isTemporaryEnding(std::string_view(name).substr(kLatestFile.size())))
      files.push_back(entry->path());
  }
  for (const fs::path &folder : folders) {
    removeFiles(folder, Remove::All);
    fs::remove(folder, ignored); // only if nothing else is in it
  }
  removeFiles(fs::path(directory) / current, Remove::Leftovers);
  for (const fs::path &file : files)
    fs::remove(file, ignored);
}

} // namespace

Status makeCheckpointFolder(const std::string &directory) {
  std::error_code failure;
  fs::create_directories(directory, failure);
  if (failure)
    return makeError("cannot make the checkpoint folder '", directory, "': ", failure.message());
  return Status::success();
}

Status saveCheckpoint(const std::string &directory, Trainer &trainer, const Metadata &metadata) {
  std::string name = "step-" + std::to_string(trainer.steps());
  // Never write into the folder to resume from until this one is complete.
  if (auto previous = latestName(directory); previous && *previous == name)
    name += ".1";
  const fs::path folder = fs::path(directory) / name;
  if (Status status = makeCheckpointFolder(folder.string()); !status)
    return status;
  const Safetensors model = modelFile(trainer, metadata);
  if (Status status = writeSafetensors((folder / kModelFile).string(), model); !status)
    return status;
  if (Status status =
          writeSafetensors((folder / kOptimizerFile).string(), optimizerFile(trainer, model));
      !status)
    return status;
  if (Status status = syncFolder(directory); !status)
    return status;
  if (Status status = writeFileAtomically(latestFile(directory), name, Durability::Disk); !status)
    return status;
  removeOthers(directory, name);
  return Status::success();
}

void removeLeftovers(const std::string &directory) {
  if (auto name = latestName(directory))
    removeOthers(directory, *name);
}

bool hasCheckpoint(const std::string &directory) {
  std::error_code failure;
  return fs::is_regular_file(latestFile(directory), failure);
}

Status loadCheckpoint(const std::string &directory, Trainer &trainer, const Metadata &metadata) {
  auto name = latestName(directory);
  if (!name)
    return name.takeError();
  const ParameterLayout &layout = trainer.model().layout();
  auto state = readState(directory + "/" + *name, layout, *stepOf(*name), metadata);
  if (!state)
    return state.takeError();
  AdamW &optimizer = trainer.optimizer();
  for (int64_t i = 0; i < layout.size(); ++i) {
    auto restore = [&](const Tensor &tensor, ParameterBlock &block) {
      std::copy_n(tensor.data<float>(), layout[i].count, block.at(layout[i]));
    };
    restore(state->values[i], trainer.model().values());
    restore(state->first[i], optimizer.firstMoments());
    restore(state->second[i], optimizer.secondMoments());
    optimizer.updateCounts()[i] = state->updates.data<int64_t>()[i];
  }
  trainer.restore(state->steps, state->skipped);
  return Status::success();
}

} // namespace pe::train
