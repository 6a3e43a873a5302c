//===- Conversions.cpp - cvt ----------------------------------------------===//
//
// The conversions that kernels use often are loops over lanes. All others compute from an exact
// number: a sign, an integer of 64 bits and a power of two.
//
//===----------------------------------------------------------------------===//

#include "runtime/ptx/ExactNumbers.h"
#include "runtime/ptx/HalfFloats.h"
#include "runtime/ptx/StepDecoder.h"

#include <cmath>

namespace pe::ptx {

namespace {

/// Step::flags of a conversion.
enum Flags : uint16_t {
  kFlushes = 1,
  kSaturates = 2,
  kRectifies = 4,
  kClampsToFinite = 8,
  kRounding = 7 << 4,        // Rounding, shifted
  kRoundsToInteger = 1 << 8, // cvt.rni.f32.f32
  kSourceShift = 9           // log2 of the bytes of the register of the source
};
constexpr unsigned kRoundingShift = 4;

//===----------------------------------------------------------------------===//
// Registers wider than the type
//===----------------------------------------------------------------------===//

/// Reads the low bytes of registers of `bytes` bytes.
template <typename A> void readLanes(const std::byte *from, unsigned bytes, A *to) {
  for (unsigned i = 0; i < kWarpSize; ++i)
    std::memcpy(&to[i], from + size_t(i) * bytes, sizeof(A));
}

/// Writes values of `D` to registers of `bytes` bytes, extended by sign or zero.
template <typename D>
void writeLanes(std::byte *to, unsigned bytes, const D *from, bool isSignedResult, Lanes lanes) {
  using Signed = std::make_signed_t<D>;
  forEachLane(lanes, [&](unsigned i) {
    const uint64_t value = isSignedResult ? uint64_t(int64_t(Signed(from[i]))) : uint64_t(from[i]);
    std::memcpy(to + size_t(i) * bytes, &value, bytes);
  });
}

/// Bits of the size of T.
template <typename T>
using BitsOf =
    std::conditional_t<sizeof(T) == 1, uint8_t,
                       std::conditional_t<sizeof(T) == 2, uint16_t,
                                          std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

/// d = F(a) for registers of the size of the types, or (slower) of other sizes: `width` bytes of
/// the destination.
template <typename D, typename A, typename F> struct Convert {
  [[gnu::always_inline]] static void run(Warp &warp, const Step &step, Lanes lanes) {
    const unsigned sourceBytes = 1u << (step.flags >> kSourceShift);
    if (sourceBytes == sizeof(A) && step.width == sizeof(D)) {
      D *d = warp.lanes<D>(step.d);
      const A *a = warp.lanes<A>(step.a);
      forLanes<1>(lanes, [=](unsigned i) __attribute__((always_inline)) { d[i] = F()(a[i]); });
      return;
    }
    alignas(32) A values[kWarpSize];
    alignas(32) D results[kWarpSize];
    readLanes(warp.lanes<std::byte>(step.a), sourceBytes, values);
    for (unsigned i = 0; i < kWarpSize; ++i)
      results[i] = F()(values[i]);
    BitsOf<D> bits[kWarpSize];
    std::memcpy(bits, results, sizeof(bits));
    writeLanes(warp.lanes<std::byte>(step.d), step.width, bits, isSigned(step.type), lanes);
  }
};

//===----------------------------------------------------------------------===//
// Conversions as loops
//===----------------------------------------------------------------------===//

template <typename D> struct Truncate { // between integers
  template <typename A> D operator()(A a) const { return D(a); }
};
template <typename D> struct ToFloat {
  template <typename A> D operator()(A a) const { return D(a); }
};

/// Rounds to an integer: kMode is a rounding of the host's instructions.
template <Rounding kMode, typename T> T integral(T value) {
  switch (kMode) {
  case Rounding::Zero:
    return __builtin_elementwise_trunc(value);
  case Rounding::Down:
    return __builtin_elementwise_floor(value);
  case Rounding::Up:
    return __builtin_elementwise_ceil(value);
  default:
    return __builtin_elementwise_roundeven(value);
  }
}

/// Clamps to the range of D; NaN becomes 0.
template <typename D, Rounding kMode, bool kFlush> struct ToInteger {
  template <typename A> D operator()(A a) const {
    const A value = integral<kMode>(flush<kFlush>(a));
    // The bounds are powers of two, which A represents: the upper one is one more than the most.
    constexpr int digits = std::numeric_limits<D>::digits;
    constexpr A end = A(uint64_t(1) << (digits - 1)) * A(2);
    constexpr A least = std::is_signed_v<D> ? -end : A(0);
    const bool isInside = value >= least && value < end;
    const D inside = D(isInside ? value : A(0));
    return value >= end    ? std::numeric_limits<D>::max()
           : value < least ? std::numeric_limits<D>::min()
                           : inside;
  }
};

template <Rounding kMode, bool kFlush> struct ToIntegral { // cvt.rni.f32.f32
  template <typename T> T operator()(T a) const {
    return finish<kFlush, false>(integral<kMode>(flush<kFlush>(a)));
  }
};

template <typename D, bool kFlush> struct Resize { // between f32 and f64
  template <typename A> D operator()(A a) const {
    return finish<kFlush, false>(D(flush<kFlush>(a)));
  }
};
template <typename Format> struct NarrowSingle {
  uint16_t operator()(float a) const { return Format::narrow(a); }
};
template <typename Format> struct WidenHalf {
  float operator()(uint16_t a) const { return canonical(Format::widen(a)); }
};
struct ToTensorFloat { // cvt.rna.tf32.f32
  uint32_t operator()(float a) const {
    const uint32_t rounded = (asBits(a) + 0x1000) & ~uint32_t(0x1FFF);
    return a != a ? kSingleNaN : (asBits(a) & 0x7FFFFFFF) == 0x7F800000 ? asBits(a) : rounded;
  }
};

template <typename D, typename A, typename F> Handler loop() {
  return handlerOf<Convert<D, A, F>>();
}

template <typename A> Handler truncateFrom(Type to) {
  switch (bytesOf(to)) {
  case 1:
    return loop<uint8_t, A, Truncate<uint8_t>>();
  case 2:
    return loop<uint16_t, A, Truncate<uint16_t>>();
  case 4:
    return loop<uint32_t, A, Truncate<uint32_t>>();
  default:
    return loop<uint64_t, A, Truncate<uint64_t>>();
  }
}
Handler truncateHandler(Type to, Type from) {
  switch (from) {
  case Type::U8:
    return truncateFrom<uint8_t>(to);
  case Type::S8:
    return truncateFrom<int8_t>(to);
  case Type::U16:
    return truncateFrom<uint16_t>(to);
  case Type::S16:
    return truncateFrom<int16_t>(to);
  case Type::U32:
    return truncateFrom<uint32_t>(to);
  case Type::S32:
    return truncateFrom<int32_t>(to);
  case Type::U64:
    return truncateFrom<uint64_t>(to);
  default:
    return truncateFrom<int64_t>(to);
  }
}

template <typename D> Handler toFloatHandler(Type from) {
  switch (from) {
  case Type::U32:
    return loop<D, uint32_t, ToFloat<D>>();
  case Type::S32:
    return loop<D, int32_t, ToFloat<D>>();
  case Type::U64:
    return loop<D, uint64_t, ToFloat<D>>();
  case Type::S64:
    return loop<D, int64_t, ToFloat<D>>();
  default:
    return nullptr;
  }
}

template <typename A, Rounding kMode, bool kFlush> Handler toIntegerHandler(Type to) {
  switch (to) {
  case Type::U32:
    return loop<uint32_t, A, ToInteger<uint32_t, kMode, kFlush>>();
  case Type::S32:
    return loop<int32_t, A, ToInteger<int32_t, kMode, kFlush>>();
  case Type::U64:
    return loop<uint64_t, A, ToInteger<uint64_t, kMode, kFlush>>();
  case Type::S64:
    return loop<int64_t, A, ToInteger<int64_t, kMode, kFlush>>();
  case Type::F32:
  case Type::F64:
    return loop<A, A, ToIntegral<kMode, kFlush>>();
  default:
    return nullptr;
  }
}
template <typename A, bool kFlush> Handler toIntegerHandler(Type to, Rounding mode) {
  switch (mode) {
  case Rounding::Nearest:
    return toIntegerHandler<A, Rounding::Nearest, kFlush>(to);
  case Rounding::Zero:
    return toIntegerHandler<A, Rounding::Zero, kFlush>(to);
  case Rounding::Down:
    return toIntegerHandler<A, Rounding::Down, kFlush>(to);
  case Rounding::Up:
    return toIntegerHandler<A, Rounding::Up, kFlush>(to);
  default:
    return nullptr;
  }
}

struct Form {
  Type to, from;
  Rounding rounding;
  bool toInteger; // a rounding to an integer
  bool flushes;
  bool isPlain; // no .sat, .relu or .satfinite
};

/// Returns the loop of a conversion, or null if there is none.
Handler fastHandler(const Form &form) {
  const auto [to, from, rounding, toInteger, flushes, isPlain] = form;
  if (!isPlain)
    return nullptr;
  const bool isNearest = rounding == Rounding::Nearest && !toInteger;
  if (isInteger(to) && isInteger(from))
    return truncateHandler(to, from);
  if (toInteger && (isInteger(to) || to == from)) {
    if (from == Type::F32)
      return flushes ? toIntegerHandler<float, true>(to, rounding)
                     : toIntegerHandler<float, false>(to, rounding);
    return from == Type::F64 ? toIntegerHandler<double, false>(to, rounding) : nullptr;
  }
  if (to == Type::TF32)
    return rounding == Rounding::Away ? loop<uint32_t, float, ToTensorFloat>() : nullptr;
  if (!isNearest)
    return nullptr;
  if (isInteger(from))
    return to == Type::F32   ? toFloatHandler<float>(from)
           : to == Type::F64 ? toFloatHandler<double>(from)
                             : nullptr;
  if (to == Type::F32 && from == Type::F64)
    return flushes ? loop<float, double, Resize<float, true>>()
                   : loop<float, double, Resize<float, false>>();
  if (to == Type::F64 && from == Type::F32)
    return flushes ? loop<double, float, Resize<double, true>>()
                   : loop<double, float, Resize<double, false>>();
  if (flushes)
    return nullptr;
  if (from == Type::F32 && to == Type::F16)
    return loop<uint16_t, float, NarrowSingle<Half>>();
  if (from == Type::F32 && to == Type::BF16)
    return loop<uint16_t, float, NarrowSingle<Brain>>();
  if (to == Type::F32 && from == Type::F16)
    return loop<float, uint16_t, WidenHalf<Half>>();
  if (to == Type::F32 && from == Type::BF16)
    return loop<float, uint16_t, WidenHalf<Brain>>();
  return nullptr;
}

//===----------------------------------------------------------------------===//
// All conversions
//===----------------------------------------------------------------------===//

/// Converts the bits of a value of `from` as a step states.
uint64_t convert(const Step &step, uint64_t bits) {
  const Type to = step.type, from = step.type2;
  const Rounding rounding = Rounding((step.flags & kRounding) >> kRoundingShift);
  const bool flushes = step.flags & kFlushes;
  Number number = numberOf(from, bits);
  if (flushes && from == Type::F32 && (bits & 0x7F800000) == 0)
    number.magnitude = 0;
  if (isInteger(to)) {
    if (isInteger(from) && !(step.flags & kSaturates))
      return number.isNegative ? uint64_t(0) - number.magnitude : number.magnitude;
    return clampedInteger(number, to, rounding);
  }
  if (step.flags & kRoundsToInteger)
    number = roundedToInteger(number, rounding);
  const Rounding last = step.flags & kRoundsToInteger ? Rounding::Nearest : rounding;
  if (step.flags & kRectifies && number.isNegative && number.kind != Number::NotANumber)
    number = Number();
  if (step.flags & kSaturates)
    number = saturated(number);
  const uint64_t result = encode(number, to, last, step.flags & kClampsToFinite);
  if (flushes && to == Type::F32 && (result & 0x7F800000) == 0)
    return result & 0x80000000;
  return result;
}

uint64_t readLane(Warp &warp, uint32_t offset, unsigned bytes, unsigned lane) {
  uint64_t bits = 0;
  std::memcpy(&bits, warp.lanes<std::byte>(offset) + size_t(lane) * bytes, bytes);
  return bits;
}

void convertExactly(Warp &warp, const Step &step, Lanes lanes) {
  const unsigned sourceBytes = 1u << (step.flags >> kSourceShift);
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t result = convert(step, readLane(warp, step.a, sourceBytes, lane));
    const unsigned unused = 64 - 8 * bytesOf(step.type);
    result = isSigned(step.type) ? uint64_t(int64_t(result << unused) >> unused)
                                 : result << unused >> unused;
    std::memcpy(warp.lanes<std::byte>(step.d) + size_t(lane) * step.width, &result, step.width);
  });
}

