//===- Checkpoint.cpp - Save and resume a run -----------------------------===//
//
// Stores the weights and the parts of the state as safetensors, and the name of the latest
// checkpoint.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/trainer/Checkpoint.h"
#include "runtime/core/File.h"
#include "runtime/core/Hash.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
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
/// Metadata keys: the SHA-256 of a file's tensors and, in the optimizer file, that of its model
/// file.
constexpr const char *kDigest = "pe.sha256";
constexpr const char *kModelDigest = "pe.model.sha256";

std::string latestFile(const std::string &directory) {
  return directory + "/" + std::string(kLatestFile);
}

/// Returns N for "step-N" or "step-N.1", and nothing for other names.
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

/// Reads the directory name in DIR/latest. It must contain nothing else, because it becomes part of
/// paths.
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

/// Returns the tensor `name` of `file`, which must have this shape and dtype.
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

/// Returns an entry of the metadata, or an empty string.
std::string entryOf(const Safetensors &file, const std::string &key) {
  auto found = file.metadata.find(key);
  return found == file.metadata.end() ? "" : found->second;
}

/// Reads a file of a checkpoint, and checks that its tensors are those that were written.
Expected<Safetensors> readUndamaged(const std::string &path) {
  auto file = readSafetensors(path);
  if (!file)
    return file;
  const std::string digest = digestOf(*file);
  if (std::string stored = entryOf(*file, kDigest); stored != digest)
    return makeError("file '", path, "': expected '", kDigest, "' to be ", digest,
                     ", the SHA-256 of the tensors, found ", stored.empty() ? "none" : stored,
                     "; the file is damaged or was not written as a checkpoint");
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

/// Checks the elements of a part in a checkpoint of `steps` steps.
Status checkElements(const StatePart &part, const Tensor &tensor, int64_t steps,
                     const std::string &path) {
  if (tensor.dtype() == DType::I64) {
    for (int64_t value : tensor.values<int64_t>())
      if (value < 0 || value > steps)
        return makeError("file '", path, "': expected tensor '", part.name, "' to hold 0 to ",
                         steps, ", found ", value);
    return Status::success();
  }
  auto values = toDoubles(tensor);
  if (!values)
    return values.takeError();
  for (double value : *values)
    if (!(value >= part.least && std::isfinite(value)))
      return makeError("file '", path, "': expected tensor '", part.name,
                       "' to hold finite numbers", part.least < 0 ? "" : " of at least 0",
                       ", found ", value);
  return Status::success();
}

/// Parts of the state with the tensors to restore them from.
using Restored = std::vector<std::pair<StatePart, Tensor>>;

/// Adds the parts contained in `file`. A missing required part is an error.
Status readParts(const Safetensors &file, const std::string &path,
                 const std::vector<StatePart> &parts, int64_t steps, Restored &restored) {
  for (const StatePart &part : parts) {
    if (!part.required && !file.find(part.name))
      continue;
    auto tensor = takeTensor(file, path, part.name, part.view.shape(), part.view.dtype());
    if (!tensor)
      return tensor.takeError();
    if (Status status = checkElements(part, *tensor, steps, path); !status)
      return status;
    restored.emplace_back(part, *std::move(tensor));
  }
  return Status::success();
}

/// Returns the weights as parts of the state.
std::vector<StatePart> weightsOf(Trainer &trainer) {
  std::vector<StatePart> parts;
  for (const Parameter &parameter : trainer.model().layout().all())
    parts.push_back({parameter.name, Tensor::borrow(trainer.model().values().at(parameter),
                                                    DType::F32, parameter.shape)});
  return parts;
}

/// Returns the steps of the warm start that the optimizer's counts include.
int64_t stepsBefore(const Safetensors &optimizer) {
  const Tensor *before = optimizer.find(kStepsBefore);
  if (!before || before->dtype() != DType::I64 || before->numel() != 1)
    return 0;
  return std::clamp<int64_t>(*before->data<int64_t>(), 0, int64_t(1) << 53);
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

enum class Remove { Leftovers, All };

/// Removes from a checkpoint directory the partial files of a killed process, or all files that
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

bool isComplete(const fs::path &folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / kModelFile, ignored) &&
         fs::is_regular_file(folder / kOptimizerFile, ignored);
}

/// Removes from `folders` the last `count` checkpoints before step `step`, so that they are kept.
void spareLast(std::vector<fs::path> &folders, int64_t step, int64_t count) {
  auto number = [](const fs::path &folder) { return *stepOf(folder.filename().string()); };
  std::sort(folders.begin(), folders.end(),
            [&](const fs::path &a, const fs::path &b) { return number(a) > number(b); });
  std::erase_if(folders, [&](const fs::path &folder) {
    return number(folder) < step && isComplete(folder) && count-- > 0;
  });
}

/// Removes all checkpoints except `current` and the `keep` - 1 before it, and the leftovers of
/// killed processes.
void removeOthers(const std::string &directory, const std::string &current, int64_t keep) {
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
  spareLast(folders, *stepOf(current), keep - 1);
  for (const fs::path &folder : folders) {
    removeFiles(folder, Remove::All);
    fs::remove(folder, ignored); // fails if it contains other files
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

void removeLeftovers(const std::string &directory, int64_t keep) {
  if (auto name = latestName(directory))
    removeOthers(directory, *name, keep);
}

bool hasCheckpoint(const std::string &directory) {
  std::error_code failure;
  const fs::file_type type = fs::symlink_status(latestFile(directory), failure).type();
  return type != fs::file_type::not_found && type != fs::file_type::none;
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

Expected<std::string> modelFileOf(const std::string &folder) {
  std::error_code failure;
  const std::string own = folder + "/" + kModelFile;
  if (fs::is_regular_file(own, failure))
    return own;
  if (!hasCheckpoint(folder))
    return makeError("expected a checkpoint of pe train in '", folder, "', found none");
  auto name = latestName(folder);
  if (!name)
    return name;
  return folder + "/" + *name + "/" + kModelFile;
}

/// The files of a warm start. Only a checkpoint directory has an optimizer file.
struct WarmStart {
  std::string modelPath, optimizerPath;
  Safetensors model, optimizer;
};

static Expected<WarmStart> readWarmStart(const std::string &from, bool keepsOptimizer) {
  std::error_code failure;
  WarmStart start{from, "", {}, {}};
  const bool isFolder = fs::is_directory(from, failure);
  if (isFolder) {
    if (!hasCheckpoint(from))
      return makeError("expected a checkpoint of pe train in '", from, "', found none");
    auto name = latestName(from);
    if (!name)
      return name.takeError();
    start.modelPath = from + "/" + *name + "/" + kModelFile;
    start.optimizerPath = from + "/" + *name + "/" + kOptimizerFile;
  } else if (keepsOptimizer) {
    return makeError("expected a checkpoint directory with --from-optimizer=keep, found the file '",
                     from, "'");
  }
  // A file may come from another program, or from pe reinit, which keeps the metadata unchanged.
  auto model = isFolder ? readUndamaged(start.modelPath) : readSafetensors(from);
  if (!model)
    return model.takeError();
  start.model = *std::move(model);
  if (!keepsOptimizer)
    return start;
  auto optimizer = readUndamaged(start.optimizerPath);
  if (!optimizer)
    return optimizer.takeError();
  start.optimizer = *std::move(optimizer);
  return start;
}

Expected<std::map<std::string, Tensor>> readWeights(const std::string &from, Trainer &trainer) {
  auto start = readWarmStart(from, false);
  if (!start)
    return start.takeError();
  Restored restored;
  if (Status status = readParts(start->model, start->modelPath, weightsOf(trainer), 0, restored);
      !status)
    return status.takeError();
  std::map<std::string, Tensor> weights;
  for (auto &[part, tensor] : restored)
    weights[part.name] = tensor.clone();
  return weights;
}

Expected<std::string> digestOfWarmStart(const std::string &from, bool keepsOptimizer) {
  auto start = readWarmStart(from, keepsOptimizer);
  if (!start)
    return start.takeError();
  return digestOf(start->model) + (keepsOptimizer ? digestOf(start->optimizer) : "");
}

Expected<Metadata> loadWarmStart(const std::string &from, bool keepsOptimizer, Trainer &trainer) {
  auto start = readWarmStart(from, keepsOptimizer);
  if (!start)
    return start.takeError();
  Restored restored;
  if (Status status = readParts(start->model, start->modelPath, weightsOf(trainer), 0, restored);
      !status)
    return status.takeError();
  for (const NamedTensor &entry : start->model.tensors)
    if (trainer.model().layout().find(entry.name) < 0)
      return makeError("file '", start->modelPath, "': expected only the model's tensors, found '",
                       entry.name, "'");
  if (keepsOptimizer) {
    const Tensor *steps = start->optimizer.find("steps");
    const int64_t before = stepsBefore(start->optimizer) +
                           (steps && steps->dtype() == DType::I64 ? *steps->data<int64_t>() : 0);
    if (Status status = readParts(start->optimizer, start->optimizerPath,
                                  trainer.optimizers().state(), before, restored);
        !status)
      return status.takeError();
    trainer.setStepsBefore(before);
  }
  for (auto &[part, tensor] : restored)
    part.view.copyFrom(tensor);
  return start->model.metadata;
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
