//===- DiskCache.cpp - On-disk cache of compiled code ---------------------===//

#include "runtime/api/DiskCache.h"

#include "runtime/core/File.h"
#include "runtime/core/Hash.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace pe::api {

namespace fs = std::filesystem;

static constexpr const char *kSuffix = ".pe";
/// The section of an entry that holds its key.
static constexpr const char *kKeySection = "key";

static std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string DiskCache::defaultDirectory() {
  if (const std::string own = variable("PE_CACHE_DIR"); !own.empty())
    return own;
  if (const std::string shared = variable("XDG_CACHE_HOME"); !shared.empty())
    return shared + "/pe";
  if (const std::string home = variable("HOME"); !home.empty())
    return home + "/.cache/pe";
  return "";
}

std::string DiskCache::pathOf(const std::string &key) const {
  return directory + "/" + sha256(key) + kSuffix;
}

std::string DiskCache::problem() const {
  struct stat info;
  if (directory.empty() || ::stat(directory.c_str(), &info) != 0)
    return "";
  const std::string where = "the cache directory '" + directory + "' ";
  if (!S_ISDIR(info.st_mode))
    return where + "is not a directory";
  if (info.st_uid != ::geteuid())
    return where + "belongs to another user (" + std::to_string(info.st_uid) + ")";
  if (info.st_mode & (S_IWGRP | S_IWOTH))
    return where + "is writable by other users; run chmod go-w on it if you trust its contents";
  return "";
}

bool DiskCache::makeDirectory() const {
  std::error_code failure;
  if (const fs::path parent = fs::path(directory).parent_path(); !parent.empty())
    fs::create_directories(parent, failure);
  ::mkdir(directory.c_str(), S_IRWXU); // fails if it exists
  return fs::is_directory(directory, failure) && problem().empty();
}

std::optional<Bundle> DiskCache::get(const std::string &key) const {
  if (directory.empty() || !problem().empty())
    return std::nullopt;
  const std::string path = pathOf(key);
  Expected<std::string> bytes = readFile(path);
  if (!bytes || !isBundle(*bytes))
    return std::nullopt;
  Expected<Bundle> bundle = readBundle(*bytes);
  if (!bundle) {
    ::unlink(path.c_str());
    return std::nullopt;
  }
  const auto stored = bundle->find(kKeySection);
  if (stored == bundle->end() || stored->second != key)
    return std::nullopt;
  bundle->erase(stored);
  // Records the time of the last use for prune().
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return *std::move(bundle);
}

bool DiskCache::put(const std::string &key, const Bundle &bundle) const {
  if (directory.empty() || !makeDirectory())
    return false;
  Bundle entry = bundle;
  entry[kKeySection] = key;
  if (!writeFileAtomically(pathOf(key), writeBundle(entry)))
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

/// The age after which partial files of killed processes are removed.
constexpr std::chrono::hours kLeftoverAge(1);

/// Entries are named "<64 hexadecimal digits>.pe", followed by the suffix of writeFileAtomically
/// while they are being written.
enum class NameKind { Foreign, Entry, Partial };

NameKind kindOf(std::string_view name) {
  constexpr size_t kDigits = 64;
  const std::string_view suffix = kSuffix;
  if (name.size() < kDigits + suffix.size() || name.substr(kDigits, suffix.size()) != suffix ||
      name.substr(0, kDigits).find_first_not_of("0123456789abcdef") != std::string_view::npos)
    return NameKind::Foreign;
  name.remove_prefix(kDigits + suffix.size());
  if (name.empty())
    return NameKind::Entry;
  return isTemporaryEnding(name) ? NameKind::Partial : NameKind::Foreign;
}

/// Returns true if the file starts like an entry.
bool hasMagic(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  char begin[8] = {};
  file.read(begin, sizeof(begin));
  return file && isBundle({begin, sizeof(begin)});
}

/// Lists the entries in the directory and removes partial files of killed processes.
std::vector<CacheFile> listEntries(const std::string &directory) {
  std::vector<CacheFile> files;
  std::error_code failure;
  for (fs::directory_iterator it(directory, failure), end; !failure && it != end;
       it.increment(failure)) {
    const NameKind kind = kindOf(it->path().filename().string());
    std::error_code gone; // another process may have removed it
    if (kind == NameKind::Foreign || !fs::is_regular_file(it->symlink_status(gone)))
      continue;
    const uint64_t bytes = it->file_size(gone);
    const fs::file_time_type used = it->last_write_time(gone);
    if (gone)
      continue;
    if (kind == NameKind::Entry)
      files.push_back({it->path(), bytes, used});
    else if (fs::file_time_type::clock::now() - used > kLeftoverAge)
      fs::remove(it->path(), gone);
  }
  return files;
}

} // namespace

void DiskCache::prune() const {
  std::vector<CacheFile> files = listEntries(directory);
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
    if (hasMagic(file.path))
      fs::remove(file.path, gone);
    total -= file.bytes;
  }
}

DiskCache::Usage DiskCache::usage() const {
  Usage usage;
  if (directory.empty())
    return usage;
  usage.writable = makeDirectory() && ::access(directory.c_str(), W_OK | X_OK) == 0;
  for (const CacheFile &file : listEntries(directory)) {
    ++usage.entries;
    usage.bytes += file.bytes;
  }
  return usage;
}

} // namespace pe::api