/// d = {a, b}: `a` is the upper half.
void convertPair(Warp &warp, const Step &step, Lanes lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    const uint64_t upper = convert(step, readLane(warp, step.a, 4, lane));
    const uint64_t lower = convert(step, readLane(warp, step.b, 4, lane));
    warp.lanes<uint32_t>(step.d)[lane] = uint32_t(upper << 16 | lower);
  });
}

template <typename Format> struct NarrowPair { // to nearest
  uint32_t operator()(float a, float b) const {
    return uint32_t(Format::narrow(a)) << 16 | Format::narrow(b);
  }
};

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

struct RoundingName {
  std::string_view name;
  Rounding rounding;
  bool toInteger;
};
constexpr RoundingName kRoundings[] = {
    {"rn", Rounding::Nearest, false}, {"rz", Rounding::Zero, false},
    {"rm", Rounding::Down, false},    {"rp", Rounding::Up, false},
    {"rna", Rounding::Away, false},   {"rni", Rounding::Nearest, true},
    {"rzi", Rounding::Zero, true},    {"rmi", Rounding::Down, true},
    {"rpi", Rounding::Up, true}};

/// Returns the rounding that a statement names, or nullptr.
const RoundingName *roundingOf(Decoder &decoder, const Statement &statement) {
  const RoundingName *found = nullptr;
  for (const RoundingName &each : kRoundings)
    if (statement.has(each.name)) {
      if (found)
        decoder.refuseForm(statement);
      found = &each;
    }
  return found;
}

