//===- MatrixTest.cpp - mma, ldmatrix, stmatrix, movmatrix ----------------===//
//
// The places of elements are written down as the sections "Matrix Fragments for mma" of the PTX ISA
// state them, one formula per shape.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/ptx/PtxKernels.h"

#include <bit>
#include <cmath>
#include <functional>
#include <random>

using namespace pe::ptx;
using namespace pe::ptx::test;

namespace {

struct Place {
  int row, column;
};
/// The place of element `i` of a lane with g = lane / 4 and t = lane % 4.
using Fragment = std::function<Place(int i, int g, int t)>;

struct Shape {
  std::string name;
  int m, k;
  int ofA, ofB, ofC; // elements of a lane
  Fragment a, b, c;
};

/// c0, c1: row g; c2, c3: row g + 8.
Place pairs(int i, int g, int t) { return {i < 2 ? g : g + 8, t * 2 + (i & 1)}; }

const Shape halves16 = {
    "m16n8k16",
    16,
    16,
    8,
    4,
    4,
    [](int i, int g, int t) {
      const bool isUpper = i < 2 || (i >= 4 && i < 6);
      return Place{isUpper ? g : g + 8, t * 2 + (i & 1) + (i < 4 ? 0 : 8)};
    },
    [](int i, int g, int t) { return Place{t * 2 + (i & 1) + (i < 2 ? 0 : 8), g}; },
    pairs};
const Shape halves8 = {
    "m16n8k8", 16, 8, 4, 2, 4, pairs, [](int i, int g, int t) { return Place{t * 2 + i, g}; },
    pairs};
const Shape singles4 = {"m16n8k4",
                        16,
                        4,
                        2,
                        1,
                        4,
                        [](int i, int g, int t) { return Place{i == 0 ? g : g + 8, t}; },
                        [](int, int g, int t) { return Place{t, g}; },
                        pairs};
const Shape singles8 = {
    "m16n8k8",
    16,
    8,
    4,
    2,
    4,
    [](int i, int g, int t) { return Place{i % 2 == 0 ? g : g + 8, i < 2 ? t : t + 4}; },
    [](int i, int g, int t) { return Place{t + 4 * i, g}; },
    pairs};
const Shape doubles16 = {"m16n8k16",
                         16,
                         16,
                         8,
                         4,
                         4,
                         [](int i, int g, int t) {
                           return i % 2 == 0 ? Place{g, i * 2 + t} : Place{g + 8, i * 2 - 2 + t};
                         },
                         [](int i, int g, int t) { return Place{t + i * 4, g}; },
                         pairs};
const Shape doubles84 = {"m8n8k4",
                         8,
                         4,
                         1,
                         1,
                         2,
                         [](int, int g, int t) { return Place{g, t}; },
                         [](int, int g, int t) { return Place{t, g}; },
                         [](int i, int g, int t) { return Place{g, t * 2 + i}; }};
const Shape bytes8 = {"m8n8k16",
                      8,
                      16,
                      4,
                      4,
                      2,
                      [](int i, int g, int t) { return Place{g, t * 4 + i}; },
                      [](int i, int g, int t) { return Place{t * 4 + i, g}; },
                      [](int i, int g, int t) { return Place{g, t * 2 + i}; }};
const Shape bytes16 = {
    "m16n8k16",
    16,
    16,
    8,
    4,
    4,
    [](int i, int g, int t) { return Place{i < 4 ? g : g + 8, t * 4 + (i & 3)}; },
    [](int i, int g, int t) { return Place{t * 4 + i, g}; },
    pairs};
const Shape bytes32 = {
    "m16n8k32",
    16,
    32,
    16,
    8,
    4,
    [](int i, int g, int t) {
      const bool isUpper = i < 4 || (i >= 8 && i < 12);
      return Place{isUpper ? g : g + 8, t * 4 + (i & 3) + (i < 8 ? 0 : 16)};
    },
    [](int i, int g, int t) { return Place{t * 4 + (i & 3) + (i < 4 ? 0 : 16), g}; },
    pairs};

/// A type of elements: its size, and its value from bits and bits from a value.
struct Element {
  std::string name;
  int bits;
  std::function<double(uint64_t)> widen;
  std::function<uint64_t(double)> narrow;
};
const Element f16 = {"f16", 16,
                     [](uint64_t b) { return double(std::bit_cast<_Float16>(uint16_t(b))); },
                     [](double v) { return std::bit_cast<uint16_t>(_Float16(v)); }};
const Element bf16 = {
    "bf16", 16, [](uint64_t b) { return std::bit_cast<float>(uint32_t(b) << 16); }, {}};
const Element tf32 = {
    "tf32", 32, [](uint64_t b) { return std::bit_cast<float>(uint32_t(b) & 0xFFFFE000); }, {}};
const Element f32 = {"f32", 32, [](uint64_t b) { return std::bit_cast<float>(uint32_t(b)); },
                     [](double v) { return std::bit_cast<uint32_t>(float(v)); }};
const Element f64 = {"f64", 64, [](uint64_t b) { return std::bit_cast<double>(b); },
                     [](double v) { return std::bit_cast<uint64_t>(v); }};
const Element s8 = {"s8", 8, [](uint64_t b) { return int8_t(b); }, {}};
const Element u8 = {"u8", 8, [](uint64_t b) { return uint8_t(b); }, {}};
const Element s32 = {"s32", 32, [](uint64_t b) { return int32_t(b); },
                     [](double v) { return uint32_t(int64_t(v)); }};
const Element s32Saturated = {
    "s32", 32, [](uint64_t b) { return int32_t(b); },
    [](double v) { return uint32_t(int32_t(std::fmin(std::fmax(v, -0x1p31), 0x1p31 - 1))); }};

/// The fragments of a warp: 32 lanes of `count` elements, packed.
struct Packed {
  const Element &element;
  int count;
  std::vector<uint8_t> bytes; // by lane
  Packed(const Element &element, int count)
      : element(element), count(count), bytes(size_t(32 * count * element.bits / 8)) {}
  uint64_t bits(int lane, int i) const {
    uint64_t value = 0;
    std::memcpy(&value, &bytes[size_t((lane * count + i) * element.bits / 8)], element.bits / 8);
    return value;
  }
  void set(int lane, int i, uint64_t value) {
    std::memcpy(&bytes[size_t((lane * count + i) * element.bits / 8)], &value, element.bits / 8);
  }
  int words() const { return count * element.bits / 32; }
};

/// Random values whose sums need rounding.
void fill(Packed &packed, std::mt19937 &random) {
  std::normal_distribution<float> normal;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < packed.count; ++i) {
      const float value = normal(random);
      const uint32_t bits = std::bit_cast<uint32_t>(value);
      if (packed.element.name == "bf16")
        packed.set(lane, i, bits >> 16);
      else if (packed.element.name == "f64")
        packed.set(lane, i, std::bit_cast<uint64_t>(double(value) * 1.1));
      else if (packed.element.name == "f16")
        packed.set(lane, i, std::bit_cast<uint16_t>(_Float16(value)));
      else if (packed.element.name == "s32") // close to the ends of the range
        packed.set(lane, i, (random() & 1 ? 0x7FFFE000 : 0x80002000) + (random() & 0xFFF));
      else if (packed.element.bits == 8)
        packed.set(lane, i, random());
      else
        packed.set(lane, i, bits);
    }
}

