//===- OverlapTest.cpp - Overlap of views, compared with enumeration ------===//

#include "runtime/device/common/Overlap.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace pe;
using device::doOverlap;
using device::overlapsItself;

namespace {

alignas(64) char memory[1 << 16];

View viewAt(int64_t byte, pe_dtype dtype, std::vector<int64_t> shape,
            std::vector<int64_t> strides) {
  View view = {};
  view.name = "x";
  view.data = memory + byte;
  view.dtype = dtype;
  view.rank = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), view.shape);
  std::copy(strides.begin(), strides.end(), view.strides);
  return view;
}

/// The addresses of all bytes of the view; bytes shared by two elements occur twice.
std::multiset<const char *> bytesOf(const View &view) {
  std::multiset<const char *> bytes;
  const auto size = static_cast<int64_t>(sizeOf(static_cast<DType>(view.dtype)));
  int64_t count = 1;
  for (int k = 0; k < view.rank; ++k)
    count *= view.shape[k];
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0, rest = i;
    for (int k = view.rank; k-- > 0; rest /= view.shape[k])
      offset += rest % view.shape[k] * view.strides[k];
    for (int64_t byte = 0; byte < size; ++byte)
      bytes.insert(static_cast<const char *>(view.data) + offset * size + byte);
  }
  return bytes;
}

} // namespace

// q, k and v of one packed projection [batch, length, 3, heads, depth].
TEST(Overlap, PartsOfAPackedProjectionDoNotOverlap) {
  constexpr int64_t b = 2, s = 50, h = 4, d = 8, row = 3 * h * d;
  std::vector<View> parts;
  for (int64_t part = 0; part < 3; ++part)
    parts.push_back(viewAt(part * h * d * 4, PE_F32, {b, h, s, d}, {s * row, d, row, 1}));
  for (const View &one : parts)
    for (const View &other : parts)
      EXPECT_EQ(doOverlap(one, other), &one == &other);
  // Shifted by one element.
  EXPECT_TRUE(doOverlap(viewAt(4, PE_F32, {b, h, s, d}, {s * row, d, row, 1}), parts[1]));
  // Fewer key heads than query heads, in the same rows.
  EXPECT_FALSE(doOverlap(viewAt(0, PE_F32, {b, 2 * h, s, d}, {s * row, d, row, 1}),
                         viewAt(2 * h * d * 4, PE_F32, {b, h, s, d}, {s * row, d, row, 1})));
}

TEST(Overlap, AgreesWithEnumeration) {
  std::mt19937 random(1);
  const auto below = [&](int64_t bound) { return static_cast<int64_t>(random() % bound); };
  int found = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto draw = [&] {
      std::vector<int64_t> shape, strides;
      for (int64_t rank = below(4); rank-- > 0;) {
        shape.push_back(below(5));
        strides.push_back(below(40) - 8);
      }
      const pe_dtype dtypes[] = {PE_F32, PE_BF16, PE_I64, PE_U8};
      return viewAt(8192 + below(300), dtypes[below(4)], shape, strides);
    };
    const View a = draw(), b = draw();
    const auto bytesA = bytesOf(a), bytesB = bytesOf(b);
    bool meet = false;
    for (const char *byte : bytesA)
      meet |= bytesB.contains(byte);
    EXPECT_EQ(doOverlap(a, b), meet) << "round " << round;
    found += meet;
    const bool isTwice =
        std::set<const char *>(bytesA.begin(), bytesA.end()).size() < bytesA.size();
    if (isTwice)
      EXPECT_TRUE(overlapsItself(a)) << "round " << round;
  }
  EXPECT_GT(found, 150);
  EXPECT_LT(found, 2850);
}

TEST(Overlap, RowsWithAStrideBelowTheirLength) {
  EXPECT_FALSE(overlapsItself(viewAt(0, PE_F32, {4, 8}, {8, 1})));
  EXPECT_FALSE(overlapsItself(viewAt(0, PE_F32, {8, 4}, {1, 8})));
  EXPECT_TRUE(overlapsItself(viewAt(0, PE_F32, {4, 8}, {7, 1})));
  EXPECT_TRUE(overlapsItself(viewAt(0, PE_F32, {4, 8}, {0, 1})));
  EXPECT_FALSE(overlapsItself(viewAt(0, PE_F32, {1, 8}, {0, 1})));
  EXPECT_FALSE(overlapsItself(viewAt(0, PE_F32, {0, 8}, {0, 0})));
}
