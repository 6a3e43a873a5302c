//===- BlockCache.h - Cache of freed tensor memory --------------*- C++ -*-===//
//
// Every call allocates its results, residuals and temporaries. The system provides large blocks as
// untouched pages, and their page faults cost up to a few percent of an attention call; a recently
// freed block has no such cost. The cache keeps blocks of at least kSmallest bytes, up to kCapacity
// bytes in total; it then returns the oldest blocks to the system.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_CORE_BLOCKCACHE_H
#define PE_RUNTIME_CORE_BLOCKCACHE_H

#include <cstddef>
#include <list>
#include <mutex>

namespace pe {

/// A thread-safe cache of blocks with undefined content.
class BlockCache {
public:
  /// Smaller blocks are left to malloc, which has its own cache.
  static constexpr size_t kSmallest = size_t(1) << 16;
  static constexpr size_t kCapacity = size_t(1) << 30;

  ~BlockCache();
  /// Returns a block of `bytes` or slightly more, or null if the system has no memory. Sets
  /// `isFresh` if the block comes from the system and contains zeros.
  void *take(size_t bytes, bool &isFresh);
  /// Takes back a block that take(bytes) returned.
  void give(void *block, size_t bytes);
  /// Returns the number of bytes in the cache.
  size_t size() const;

  /// Returns the cache that all tensors share.
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
