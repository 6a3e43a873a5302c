//===- Matrix.cpp - mma ---------------------------------------------------===//
//
// Fragments follow the sections "Matrix Fragments for mma" of the PTX ISA, which all say the same
// thing: 32 lanes times the elements of one register are 8 rows of 4 lanes each. A register of A is
// a block of 8 rows of A in row-major order, and one of B a block of 8 columns of B in column-major
// order. The registers of A go down the rows of A first. A register of the accumulators holds each
// second column of 8 rows, or, in half precision, all columns.
//
//===----------------------------------------------------------------------===//

#include "runtime/ptx/Copies.h"
#include "runtime/ptx/MatrixMemory.h"

#include <algorithm>
#include <cmath>

namespace pe::ptx {

namespace {

// Vectors of 8 elements, which the compiler splits where the processor has shorter ones.
template <typename T> using Vector = T __attribute__((vector_size(8 * sizeof(T))));
/// One row of the accumulators.
using Row = Vector<double>;
constexpr int kColumns = 8;

template <typename To, typename From> [[gnu::always_inline]] inline To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

template <typename T> [[gnu::always_inline]] inline Vector<T> loadVector(const T *from) {
  Vector<T> vector;
  std::memcpy(&vector, from, sizeof(vector));
  return vector;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

struct BFloat {
  using Bits = uint16_t;
  [[gnu::always_inline]] static Row widen(Vector<uint16_t> bits) {
    const auto wide = __builtin_convertvector(bits, Vector<uint32_t>) << 16;
    return __builtin_convertvector(bitCast<Vector<float>>(wide), Row);
  }
};

struct Half {
  using Bits = uint16_t;
  /// Scales by a power of two, which is exact for subnormal numbers too.
  [[gnu::always_inline]] static Row widen(Vector<uint16_t> bits) {
    const auto wide = __builtin_convertvector(bits, Vector<uint32_t>);
    const Vector<uint32_t> sign = (wide & 0x8000) << 16, magnitude = (wide & 0x7FFF) << 13;
    const auto finite = bitCast<Vector<uint32_t>>(bitCast<Vector<float>>(magnitude) * 0x1p112f);
    const Vector<uint32_t> special = magnitude | 0x7F800000;
    const Vector<uint32_t> result = sign | (magnitude >= 0x0F800000 ? special : finite);
    return __builtin_convertvector(bitCast<Vector<float>>(result), Row);
  }
};

struct TensorFloat {
  using Bits = uint32_t;
  /// The lower 13 bits are ignored.
  [[gnu::always_inline]] static Row widen(Vector<uint32_t> bits) {
    return __builtin_convertvector(bitCast<Vector<float>>(bits & ~uint32_t(0x1FFF)), Row);
  }
};

template <typename T> struct Byte {
  using Bits = T;
  [[gnu::always_inline]] static Row widen(Vector<T> bits) {
    return __builtin_convertvector(bits, Row);
  }
};

/// Turns a block of 8 columns of `Width` elements into rows of 8.
template <int Width, typename Bits>
[[gnu::always_inline]] inline void transpose(const Bits *from, Bits *to) {
  for (int i = 0; i < kColumns; ++i)
    for (int j = 0; j < Width; ++j)
      to[kColumns * j + i] = from[Width * i + j];
}

/// As above, with three steps that interleave rows i and i + 4.
template <> [[gnu::always_inline]] inline void transpose<8>(const uint16_t *from, uint16_t *to) {
  Vector<uint16_t> rows[8], next[8];
  std::memcpy(rows, from, sizeof(rows));
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < 4; ++i) {
      next[2 * i] = __builtin_shufflevector(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    std::memcpy(rows, next, sizeof(rows));
  }
  std::memcpy(to, rows, sizeof(rows));
}

//===----------------------------------------------------------------------===//
// Accumulators
//===----------------------------------------------------------------------===//

/// NaN results of mma are this NaN.
constexpr uint32_t kNaN = 0x7FFFFFFF;

/// Accumulators with a register per element: f32 and s32. Two registers hold 8 rows.
template <typename T> struct Accumulators {
  using Quarter = T __attribute__((vector_size(4 * sizeof(T))));
  static constexpr int registers(int rows) { return rows / 4; }

  [[gnu::always_inline]] static void load(Warp &warp, const uint32_t *list, int m, Row *to) {
    for (int i = 0; i < m; ++i) {
      Quarter even, odd;
      std::memcpy(&even, warp.lanes<T>(list[i / 8 * 2]) + i % 8 * 4, sizeof(even));
      std::memcpy(&odd, warp.lanes<T>(list[i / 8 * 2 + 1]) + i % 8 * 4, sizeof(odd));
      to[i] =
          __builtin_convertvector(__builtin_shufflevector(even, odd, 0, 4, 1, 5, 2, 6, 3, 7), Row);
    }
  }

  [[gnu::always_inline]] static Vector<T> narrow(Row value, [[maybe_unused]] bool saturates) {
    if constexpr (std::is_floating_point_v<T>) {
      const auto result = __builtin_convertvector(value, Vector<float>);
      const auto bits = bitCast<Vector<uint32_t>>(result);
      return bitCast<Vector<float>>(result != result ? (bits | kNaN) & kNaN : bits);
    } else { // the sum is exact
      Vector<T> result;
      for (int i = 0; i < kColumns; ++i)
        result[i] =
            T(uint32_t(int64_t(saturates ? std::clamp(value[i], -0x1p31, 0x1p31 - 1) : value[i])));
      return result;
    }
  }

  [[gnu::always_inline]] static void store(Warp &warp, const Step &step, int m, const Row *from) {
    const uint32_t *list = warp.list(step);
    for (int i = 0; i < m; ++i) {
      const Vector<T> row = narrow(from[i], step.flags);
      const Quarter even = __builtin_shufflevector(row, row, 0, 2, 4, 6);
      const Quarter odd = __builtin_shufflevector(row, row, 1, 3, 5, 7);
      std::memcpy(warp.lanes<T>(list[i / 8 * 2]) + i % 8 * 4, &even, sizeof(even));
      std::memcpy(warp.lanes<T>(list[i / 8 * 2 + 1]) + i % 8 * 4, &odd, sizeof(odd));
    }
  }
};

/// Accumulators with two elements a register, which holds 8 rows.
template <> struct Accumulators<Half> {
  static constexpr int registers(int rows) { return rows / 8; }

  [[gnu::always_inline]] static void load(Warp &warp, const uint32_t *list, int m, Row *to) {
    for (int i = 0; i < m; ++i)
      to[i] = Half::widen(loadVector(warp.lanes<uint16_t>(list[i / 8]) + i % 8 * 8));
  }

  [[gnu::always_inline]] static void store(Warp &warp, const Step &step, int m, const Row *from) {
    for (int i = 0; i < m; ++i) {
      uint16_t *to = warp.lanes<uint16_t>(warp.list(step)[i / 8]) + i % 8 * 8;
      for (int j = 0; j < kColumns; ++j) {
        const double value = from[i][j];
        to[j] = value != value ? uint16_t(kNaN) : std::bit_cast<uint16_t>(_Float16(value));
      }
    }
  }
};

//===----------------------------------------------------------------------===//
// Multiplication
//===----------------------------------------------------------------------===//

/// d = a * b + c. Products of two elements are exact in double precision. They and c are summed in
/// double precision, in ascending order, and rounded once to the type of d; a fused multiply-add
/// gives the same bits. The chips round differently, and the ISA leaves it open.
/// Code::offsets has the registers of d, a, b and c in this order; `flags`: 1 for satfinite.
template <typename A, typename B, typename Sum, int M, int K, int RowsTogether>
[[gnu::always_inline]] inline void multiply(Warp &warp, const Step &step) {
  using BitsA = typename A::Bits;
  using BitsB = typename B::Bits;
  constexpr int kWidth = 16 / sizeof(BitsA); // columns of a block of A
  constexpr int kDeep = K / kWidth, kHigh = M / 8;
  alignas(64) double a[kDeep * kHigh][8 * kWidth];
  Row b[K], sum[M];
  const uint32_t *registers = warp.list(step) + Accumulators<Sum>::registers(M);
  for (auto &block : a) {
    const BitsA *from = warp.lanes<BitsA>(*registers++);
    for (int i = 0; i < 8 * kWidth; i += 8) {
      const Row row = A::widen(loadVector(from + i));
      std::memcpy(block + i, &row, sizeof(row));
    }
  }
  for (int r = 0; r < kDeep; ++r) {
    BitsB rows[8 * kWidth];
    transpose<kWidth>(warp.lanes<BitsB>(*registers++), rows);
    for (int i = 0; i < kWidth; ++i)
      b[r * kWidth + i] = B::widen(loadVector(rows + 8 * i));
  }
  Accumulators<Sum>::load(warp, registers, M, sum);
  for (int m = 0; m < M; m += RowsTogether) {
    Row rows[RowsTogether];
    std::memcpy(rows, sum + m, sizeof(rows));
    for (int k = 0; k < K; ++k)
      for (int i = 0; i < RowsTogether; ++i)
        rows[i] += a[k / kWidth * kHigh + m / 8][(m % 8 + i) * kWidth + k % kWidth] * b[k];
    std::memcpy(sum + m, rows, sizeof(rows));
  }
  Accumulators<Sum>::store(warp, step, M, sum);
}

template <typename A, typename B, typename Sum, int M, int K>
void multiplyBaseline(Warp &warp, const Step &step, Lanes lanes) {
  expectWholeWarp(warp, lanes);
  multiply<A, B, Sum, M, K, 2>(warp, step);
}

#if defined(__x86_64__)
template <typename A, typename B, typename Sum, int M, int K>
[[gnu::target("avx2,fma")]] void multiplyAvx2(Warp &warp, const Step &step, Lanes lanes) {
  expectWholeWarp(warp, lanes);
  multiply<A, B, Sum, M, K, 4>(warp, step);
}

template <typename A, typename B, typename Sum, int M, int K>
[[gnu::target("avx512f,avx512vl,avx512dq,avx512bw,fma")]] void
multiplyAvx512(Warp &warp, const Step &step, Lanes lanes) {
  expectWholeWarp(warp, lanes);
  multiply<A, B, Sum, M, K, 8>(warp, step);
}
#endif

/// Returns the fastest variant that this processor executes.
template <typename A, typename B, typename Sum, int M, int K> Handler fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return multiplyAvx512<A, B, Sum, M, K>;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return multiplyAvx2<A, B, Sum, M, K>;
#endif
  return multiplyBaseline<A, B, Sum, M, K>;
}

/// Double precision: fused multiply-adds in ascending order, each rounded.
template <int M, int K> void multiplyDoubles(Warp &warp, const Step &step, Lanes lanes) {
  expectWholeWarp(warp, lanes);
  constexpr int kBlocksOfRows = M / 8;
  double sum[M][kColumns];
  const uint32_t *a = warp.list(step) + M / 4, *b = a + kBlocksOfRows * (K / 4), *c = b + K / 4;
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < kColumns; ++n) {
      const int lane = m % 8 * 4 + n / 2;
      double value = warp.lanes<double>(c[m / 8 * 2 + n % 2])[lane];
      for (int k = 0; k < K; ++k)
        value = std::fma(warp.lanes<double>(a[k / 4 * kBlocksOfRows + m / 8])[m % 8 * 4 + k % 4],
                         warp.lanes<double>(b[k / 4])[n * 4 + k % 4], value);
      sum[m][n] = value;
    }
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < kColumns; ++n)
      warp.lanes<double>(warp.list(step)[m / 8 * 2 + n % 2])[m % 8 * 4 + n / 2] = sum[m][n];
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// A combination of a shape and types.
struct Form {
  std::string_view shape;
  Type sum, a, b;
  int ofD, ofA, ofB; // registers; c has those of d
  Handler run;
};

template <typename A, typename B> void addBytes(std::vector<Form> &forms, Type a, Type b) {
  const Type sum = Type::S32;
  forms.push_back({"m8n8k16", sum, a, b, 2, 1, 1, multiplyBaseline<A, B, int32_t, 8, 16>});
  forms.push_back({"m16n8k16", sum, a, b, 4, 2, 1, multiplyBaseline<A, B, int32_t, 16, 16>});
  forms.push_back({"m16n8k32", sum, a, b, 4, 4, 2, multiplyBaseline<A, B, int32_t, 16, 32>});
}

template <typename E> void addHalves(std::vector<Form> &forms, Type type) {
  forms.push_back({"m16n8k16", Type::F32, type, type, 4, 4, 2, fastest<E, E, float, 16, 16>()});
  forms.push_back({"m16n8k8", Type::F32, type, type, 4, 2, 1, fastest<E, E, float, 16, 8>()});
}

const std::vector<Form> &allForms() {
  static const std::vector<Form> forms = [] {
    std::vector<Form> all;
    const Type half = Type::F16, tensor = Type::TF32, twice = Type::F64;
    addHalves<Half>(all, half);
    addHalves<BFloat>(all, Type::BF16);
    all.push_back({"m16n8k16", half, half, half, 2, 4, 2, fastest<Half, Half, Half, 16, 16>()});
    all.push_back({"m16n8k8", half, half, half, 2, 2, 1, fastest<Half, Half, Half, 16, 8>()});
    all.push_back({"m16n8k8", Type::F32, tensor, tensor, 4, 4, 2,
                   fastest<TensorFloat, TensorFloat, float, 16, 8>()});
    all.push_back({"m16n8k4", Type::F32, tensor, tensor, 4, 2, 1,
                   fastest<TensorFloat, TensorFloat, float, 16, 4>()});
    all.push_back({"m8n8k4", twice, twice, twice, 2, 1, 1, multiplyDoubles<8, 4>});
    all.push_back({"m16n8k4", twice, twice, twice, 4, 2, 1, multiplyDoubles<16, 4>});
    all.push_back({"m16n8k8", twice, twice, twice, 4, 4, 2, multiplyDoubles<16, 8>});
    all.push_back({"m16n8k16", twice, twice, twice, 4, 8, 4, multiplyDoubles<16, 16>});
    addBytes<Byte<int8_t>, Byte<int8_t>>(all, Type::S8, Type::S8);
    addBytes<Byte<int8_t>, Byte<uint8_t>>(all, Type::S8, Type::U8);
    addBytes<Byte<uint8_t>, Byte<int8_t>>(all, Type::U8, Type::S8);
    addBytes<Byte<uint8_t>, Byte<uint8_t>>(all, Type::U8, Type::U8);
    return all;
  }();
  return forms;
}

const Form *formOf(Decoder &decoder, const Statement &statement) {
  const std::vector<Type> types = decoder.types(statement);
  if (types.size() != 4 || types[0] != types[3])
    return nullptr;
  const bool saturates = statement.has("satfinite");
  for (const Form &form : allForms())
    if (statement.has(form.shape) && form.sum == types[0] && form.a == types[1] &&
        form.b == types[2] && (!saturates || form.sum == Type::S32))
      return &form;
  return nullptr;
}

/// Appends the registers of a fragment to `offsets`.
void addFragment(Decoder &decoder, const Operand &operand, std::string_view name, int count,
                 Type type, bool isResult, std::vector<uint32_t> &offsets) {
  const bool isVector = operand.kind == Operand::Kind::Vector;
  const int found = isVector ? int(operand.elements.size()) : 1;
  if (found != count)
    decoder.refuse("expected ", count, " registers of ", name, ", found ", found);
  for (int i = 0; i < count; ++i) {
    const Operand &element = isVector ? operand.elements[i] : operand;
    offsets.push_back(isResult ? decoder.destination(element, bytesOf(type))
                               : decoder.source(element, type));
  }
}

void decodeMultiply(Decoder &decoder, const Statement &statement, Step &step) {
  const Form *form = formOf(decoder, statement);
  if (!form)
    decoder.refuseForm(statement);
  decoder.expectModifiers(statement, {"sync", "aligned", form->shape, "row", "col", "satfinite"});
  const auto layout = std::ranges::find(statement.modifiers, "row");
  if (!statement.has("sync") || !statement.has("aligned") || layout == statement.modifiers.end() ||
      layout + 1 == statement.modifiers.end() || layout[1] != "col")
    decoder.refuseForm(statement);
  decoder.expectOperands(statement, 4, 4);
  const bool isDouble = form->sum == Type::F64;
  const Type type = isDouble ? Type::F64 : Type::B32;
  const Type sum = form->sum == Type::F16 ? Type::B32 : form->sum;
  const std::vector<Operand> &operands = statement.operands;
  std::vector<uint32_t> offsets;
  addFragment(decoder, operands[0], "d", form->ofD, sum, true, offsets);
  addFragment(decoder, operands[1], "a", form->ofA, type, false, offsets);
  addFragment(decoder, operands[2], "b", form->ofB, type, false, offsets);
  addFragment(decoder, operands[3], "c", form->ofD, sum, false, offsets);
  step.list = decoder.append(offsets);
  step.flags = statement.has("satfinite");
  step.flow = Flow::Collective;
  step.run = form->run;
}

} // namespace

void addMatrix(Opcodes &opcodes) {
  opcodes["mma"] = decodeMultiply;
  addMatrixMemory(opcodes);
  for (std::string_view name :
       {"wgmma", "tcgen05", "mbarrier", "setmaxnreg", "griddepcontrol", "clusterlaunchcontrol",
        "mapa", "getctarank", "multimem", "tensormap"})
    opcodes[name] = refuseAsynchronous;
}

} // namespace pe::ptx
