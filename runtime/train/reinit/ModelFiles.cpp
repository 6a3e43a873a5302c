//===- ModelFiles.cpp - The safetensors files of a checkpoint -------------===//

#include "runtime/train/reinit/ModelFiles.h"
#include "runtime/core/File.h"
#include "runtime/plan/JsonText.h"

#include <set>
#include <sys/stat.h>

namespace pe::reinit {
namespace {

using Json = nlohmann::json;
using WeightMap = std::map<std::string, std::string>;

bool exists(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

bool isDirectory(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// Returns true for a name that cannot refer to a file outside the directory.
bool isPlainName(const std::string &name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

Expected<WeightMap> parseIndex(const std::string &path, const std::string &text) {
  auto index = plan::parseJson<Json>(text, path);
  if (!index)
    return index.takeError();
  const auto map = index->is_object() ? index->find("weight_map") : index->end();
  if (!index->is_object() || map == index->end() || !map->is_object() || map->empty())
    return makeError(
        "file '", path,
        "': expected a JSON object with \"weight_map\", which names the shard of every "
        "tensor, found something else");
  WeightMap result;
  for (const auto &[tensor, shard] : map->items()) {
    if (!shard.is_string() || !isPlainName(shard.get<std::string>()))
      return makeError("file '", path, "': tensor '", tensor,
                       "': expected the name of a file in the same directory, found ",
                       plan::shortened(shard));
    result.emplace(tensor, shard.get<std::string>());
  }
  return result;
}

/// Checks that the index and the shards contain the same tensors.
Status checkIndex(const std::string &path, const WeightMap &map, const ModelFiles &model) {
  size_t found = 0;
  for (const ModelFiles::Shard &shard : model.shards)
    for (const SafetensorsFile::Entry &entry : shard.file.entries()) {
      const auto place = map.find(entry.name);
      if (place == map.end() || place->second != shard.name)
        return makeError("file '", shard.file.path(), "': tensor '", entry.name,
                         "': expected it in \"weight_map\" of '", path, "' with this file, found ",
                         place == map.end() ? "nothing" : "'" + place->second + "'");
      ++found;
    }
  if (found == map.size())
    return Status::success();
  for (const auto &[tensor, shard] : map)
    if (!model.find(tensor).second)
      return makeError("file '", path, "': tensor '", tensor, "': expected it in '", shard,
                       "', found no such tensor there");
  return Status::success();
}

Expected<ModelFiles> openDirectory(const std::string &path) {
  ModelFiles model;
  model.folder = true;
  const std::string indexPath = path + "/" + kIndexName, single = "model.safetensors";
  std::set<std::string> names = {single};
  WeightMap map;
  if (exists(indexPath)) {
    auto text = readFile(indexPath);
    if (!text)
      return text.takeError();
    model.index = *std::move(text);
    auto parsed = parseIndex(indexPath, model.index);
    if (!parsed)
      return parsed.takeError();
    map = *std::move(parsed);
    names.clear();
    for (const auto &[tensor, shard] : map)
      names.insert(shard);
  } else if (!exists(path + "/" + single)) {
    return makeError("directory '", path, "': expected ", kIndexName, " or ", single,
                     ", found neither");
  }
  for (const std::string &name : names) {
    auto file = SafetensorsFile::open(path + "/" + name);
    if (!file)
      return file.takeError();
    model.shards.push_back({name, *std::move(file)});
  }
  if (!model.index.empty())
    if (Status checked = checkIndex(indexPath, map, model); !checked)
      return checked.takeError();
  return model;
}

} // namespace

Expected<ModelFiles> ModelFiles::open(const std::string &path) {
  if (isDirectory(path))
    return openDirectory(path);
  auto file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  ModelFiles model;
  model.shards.push_back({"", *std::move(file)});
  return model;
}

std::pair<const SafetensorsFile *, const SafetensorsFile::Entry *>
ModelFiles::find(const std::string &name) const {
  for (const Shard &shard : shards)
    if (const SafetensorsFile::Entry *entry = shard.file.find(name))
      return {&shard.file, entry};
  return {nullptr, nullptr};
}

} // namespace pe::reinit