/// Returns "{%r0, %r1, ...}", and loads of these registers from q.
std::string loads(const Packed &packed, char file, int first, int word, std::string &code) {
  const int step = file == 'd' ? 2 : 1;
  std::string list;
  for (int i = 0; i < packed.words() / step; ++i) {
    const std::string name = "%" + std::string(1, file) + std::to_string(first + i);
    list += (i ? ", " : "") + name;
    code += "ld.global." + std::string(file == 'd' ? "f64 " : "b32 ") + name + ", [%a0+" +
            std::to_string((word + i * step) * 4) + "];\n";
  }
  return "{" + list + "}";
}

/// Executes `d = a * b + c` and compares it with the formulas.
void check(const Shape &shape, const Element &sum, const Element &ofA, const Element &ofB,
           const std::string &saturate = "") {
  std::mt19937 random(7);
  Packed a(ofA, shape.ofA), b(ofB, shape.ofB), c(sum, shape.ofC);
  fill(a, random), fill(b, random), fill(c, random);
  const int words = a.words() + b.words() + c.words();
  std::vector<uint32_t> in(size_t(words) * 32);
  for (int lane = 0; lane < 32; ++lane) {
    uint32_t *to = &in[size_t(lane) * words];
    for (const Packed *each : {&a, &b, &c}) {
      std::memcpy(to, &each->bytes[size_t(lane * each->words() * 4)], each->words() * 4);
      to += each->words();
    }
  }
  const bool isDouble = sum.bits == 64;
  const char file = isDouble ? 'd' : 'r';
  std::string code = "mad.wide.u32 %a0, %t, " + std::to_string(words * 4) +
                     ", %q; mad.wide.u32 %a1, %t, " + std::to_string(c.words() * 4) + ", %p;\n";
  const std::string listA = loads(a, file, 0, 0, code), listB = loads(b, file, 20, a.words(), code),
                    listC = loads(c, file, 30, a.words() + b.words(), code);
  code += "mma.sync.aligned." + shape.name + ".row.col" + saturate + "." + sum.name + "." +
          ofA.name + "." + ofB.name + "." + sum.name + " " + listC + ", " + listA + ", " + listB +
          ", " + listC + ";\n";
  for (int i = 0; i < c.words() / (isDouble ? 2 : 1); ++i)
    code += "st.global." + std::string(isDouble ? "f64" : "b32") + " [%a1+" +
            std::to_string(i * (isDouble ? 8 : 4)) + "], %" + std::string(1, file) +
            std::to_string(30 + i) + ";\n";
  const std::vector<uint32_t> found = test::words(code, blockOf(32), size_t(c.words()) * 32, in);

  std::vector<std::vector<double>> left(16, std::vector<double>(32)),
      right(32, std::vector<double>(8));
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < shape.ofA; ++i) {
      const Place at = shape.a(i, lane / 4, lane % 4);
      left[at.row][at.column] = ofA.widen(a.bits(lane, i));
    }
    for (int i = 0; i < shape.ofB; ++i) {
      const Place at = shape.b(i, lane / 4, lane % 4);
      right[at.row][at.column] = ofB.widen(b.bits(lane, i));
    }
  }
  Packed result(sum, shape.ofC);
  std::memcpy(result.bytes.data(), found.data(), result.bytes.size());
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < shape.ofC; ++i) {
      const Place at = shape.c(i, lane / 4, lane % 4);
      double expected = sum.widen(c.bits(lane, i));
      for (int k = 0; k < shape.k; ++k)
        expected = std::fma(left[at.row][k], right[k][at.column], expected);
      EXPECT_EQ(result.bits(lane, i), sum.narrow(expected))
          << shape.name << " " << ofA.name << " lane " << lane << " element " << i;
    }
}

