//===- DiskCache.h - Compiled code from one process to the next -*- C++ -*-===//
//
// A folder of bundles, each named by the hash of its key and holding the key itself, so that
// neither a collision nor a renamed file can give one program the code of another. Any number of
// processes may use it: entries appear atomically, by renaming, and are never changed. A damaged
// entry is removed and counts as absent. When the folder exceeds its limit, the least recently used
// entries are evicted; other files are never touched. Every file system failure means "not cached",
// never an error: a cache is optional.
//
// Cached code is executed, so a folder that anybody else could write to is not used: it must belong
// to the user of the process, and be writable by neither group nor others.
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

  /// An empty folder name: nothing is cached.
  explicit DiskCache(std::string folder, uint64_t limit = kDefaultLimit)
      : folder(std::move(folder)), limit(limit) {}

  /// $PE_CACHE_DIR, $XDG_CACHE_HOME/pe or ~/.cache/pe; empty if none of the variables is set.
  static std::string defaultFolder();

  const std::string &getFolder() const { return folder; }
  /// `key` is any text that determines the bundle.
  std::optional<Bundle> get(const std::string &key) const;
  /// False if the entry could not be written.
  bool put(const std::string &key, const Bundle &bundle) const;
  /// The file of an entry.
  std::string pathOf(const std::string &key) const;

  /// A human-readable reason why an existing folder is not used; empty if nothing is wrong.
  std::string problem() const;

  struct Usage {
    uint64_t entries = 0;
    uint64_t bytes = 0;
    /// A file can be created in the folder.
    bool writable = false;
  };
  Usage usage() const;

private:
  bool makeFolder() const;
  void prune() const;

  std::string folder;
  uint64_t limit;
};

} // namespace pe::api

#endif // PE_RUNTIME_API_DISKCACHE_H
