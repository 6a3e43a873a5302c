//===- ArithmeticTest.cpp - Arithmetic, logic and comparisons in PTX ------===//

#include "test/runtime/ptx/LaneKernel.h"

#include <cmath>

using namespace pe::ptx;
using namespace pe::ptx::test;

namespace {

template <typename T> void checkIntegers() {
  const std::string type = typeName<T>();
  using I = __int128;
  expectBinary<T, T, T>("add." + type, [](T a, T b) { return T(I(a) + b); });
  expectBinary<T, T, T>("sub." + type, [](T a, T b) { return T(I(a) - b); });
  expectBinary<T, T, T>("mul.lo." + type, [](T a, T b) { return T((unsigned __int128)a * b); });
  expectBinary<T, T, T>("mul.hi." + type, [](T a, T b) {
    if constexpr (std::is_unsigned_v<T>)
      return T((unsigned __int128)a * b >> sizeof(T) * 8);
    return T(I(a) * b >> sizeof(T) * 8);
  });
  expectBinary<T, T, T>("min." + type, [](T a, T b) { return std::min(a, b); });
  expectBinary<T, T, T>("max." + type, [](T a, T b) { return std::max(a, b); });
  expectBinary<T, T, T>("div." + type, [](T a, T b) { return b ? T(I(a) / b) : T(-1); });
  expectBinary<T, T, T>("rem." + type, [](T a, T b) { return b ? T(I(a) % b) : T(-1); });
  expectBinary<T, T, uint32_t>(
      "shr." + type, [](T a, uint32_t b) { return T(I(a) >> std::min<uint32_t>(b, 100)); });
  if constexpr (std::is_signed_v<T>) {
    expectUnary<T, T>("abs." + type, [](T a) { return T(a < 0 ? -I(a) : I(a)); });
    expectUnary<T, T>("neg." + type, [](T a) { return T(-I(a)); });
  } else {
    expectBinary<T, T, uint32_t>("shl.b" + type.substr(1), [](T a, uint32_t b) {
      return b >= sizeof(T) * 8 ? T(0) : T(uint64_t(a) << b);
    });
    for (const auto &[name, function] :
         {std::pair<const char *, T (*)(T, T)>{"and.b", [](T a, T b) { return T(a & b); }},
          {"or.b", [](T a, T b) { return T(a | b); }},
          {"xor.b", [](T a, T b) { return T(a ^ b); }}})
      expectBinary<T, T, T>(name + type.substr(1), function);
    expectUnary<T, T>("not.b" + type.substr(1), [](T a) { return T(~a); });
    expectUnary<T, T>("cnot.b" + type.substr(1), [](T a) { return T(a == 0); });
  }
}

TEST(Arithmetic, Integers) {
  checkIntegers<int16_t>();
  checkIntegers<uint16_t>();
  checkIntegers<int32_t>();
  checkIntegers<uint32_t>();
  checkIntegers<int64_t>();
  checkIntegers<uint64_t>();
}

TEST(Arithmetic, Rectified) {
  expectBinary<int32_t, int32_t, int32_t>(
      "min.relu.s32", [](int32_t a, int32_t b) { return std::max(0, std::min(a, b)); });
  expectBinary<int32_t, int32_t, int32_t>("max.relu.s32",
                                          [](int32_t a, int32_t b) { return std::max({0, a, b}); });
  EXPECT_EQ(refusal("max.relu.u32 %d, %a, %b;"), "'max.relu.u32' is not supported");
}

TEST(Arithmetic, WideAndClamped) {
  using I = int64_t;
  expectBinary<int64_t, int32_t, int32_t>("mul.wide.s32", [](I a, I b) { return a * b; });
  expectBinary<uint64_t, uint32_t, uint32_t>("mul.wide.u32",
                                             [](uint64_t a, uint64_t b) { return a * b; });
  expectBinary<int32_t, int16_t, int16_t>("mul.wide.s16", [](I a, I b) { return int32_t(a * b); });
  auto clamp = [](I value) { return int32_t(std::clamp<I>(value, INT32_MIN, INT32_MAX)); };
  expectBinary<int32_t, int32_t, int32_t>("add.sat.s32", [&](I a, I b) { return clamp(a + b); });
  expectBinary<int32_t, int32_t, int32_t>("sub.sat.s32", [&](I a, I b) { return clamp(a - b); });
  auto low24 = [](int32_t a) { return I(a << 8 >> 8); };
  expectBinary<int32_t, int32_t, int32_t>(
      "mul24.lo.s32", [&](int32_t a, int32_t b) { return int32_t(low24(a) * low24(b)); });
  expectBinary<int32_t, int32_t, int32_t>(
      "mul24.hi.s32", [&](int32_t a, int32_t b) { return int32_t(low24(a) * low24(b) >> 16); });
}

TEST(Arithmetic, Mad) {
  const auto [a, b] = pairs(samples<int32_t>(10, 1), samples<int32_t>(10, 2));
  const auto [c, ignored] = pairs(samples<int32_t>(10, 3), samples<int32_t>(10, 4));
  const auto low = execute<int32_t>("mad.lo.s32 %d, %a, %b, %c;", a, b, c);
  const auto high = execute<int32_t>("mad.hi.s32 %d, %a, %b, %c;", a, b, c);
  const auto clamped = execute<int32_t>("mad.hi.sat.s32 %d, %a, %b, %c;", a, b, c);
  const auto sad = execute<int32_t>("sad.s32 %d, %a, %b, %c;", a, b, c);
  const auto wide =
      execute<int64_t>("cvt.s64.s32 %rd0, %c; mad.wide.s32 %d, %a, %b, %rd0;", a, b, c);
  for (size_t i = 0; i < a.size(); ++i) {
    const int64_t product = int64_t(a[i]) * b[i];
    EXPECT_EQ(low[i], int32_t(product + c[i]));
    EXPECT_EQ(high[i], int32_t((product >> 32) + c[i]));
    EXPECT_EQ(clamped[i], std::clamp<int64_t>((product >> 32) + c[i], INT32_MIN, INT32_MAX));
    EXPECT_EQ(wide[i], int64_t(uint64_t(product) + uint64_t(int64_t(c[i]))));
    EXPECT_EQ(sad[i], int32_t(std::abs(int64_t(a[i]) - b[i]) + c[i]));
  }
}

TEST(Arithmetic, Carries) {
  // 128-bit sums and differences in four words, and 64-bit products of words.
  const auto [a, b] = pairs(samples<uint64_t>(20, 1), samples<uint64_t>(20, 2));
  const std::string split = "mov.b64 {%r0, %r1}, %a; mov.b64 {%r2, %r3}, %b;\n";
  const std::string join = "mov.b64 %d, {%r4, %r5};";
  const auto sums =
      execute<uint64_t>(split + "add.cc.u32 %r4, %r0, %r2; addc.u32 %r5, %r1, %r3;" + join, a, b);
  const auto differences =
      execute<uint64_t>(split + "sub.cc.u32 %r4, %r0, %r2; subc.u32 %r5, %r1, %r3;" + join, a, b);
  const auto carries = execute<uint64_t>("add.cc.u64 %rd0, %a, %b; addc.u64 %d, 0, 0;", a, b);
  const auto thirds = execute<uint64_t>(
      split +
          "add.cc.u32 %r4, %r0, %r2; addc.cc.u32 %r5, %r1, %r3; addc.u32 %r4, 0, 0;\n"
          "sub.cc.u32 %r6, %r0, %r2; subc.cc.u32 %r7, %r1, %r3; subc.u32 %r5, 0, 0;" +
          join,
      a, b);
  const auto borrows = execute<uint64_t>("sub.cc.u64 %rd0, %a, %b; subc.u64 %d, 0, 0;", a, b);
  const auto products =
      execute<uint64_t>(split +
                            "mul.lo.u32 %r4, %r0, %r2; mul.hi.u32 %r5, %r0, %r2;\n"
                            "mad.lo.cc.u32 %r4, %r1, %r3, %r4; madc.hi.u32 %r5, %r1, %r3, %r5;" +
                            join,
                        a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(sums[i], a[i] + b[i]);
    EXPECT_EQ(differences[i], a[i] - b[i]);
    EXPECT_EQ(carries[i], uint64_t(((unsigned __int128)a[i] + b[i]) >> 64));
    EXPECT_EQ(thirds[i], uint64_t(a[i] < b[i] ? ~0u : 0u) << 32 | carries[i]);
    EXPECT_EQ(borrows[i], a[i] < b[i] ? ~uint64_t(0) : 0);
    EXPECT_EQ(products[i], uint64_t(uint32_t(a[i])) * uint32_t(b[i]) + (a[i] >> 32) * (b[i] >> 32));
  }
}

TEST(Arithmetic, BitFields) {
  const auto [a, c] = pairs(samples<uint32_t>(10), std::vector<uint32_t>{0, 1, 5, 31, 32, 33, 255});
  const std::vector<uint32_t> lengths = {0, 1, 7, 16, 31, 32, 33, 254, 256 + 3};
  for (uint32_t length : lengths) {
    const std::string text = std::to_string(length);
    const auto unsignedFields = execute<uint32_t>("bfe.u32 %d, %a, %b, " + text + ";", a, c);
    const auto signedFields = execute<uint32_t>("bfe.s32 %d, %a, %b, " + text + ";", a, c);
    const auto inserted = execute<uint32_t>("bfi.b32 %d, %a, 0x5A5A5A5A, %b, " + text + ";", a, c);
    for (size_t i = 0; i < a.size(); ++i) {
      const unsigned size = length & 255, at = c[i] & 255;
      uint32_t field = 0, extended = 0, result = 0x5A5A5A5A;
      const bool sign = size && a[i] >> std::min(at + size - 1, 31u) & 1;
      for (unsigned bit = 0; bit < 32; ++bit) {
        const bool isInside = bit < size && at + bit < 32;
        const bool value = isInside && a[i] >> (at + bit) & 1;
        field |= uint32_t(value) << bit;
        extended |= uint32_t(isInside ? value : sign) << bit;
        if (isInside)
          result = (result & ~(1u << (at + bit))) | (a[i] >> bit & 1) << (at + bit);
      }
      EXPECT_EQ(unsignedFields[i], field) << a[i] << ' ' << at << ' ' << size;
      EXPECT_EQ(signedFields[i], extended) << a[i] << ' ' << at << ' ' << size;
      EXPECT_EQ(inserted[i], result) << a[i] << ' ' << at << ' ' << size;
    }
  }
}

TEST(Arithmetic, Bits) {
  using U = uint32_t;
  expectUnary<U, U>("popc.b32", [](U a) { return U(std::popcount(a)); });
  expectUnary<U, uint64_t>("popc.b64", [](uint64_t a) { return U(std::popcount(a)); });
  expectUnary<U, U>("clz.b32", [](U a) { return U(std::countl_zero(a)); });
  expectUnary<U, uint64_t>("clz.b64", [](uint64_t a) { return U(std::countl_zero(a)); });
  expectUnary<U, U>("brev.b32", [](U a) {
    U result = 0;
    for (unsigned i = 0; i < 32; ++i)
      result |= (a >> i & 1) << (31 - i);
    return result;
  });
  auto find = [](int64_t a, bool) {
    for (int bit = 31; bit >= 0; --bit)
      if ((a >> bit & 1) != (a < 0))
        return U(bit);
    return ~U(0);
  };
  expectUnary<U, int32_t>("bfind.s32", [&](int32_t a) { return find(a, true); });
  expectUnary<U, U>("bfind.u32", [&](U a) { return find(a, false); });
  expectUnary<U, U>("bfind.shiftamt.u32", [&](U a) { return a ? 31 - find(a, false) : ~U(0); });
  EXPECT_EQ(execute<U>("bmsk.clamp.b32 %d, %a, 8;", std::vector<U>{4, 30, 32}),
            (std::vector<U>{0xFF0, 0xC0000000, 0}));
  EXPECT_EQ(execute<U>("szext.clamp.s32 %d, %a, 4;", std::vector<U>{8, 7, 0xF7}),
            (std::vector<U>{0xFFFFFFF8, 7, 7}));
  EXPECT_EQ(execute<U>("dp4a.s32.u32 %d, %a, 0xFF010203, 5;", std::vector<U>{0x80FF0102}),
            (std::vector<U>{U(-128 * 255 - 1 + 2 + 6 + 5)}));
  EXPECT_EQ(execute<U>("dp2a.hi.s32.u32 %d, %a, 0xFF010203, 5;", std::vector<U>{0x8000FFFE}),
            (std::vector<U>{U(-32768 * 255 - 2 + 5)}));
}

//===----------------------------------------------------------------------===//
// Logic and comparisons
//===----------------------------------------------------------------------===//

float flushed(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}
TEST(Arithmetic, Comparisons) {
  const auto [a, b] = pairs(samples<float>(10, 1), samples<float>(10, 2));
  const std::pair<const char *, bool (*)(float, float)> relations[] = {
      {"eq", [](float a, float b) { return a == b; }},
      {"ne", [](float a, float b) { return a < b || a > b; }},
      {"lt", [](float a, float b) { return a < b; }},
      {"le", [](float a, float b) { return a <= b; }},
      {"gt", [](float a, float b) { return a > b; }},
      {"ge", [](float a, float b) { return a >= b; }},
      {"equ", [](float a, float b) { return !(a < b || a > b); }},
      {"neu", [](float a, float b) { return a != b; }},
      {"ltu", [](float a, float b) { return !(a >= b); }},
      {"leu", [](float a, float b) { return !(a > b); }},
      {"gtu", [](float a, float b) { return !(a <= b); }},
      {"geu", [](float a, float b) { return !(a < b); }},
      {"num", [](float a, float b) { return a == a && b == b; }},
      {"nan", [](float a, float b) { return a != a || b != b; }}};
  for (const auto &[name, function] : relations) {
    const std::string word = name;
    const auto pair = execute<uint32_t>("setp." + word +
                                            ".f32 %p1|%p2, %a, %b;\n"
                                            "selp.b32 %d, 1, 0, %p1; @%p2 or.b32 %d, %d, 2;",
                                        a, b);
    const auto combined = execute<uint32_t>("setp.lt.u32 %p0, %j, 7;\nsetp." + word +
                                                ".and.ftz.f32 %p1|%p2, %a, %b, !%p0;\n"
                                                "selp.b32 %d, 1, 0, %p1; @%p2 or.b32 %d, %d, 2;",
                                            a, b);
    const auto values = execute<float>("set." + word + ".f32.f32 %d, %a, %b;", a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      const bool holds = function(a[i], b[i]), flush = function(flushed(a[i]), flushed(b[i]));
      EXPECT_EQ(pair[i], holds ? 1u : 2u) << word << ' ' << a[i] << ' ' << b[i];
      EXPECT_EQ(combined[i], i % 32 < 7 ? 0u : flush ? 1u : 2u) << word;
      EXPECT_EQ(values[i], holds ? 1.0f : 0.0f);
    }
  }
}

template <typename T> void checkIntegerComparisons() {
  const auto [a, b] = pairs(samples<T>(10, 1), samples<T>(10, 2));
  const std::pair<const char *, bool (*)(T, T)> relations[] = {
      {"eq", [](T a, T b) { return a == b; }}, {"ne", [](T a, T b) { return a != b; }},
      {"lt", [](T a, T b) { return a < b; }},  {"le", [](T a, T b) { return a <= b; }},
      {"gt", [](T a, T b) { return a > b; }},  {"ge", [](T a, T b) { return a >= b; }}};
  for (const auto &[name, function] : relations) {
    const auto found =
        execute<uint32_t>("setp.ne.b32 %p1, 0, 0;\n@%m setp." + std::string(name) + "." +
                              typeName<T>() + " %p1, %a, %b; selp.u32 %d, 1, 0, %p1;",
                          a, b);
    const auto masked =
        executeMasked<uint32_t>(0x12345678,
                                "setp.eq.b32 %p1, 0, 0;\n@%m setp." + std::string(name) + "." +
                                    typeName<T>() + " %p1, %a, %b; selp.u32 %d, 1, 0, %p1;",
                                a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(found[i], function(a[i], b[i]));
      EXPECT_EQ(masked[i], 0x12345678 >> (i % 32) & 1 ? function(a[i], b[i]) : 1u);
    }
  }
}

TEST(Arithmetic, IntegerComparisons) {
  checkIntegerComparisons<int16_t>();
  checkIntegerComparisons<uint16_t>();
  checkIntegerComparisons<int32_t>();
  checkIntegerComparisons<uint32_t>();
  checkIntegerComparisons<int64_t>();
  checkIntegerComparisons<uint64_t>();
}

TEST(Arithmetic, HalfComparisons) {
  const std::vector<uint32_t> a = {0x3C004000, 0x7FFF0000, 0x00018000},
                              b = {0x40003C00, 0x3C008000, 0x00000000};
  const std::string values = "selp.b32 %d, 1, 0, %p1; @%p2 or.b32 %d, %d, 2;";
  EXPECT_EQ(execute<uint32_t>("setp.gt.f16x2 %p1|%p2, %a, %b;" + values, a, b),
            (std::vector<uint32_t>{1, 0, 2}));
  EXPECT_EQ(execute<uint32_t>("setp.gt.ftz.f16x2 %p1|%p2, %a, %b;" + values, a, b)[2], 0u);
  EXPECT_EQ(execute<uint32_t>("set.geu.f16x2.f16x2 %d, %a, %b;", a, b),
            (std::vector<uint32_t>{0x00003C00, 0x3C003C00, 0x3C003C00}));
}

TEST(Arithmetic, Logic) {
  using U = uint32_t;
  const auto [a, b] = pairs(samples<U>(10, 1), samples<U>(10, 2));
  for (unsigned table : {0u, 0x80u, 0xFEu, 0x96u, 0xE2u, 0x1Bu, 0xFFu}) {
    const auto d =
        execute<U>("lop3.b32 %d, %a, %b, 0x0F33A5C7, " + std::to_string(table) + ";", a, b);
    for (size_t i = 0; i < a.size(); ++i)
      for (unsigned bit = 0; bit < 32; ++bit) {
        const unsigned index =
            (a[i] >> bit & 1) << 2 | (b[i] >> bit & 1) << 1 | (0x0F33A5C7 >> bit & 1);
        ASSERT_EQ(d[i] >> bit & 1, table >> index & 1);
      }
  }
  for (U count : {0u, 1u, 31u, 32u, 33u, 64u, ~0u}) {
    const std::string text = " %d, %a, %b, " + std::to_string(count) + ";";
    const auto left = execute<U>("shf.l.wrap.b32" + text, a, b);
    const auto leftClamped = execute<U>("shf.l.clamp.b32" + text, a, b);
    const auto right = execute<U>("shf.r.wrap.b32" + text, a, b);
    const auto rightClamped = execute<U>("shf.r.clamp.b32" + text, a, b);
    const U wrapped = count & 31, clamped = std::min(count, 32u);
    for (size_t i = 0; i < a.size(); ++i) {
      const unsigned __int128 both = (unsigned __int128)b[i] << 32 | a[i];
      EXPECT_EQ(left[i], U(both << wrapped >> 32));
      EXPECT_EQ(leftClamped[i], U(both << clamped >> 32));
      EXPECT_EQ(right[i], U(both >> wrapped));
      EXPECT_EQ(rightClamped[i], U(both >> clamped));
    }
  }
}

TEST(Arithmetic, Permutations) {
  using U = uint32_t;
  const std::vector<U> c = {0, 1, 2, 3, 0x7654, 0x3F8C, 0xFFFF3210};
  auto run = [&](const std::string &mode) {
    return execute<U>("prmt.b32" + mode + " %d, 0x83020100, 0x07F60504, %a;", c);
  };
  EXPECT_EQ(run(""), (std::vector<U>{0, 1, 2, 0x83, 0x07F60504, 0x83000000, 0x83020100}));
  EXPECT_EQ(run(".f4e")[1], 0x04830201u);
  EXPECT_EQ(run(".b4e")[1], 0xF6070001u);
  EXPECT_EQ(run(".rc8")[3], 0x83838383u);
  EXPECT_EQ(run(".ecl")[1], 0x83020101u);
  EXPECT_EQ(run(".ecr")[1], 0x01010100u);
  EXPECT_EQ(run(".rc16")[1], 0x83028302u);
}

TEST(Arithmetic, Selections) {
  const std::vector<uint64_t> a = {1, 2, 3}, b = {10, 20, 30};
  EXPECT_EQ(execute<uint64_t>("setp.eq.u64 %p1, %a, 2; selp.b64 %d, %a, %b, %p1;", a, b),
            (std::vector<uint64_t>{10, 2, 30}));
  const std::vector<float> c = {-0.0f, NAN, -1};
  EXPECT_EQ(execute<uint64_t>("slct.b64.f32 %d, %a, %b, %c;", a, b, c),
            (std::vector<uint64_t>{1, 20, 30}));
  EXPECT_EQ(execute<uint64_t>("setp.eq.u64 %p1, %a, 2; setp.lt.u64 %p2, %a, 2;\n"
                              "or.pred %p3, %p1, %p2; not.pred %p4, %p3; xor.pred %p5, %p4, %p1;\n"
                              "and.pred %p6, %p5, %p5; selp.b64 %d, %a, %b, %p6;",
                              a, b),
            (std::vector<uint64_t>{10, 2, 3}));
}

TEST(Arithmetic, Refusals) {
  EXPECT_EQ(refusal("mul.s32 %d, %a, %b;"), "expected one of .lo, .hi and .wide, found 'mul.s32'");
  EXPECT_EQ(refusal("add.sat.u32 %d, %a, %b;"), "'add.sat.u32' is not supported");
  EXPECT_EQ(refusal("add.relu.f32 %d, %a, %b;"), "'add.relu.f32' is not supported");
  EXPECT_EQ(refusal("setp.lt.b32 %p1, %a, %b;"), "comparison '.lt' of .b32");
  EXPECT_EQ(refusal("setp.less.s32 %p1, %a, %b;"),
            "expected a comparison such as .lt, found '.less'");
  EXPECT_EQ(refusal("lop3.b32 %d, %a, %b, %c, 256;"), "expected a table of 8 bits, found 256");
  EXPECT_EQ(refusal("ex2.f32 %d, %a;"), "expected .approx, found 'ex2.f32'");
  EXPECT_NE(refusal("add.s64 %d, %a, %b;"), "");
  EXPECT_NE(refusal("add.u16x2 %d, %a, %b;"), "");
  EXPECT_NE(refusal("fma.rm.f16 %h0, %h1, %h2, %h3;"), "");
}

} // namespace