TEST(Multiply, Halves) {
  check(halves16, f32, f16, f16);
  check(halves16, f32, bf16, bf16);
  check(halves8, f32, f16, f16);
  check(halves8, f32, bf16, bf16);
}

TEST(Multiply, HalfAccumulators) {
  check(halves16, f16, f16, f16);
  check(halves8, f16, f16, f16);
}

TEST(Multiply, TensorFloats) {
  check(singles8, f32, tf32, tf32);
  check(singles4, f32, tf32, tf32);
}

TEST(Multiply, Doubles) {
  Shape doubles8 = singles8, doubles4 = singles4;
  check(doubles84, f64, f64, f64);
  check(doubles4, f64, f64, f64);
  check(doubles8, f64, f64, f64);
  check(doubles16, f64, f64, f64);
}

TEST(Multiply, Bytes) {
  for (const Shape *shape : {&bytes8, &bytes16, &bytes32})
    for (const Element *a : {&s8, &u8})
      for (const Element *b : {&s8, &u8}) {
        check(*shape, s32, *a, *b);
        check(*shape, s32Saturated, *a, *b, ".satfinite");
      }
}

/// Returns the bits of c0 of a product whose a0, b0 and c0 have these bits, and zeros elsewhere.
uint32_t product(const std::string &type, uint32_t a, uint32_t b, uint32_t c) {
  auto text = [](uint32_t value) { return std::to_string(value); };
  return words("mov.b32 %r0, 0; setp.eq.u32 %c0, %t, 0; selp.b32 %r1, " + text(a) +
               ", 0, %c0; selp.b32 %r2, " + text(b) + ", 0, %c0; selp.b32 %r3, " + text(c) +
               ", 0, %c0; mma.sync.aligned.m16n8k16.row.col.f32." + type + "." + type +
               ".f32 {%r4, %r5, %r6, %r7}, {%r1, %r0, %r0, %r0}, {%r2, %r0}, {%r3, %r0, %r0, %r0};"
               "st.global.b32 [%pt], %r4;")[0];
}

