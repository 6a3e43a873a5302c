//===- BitFields.cpp - popc, clz, bfind, bfe, bfi, dp4a, ... --------------===//

#include "runtime/ptx/Arithmetic.h"
#include "runtime/ptx/LaneLoops.h"

namespace pe::ptx {

namespace {

struct CountOnes {
  template <typename T> uint32_t operator()(T a) const { return uint32_t(std::popcount(a)); }
};
struct CountLeadingZeros {
  template <typename T> uint32_t operator()(T a) const { return uint32_t(std::countl_zero(a)); }
};
struct Reverse {
  uint32_t operator()(uint32_t a) const { return __builtin_bitreverse32(a); }
  uint64_t operator()(uint64_t a) const { return __builtin_bitreverse64(a); }
};
/// Position of the most significant bit that is not a sign bit, or -1; with kIsShift, the left
/// shift that brings it to the top.
template <bool kIsShift> struct FindBit {
  template <typename T> uint32_t operator()(T a) const {
    using Bits = std::make_unsigned_t<T>;
    const Bits bits = Bits(a < 0 ? ~a : a);
    const uint32_t zeros = uint32_t(std::countl_zero(bits));
    return bits == 0 ? ~uint32_t(0) : kIsShift ? zeros : uint32_t(sizeof(T) * 8 - 1) - zeros;
  }
};

struct Extract {
  template <typename T> T operator()(T a, uint32_t b, uint32_t c) const {
    using Bits = std::make_unsigned_t<T>;
    constexpr unsigned size = sizeof(T) * 8;
    const unsigned position = b & 0xFF, length = c & 0xFF;
    const unsigned last = std::min(position + length - 1, size - 1);
    const bool sign = std::is_signed_v<T> && length != 0 && (Bits(a) >> last & 1);
    const Bits shifted = position < size ? Bits(a) >> position : 0;
    const unsigned valid = position < size ? std::min(length, size - position) : 0;
    const Bits mask = valid >= size ? ~Bits(0) : (Bits(1) << valid) - 1;
    return T((shifted & mask) | (sign ? ~mask : 0));
  }
};

template <typename T> struct Insert {
  [[gnu::always_inline]] static void run(Warp &warp, const Step &step, Lanes lanes) {
    T *d = warp.lanes<T>(step.d);
    const T *a = warp.lanes<T>(step.a), *b = warp.lanes<T>(step.b);
    const uint32_t *c = warp.lanes<uint32_t>(step.c), *e = warp.lanes<uint32_t>(step.e);
    forLanes<1>(lanes, [=](unsigned lane) __attribute__((always_inline)) {
      constexpr unsigned size = sizeof(T) * 8;
      const unsigned position = c[lane] & 0xFF, length = e[lane] & 0xFF;
      const T ones = length >= size ? ~T(0) : (T(1) << (length & (size - 1))) - 1;
      const T mask = position >= size ? 0 : ones << (position & (size - 1));
      const T value = a[lane] << (position & (size - 1));
      d[lane] = (b[lane] & ~mask) | (value & mask);
    });
  }
};

template <bool kClamps> struct Extend { // szext
  template <typename T> T operator()(T a, uint32_t b) const {
    const uint32_t length = b & 31;
    const bool isTooLarge = kClamps && b >= 32;
    const uint32_t mask = isTooLarge ? 0 : ~uint32_t(0) << length;
    const bool sign = std::is_signed_v<T> && length != 0 && !isTooLarge &&
                      (uint32_t(a) >> ((length - 1) & 31) & 1);
    return T((uint32_t(a) & ~mask) | (sign ? mask : 0));
  }
};

template <bool kClamps> struct MakeMask { // bmsk
  uint32_t operator()(uint32_t a, uint32_t b) const {
    const uint32_t end = (a & 31) + (b & 31);
    const bool isOverflow = end >= 32 || (kClamps && (a >= 32 || b >= 32));
    const uint32_t from = kClamps && a >= 32 ? 0 : ~uint32_t(0) << (a & 31);
    const uint32_t beyond = isOverflow ? 0 : ~uint32_t(0) << (end & 31);
    return from & ~beyond;
  }
};

/// Sum of products of bytes of `b` with elements of `a`, `kBits` wide.
template <typename A, typename B, unsigned kBits, unsigned kFirst> struct DotProduct {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    for (unsigned i = 0; i < 32 / kBits; ++i)
      c += uint32_t(A(a >> i * kBits)) * uint32_t(B(b >> (kFirst + i) * 8));
    return c;
  }
};

/// Decodes a function of one operand, given its loops for 32 and 64 bits.
template <typename F>
void decodeBits(Decoder &decoder, const Statement &statement, Step &step, bool isCount) {
  decoder.expectModifiers(statement, {});
  const Type type = decoder.type(statement);
  decodeOperands(decoder, statement, step, isCount ? Type::U32 : type, {type});
  using Long = std::conditional_t<std::is_same_v<F, Reverse>, uint64_t, uint32_t>;
  switch (type) {
  case Type::B32:
    step.run = handlerOf<Unary<uint32_t, uint32_t, F>>();
    break;
  case Type::B64:
    step.run = handlerOf<Unary<Long, uint64_t, F>>();
    break;
  default:
    decoder.refuseForm(statement);
  }
}

void decodeCount(Decoder &decoder, const Statement &statement, Step &step) {
  if (statement.opcode == "popc")
    decodeBits<CountOnes>(decoder, statement, step, true);
  else if (statement.opcode == "clz")
    decodeBits<CountLeadingZeros>(decoder, statement, step, true);
  else
    decodeBits<Reverse>(decoder, statement, step, false);
}

template <bool kIsShift> Handler findHandler(Type type) {
  using F = FindBit<kIsShift>;
  switch (type) {
  case Type::U32:
    return handlerOf<Unary<uint32_t, uint32_t, F>>();
  case Type::S32:
    return handlerOf<Unary<uint32_t, int32_t, F>>();
  case Type::U64:
    return handlerOf<Unary<uint32_t, uint64_t, F>>();
  case Type::S64:
    return handlerOf<Unary<uint32_t, int64_t, F>>();
  default:
    return nullptr;
  }
}

void decodeFind(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"shiftamt"});
  const Type type = decoder.type(statement);
  decodeOperands(decoder, statement, step, Type::U32, {type});
  step.run = statement.has("shiftamt") ? findHandler<true>(type) : findHandler<false>(type);
  if (!step.run)
    decoder.refuseForm(statement);
}