/// Returns true if a conversion from a floating-point type needs no rounding.
bool isExact(Type to, Type from) {
  return to == from || to == Type::F64 || (to == Type::F32 && from != Type::F64);
}

/// Refuses a conversion without the rounding that it needs.
void checkRounding(Decoder &decoder, const Statement &statement, Type to, Type from,
                   const RoundingName *rounding) {
  if (rounding && rounding->rounding == Rounding::Away && to != Type::TF32)
    decoder.refuseForm(statement);
  if (isInteger(to) ? isInteger(from) == (rounding != nullptr) : false)
    decoder.refuse(rounding ? "rounding of integers in '"
                            : "expected .rni, .rzi, .rmi or .rpi in '",
                   statement.mnemonic(), "'");
  if (isInteger(to))
    return;
  const bool isIntegral = rounding && rounding->toInteger && to == from;
  const bool needsOne = isInteger(from) || !isExact(to, from);
  if (rounding ? rounding->toInteger && !isIntegral : needsOne)
    decoder.refuse("expected .rn, .rz, .rm or .rp in '", statement.mnemonic(), "'");
}

void decodePair(Decoder &decoder, const Statement &statement, Step &step, Type half) {
  decoder.expectOperands(statement, 3, 3);
  step.d = decoder.destination(statement.operands[0], 4);
  step.a = decoder.source(statement.operands[1], Type::F32);
  step.b = decoder.source(statement.operands[2], Type::F32);
  step.type = half;
  const Rounding rounding = Rounding((step.flags & kRounding) >> kRoundingShift);
  const bool isPlain = !(step.flags & ~kRounding & ((1 << kSourceShift) - 1));
  step.run = !isPlain || rounding != Rounding::Nearest ? convertPair
             : half == Type::F16 ? handlerOf<Binary<uint32_t, float, float, NarrowPair<Half>>>()
                                 : handlerOf<Binary<uint32_t, float, float, NarrowPair<Brain>>>();
}

