//===- DiskCache.cpp - Compiled code from one process to the next ---------===//

#include "runtime/api/DiskCache.h"

#include "runtime/core/File.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace pe::api {

namespace fs = std::filesystem;

static constexpr const char *kSuffix = ".pe";

static std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string DiskCache::defaultFolder() {
  if (const std::string own = variable("PE_CACHE_DIR"); !own.empty())
    return own;
  if (const std::string shared = variable("XDG_CACHE_HOME"); !shared.empty())
    return shared + "/pe";
  if (const std::string home = variable("HOME"); !home.empty())
    return home + "/.cache/pe";
  return "";
}

std::string DiskCache::pathOf(const std::string &key) const { return folder + "/" + key + kSuffix; }

std::optional<Bundle> DiskCache::get(const std::string &key) const {
  if (folder.empty())
    return std::nullopt;
  const std::string path = pathOf(key);
  Expected<std::string> bytes = readFile(path);
  if (!bytes)
    return std::nullopt;
  Expected<Bundle> bundle = readBundle(*bytes);
  if (!bundle) {
    ::unlink(path.c_str());
    return std::nullopt;
  }
  // The time of the last use, for prune().
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return *std::move(bundle);
}

bool DiskCache::put(const std::string &key, const Bundle &bundle) const {
  if (folder.empty())
    return false;
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (!writeFileAtomically(pathOf(key), writeBundle(bundle)))
    return false;
  prune();
  return true;
}

namespace {

struct CacheFile {
  fs::path path;
  uint64_t bytes;
  fs::file_time_type used;
};

} // namespace

/// Everything in the folder that is an entry (or the remains of one that was being written).
static std::vector<CacheFile> listFiles(const std::string &folder) {
  std::vector<CacheFile> files;
  std::error_code failure;
  for (fs::directory_iterator it(folder, failure), end; !failure && it != end;
       it.increment(failure)) {
    std::error_code gone; // another process may have removed it
    const uint64_t bytes = it->file_size(gone);
    const fs::file_time_type used = it->last_write_time(gone);
    if (!gone && it->path().filename().string().find(kSuffix) != std::string::npos)
      files.push_back({it->path(), bytes, used});
  }
  return files;
}

void DiskCache::prune() const {
  std::vector<CacheFile> files = listFiles(folder);
  uint64_t total = 0;
  for (const CacheFile &file : files)
    total += file.bytes;
  if (total <= limit)
    return;
  std::sort(files.begin(), files.end(),
            [](const CacheFile &a, const CacheFile &b) { return a.used < b.used; });
  for (const CacheFile &file : files) {
    if (total <= limit / 4 * 3)
      return;
    std::error_code gone;
    fs::remove(file.path, gone);
    total -= file.bytes;
  }
}

DiskCache::Usage DiskCache::usage() const {
  Usage usage;
  if (folder.empty())
    return usage;
  for (const CacheFile &file : listFiles(folder)) {
    ++usage.entries;
    usage.bytes += file.bytes;
  }
  std::error_code failure;
  fs::create_directories(folder, failure);
  usage.writable = ::access(folder.c_str(), W_OK | X_OK) == 0;
  return usage;
}

} // namespace pe::api
