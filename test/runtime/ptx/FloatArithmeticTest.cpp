//===- FloatArithmeticTest.cpp - Floating-point arithmetic in PTX ---------===//

#include "test/runtime/ptx/LaneKernel.h"

#include <cmath>

using namespace pe::ptx;
using namespace pe::ptx::test;

namespace {

float nan32(float value) { return value != value ? std::bit_cast<float>(0x7FFFFFFF) : value; }
float flushed(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}
/// The minimum or maximum of IEEE 754-2019 minimumNumber, or minimum if `keepsNaN`.
float extreme(float a, float b, bool isMax, bool keepsNaN) {
  if (a != a || b != b)
    return keepsNaN ? nan32(NAN) : nan32(a != a ? b : a);
  if (a == b)
    return std::signbit(a) == isMax ? b : a;
  return (a < b) == isMax ? b : a;
}

TEST(FloatArithmetic, Singles) {
  using F = float;
  for (bool ftz : {false, true}) {
    const std::string infix = ftz ? ".ftz.f32" : ".f32";
    auto in = [=](float a) { return ftz ? flushed(a) : a; };
    auto out = [=](float a) { return ftz ? flushed(nan32(a)) : nan32(a); };
    expectBinary<F, F, F>("add" + infix, [&](F a, F b) { return out(in(a) + in(b)); });
    expectBinary<F, F, F>("sub.rn" + infix, [&](F a, F b) { return out(in(a)-in(b)); });
    expectBinary<F, F, F>("mul" + infix, [&](F a, F b) { return out(in(a)*in(b)); });
    expectBinary<F, F, F>("div.rn" + infix, [&](F a, F b) { return out(in(a) / in(b)); });
    expectBinary<F, F, F>("div.full" + infix, [&](F a, F b) { return out(in(a) / in(b)); });
    expectBinary<F, F, F>("mul" + std::string(ftz ? ".ftz" : "") + ".sat.f32", [&](F a, F b) {
      const F product = out(in(a)*in(b));
      return product > 0 ? std::min(product, 1.0f) : 0.0f;
    });
    for (bool isMax : {false, true})
      for (bool keeps : {false, true})
        expectBinary<F, F, F>((isMax ? "max" : "min") + std::string(ftz ? ".ftz" : "") +
                                  (keeps ? ".NaN.f32" : ".f32"),
                              [&](F a, F b) { return extreme(in(a), in(b), isMax, keeps); });
    auto result = execute<float>("fma.rn" + infix + " %d, %a, %b, %c;",
                                 std::vector<F>{0x1.000002p0f, 1e-30f, 3e38f, INFINITY},
                                 std::vector<F>{0x1.fffffep-1f, 1e-10f, 2, 0},
                                 std::vector<F>{-1, 0, -3e38f, 1});
    EXPECT_EQ(result[0], std::fma(0x1.000002p0f, 0x1.fffffep-1f, -1.0f));
    EXPECT_EQ(result[1], ftz ? 0 : std::fma(1e-30f, 1e-10f, 0.0f));
    EXPECT_EQ(result[2], 3e38f);
    EXPECT_EQ(std::bit_cast<uint32_t>(result[3]), 0x7FFFFFFF);
  }
  expectUnary<F, F>("neg.f32", [](F a) { return -a; });
  expectUnary<F, F>("abs.ftz.f32", [](F a) { return std::fabs(flushed(a)); });
  expectBinary<F, F, F>("copysign.f32", [](F a, F b) { return std::copysign(b, a); });
}

// min and max of three operands, which LLVM emits for chips from sm_100 on.
TEST(FloatArithmetic, ExtremesOfThree) {
  const float nan = NAN;
  const std::vector<float> a = {1, -3, nan, nan, -0.0f, 1e-40f}, b = {2, nan, 5, nan, 0.0f, 0},
                           c = {-4, -7, 6, nan, -0.0f, -1};
  const auto greatest = execute<float>("max.f32 %d, %a, %b, %c;", a, b, c);
  const auto least = execute<float>("min.ftz.f32 %d, %a, %b, %c;", a, b, c);
  const auto keeping = execute<float>("max.NaN.f32 %d, %a, %b, %c;", a, b, c);
  const float expected[3][6] = {
      {2, -3, 6, nan, 0, 1e-40f}, {-4, -7, 5, nan, -0.0f, -1}, {2, nan, nan, nan, 0, 1e-40f}};
  const std::vector<float> *found[] = {&greatest, &least, &keeping};
  for (int n = 0; n < 3; ++n)
    for (int i = 0; i < 6; ++i) {
      const float x = (*found[n])[i], y = expected[n][i];
      EXPECT_TRUE(std::isnan(y) ? std::isnan(x) : x == y && std::signbit(x) == std::signbit(y))
          << n << " " << i << ": " << x;
    }
  const auto signs = execute<float>("max.xorsign.abs.f32 %d, %a, %b, %c;", a, b, c);
  EXPECT_EQ(signs[0], -4);
  EXPECT_EQ(refusal("max.f64 %d, %a, %b, %c;"), "expected 3 operands of 'max.f64', found 4");
}

TEST(FloatArithmetic, Doubles) {
  using F = double;
  const auto [a, b] = pairs(samples<F>(30, 1), samples<F>(30, 2));
  const auto sum = execute<F>("add.rn.f64 %d, %a, %b;", a, b);
  const auto product = execute<F>("mul.f64 %d, %a, %b;", a, b);
  const auto quotient = execute<F>("div.rn.f64 %d, %a, %b;", a, b);
  const auto fused = execute<F>("fma.rn.f64 %d, %a, %b, 0d3FF0000000000000;", a, b);
  auto equal = [](F x, F y) { return x != x ? y != y : std::memcmp(&x, &y, sizeof(x)) == 0; };
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(equal(sum[i], a[i] + b[i]));
    EXPECT_TRUE(equal(product[i], a[i] * b[i]));
    EXPECT_TRUE(equal(quotient[i], a[i] / b[i]));
    EXPECT_TRUE(equal(fused[i], std::fma(a[i], b[i], 1.0)));
  }
}

