//===- BlockCacheTest.cpp -------------------------------------------------===//

#include "runtime/core/BlockCache.h"
#include "runtime/core/Tensor.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace pe;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PE_NO_RECYCLING 1
#endif
#endif

TEST(BlockCacheTest, SmallBlocksAreNotKept) {
  BlockCache cache;
  bool isFresh = false;
  void *block = cache.take(100, isFresh);
  EXPECT_TRUE(isFresh);
  cache.give(block, 100);
  EXPECT_EQ(cache.size(), 0u);
}

#ifndef PE_NO_RECYCLING // the address sanitizer disables the cache
TEST(BlockCacheTest, BlocksAreReused) {
  BlockCache cache;
  bool isFresh = false;
  void *first = cache.take(1 << 20, isFresh);
  EXPECT_TRUE(isFresh);
  std::memset(first, 0xAB, 1 << 20);
  cache.give(first, 1 << 20);
  EXPECT_EQ(cache.size(), size_t(1) << 20);
  void *other = cache.take(1 << 21, isFresh);
  EXPECT_TRUE(isFresh) << "a block of another size was reused";
  void *second = cache.take((1 << 20) - 1000, isFresh);
  EXPECT_FALSE(isFresh);
  EXPECT_EQ(second, first);
  EXPECT_EQ(cache.size(), 0u);
  cache.give(second, (1 << 20) - 1000);
  cache.give(other, 1 << 21);
}

TEST(BlockCacheTest, FreesTheOldestBeyondCapacity) {
  BlockCache cache;
  const size_t piece = BlockCache::kCapacity / 4;
  void *blocks[5];
  bool isFresh = false;
  for (void *&block : blocks)
    block = cache.take(piece, isFresh);
  for (void *block : blocks)
    cache.give(block, piece);
  EXPECT_EQ(cache.size(), BlockCache::kCapacity);
  void *huge = cache.take(2 * BlockCache::kCapacity, isFresh);
  cache.give(huge, 2 * BlockCache::kCapacity);
  EXPECT_EQ(cache.size(), BlockCache::kCapacity);
}

TEST(BlockCacheTest, RecycledTensorsAreZeroed) {
  const Shape shape = {257, 513};
  void *address;
  {
    Tensor dirty = Tensor::empty(DType::F32, shape);
    address = dirty.rawData();
    std::memset(address, 0xFF, dirty.byteSize());
  }
  Tensor clean = Tensor::zeros(DType::F32, shape);
  EXPECT_EQ(clean.rawData(), address);
  for (float x : clean.values<float>())
    ASSERT_EQ(x, 0.0f);
}
#endif