TEST(Multiply, SpecialValues) {
  EXPECT_EQ(product("f16", 0x0001, 0x3C00, 0), 0x33800000u); // subnormal
  EXPECT_EQ(product("f16", 0x83FF, 0x3C00, 0), 0xB87FC000u);
  EXPECT_EQ(product("f16", 0x7C00, 0x3C00, 0), 0x7F800000u); // infinite
  EXPECT_EQ(product("f16", 0xFC00, 0x3C00, 0x7F800000), 0x7FFFFFFFu);
  EXPECT_EQ(product("f16", 0x7E00, 0x3C00, 0), 0x7FFFFFFFu);  // NaN
  EXPECT_EQ(product("f16", 0x7BFF, 0x7BFF, 0), 0x4F7FC004u);  // 65504 squared, exact
  EXPECT_EQ(product("bf16", 0x7F7F, 0x7F7F, 0), 0x7F800000u); // overflow
  EXPECT_EQ(product("bf16", 0x0001, 0x3F80, 0), 0x00010000u);
  EXPECT_EQ(product("bf16", 0x7FC1, 0x3F80, 0), 0x7FFFFFFFu);
}

TEST(Multiply, Refusals) {
  const std::string operands =
      " {%r0, %r1, %r2, %r3}, {%r0, %r1, %r2, %r3}, {%r0, %r1}, {%r0, %r1, %r2, %r3};";
  auto refusal = [&](const std::string &form) { return failure("\nmma." + form + operands); };
  const std::string expected = "' is not supported";
  for (const char *form :
       {"sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
        "sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
        "sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "sync.aligned.m16n8k16.col.row.f32.f16.f16.f32",
        "sync.aligned.m16n8k16.row.row.f32.f16.f16.f32",
        "sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
        "sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32",
        "sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32",
        "sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
        "aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"})
    EXPECT_EQ(refusal(form), "k.ptx:3: 'mma." + std::string(form) + expected);
  EXPECT_EQ(failure("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, "
                    "{%r0,%r1}, {%r0,%r1}, {%r0,%r1,%r2,%r3};"),
            "k.ptx:2: expected 4 registers of a, found 2");
  EXPECT_EQ(failure("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" + operands, blockOf(20)),
            "k.ptx:2: k: expected all 32 lanes of warp 0 at an instruction of matrices, found 20");
  for (const char *text : {"wgmma.fence.sync.aligned;", "setmaxnreg.inc.sync.aligned.u32 40;",
                           "griddepcontrol.wait;", "mbarrier.init.shared.b64 [%a0], 1;",
                           "cp.async.bulk.commit_group;", "cp.async.mbarrier.arrive.b64 [%a0];"})
    EXPECT_CONTAINS(failure(text), "asynchronous instructions of Hopper and later chips");
}

//===----------------------------------------------------------------------===//
// ldmatrix, stmatrix, movmatrix
//===----------------------------------------------------------------------===//

/// Halves i in shared memory, where row r of the tile begins at row r ^ 5 of 16 bytes: halves
/// 8 * (r ^ 5) and so on.
const std::string tiles =
    "{ .shared .align 16 .b8 s[512]; mov.u32 %r10, s; shl.b32 %r11, %t, 4; add.u32 %r12, %r10, "
    "%r11;\n shl.b32 %r13, %t, 3; shl.b32 %r14, %r13, 16; or.b32 %r14, %r14, %r13; add.u32 %r14, "
    "%r14, 0x10000;\n st.shared.b32 [%r12], %r14; add.u32 %r14, %r14, 0x20002;"
    "st.shared.b32 [%r12+4], %r14; add.u32 %r14, %r14, 0x20002; st.shared.b32 [%r12+8], %r14;"
    "add.u32 %r14, %r14, 0x20002; st.shared.b32 [%r12+12], %r14; bar.warp.sync -1;\n"
    "xor.b32 %r15, %t, 5; shl.b32 %r15, %r15, 4; add.u32 %r16, %r10, %r15;\n";
const std::string store4 =
    "mad.lo.u32 %r20, %t, 16, 0; cvt.u64.u32 %a3, %r20; add.u64 %a3, %a3, %p;"
    "st.global.v4.b32 [%a3], {%r0, %r1, %r2, %r3}; }";

TEST(MatrixMemory, Loads) {
  const auto straight = words(
      tiles + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%r16];" + store4,
      blockOf(32), 128);
  const auto turned = words(
      tiles + "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%r0, %r1, %r2, %r3}, [%r16];" +
          store4,
      blockOf(32), 128);
  auto element = [](int matrix, int row, int column) {
    return uint32_t(((matrix * 8 + row) ^ 5) * 8 + column);
  };
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4, column = lane % 4 * 2;
      EXPECT_EQ(straight[lane * 4 + i], element(i, row, column) | element(i, row, column + 1)
                                                                      << 16);
      EXPECT_EQ(turned[lane * 4 + i], element(i, column, row) | element(i, column + 1, row) << 16);
    }
}