void decodeExtract(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {});
  const Type type = decoder.type(statement);
  decodeOperands(decoder, statement, step, type, {type, Type::U32, Type::U32});
  switch (type) {
  case Type::U32:
    step.run = handlerOf<Ternary<uint32_t, uint32_t, uint32_t, uint32_t, Extract>>();
    break;
  case Type::S32:
    step.run = handlerOf<Ternary<int32_t, int32_t, uint32_t, uint32_t, Extract>>();
    break;
  case Type::U64:
    step.run = handlerOf<Ternary<uint64_t, uint64_t, uint32_t, uint32_t, Extract>>();
    break;
  case Type::S64:
    step.run = handlerOf<Ternary<int64_t, int64_t, uint32_t, uint32_t, Extract>>();
    break;
  default:
    decoder.refuseForm(statement);
  }
}

void decodeInsert(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {});
  const Type type = decoder.type(statement);
  if (type != Type::B32 && type != Type::B64)
    decoder.refuseForm(statement);
  decodeOperands(decoder, statement, step, type, {type, type, Type::U32, Type::U32});
  step.run = type == Type::B32 ? handlerOf<Insert<uint32_t>>() : handlerOf<Insert<uint64_t>>();
}

/// Returns true for .clamp and false for .wrap.
bool isClamp(Decoder &decoder, const Statement &statement) {
  decoder.expectModifiers(statement, {"clamp", "wrap"});
  if (statement.has("clamp") == statement.has("wrap"))
    decoder.refuse("expected .clamp or .wrap, found '", statement.mnemonic(), "'");
  return statement.has("clamp");
}

