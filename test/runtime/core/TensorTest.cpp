//===- TensorTest.cpp - Tensors, views, copies, conversions ---------------===//

#include "runtime/core/Tensor.h"

#include <gtest/gtest.h>
#include <limits>
#include <numeric>

using namespace pe;

static Tensor counting(Shape shape) {
  Tensor t = Tensor::zeros(DType::F32, std::move(shape));
  std::iota(t.values<float>().begin(), t.values<float>().end(), 0.0f);
  return t;
}

TEST(Tensor, FreshStorageIsAlignedAndPacked) {
  for (int64_t n : {0, 1, 3, 17, 4097}) {
    Tensor t = Tensor::zeros(DType::F32, {n, 5});
    EXPECT_TRUE(t.isKernelReady());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t.rawData()) % 64, 0u);
    EXPECT_EQ(t.numel(), 5 * n);
    for (float v : t.values<float>())
      EXPECT_EQ(v, 0.0f);
  }
}

TEST(Tensor, ScalarHasOneElement) {
  Tensor t = Tensor::scalar(3.5f);
  EXPECT_EQ(t.rank(), 0);
  EXPECT_EQ(t.numel(), 1);
  EXPECT_EQ(t.values<float>()[0], 3.5f);
}

TEST(Tensor, ImpossibleShapesAreErrors) {
  EXPECT_FALSE(Tensor::allocate(DType::F32, {-1}));
  EXPECT_FALSE(Tensor::allocate(DType::F32, {int64_t(1) << 40, int64_t(1) << 40}));
  EXPECT_FALSE(Tensor::allocate(DType::F32, {std::numeric_limits<int64_t>::max()}));
  EXPECT_FALSE(Tensor::allocate(DType::F64, {int64_t(1) << 58}));
  Expected<Tensor> big = Tensor::allocate(DType::F32, {2, -3});
  ASSERT_FALSE(big);
  EXPECT_NE(big.error().getMessage().find("[2, -3]"), std::string::npos);
}

TEST(Tensor, EmptyDimensionsAllowAnyOthers) {
  Expected<Tensor> t = Tensor::allocate(DType::F32, {int64_t(1) << 40, 0, int64_t(1) << 40});
  ASSERT_TRUE(t);
  EXPECT_EQ(t->numel(), 0);
}

TEST(Tensor, ViewsShareStorage) {
  Tensor t = counting({4, 6});
  Tensor column = t.slice(1, 2, 3);
  EXPECT_FALSE(column.isContiguous());
  column.data<float>()[column.offsetOf({3, 0})] = -1;
  EXPECT_EQ(t.data<float>()[3 * 6 + 2], -1);
  EXPECT_EQ(t.select(0, 1).data<float>()[0], 6);
  EXPECT_EQ(t.select(0, 1).shape(), (Shape{6}));
}

TEST(Tensor, StorageOutlivesTheTensorItCameFrom) {
  Tensor row;
  {
    Tensor t = counting({2, 3});
    row = t.select(0, 1);
  }
  EXPECT_EQ(row.values<float>()[2], 5);
}

TEST(Tensor, PermutedCopiesKeepTheElements) {
  Tensor t = counting({2, 3, 4});
  Tensor p = t.permute({2, 0, 1}).contiguous();
  ASSERT_EQ(p.shape(), (Shape{4, 2, 3}));
  EXPECT_TRUE(p.isKernelReady());
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j)
      for (int64_t k = 0; k < 4; ++k)
        EXPECT_EQ(p.data<float>()[p.offsetOf({k, i, j})], t.data<float>()[t.offsetOf({i, j, k})]);
}

TEST(Tensor, ContiguousCopiesMisalignedViews) {
  Tensor t = counting({4, 6});
  Tensor rows = t.slice(0, 1, 3);
  EXPECT_TRUE(rows.isContiguous());
  EXPECT_FALSE(rows.isKernelReady());
  EXPECT_TRUE(rows.contiguous().isKernelReady());
  EXPECT_EQ(rows.contiguous().values<float>()[0], 6);
}

TEST(Tensor, CopyFromWritesThroughAView) {
  Tensor t = Tensor::zeros(DType::F32, {3, 4});
  Tensor block = t.slice(0, 1, 3).slice(1, 1, 3);
  block.copyFrom(counting({2, 2}));
  EXPECT_EQ(t.data<float>()[1 * 4 + 1], 0);
  EXPECT_EQ(t.data<float>()[1 * 4 + 2], 1);
  EXPECT_EQ(t.data<float>()[2 * 4 + 2], 3);
  EXPECT_EQ(t.data<float>()[2 * 4 + 3], 0);
}

TEST(Tensor, ConversionsRound) {
  Tensor t = Tensor::of<float>({1.0f, -2.5f, 65504.0f, 1e-8f}, {4});
  Expected<Tensor> half = convert(t, DType::F16);
  ASSERT_TRUE(half);
  Expected<std::vector<double>> values = toDoubles(*half);
  ASSERT_TRUE(values);
  EXPECT_EQ(*values, (std::vector<double>{1.0, -2.5, 65504.0, 0.0}));
}

TEST(Tensor, RejectsIntegersThatDoNotFit) {
  Tensor t = Tensor::of<int64_t>({1, int64_t(1) << 40}, {2});
  Expected<Tensor> narrow = convert(t, DType::I32);
  ASSERT_FALSE(narrow);
  EXPECT_NE(narrow.error().getMessage().find("element 1"), std::string::npos);
  EXPECT_TRUE(convert(t.slice(0, 0, 1), DType::I32));
  EXPECT_FALSE(convert(t, DType::F32));
}
