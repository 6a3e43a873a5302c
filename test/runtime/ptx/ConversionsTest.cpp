//===- ConversionsTest.cpp - cvt in PTX -----------------------------------===//

#include "test/runtime/ptx/LaneKernel.h"

#include <cmath>

using namespace pe::ptx;
using namespace pe::ptx::test;

namespace {

template <typename D, typename A, typename Function>
void expectConversion(const std::string &instruction, const std::vector<A> &a, Function function) {
  const Lanes mask = 0xF00FA581;
  const auto d = execute<D>(instruction + " %d, %a;", a);
  const auto masked = executeMasked<D>(mask, "@%m " + instruction + " %d, %a;", a);
  D untouched;
  std::memset(&untouched, kUntouched, sizeof(D));
  ASSERT_EQ(d.size(), a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const D expected = function(a[i]);
    ASSERT_EQ(std::memcmp(&d[i], &expected, sizeof(D)), 0)
        << instruction << ' ' << +a[i] << " = " << +d[i] << ", not " << +expected;
    const D inMask = mask >> (i % 32) & 1 ? expected : untouched;
    ASSERT_EQ(std::memcmp(&masked[i], &inMask, sizeof(D)), 0) << instruction << " masked " << i;
  }
}

template <typename D, typename A> void checkIntegers() {
  const std::string suffix = "." + typeName<D>() + "." + typeName<A>();
  expectConversion<D, A>("cvt" + suffix, samples<A>(100), [](A a) { return D(a); });
  expectConversion<D, A>("cvt.sat" + suffix, samples<A>(100), [](A a) {
    const __int128 least = std::numeric_limits<D>::min(), most = std::numeric_limits<D>::max();
    return D(std::clamp(__int128(a), least, most));
  });
}
template <typename A> void checkIntegersFrom() {
  checkIntegers<uint8_t, A>();
  checkIntegers<int8_t, A>();
  checkIntegers<uint16_t, A>();
  checkIntegers<int16_t, A>();
  checkIntegers<uint32_t, A>();
  checkIntegers<int32_t, A>();
  checkIntegers<uint64_t, A>();
  checkIntegers<int64_t, A>();
}

TEST(Conversions, Integers) {
  checkIntegersFrom<uint8_t>();
  checkIntegersFrom<int8_t>();
  checkIntegersFrom<uint16_t>();
  checkIntegersFrom<int16_t>();
  checkIntegersFrom<uint32_t>();
  checkIntegersFrom<int32_t>();
  checkIntegersFrom<uint64_t>();
  checkIntegersFrom<int64_t>();
}

TEST(Conversions, WiderRegisters) {
  const std::vector<uint32_t> a = {0x12345680, 0xFFFFFF7F, 0x8000FFFF};
  EXPECT_EQ(execute<uint32_t>("cvt.s32.s8 %d, %a;", a),
            (std::vector<uint32_t>{0xFFFFFF80, 0x7F, 0xFFFFFFFF}));
  EXPECT_EQ(execute<uint32_t>("cvt.u32.u8 %d, %a;", a), (std::vector<uint32_t>{0x80, 0x7F, 0xFF}));
  EXPECT_EQ(execute<uint32_t>("cvt.s8.s32 %d, %a;", a),
            (std::vector<uint32_t>{0xFFFFFF80, 0x7F, 0xFFFFFFFF}));
  EXPECT_EQ(execute<uint32_t>("cvt.u8.u32 %d, %a;", a), (std::vector<uint32_t>{0x80, 0x7F, 0xFF}));
  EXPECT_EQ(execute<uint64_t>("cvt.s16.s32 %d, %a;", a),
            (std::vector<uint64_t>{0x5680, 0xFFFFFFFFFFFFFF7F, 0xFFFFFFFFFFFFFFFF}));
  EXPECT_EQ(execute<float>("cvt.rn.f32.s8 %d, %a;", a), (std::vector<float>{-128, 127, -1}));
  EXPECT_EQ(execute<uint32_t>("cvt.rzi.u8.f32 %d, %a;", std::vector<float>{300.5f, -3, 7.9f}),
            (std::vector<uint32_t>{255, 0, 7}));
}

/// Rounds to an integer in extended precision, which holds all values of 64 bits.
long double rounded(long double value, const std::string &mode) {
  if (mode == "rni")
    return std::nearbyint(value);
  return mode == "rzi" ? std::trunc(value) : mode == "rmi" ? std::floor(value) : std::ceil(value);
}

template <typename D, typename A> void checkToInteger() {
  std::vector<A> a = samples<A>(300);
  std::mt19937_64 generator(3);
  for (int exponent = -3; exponent < 66; ++exponent)
    for (int i = 0; i < 4; ++i)
      a.push_back(std::ldexp(A(int64_t(generator())), exponent - 63));
  for (A each : {A(0x1p31), A(0x1p32), A(0x1p63), A(0x1p64), A(0x1p15), A(255.5)})
    a.insert(a.end(), {each, -each, std::nextafter(each, A(0)), std::nextafter(-each, A(0))});
  for (const std::string mode : {"rni", "rzi", "rmi", "rpi"}) {
    expectConversion<D, A>("cvt." + mode + "." + typeName<D>() + "." + typeName<A>(), a,
                           [&](A each) {
                             if (each != each)
                               return D(0);
                             const long double value = rounded(each, mode);
                             const long double least = std::numeric_limits<D>::min(),
                                               most = std::numeric_limits<D>::max();
                             return value <= least  ? std::numeric_limits<D>::min()
                                    : value >= most ? std::numeric_limits<D>::max()
                                                    : D(value);
                           });
    if constexpr (std::is_same_v<D, int32_t>)
      expectConversion<A, A>("cvt." + mode + "." + typeName<A>() + "." + typeName<A>(), a,
                             [&](A each) {
                               if constexpr (sizeof(A) == 4)
                                 if (each != each)
                                   return std::bit_cast<A>(0x7FFFFFFF);
                               return each != each ? each : A(rounded(each, mode));
                             });
  }
}

TEST(Conversions, FloatsToIntegers) {
  checkToInteger<int32_t, float>();
  checkToInteger<uint32_t, float>();
  checkToInteger<int64_t, float>();
  checkToInteger<uint64_t, float>();
  checkToInteger<int32_t, double>();
  checkToInteger<uint32_t, double>();
  checkToInteger<int64_t, double>();
  checkToInteger<uint64_t, double>();
  checkToInteger<int16_t, float>();
  checkToInteger<uint8_t, double>();
}

template <typename D, typename A> void checkFromInteger() {
  const std::string suffix = "." + typeName<D>() + "." + typeName<A>();
  expectConversion<D, A>("cvt.rn" + suffix, samples<A>(300), [](A a) { return D(a); });
  for (const std::string mode : {"rz", "rm", "rp"})
    expectConversion<D, A>("cvt." + mode + suffix, samples<A>(300), [&](A a) {
      const D nearest = D(a);
      const long double exact = a;
      const bool isDown = mode == "rm" || (mode == "rz" && exact > 0);
      if (isDown)
        return nearest > exact ? std::nextafter(nearest, D(-INFINITY)) : nearest;
      return nearest < exact ? std::nextafter(nearest, D(INFINITY)) : nearest;
    });
}

TEST(Conversions, IntegersToFloats) {
  checkFromInteger<float, int32_t>();
  checkFromInteger<float, uint32_t>();
  checkFromInteger<float, int64_t>();
  checkFromInteger<float, uint64_t>();
  checkFromInteger<double, int32_t>();
  checkFromInteger<double, uint32_t>();
  checkFromInteger<double, int64_t>();
  checkFromInteger<double, uint64_t>();
  checkFromInteger<float, int16_t>();
  checkFromInteger<double, uint8_t>();
}

float flushed(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}
float nan32(float value) { return value != value ? std::bit_cast<float>(0x7FFFFFFF) : value; }

TEST(Conversions, SinglesAndDoubles) {
  std::vector<double> a = samples<double>(300);
  for (float each : samples<float>(300))
    a.insert(a.end(), {double(each), each * (1 + 0x1p-24), each * (1 + 0x1p-25), each * 1e-20});
  expectConversion<float, double>("cvt.rn.f32.f64", a, [](double x) { return nan32(float(x)); });
  expectConversion<float, double>("cvt.rn.ftz.f32.f64", a,
                                  [](double x) { return flushed(nan32(float(x))); });
  for (const std::string mode : {"rz", "rm", "rp"})
    expectConversion<float, double>("cvt." + mode + ".f32.f64", a, [&](double exact) {
      const float nearest = nan32(float(exact));
      const bool isDown = mode == "rm" || (mode == "rz" && exact > 0);
      if (isDown)
        return nearest > exact ? std::nextafter(nearest, -INFINITY) : nearest;
      return nearest < exact ? std::nextafter(nearest, INFINITY) : nearest;
    });
  std::vector<float> singles = samples<float>(300);
  std::erase_if(singles, [](float each) { return each != each; });
  expectConversion<double, float>("cvt.f64.f32", singles, [](float x) { return double(x); });
  expectConversion<double, float>("cvt.ftz.f64.f32", singles,
                                  [](float x) { return double(flushed(x)); });
  expectConversion<float, float>("cvt.sat.f32.f32", samples<float>(300),
                                 [](float x) { return x > 0 ? std::min(x, 1.0f) : 0.0f; });
}

/// Values of a format of 16 bits (or of the upper 19 of 32 for tf32), found by bisection.
struct Format16 {
  int fraction, bias;
  uint32_t infinity() const { return uint32_t(2 * bias + 1) << fraction; }
  double value(uint32_t bits) const {
    const int field = int(bits >> fraction), part = int(bits & ((1u << fraction) - 1));
    return std::ldexp(double(field ? part + (1 << fraction) : part),
                      (field ? field : 1) - bias - fraction);
  }
  uint32_t round(double value, const std::string &mode) const {
    const double size = std::fabs(value);
    uint32_t low = 0, high = infinity();
    while (high - low > 1) {
      const uint32_t middle = (low + high) / 2;
      (this->value(middle) <= size ? low : high) = middle;
    }
    if (size == INFINITY)
      return infinity();
    if (size >= this->value(infinity()))
      low = infinity() - 1; // above all: nearest roundings give infinity
    const double below = size - this->value(low), above = this->value(low + 1) - size;
    const bool isExact = below == 0, isAway = mode == "rp" ? value > 0 : value < 0;
    if (mode == "rz" || isExact)
      return low;
    if (mode == "rm" || mode == "rp")
      return low + isAway;
    return low + (below > above || (below == above && (mode == "rna" || low % 2)));
  }
};

void checkNarrow(const std::string &type, Format16 format) {
  // All values of the format, the ties between neighbours, and values close to the ties.
  std::vector<float> a;
  for (uint32_t bits = 0; bits < format.infinity(); bits += 3) {
    const float low = float(format.value(bits)), tie = float((low + format.value(bits + 1)) / 2);
    for (float each : {low, tie, std::nextafterf(tie, 0.0f), std::nextafterf(tie, INFINITY)})
      a.insert(a.end(), {each, -each});
  }
  for (float each : {INFINITY, NAN, std::numeric_limits<float>::max(), 1e-45f})
    a.insert(a.end(), {each, -each});
  for (const std::string mode : {"rn", "rz"}) {
    const auto d = execute<uint16_t>("cvt." + mode + "." + type + ".f32 %d, %a;", a);
    const auto relu = execute<uint16_t>("cvt." + mode + ".relu." + type + ".f32 %d, %a;", a);
    const auto packed = execute<uint32_t>("cvt." + mode + "." + type + "x2.f32 %d, %a, %b;", a,
                                          std::vector<float>(a.rbegin(), a.rend()));
    const auto finite = execute<uint16_t>("cvt." + mode + ".satfinite." + type + ".f32 %d, %a;", a);
    for (size_t i = 0; i < a.size(); ++i) {
      const uint32_t size = a[i] != a[i] ? 0x7FFF : format.round(a[i], mode);
      const uint32_t expected = size | (std::signbit(a[i]) && a[i] == a[i] ? 0x8000u : 0u);
      ASSERT_EQ(d[i], expected) << type << ' ' << mode << ' ' << a[i];
      ASSERT_EQ(relu[i], expected & 0x8000 ? 0 : expected) << type << ' ' << mode << ' ' << a[i];
      ASSERT_EQ(finite[i], size == format.infinity() ? expected - 1 : expected);
      ASSERT_EQ(packed[i], uint32_t(d[i]) << 16 | d[a.size() - 1 - i]);
    }
  }
}

TEST(Conversions, ToHalves) { checkNarrow("f16", {10, 15}); }
TEST(Conversions, ToBrains) { checkNarrow("bf16", {7, 127}); }

void checkWiden(const std::string &type, Format16 format) {
  std::vector<uint16_t> all(65536);
  for (unsigned i = 0; i < 65536; ++i)
    all[i] = uint16_t(i);
  const auto singles = execute<float>("cvt.f32." + type + " %d, %a;", all);
  const auto doubles = execute<double>("cvt.f64." + type + " %d, %a;", all);
  const auto integers = execute<int32_t>("cvt.rni.s32." + type + " %d, %a;", all);
  const auto same = execute<uint16_t>("cvt.rmi." + type + "." + type + " %d, %a;", all);
  for (unsigned i = 0; i < 65536; ++i) {
    const uint32_t size = i & 0x7FFF;
    if (size > format.infinity()) {
      ASSERT_EQ(std::bit_cast<uint32_t>(singles[i]), 0x7FFFFFFF);
      ASSERT_NE(doubles[i], doubles[i]);
      ASSERT_EQ(integers[i], 0);
      ASSERT_EQ(same[i], 0x7FFF);
      continue;
    }
    const double magnitude = size == format.infinity() ? INFINITY : format.value(size);
    const double value = i & 0x8000 ? -magnitude : magnitude;
    ASSERT_EQ(singles[i], float(value));
    ASSERT_EQ(doubles[i], value);
    ASSERT_EQ(integers[i], int32_t(std::clamp(std::nearbyint(value), -0x1p31, 0x1p31 - 1)));
    ASSERT_EQ(same[i], format.round(std::floor(value), "rn") | (i & 0x8000)) << i;
  }
}

TEST(Conversions, FromHalves) { checkWiden("f16", {10, 15}); }
TEST(Conversions, FromBrains) { checkWiden("bf16", {7, 127}); }

TEST(Conversions, TensorFloats) {
  const Format16 format{10, 127};
  std::vector<float> a = samples<float>(3000);
  for (const std::string mode : {"rna", "rn", "rz"}) {
    const auto d = execute<uint32_t>("cvt." + mode + ".tf32.f32 %d, %a;", a);
    for (size_t i = 0; i < a.size(); ++i) {
      const uint32_t expected =
          a[i] != a[i] ? 0x7FFFFFFF
                       : format.round(a[i], mode) << 13 | (std::signbit(a[i]) ? 0x80000000u : 0);
      ASSERT_EQ(d[i], expected) << mode << ' ' << a[i];
    }
  }
}

TEST(Conversions, DoubleToBrainRoundsOnce) {
  // In single precision, the first one rounds to the tie between two values.
  const std::vector<double> a = {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8, 1 + 0x1p-8 - 0x1p-40};
  EXPECT_EQ(execute<uint16_t>("cvt.rn.bf16.f64 %d, %a;", a),
            (std::vector<uint16_t>{0x3F81, 0x3F80, 0x3F80}));
}

TEST(Conversions, Refusals) {
  EXPECT_EQ(refusal("cvt.rn.satfinite.e4m3x2.f32 %h0, %a, %b;"),
            "'cvt.rn.satfinite.e4m3x2.f32' is not supported");
  EXPECT_EQ(refusal("cvt.s32.f32 %d, %a;"), "expected .rni, .rzi, .rmi or .rpi in 'cvt.s32.f32'");
  EXPECT_EQ(refusal("cvt.f32.s32 %d, %a;"), "expected .rn, .rz, .rm or .rp in 'cvt.f32.s32'");
  EXPECT_EQ(refusal("cvt.rn.s32.s64 %d, %rd0;"), "rounding of integers in 'cvt.rn.s32.s64'");
  EXPECT_NE(refusal("cvt.rna.f32.f64 %d, %rd0;"), "");
  EXPECT_NE(refusal("cvt.rn.relu.f32.f64 %d, %rd0;"), "");
  EXPECT_NE(refusal("cvt.u64.u32 %d, %a;"), "");
  EXPECT_NE(refusal("cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;"), "");
}

} // namespace