TEST(FloatArithmetic, DirectedRounding) {
  const auto [a, b] = pairs(samples<float>(30, 1), samples<float>(30, 2));
  for (const std::string mode : {"rz", "rm", "rp"}) {
    const auto product = execute<float>("mul." + mode + ".f32 %d, %a, %b;", a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      const double exact = double(a[i]) * double(b[i]);
      if (!std::isfinite(exact))
        continue;
      // The neighbour of the nearest value on the side that the mode demands.
      float expected = float(exact);
      const bool isDown = mode == "rm" || (mode == "rz" && exact > 0);
      if (isDown && expected > exact)
        expected = std::nextafterf(expected, -INFINITY);
      if (!isDown && expected < exact)
        expected = std::nextafterf(expected, INFINITY);
      ASSERT_EQ(product[i], expected) << mode << ' ' << a[i] << ' ' << b[i];
    }
  }
}

/// Values of all bits of a 16-bit format, and the nearest one to an exact number.
struct Format16 {
  int fraction, bias;
  long double value(uint16_t bits) const {
    const int field = (bits & 0x7FFF) >> fraction, part = bits & ((1 << fraction) - 1);
    const long double size = std::ldexp((long double)(field ? part + (1 << fraction) : part),
                                        (field ? field : 1) - bias - fraction);
    return bits & 0x8000 ? -size : size;
  }
  uint16_t infinity() const { return uint16_t(0x7FFF >> fraction << fraction); }
  bool isNaN(uint16_t bits) const { return (bits & 0x7FFF) > infinity(); }
  bool isFinite(uint16_t bits) const { return (bits & 0x7FFF) < infinity(); }
  uint16_t nearest(__float128 exact, bool isNegativeZero) const {
    if (exact == 0)
      return isNegativeZero ? 0x8000 : 0;
    const __float128 size = exact < 0 ? -exact : exact;
    uint16_t low = 0, high = infinity(); // the value of infinity is the power of two that follows
    while (high - low > 1) {
      const uint16_t middle = uint16_t((low + high) / 2);
      (__float128(value(middle)) <= size ? low : high) = middle;
    }
    const __float128 below = size - value(low), above = value(high) - size;
    const uint16_t found = below < above || (below == above && low % 2 == 0) ? low : high;
    return uint16_t(found | (exact < 0 ? 0x8000 : 0));
  }
};

bool isLess(__float128 a, __float128 b) { return (a < 0 ? -a : a) < (b < 0 ? -b : b); }

