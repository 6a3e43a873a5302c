//===- Arithmetic.cpp - Arithmetic of integers ----------------------------===//

#include "runtime/ptx/Arithmetic.h"
#include "runtime/ptx/LaneLoops.h"

#include <limits>

namespace pe::ptx {

void decodeOperands(Decoder &decoder, const Statement &statement, Step &step, Type result,
                    std::initializer_list<Type> sources) {
  decoder.expectOperands(statement, 1 + sources.size(), 1 + sources.size());
  step.d = decoder.destination(statement.operands[0], bytesOf(result));
  uint32_t *const places[] = {&step.a, &step.b, &step.c, &step.e};
  size_t at = 0;
  for (Type type : sources) {
    *places[at] = decoder.source(statement.operands[at + 1], type);
    ++at;
  }
}

namespace {

/// The unsigned type in which arithmetic on T wraps around.
template <typename T> using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
/// A type that holds sums, products and differences of T.
template <typename T>
using Exact = std::conditional_t<
    sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>>>;

int32_t clamp(int64_t value) {
  constexpr int64_t least = std::numeric_limits<int32_t>::min();
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  return int32_t(value < least ? least : value > most ? most : value);
}

struct Add {
  template <typename T> T operator()(T a, T b) const { return T(Wrapping<T>(a) + Wrapping<T>(b)); }
};
struct Subtract {
  template <typename T> T operator()(T a, T b) const { return T(Wrapping<T>(a) - Wrapping<T>(b)); }
};
struct AddClamped {
  int32_t operator()(int32_t a, int32_t b) const { return clamp(int64_t(a) + b); }
};
struct SubtractClamped {
  int32_t operator()(int32_t a, int32_t b) const { return clamp(int64_t(a) - b); }
};
struct Low {
  template <typename T> T operator()(T a, T b) const { return T(Wrapping<T>(a) * Wrapping<T>(b)); }
};
struct High {
  template <typename T> T operator()(T a, T b) const {
    return T(Exact<T>(a) * Exact<T>(b) >> sizeof(T) * 8);
  }
};
struct Wide {
  template <typename T> Exact<T> operator()(T a, T b) const { return Exact<T>(a) * Exact<T>(b); }
};
/// Products of the low 24 bits: the low 32 of the 48 bits, or the high ones.
template <typename T> int64_t product24(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    return int64_t(int32_t(uint32_t(a) << 8) >> 8) * (int32_t(uint32_t(b) << 8) >> 8);
  else
    return int64_t(uint64_t(a & 0xFFFFFF) * (b & 0xFFFFFF));
}
struct Low24 {
  template <typename T> T operator()(T a, T b) const { return T(product24(a, b)); }
};
struct High24 {
  template <typename T> T operator()(T a, T b) const { return T(product24(a, b) >> 16); }
};

/// Product(a, b) + c.
template <typename Product> struct PlusAddend {
  template <typename T, typename C> C operator()(T a, T b, C c) const {
    return Add()(C(Product()(a, b)), c);
  }
};
template <typename Product> struct PlusAddendClamped {
  int32_t operator()(int32_t a, int32_t b, int32_t c) const {
    return clamp(int64_t(Product()(a, b)) + c);
  }
};

struct Difference { // sad
  template <typename T> T operator()(T a, T b, T c) const {
    return Add()(c, a < b ? Subtract()(b, a) : Subtract()(a, b));
  }
};

/// Quotients and remainders of a division by zero have all bits set, as on the device.
struct Divide {
  template <typename T> T operator()(T a, T b) const {
    if (b == 0)
      return T(-1);
    if (std::is_signed_v<T> && b == T(-1))
      return Subtract()(T(0), a);
    return T(a / b);
  }
};
struct Remainder {
  template <typename T> T operator()(T a, T b) const {
    if (b == 0)
      return T(-1);
    if (std::is_signed_v<T> && b == T(-1))
      return 0;
    return T(a % b);
  }
};
struct Least {
  template <typename T> T operator()(T a, T b) const { return a < b ? a : b; }
};
struct Greatest {
  template <typename T> T operator()(T a, T b) const { return a < b ? b : a; }
};
/// A result of .relu: at least 0.
template <typename F> struct Rectified {
  template <typename T> T operator()(T a, T b) const {
    const T result = F()(a, b);
    return result < 0 ? T(0) : result;
  }
};
struct Absolute {
  template <typename T> T operator()(T a) const { return a < 0 ? Subtract()(T(0), a) : a; }
};
struct Negate {
  template <typename T> T operator()(T a) const { return Subtract()(T(0), a); }
};

//===----------------------------------------------------------------------===//
// Choice of the handler by type
//===----------------------------------------------------------------------===//

template <typename T, typename F> struct SameUnary : Unary<T, T, F> {};
template <typename T, typename F> struct SameBinary : Binary<T, T, T, F> {};
template <typename T, typename F> struct SameTernary : Ternary<T, T, T, T, F> {};
template <typename T, typename F> struct WideBinary : Binary<Exact<T>, T, T, F> {};
template <typename T, typename F> struct WideTernary : Ternary<Exact<T>, T, T, Exact<T>, F> {};

/// Returns the handler of Loop<T, F> for an integer type, or null.
template <template <typename, typename> class Loop, typename F> Handler signedHandler(Type type) {
  switch (type) {
  case Type::S16:
    return handlerOf<Loop<int16_t, F>>();
  case Type::S32:
    return handlerOf<Loop<int32_t, F>>();
  case Type::S64:
    return handlerOf<Loop<int64_t, F>>();
  default:
    return nullptr;
  }
}
template <template <typename, typename> class Loop, typename F> Handler unsignedHandler(Type type) {
  switch (type) {
  case Type::U16:
    return handlerOf<Loop<uint16_t, F>>();
  case Type::U32:
    return handlerOf<Loop<uint32_t, F>>();
  case Type::U64:
    return handlerOf<Loop<uint64_t, F>>();
  default:
    return nullptr;
  }
}
template <template <typename, typename> class Loop, typename F> Handler integerHandler(Type type) {
  return isSigned(type) ? signedHandler<Loop, F>(type) : unsignedHandler<Loop, F>(type);
}

Type unsignedOf(Type type) {
  switch (type) {
  case Type::S16:
    return Type::U16;
  case Type::S32:
    return Type::U32;
  case Type::S64:
    return Type::U64;
  default:
    return type;
  }
}
/// Returns a handler of an operation for which the sign of the type makes no difference.
template <template <typename, typename> class Loop, typename F> Handler eitherHandler(Type type) {
  return unsignedHandler<Loop, F>(unsignedOf(type));
}

void setHandler(Decoder &decoder, const Statement &statement, Step &step, Handler handler) {
  if (!handler)
    decoder.refuseForm(statement);
  step.run = handler;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

void decodeSum(Decoder &decoder, const Statement &statement, Step &step) {
  const Type type = decoder.type(statement);
  if (isFloat(type))
    return decodeFloatSum(decoder, statement, step);
  if (statement.has("cc"))
    return decodeCarry(decoder, statement, step);
  decoder.expectModifiers(statement, {"sat"});
  decodeOperands(decoder, statement, step, type, {type, type});
  const bool isAdd = statement.opcode == "add";
  if (!statement.has("sat"))
    return setHandler(decoder, statement, step,
                      isAdd ? eitherHandler<SameBinary, Add>(type)
                            : eitherHandler<SameBinary, Subtract>(type));
  if (type != Type::S32)
    decoder.refuseForm(statement);
  step.run = isAdd ? handlerOf<SameBinary<int32_t, AddClamped>>()
                   : handlerOf<SameBinary<int32_t, SubtractClamped>>();
}

Type widened(Type type) {
  switch (type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  case Type::S32:
    return Type::S64;
  default:
    return Type::None;
  }
}

template <template <typename, typename> class Loop, typename F> Handler wideHandler(Type type) {
  switch (type) {
  case Type::U16:
    return handlerOf<Loop<uint16_t, F>>();
  case Type::S16:
    return handlerOf<Loop<int16_t, F>>();
  case Type::U32:
    return handlerOf<Loop<uint32_t, F>>();
  case Type::S32:
    return handlerOf<Loop<int32_t, F>>();
  default:
    return nullptr;
  }
}

/// Checks that exactly one of the parts of the product is named.
void expectPart(Decoder &decoder, const Statement &statement) {
  decoder.expectModifiers(statement, {"lo", "hi", "wide", "sat"});
  if (statement.has("lo") + statement.has("hi") + statement.has("wide") != 1)
    decoder.refuse("expected one of .lo, .hi and .wide, found '", statement.mnemonic(), "'");
}

void decodeProduct(Decoder &decoder, const Statement &statement, Step &step) {
  const Type type = decoder.type(statement);
  if (isFloat(type))
    return decodeFloatSum(decoder, statement, step);
  expectPart(decoder, statement);
  const bool isWide = statement.has("wide");
  const Type result = isWide ? widened(type) : type;
  if (result == Type::None || statement.has("sat"))
    decoder.refuseForm(statement);
  decodeOperands(decoder, statement, step, result, {type, type});
  setHandler(decoder, statement, step,
             isWide                ? wideHandler<WideBinary, Wide>(type)
             : statement.has("hi") ? integerHandler<SameBinary, High>(type)
                                   : eitherHandler<SameBinary, Low>(type));
}

void decodeMad(Decoder &decoder, const Statement &statement, Step &step) {
  const Type type = decoder.type(statement);
  if (isFloat(type))
    return decodeFloatFused(decoder, statement, step);
  if (statement.has("cc"))
    return decodeCarry(decoder, statement, step);
  expectPart(decoder, statement);
  const bool isWide = statement.has("wide"), isHigh = statement.has("hi");
  const Type result = isWide ? widened(type) : type;
  if (result == Type::None || (statement.has("sat") && (!isHigh || type != Type::S32)))
    decoder.refuseForm(statement);
  decodeOperands(decoder, statement, step, result, {type, type, result});
  if (statement.has("sat"))
    step.run = handlerOf<SameTernary<int32_t, PlusAddendClamped<High>>>();
  else
    setHandler(decoder, statement, step,
               isWide   ? wideHandler<WideTernary, PlusAddend<Wide>>(type)
               : isHigh ? integerHandler<SameTernary, PlusAddend<High>>(type)
                        : eitherHandler<SameTernary, PlusAddend<Low>>(type));
}

void decodeProduct24(Decoder &decoder, const Statement &statement, Step &step) {
  const Type type = decoder.type(statement);
  const bool isMad = statement.opcode == "mad24", isHigh = statement.has("hi");
  expectPart(decoder, statement);
  const bool isClamped = statement.has("sat");
  if ((type != Type::U32 && type != Type::S32) || statement.has("wide") ||
      (isClamped && (!isMad || !isHigh || type != Type::S32)))
    decoder.refuseForm(statement);
  if (!isMad) {
    decodeOperands(decoder, statement, step, type, {type, type});
    step.run =
        isHigh ? integerHandler<SameBinary, High24>(type) : integerHandler<SameBinary, Low24>(type);
    return;
  }
  decodeOperands(decoder, statement, step, type, {type, type, type});
  step.run = isClamped ? handlerOf<SameTernary<int32_t, PlusAddendClamped<High24>>>()
             : isHigh  ? integerHandler<SameTernary, PlusAddend<High24>>(type)
                       : integerHandler<SameTernary, PlusAddend<Low24>>(type);
}

void decodeSad(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {});
  const Type type = decoder.type(statement);
  decodeOperands(decoder, statement, step, type, {type, type, type});
  setHandler(decoder, statement, step, integerHandler<SameTernary, Difference>(type));
}

void decodeQuotient(Decoder &decoder, const Statement &statement, Step &step) {
  const Type type = decoder.type(statement);
  const bool isDivision = statement.opcode == "div";
  if (isFloat(type) && isDivision)
    return decodeFloatSum(decoder, statement, step);
  decoder.expectModifiers(statement, {});
  decodeOperands(decoder, statement, step, type, {type, type});
  setHandler(decoder, statement, step,
             isDivision ? integerHandler<SameBinary, Divide>(type)
                        : integerHandler<SameBinary, Remainder>(type));
}

void decodeExtreme(Decoder &decoder, const Statement &statement, Step &step) {
  const Type type = decoder.type(statement);
  if (isFloat(type))
    return decodeFloatExtreme(decoder, statement, step);
  decoder.expectModifiers(statement, {"relu"});
  decodeOperands(decoder, statement, step, type, {type, type});
  const bool isMin = statement.opcode == "min";
  if (statement.has("relu")) { // of .s32 only; pairs of 16 bits are refused as types
    if (type != Type::S32)
      decoder.refuseForm(statement);
    step.run = isMin ? handlerOf<SameBinary<int32_t, Rectified<Least>>>()
                     : handlerOf<SameBinary<int32_t, Rectified<Greatest>>>();
    return;
  }
  setHandler(decoder, statement, step,
             isMin ? integerHandler<SameBinary, Least>(type)
                   : integerHandler<SameBinary, Greatest>(type));
}

void decodeSign(Decoder &decoder, const Statement &statement, Step &step) {
  const Type type = decoder.type(statement);
  if (isFloat(type))
    return decodeFloatSign(decoder, statement, step);
  decoder.expectModifiers(statement, {});
  decodeOperands(decoder, statement, step, type, {type});
  setHandler(decoder, statement, step,
             statement.opcode == "abs" ? signedHandler<SameUnary, Absolute>(type)
                                       : signedHandler<SameUnary, Negate>(type));
}

} // namespace

void addArithmetic(Opcodes &opcodes) {
  opcodes["add"] = opcodes["sub"] = decodeSum;
  opcodes["mul"] = decodeProduct;
  opcodes["mad"] = decodeMad;
  opcodes["mul24"] = opcodes["mad24"] = decodeProduct24;
  opcodes["sad"] = decodeSad;
  opcodes["div"] = opcodes["rem"] = decodeQuotient;
  opcodes["min"] = opcodes["max"] = decodeExtreme;
  opcodes["abs"] = opcodes["neg"] = decodeSign;
  addFloatArithmetic(opcodes);
  addBitFields(opcodes);
  addCarries(opcodes);
}

} // namespace pe::ptx
