//===- BlockCache.cpp - Cache of freed tensor memory ----------------------===//

#include "runtime/core/BlockCache.h"

#include <cstdlib>

namespace pe {

namespace {

// Under the address sanitizer a recycled block would hide a use after free.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kRecycles = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kRecycles = false;
#else
constexpr bool kRecycles = true;
#endif
#else
constexpr bool kRecycles = true;
#endif

/// Rounds up to a multiple of an eighth of the next lower power of two, so that similar shapes
/// share blocks.
size_t roundUp(size_t bytes) {
  size_t step = BlockCache::kSmallest / 8;
  while (step * 16 <= bytes)
    step *= 2;
  const size_t rounded = (bytes + step - 1) / step * step;
  return rounded < bytes ? bytes : rounded;
}

} // namespace

BlockCache::~BlockCache() {
  for (Block &block : blocks)
    std::free(block.memory);
}

void *BlockCache::take(size_t bytes, bool &isFresh) {
  if (bytes >= kSmallest) {
    bytes = roundUp(bytes);
    std::lock_guard lock(mutex);
    for (auto it = blocks.begin(); it != blocks.end(); ++it)
      if (it->bytes == bytes) {
        void *memory = it->memory;
        kept -= bytes;
        blocks.erase(it);
        isFresh = false;
        return memory;
      }
  }
  isFresh = true;
  // calloc gets large blocks from the kernel, which provides zero pages as they are touched.
  return std::calloc(bytes, 1);
}

void BlockCache::give(void *block, size_t bytes) {
  if (!kRecycles || bytes < kSmallest || roundUp(bytes) > kCapacity) {
    std::free(block);
    return;
  }
  std::list<Block> dropped;
  {
    std::lock_guard lock(mutex);
    blocks.push_front({block, roundUp(bytes)});
    kept += roundUp(bytes);
    while (kept > kCapacity) {
      kept -= blocks.back().bytes;
      dropped.splice(dropped.begin(), blocks, std::prev(blocks.end()));
    }
  }
  for (Block &old : dropped)
    std::free(old.memory);
}

size_t BlockCache::size() const {
  std::lock_guard lock(mutex);
  return kept;
}

BlockCache &BlockCache::global() {
  // Never destroyed: static tensors may be freed after a static cache would be destroyed.
  static BlockCache *cache = new BlockCache;
  return *cache;
}

} // namespace pe
