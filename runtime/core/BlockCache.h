//===- BlockCache.h - Freed tensor memory, kept for the next call ---------===//
//
// Every call allocates its results, residuals and temporaries. Large blocks from the system come as
// untouched pages, and faulting them in costs up to a few percent of an attention call; a recently
// freed block costs nothing. The cache keeps blocks of at least kSmallest bytes, up to kCapacity
// bytes in total; beyond that, the oldest go back to the system.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_CORE_BLOCKCACHE_H
#define PE_RUNTIME_CORE_BLOCKCACHE_H

#include <cstddef>
#include <list>
#include <mutex>

namespace pe {

/// Thread-safe. The blocks have no defined content.
class BlockCache {
public:
  /// Smaller blocks are left to malloc, which caches them itself.
  static constexpr size_t kSmallest = size_t(1) << 16;
  static constexpr size_t kCapacity = size_t(1) << 30;

  ~BlockCache();
  /// A block of `bytes` or slightly more, or null when the system has no more. `isFresh` is set if
  /// it comes from the system and holds zeros.
  void *take(size_t bytes, bool &isFresh);
  /// Returns a block that take(bytes) gave out.
  void give(void *block, size_t bytes);
  /// Bytes in the cache now.
  size_t size() const;

  /// The cache that all tensors share.
  static BlockCache &global();

private:
  struct Block {
    void *memory;
    size_t bytes;
  };
  mutable std::mutex mutex;
  std::list<Block> blocks; // newest first
  size_t kept = 0;
};

} // namespace pe

#endif // PE_RUNTIME_CORE_BLOCKCACHE_H