void checkHalf(const std::string &type, Format16 format) {
  std::vector<uint16_t> few = samples<uint16_t>(40, 3), all(65536);
  for (uint16_t bits :
       {0x0001, 0x0400, 0x3C00, 0x3C01, 0x3F80, 0x3F81, 0x7BFF, 0x7F7F, 0x7C00, 0x7F80})
    few.insert(few.end(), {bits, uint16_t(bits | 0x8000)});
  for (unsigned i = 0; i < 65536; ++i)
    all[i] = uint16_t(i);
  for (size_t k = 0; k < few.size(); k += 7) {
    const std::vector<uint16_t> b(65536, few[k]);
    std::vector<uint16_t> c(65536);
    for (unsigned i = 0; i < 65536; ++i)
      c[i] = few[(i * 31 + k) % few.size()];
    const auto sum = execute<uint16_t>("add." + type + " %d, %a, %b;", all, b);
    const auto product = execute<uint16_t>("mul." + type + " %d, %a, %b;", all, b);
    const auto fused = execute<uint16_t>("fma.rn." + type + " %d, %a, %b, %c;", all, b, c);
    for (unsigned i = 0; i < 65536; ++i) {
      if (format.isNaN(all[i]) || format.isNaN(b[i])) {
        ASSERT_EQ(sum[i], 0x7FFF);
        ASSERT_EQ(product[i], 0x7FFF);
        continue;
      }
      if (!format.isFinite(all[i]) || !format.isFinite(b[i]))
        continue;
      const __float128 x = format.value(all[i]), y = format.value(b[i]);
      const bool isNegative = (all[i] ^ b[i]) & 0x8000;
      ASSERT_EQ(sum[i], format.nearest(x + y, all[i] & b[i] & 0x8000)) << all[i] << ' ' << b[i];
      ASSERT_EQ(product[i], format.nearest(x * y, isNegative)) << all[i] << ' ' << b[i];
      const __float128 z = format.value(c[i]);
      if (__float128 exact = x * y + z; format.isFinite(c[i]) && exact != 0) {
        // A sum that does not fit 113 bits is close to the larger term, on the side of the other.
        const __float128 size = exact < 0 ? -exact : exact;
        if (exact - x * y != z || exact - z != x * y)
          exact += (isLess(x * y, z) ? x * y : z) > 0 ? size * 0x1p-100L : -size * 0x1p-100L;
        ASSERT_EQ(fused[i], format.nearest(exact, false))
            << type << ' ' << all[i] << ' ' << b[i] << ' ' << c[i];
      }
    }
  }
}

TEST(FloatArithmetic, Halves) { checkHalf("f16", {10, 15}); }
TEST(FloatArithmetic, Brains) { checkHalf("bf16", {7, 127}); }

TEST(FloatArithmetic, HalfPairs) {
  const std::vector<uint32_t> a = {0x3C004000, 0xBC00FFFF, 0x7C000001},
                              b = {0x40003C00, 0x3C003C00, 0xFC000001};
  EXPECT_EQ(execute<uint32_t>("add.f16x2 %d, %a, %b;", a, b),
            (std::vector<uint32_t>{0x42004200, 0x00007FFF, 0x7FFF0002}));
  EXPECT_EQ(execute<uint32_t>("add.ftz.f16x2 %d, %a, %b;", a, b)[2], 0x7FFF0000);
  EXPECT_EQ(execute<uint32_t>("max.f16x2 %d, %a, %b;", a, b),
            (std::vector<uint32_t>{0x40004000, 0x3C003C00, 0x7C000001}));
  EXPECT_EQ(execute<uint32_t>("max.NaN.f16x2 %d, %a, %b;", a, b)[1], 0x3C007FFF);
  EXPECT_EQ(execute<uint32_t>("fma.rn.relu.f16x2 %d, %a, %b, 0;", a, b)[1], 0x00007FFF);
  EXPECT_EQ(execute<uint32_t>("neg.bf16x2 %d, %a;", a)[0], 0xBC00C000);
}

TEST(FloatArithmetic, Functions) {
  using F = float;
  auto twice = [](double (*function)(double)) {
    return [=](F a) { return nan32(F(function(a))); };
  };
  expectUnary<F, F>("ex2.approx.f32", twice([](double a) { return std::exp2(a); }));
  expectUnary<F, F>("lg2.approx.f32", twice([](double a) { return std::log2(a); }));
  expectUnary<F, F>("tanh.approx.f32", twice([](double a) { return std::tanh(a); }));
  expectUnary<F, F>("sin.approx.f32", twice([](double a) { return std::sin(a); }));
  expectUnary<F, F>("cos.approx.f32", twice([](double a) { return std::cos(a); }));
  expectUnary<F, F>("sqrt.rn.f32", twice([](double a) { return std::sqrt(a); }));
  expectUnary<F, F>("rsqrt.approx.f32", twice([](double a) { return 1 / std::sqrt(a); }));
  expectUnary<F, F>("rcp.rn.f32", twice([](double a) { return 1 / a; }));
  expectUnary<F, F>("rcp.approx.ftz.f32", [](F a) { return flushed(nan32(1 / flushed(a))); });
  expectUnary<F, F>("ex2.approx.ftz.f32",
                    [](F a) { return flushed(nan32(F(std::exp2(double(flushed(a)))))); });
}

} // namespace