bool isConvertible(Type type) {
  return isInteger(type) || type == Type::F16 || type == Type::BF16 || type == Type::F32 ||
         type == Type::F64;
}

void decodeConversion(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi",
                                      "ftz", "sat", "relu", "satfinite"});
  const std::vector<Type> types = decoder.types(statement);
  if (types.size() != 2)
    decoder.refuseForm(statement);
  const Type to = types[0], from = types[1];
  const RoundingName *rounding = roundingOf(decoder, statement);
  const Rounding mode = rounding ? rounding->rounding : Rounding::Nearest;
  const bool isPair = (to == Type::F16x2 || to == Type::BF16x2) && from == Type::F32;
  const bool isTensor = to == Type::TF32 && from == Type::F32;
  const bool flushes = statement.has("ftz"), saturates = statement.has("sat");
  const bool rectifies = statement.has("relu"), isFinite = statement.has("satfinite");
  const bool isNarrow = isPair || isTensor || to == Type::F16 || to == Type::BF16;
  if ((!isPair && !isTensor && !isConvertible(to)) || !isConvertible(from) ||
      ((rectifies || isFinite) && !isNarrow) || (saturates && (isPair || isTensor)) ||
      (flushes && to != Type::F32 && from != Type::F32))
    decoder.refuseForm(statement);
  checkRounding(decoder, statement, to, from, rounding);
  step.type = to, step.type2 = from;
  step.flags = uint16_t((flushes ? kFlushes : 0) | (saturates ? kSaturates : 0) |
                        (rectifies ? kRectifies : 0) | (isFinite ? kClampsToFinite : 0) |
                        (unsigned(mode) << kRoundingShift) |
                        (rounding && rounding->toInteger ? kRoundsToInteger : 0));
  if (isPair)
    return decodePair(decoder, statement, step, to == Type::F16x2 ? Type::F16 : Type::BF16);
  decoder.expectOperands(statement, 2, 2);
  unsigned toBytes = 0, fromBytes = 0;
  step.d = decoder.destinationOfAnySize(statement.operands[0], toBytes);
  step.a = decoder.sourceOfAnySize(statement.operands[1], from, fromBytes);
  if (toBytes < bytesOf(to) || fromBytes < bytesOf(from) ||
      (isFloat(from) && fromBytes != bytesOf(from)) || (!isInteger(to) && toBytes != bytesOf(to)))
    decoder.refuse("expected registers of at least the sizes of the types of '",
                   statement.mnemonic(), "'");
  step.width = uint8_t(toBytes);
  step.flags |= uint16_t(unsigned(std::countr_zero(fromBytes)) << kSourceShift);
  const bool isPlain = !saturates && !rectifies && !isFinite;
  step.run = fastHandler({to, from, mode, rounding && rounding->toInteger, flushes, isPlain});
  if (!step.run)
    step.run = convertExactly;
}

} // namespace

void addConversions(Opcodes &opcodes) { opcodes["cvt"] = decodeConversion; }

} // namespace pe::ptx