void decodeExtend(Decoder &decoder, const Statement &statement, Step &step) {
  const bool clamps = isClamp(decoder, statement);
  const Type type = decoder.type(statement);
  decodeOperands(decoder, statement, step, type, {type, Type::U32});
  if (type == Type::S32)
    step.run = clamps ? handlerOf<Binary<int32_t, int32_t, uint32_t, Extend<true>>>()
                      : handlerOf<Binary<int32_t, int32_t, uint32_t, Extend<false>>>();
  else if (type == Type::U32)
    step.run = clamps ? handlerOf<Binary<uint32_t, uint32_t, uint32_t, Extend<true>>>()
                      : handlerOf<Binary<uint32_t, uint32_t, uint32_t, Extend<false>>>();
  else
    decoder.refuseForm(statement);
}

void decodeMask(Decoder &decoder, const Statement &statement, Step &step) {
  const bool clamps = isClamp(decoder, statement);
  if (decoder.type(statement) != Type::B32)
    decoder.refuseForm(statement);
  decodeOperands(decoder, statement, step, Type::B32, {Type::B32, Type::B32});
  step.run = clamps ? handlerOf<Binary<uint32_t, uint32_t, uint32_t, MakeMask<true>>>()
                    : handlerOf<Binary<uint32_t, uint32_t, uint32_t, MakeMask<false>>>();
}

template <typename A, typename B, unsigned kBits, unsigned kFirst> Handler dotHandler() {
  using F = DotProduct<A, B, kBits, kFirst>;
  return handlerOf<Ternary<uint32_t, uint32_t, uint32_t, uint32_t, F>>();
}
template <typename Signed, typename Unsigned, unsigned kBits, unsigned kFirst>
Handler dotHandler(bool isASigned, bool isBSigned) {
  if (isASigned)
    return isBSigned ? dotHandler<Signed, int8_t, kBits, kFirst>()
                     : dotHandler<Signed, uint8_t, kBits, kFirst>();
  return isBSigned ? dotHandler<Unsigned, int8_t, kBits, kFirst>()
                   : dotHandler<Unsigned, uint8_t, kBits, kFirst>();
}

void decodeDot(Decoder &decoder, const Statement &statement, Step &step) {
  const bool isFour = statement.opcode == "dp4a";
  decoder.expectModifiers(statement, {"lo", "hi"});
  const std::vector<Type> types = decoder.types(statement);
  const bool hasPart = statement.has("lo") != statement.has("hi");
  if (types.size() != 2 || hasPart == isFour || (isFour && statement.has("lo")))
    decoder.refuseForm(statement);
  for (Type type : types)
    if (type != Type::U32 && type != Type::S32)
      decoder.refuseForm(statement);
  decodeOperands(decoder, statement, step, Type::B32, {Type::B32, Type::B32, Type::B32});
  const bool isASigned = isSigned(types[0]), isBSigned = isSigned(types[1]);
  step.run = isFour                ? dotHandler<int8_t, uint8_t, 8, 0>(isASigned, isBSigned)
             : statement.has("lo") ? dotHandler<int16_t, uint16_t, 16, 0>(isASigned, isBSigned)
                                   : dotHandler<int16_t, uint16_t, 16, 2>(isASigned, isBSigned);
}

} // namespace

void addBitFields(Opcodes &opcodes) {
  opcodes["popc"] = opcodes["clz"] = opcodes["brev"] = decodeCount;
  opcodes["bfind"] = decodeFind;
  opcodes["bfe"] = decodeExtract;
  opcodes["bfi"] = decodeInsert;
  opcodes["szext"] = decodeExtend;
  opcodes["bmsk"] = decodeMask;
  opcodes["dp4a"] = opcodes["dp2a"] = decodeDot;
}

} // namespace pe::ptx
