//===- DTypeTest.cpp - Element types and their conversions ----------------===//

#include "runtime/core/DType.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace pe;

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(DType::TF32); ++i) {
    const DType dtype = static_cast<DType>(i);
    Expected<DType> again = parseDType(nameOf(dtype));
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, dtype);
  }
  EXPECT_EQ(nameOf(DType::BF16), "bf16");
  EXPECT_EQ(nameOf(DType::C64), "c64");
  EXPECT_EQ(sizeOf(DType::C64), 8u);
}

TEST(DType, UsesOfTypes) {
  std::string floating, planned, narrow;
  for (int i = 0; i <= static_cast<int>(DType::TF32); ++i) {
    const DType dtype = static_cast<DType>(i);
    const std::string name = std::string(nameOf(dtype)) + " ";
    floating += isFloating(dtype) ? name : "";
    planned += isPlanned(dtype) ? name : "";
    narrow += isNarrow(dtype) ? name : "";
  }
  EXPECT_EQ(floating, "f32 f64 bf16 f16 ");
  EXPECT_EQ(planned, "f32 f64 bf16 f16 i64 i32 ");
  EXPECT_EQ(narrow, "bf16 f16 tf32 ");
}

TEST(DType, UnknownNameIsReported) {
  Expected<DType> dtype = parseDType("float");
  ASSERT_FALSE(dtype);
  EXPECT_NE(dtype.error().getMessage().find("found 'float'"), std::string::npos);
}

// Every 16-bit pattern survives a round trip through float.
TEST(DType, SixteenBitPatternsRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t pattern = static_cast<uint16_t>(bits);
    if (!std::isnan(f16ToFloat(pattern)))
      EXPECT_EQ(floatToF16(f16ToFloat(pattern)), pattern);
    if (!std::isnan(bf16ToFloat(pattern)))
      EXPECT_EQ(floatToBf16(bf16ToFloat(pattern)), pattern);
  }
}

// Compares with the compiler's _Float16 on bit patterns spread over the range of float.
TEST(DType, F16RoundsLikeTheCompiler) {
  for (uint64_t bits = 0; bits < 0x100000000ull; bits += 4099) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(value))
      continue;
    EXPECT_EQ(floatToF16(value), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
  }
}

TEST(DType, Bf16TiesGoToEven) {
  EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3F808000u)), 0x3F80);
  EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3F818000u)), 0x3F82);
  EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3F808001u)), 0x3F81);
}

TEST(DType, Tf32TiesGoAwayFromZero) {
  EXPECT_EQ(roundToTf32(0x1.002p0f), 0x1.004p0f);
  EXPECT_EQ(roundToTf32(-0x1.002p0f), -0x1.004p0f);
  EXPECT_EQ(roundToTf32(0x1.001ffep0f), 0x1.000p0f);
  EXPECT_EQ(roundToTf32(0x1.fffp0f), 2.0f);
  EXPECT_EQ(roundToTf32(-0.0f), -0.0f);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(roundToTf32(-infinity), -infinity);
  EXPECT_EQ(storageOf(DType::TF32), DType::F32);
  EXPECT_EQ(storageOf(DType::BF16), DType::BF16);
}

TEST(DType, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(roundToTf32(std::bit_cast<float>(0x7FFFFFFFu))));
  EXPECT_TRUE(std::isnan(roundToTf32(-nan)));
  EXPECT_TRUE(std::isnan(f16ToFloat(floatToF16(nan))));
  EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(nan))));
  EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(std::bit_cast<float>(0x7F800001u)))));
}
