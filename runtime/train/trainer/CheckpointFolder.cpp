//===- CheckpointFolder.cpp - Files of a checkpoint directory -------------===//

#include "runtime/train/trainer/CheckpointFolder.h"
#include "runtime/core/File.h"
#include "runtime/core/Hash.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace pe::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLatestFile = "latest";

bool isText(const std::string &name) {
  return name.size() <= 80 &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
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

} // namespace

std::string latestFile(const std::string &directory) {
  return directory + "/" + std::string(kLatestFile);
}

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

Expected<std::string> latestName(const std::string &directory) {
  auto name = readFile(latestFile(directory));
  if (!name)
    return name;
  if (!stepOf(*name))
    return makeError("file '", latestFile(directory), "': expected step-N, found ",
                     isText(*name) ? "'" + *name + "'" : std::to_string(name->size()) + " bytes");
  return name;
}

std::string digestOf(const Safetensors &file) {
  Sha256 hash;
  for (const NamedTensor &entry : file.tensors) {
    hash.update(entry.name + ":" + std::to_string(entry.tensor.byteSize()) + ":");
    hash.update({static_cast<const char *>(entry.tensor.rawData()), entry.tensor.byteSize()});
  }
  return hash.finish();
}

std::string entryOf(const Safetensors &file, const std::string &key) {
  auto found = file.metadata.find(key);
  return found == file.metadata.end() ? "" : found->second;
}

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

bool hasCheckpoint(const std::string &directory) {
  std::error_code failure;
  const fs::file_type type = fs::symlink_status(latestFile(directory), failure).type();
  return type != fs::file_type::not_found && type != fs::file_type::none;
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

void removeLeftovers(const std::string &directory, int64_t keep) {
  if (auto name = latestName(directory))
    removeOthers(directory, *name, keep);
}

} // namespace pe::train
