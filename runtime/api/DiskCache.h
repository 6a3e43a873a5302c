//===- DiskCache.h - On-disk cache of compiled code -------------*- C++ -*-===//
//
// A directory of bundles. The file name of an entry is the hash of its key, and the entry contains
// the key, so that neither a hash collision nor a renamed file can return the code of another
// program. Any number of processes may use the cache: entries are created atomically, by renaming,
// and are never modified. A damaged entry is removed and counts as absent. When the directory
// exceeds its limit, the least recently used entries are evicted; other files are never touched. A
// file system failure counts as "not cached" and is not an error, because the cache is optional.
//
// Cached code is executed, so a directory that other users can write to is not used: it must belong
// to the user of the process, and must not be writable by the group or others.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_DISKCACHE_H
#define PE_RUNTIME_API_DISKCACHE_H

#include "runtime/api/Bundle.h"

#include <cstdint>
#include <optional>

namespace pe::api {

class DiskCache {
public:
  static constexpr uint64_t kDefaultLimit = uint64_t(256) << 20;

  /// Creates a cache in `directory`. If it is empty, nothing is cached.
  explicit DiskCache(std::string directory, uint64_t limit = kDefaultLimit)
      : directory(std::move(directory)), limit(limit) {}

  /// Returns $PE_CACHE_DIR, $XDG_CACHE_HOME/pe or $HOME/.cache/pe, or an empty string if none of
  /// the variables is set.
  static std::string defaultDirectory();

  const std::string &getDirectory() const { return directory; }
  /// Returns the entry of `key`, an arbitrary string.
  std::optional<Bundle> get(const std::string &key) const;
  /// Stores an entry. Returns false if it could not be written.
  bool put(const std::string &key, const Bundle &bundle) const;
  /// Returns the file of an entry.
  std::string pathOf(const std::string &key) const;

  /// Returns a message that explains why an existing directory is not used, or an empty string.
  std::string problem() const;

  struct Usage {
    uint64_t entries = 0;
    uint64_t bytes = 0;
    /// True if files can be created in the directory.
    bool writable = false;
  };
  Usage usage() const;

private:
  bool makeDirectory() const;
  void prune() const;

  std::string directory;
  uint64_t limit;
};

} // namespace pe::api

#endif // PE_RUNTIME_API_DISKCACHE_H