TEST(MatrixMemory, FewerMatricesAndGenericAddresses) {
  const std::string clear = "mov.b32 %r0, 9; mov.b32 %r1, 9; mov.b32 %r2, 9; mov.b32 %r3, 9;"
                            "cvt.u64.u32 %a5, %r16; cvta.shared.u64 %a6, %a5;";
  // Only lanes 0 to 7, or 0 to 15, supply addresses.
  const std::string wild = "setp.ge.u32 %c0, %t, 8; @%c0 mov.b32 %r16, 3;";
  const auto one = words(tiles + clear + wild +
                             "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r16];" + store4,
                         blockOf(32), 128);
  EXPECT_EQ(one[0], 40u | 41u << 16);
  EXPECT_EQ(one[1], 9u);
  const auto two =
      words(tiles + clear + "ldmatrix.sync.aligned.m8n8.x2.b16 {%r0, %r1}, [%a6];" + store4,
            blockOf(32), 128);
  EXPECT_EQ(two[1], (13u * 8) | (13u * 8 + 1) << 16);
  EXPECT_EQ(two[2], 9u);
}

TEST(MatrixMemory, StoreIsTheInverseOfLoad) {
  for (const std::string turn : {"", ".trans"}) {
    const std::string move = "ldmatrix.sync.aligned.m8n8.x4" + turn +
                             ".shared.b16 {%r0, %r1, %r2, %r3}, [%r16]; bar.warp.sync -1;"
                             "stmatrix.sync.aligned.m8n8.x4" +
                             turn +
                             ".shared.b16 [%r12], {%r0, %r1, %r2, %r3}; bar.warp.sync -1;"
                             "ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%r12];";
    const auto found = words(tiles + move + store4, blockOf(32), 128);
    for (uint32_t lane = 0; lane < 32; ++lane)
      EXPECT_EQ(found[lane * 4], ((lane ^ 5) * 8) | ((lane ^ 5) * 8 + 1) << 16);
  }
}

TEST(MatrixMemory, Move) {
  const auto found = words("shl.b32 %r0, %t, 1; add.u32 %r1, %r0, 1; shl.b32 %r1, %r1, 16;"
                           "or.b32 %r0, %r0, %r1; movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0;"
                           "st.global.b32 [%pt], %r0;");
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(found[lane], (lane % 4 * 2 * 8 + lane / 4) | ((lane % 4 * 2 + 1) * 8 + lane / 4)
                                                               << 16);
}

TEST(MatrixMemory, Faults) {
  const std::string load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, ";
  EXPECT_CONTAINS(failure(tiles + load + "[%r16+512]; }"),
                  "thread (0, 0, 0) of CTA (0, 0, 0) reads 16 bytes at byte 592 of shared memory, "
                  "which has 512");
  EXPECT_CONTAINS(failure(tiles + load + "[%r16+8]; }"), "expected a multiple of 16");
  EXPECT_CONTAINS(failure(tiles + "ldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [%p]; }"),
                  "supplies an address of global memory, expected shared memory");
  std::string racy = tiles;
  racy.erase(racy.find("bar.warp.sync -1;"), 17);
  EXPECT_CONTAINS(failure(racy + load + "[%r16]; }"), "race in shared memory");
  EXPECT_CONTAINS(failure(tiles + load + "[%r16]; st.shared.b32 [%r12], 0; }"),
                  "overwrites what is read by");
  EXPECT_CONTAINS(failure("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1}, [%r0];"),
                  "expected 4 registers in braces, found 2");
  EXPECT_CONTAINS(failure("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%r0];"),
                  "is not supported");
}

TEST(MatrixMemory, CountsWavefronts) {
  Memory memory;
  // Rows of 16 bytes at a stride of 128 bytes are all in the same four banks.
  const std::string text = kernelOf(
      ".shared .align 16 .b8 s[4096]; mov.u32 %r9, s;\nshl.b32 %r10, %t, 7; add.u32 %r10, %r10, "
      "%r9;\nldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%r10];\n");
  auto loaded = LoadedModule::load(text, "k.ptx", memory);
  ASSERT_TRUE(loaded);
  Launch launch = blockOf(32);
  launch.countsAccesses = true;
  launch.setParameter(0, uint64_t(0)), launch.setParameter(1, uint64_t(0));
  ASSERT_TRUE((*loaded)->run("k", launch));
  for (const LineCounts &counts : (*loaded)->takeCounts())
    if (counts.line == 4) {
      EXPECT_EQ(counts.executions, 1u);
      EXPECT_EQ(counts.wavefronts, 32u);
      EXPECT_EQ(counts.leastWavefronts, 4u);
    }
}

} // namespace
