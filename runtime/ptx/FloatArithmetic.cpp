//===- FloatArithmetic.cpp - Arithmetic of floating-point values ----------===//
//
// f16 and bf16 compute in single or double precision such that the result is rounded once. Pairs
// of them are arrays of 64 values.
//
//===----------------------------------------------------------------------===//

#include "runtime/ptx/Arithmetic.h"
#include "runtime/ptx/HalfFloats.h"

#include <algorithm>
#include <cmath>

namespace pe::ptx {

namespace {

struct Add {
  template <typename T> T operator()(T a, T b) const { return a + b; }
};
struct Subtract {
  template <typename T> T operator()(T a, T b) const { return a - b; }
};
struct Multiply {
  template <typename T> T operator()(T a, T b) const { return a * b; }
};
struct Divide {
  template <typename T> T operator()(T a, T b) const { return a / b; }
};
struct Fuse {
  float operator()(float a, float b, float c) const { return __builtin_fmaf(a, b, c); }
  double operator()(double a, double b, double c) const { return __builtin_fma(a, b, c); }
};

/// Modifiers of a result, as template arguments.
template <bool kFlush, bool kSaturate, bool kRectify = false> struct Modifiers {
  static constexpr bool flushes = kFlush, saturates = kSaturate, rectifies = kRectify;
};

/// An operation on f32 or f64.
template <typename F, typename M> struct Full {
  template <typename T> T operator()(T a, T b) const {
    return finish<M::flushes, M::saturates>(F()(flush<M::flushes>(a), flush<M::flushes>(b)));
  }
  template <typename T> T operator()(T a, T b, T c) const {
    return finish<M::flushes, M::saturates>(
        F()(flush<M::flushes>(a), flush<M::flushes>(b), flush<M::flushes>(c)));
  }
};

/// An operation on f16 or bf16.
template <typename Format, typename F, typename M> struct Halved {
  static float in(uint16_t bits) { return Format::widen(flushHalf<Format, M::flushes>(bits)); }
  static uint16_t out(float value) {
    value = M::saturates ? saturate(value) : M::rectifies ? rectify(value) : value;
    return flushHalf<Format, M::flushes>(Format::narrow(value));
  }
  uint16_t operator()(uint16_t a, uint16_t b) const { return out(F()(in(a), in(b))); }
  uint16_t operator()(uint16_t a, uint16_t b, uint16_t c) const {
    return out(fusedFor(Format(), in(a), in(b), in(c)));
  }
};

template <typename T, typename F> Handler binary() { return handlerOf<Binary<T, T, T, F>>(); }
template <typename T, typename F> Handler ternary() { return handlerOf<Ternary<T, T, T, T, F>>(); }

struct Form {
  Type type;
  bool flushes, saturates, rectifies;
};

template <typename Operation, typename M> Handler formHandler(Type type) {
  constexpr bool kIsFused = std::is_same_v<Operation, Fuse>;
  using U = uint16_t;
  using HalfF = Halved<Half, Operation, M>;
  using BrainF = Halved<Brain, Operation, M>;
  if constexpr (kIsFused)
    switch (type) {
    case Type::F16:
      return ternary<U, HalfF>();
    case Type::BF16:
      return ternary<U, BrainF>();
    case Type::F16x2:
      return handlerOf<Ternary<U, U, U, U, HalfF, 2>>();
    case Type::BF16x2:
      return handlerOf<Ternary<U, U, U, U, BrainF, 2>>();
    case Type::F32:
      return M::rectifies ? nullptr : ternary<float, Full<Operation, M>>();
    default:
      return M::rectifies ? nullptr : ternary<double, Full<Operation, M>>();
    }
  else
    switch (type) {
    case Type::F16:
      return binary<U, HalfF>();
    case Type::BF16:
      return binary<U, BrainF>();
    case Type::F16x2:
      return handlerOf<Binary<U, U, U, HalfF, 2>>();
    case Type::BF16x2:
      return handlerOf<Binary<U, U, U, BrainF, 2>>();
    case Type::F32:
      return binary<float, Full<Operation, M>>();
    default:
      return binary<double, Full<Operation, M>>();
    }
}

template <typename Operation> Handler formHandler(const Form &form) {
  if (form.rectifies) {
    if constexpr (std::is_same_v<Operation, Fuse>)
      return form.flushes ? formHandler<Operation, Modifiers<true, false, true>>(form.type)
                          : formHandler<Operation, Modifiers<false, false, true>>(form.type);
    return nullptr;
  }
  if (form.saturates)
    return form.flushes ? formHandler<Operation, Modifiers<true, true>>(form.type)
                        : formHandler<Operation, Modifiers<false, true>>(form.type);
  return form.flushes ? formHandler<Operation, Modifiers<true, false>>(form.type)
                      : formHandler<Operation, Modifiers<false, false>>(form.type);
}

/// Reads .ftz, .sat and .relu, and refuses those that the type has not.
Form formOf(Decoder &decoder, const Statement &statement) {
  const Form form{decoder.type(statement), statement.has("ftz"), statement.has("sat"),
                  statement.has("relu")};
  const bool isBrain = form.type == Type::BF16 || form.type == Type::BF16x2;
  const bool isDouble = form.type == Type::F64;
  if (!isFloat(form.type) || ((isBrain || isDouble) && (form.flushes || form.saturates)) ||
      (form.rectifies && (isDouble || form.type == Type::F32 || form.saturates)))
    decoder.refuseForm(statement);
  return form;
}

bool isFull(Type type) { return type == Type::F32 || type == Type::F64; }

uint16_t directedFlags(const Form &form) {
  return uint16_t((form.flushes ? kFlushes : 0) | (form.saturates ? kSaturates : 0));
}

/// Makes a step of a rounding other than to nearest. Returns false if the rounding is to nearest.
bool decodeDirected(Decoder &decoder, const Statement &statement, Step &step, const Form &form,
                    FloatOperation operation) {
  const std::optional<int> rounding = directedRounding(statement);
  if (!rounding)
    return false;
  if (!isFull(form.type))
    decoder.refuseForm(statement);
  step.imm = *rounding;
  step.flags = directedFlags(form);
  step.run = directedHandler(operation, form.type);
  return true;
}

} // namespace

void decodeFloatSum(Decoder &decoder, const Statement &statement, Step &step) {
  const Form form = formOf(decoder, statement);
  const Type type = form.type;
  decodeOperands(decoder, statement, step, type, {type, type});
  const std::string &opcode = statement.opcode;
  const bool isDivision = opcode == "div";
  if (isDivision)
    decoder.expectModifiers(statement, {"rn", "rz", "rm", "rp", "ftz", "approx", "full"});
  else
    decoder.expectModifiers(statement, {"rn", "rz", "rm", "rp", "ftz", "sat"});
  const FloatOperation operation = opcode == "add"   ? FloatOperation::Add
                                   : opcode == "sub" ? FloatOperation::Subtract
                                   : opcode == "mul" ? FloatOperation::Multiply
                                                     : FloatOperation::Divide;
  if (isDivision && !isFull(type))
    decoder.refuseForm(statement);
  if (decodeDirected(decoder, statement, step, form, operation))
    return;
  step.run = opcode == "add"   ? formHandler<Add>(form)
             : opcode == "sub" ? formHandler<Subtract>(form)
             : opcode == "mul" ? formHandler<Multiply>(form)
                               : formHandler<Divide>(form);
}

void decodeFloatFused(Decoder &decoder, const Statement &statement, Step &step) {
  const Form form = formOf(decoder, statement);
  decoder.expectModifiers(statement, {"rn", "rz", "rm", "rp", "ftz", "sat", "relu"});
  decodeOperands(decoder, statement, step, form.type, {form.type, form.type, form.type});
  if (decodeDirected(decoder, statement, step, form, FloatOperation::Fuse))
    return;
  step.run = formHandler<Fuse>(form);
  if (!step.run)
    decoder.refuseForm(statement);
}

//===----------------------------------------------------------------------===//
// min and max
//===----------------------------------------------------------------------===//

namespace {

template <typename T> using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

/// The lesser (or greater) of two values, of which -0 is less than +0. A NaN is the result only if
/// both are NaN, or one is with kKeepsNaN.
template <bool kIsMax, bool kKeepsNaN, typename T> T extreme(T a, T b) {
  using Bits = BitsOf<T>;
  const Bits aBits = std::bit_cast<Bits>(a), bBits = std::bit_cast<Bits>(b);
  T result = (kIsMax ? a > b : a < b) ? a : b;
  const T equal = std::bit_cast<T>(kIsMax ? Bits(aBits & bBits) : Bits(aBits | bBits));
  result = a == b ? equal : result;
  if (kKeepsNaN)
    return a != a ? a : result;
  return b != b ? a : result;
}

template <bool kIsMax, bool kKeepsNaN, bool kXorsSigns, bool kFlush> struct Extreme {
  template <typename T> static T of(T a, T b) {
    if constexpr (!kXorsSigns)
      return extreme<kIsMax, kKeepsNaN>(a, b);
    using Bits = BitsOf<T>;
    constexpr Bits kSign = Bits(1) << (sizeof(T) * 8 - 1);
    const Bits aBits = std::bit_cast<Bits>(a), bBits = std::bit_cast<Bits>(b);
    const T result = extreme<kIsMax, kKeepsNaN>(std::bit_cast<T>(Bits(aBits & ~kSign)),
                                                std::bit_cast<T>(Bits(bBits & ~kSign)));
    return std::bit_cast<T>(Bits(std::bit_cast<Bits>(result) | ((aBits ^ bBits) & kSign)));
  }
  float operator()(float a, float b) const {
    return canonical(of(flush<kFlush>(a), flush<kFlush>(b)));
  }
  double operator()(double a, double b) const { return of(a, b); }
};

template <typename Format, typename F, bool kFlush> struct HalfExtreme {
  uint16_t operator()(uint16_t a, uint16_t b) const {
    return Format::narrow(F::of(Format::widen(flushHalf<Format, kFlush>(a)),
                                Format::widen(flushHalf<Format, kFlush>(b))));
  }
};

/// Of three operands, since PTX 8.8. The sign is the exclusive or of all three, as in two steps.
template <typename F> struct ExtremeOfThree {
  float operator()(float a, float b, float c) const { return F()(F()(a, b), c); }
};

template <bool kIsMax, bool kKeepsNaN, bool kXorsSigns, bool kFlush>
Handler extremeHandler(Type type, bool ofThree) {
  using F = Extreme<kIsMax, kKeepsNaN, kXorsSigns, kFlush>;
  using U = uint16_t;
  if (ofThree)
    return ternary<float, ExtremeOfThree<F>>();
  switch (type) {
  case Type::F32:
    return binary<float, F>();
  case Type::F64:
    return binary<double, F>();
  case Type::F16:
    return binary<U, HalfExtreme<Half, F, kFlush>>();
  case Type::BF16:
    return binary<U, HalfExtreme<Brain, F, kFlush>>();
  case Type::F16x2:
    return handlerOf<Binary<U, U, U, HalfExtreme<Half, F, kFlush>, 2>>();
  default:
    return handlerOf<Binary<U, U, U, HalfExtreme<Brain, F, kFlush>, 2>>();
  }
}
template <bool kIsMax, bool kKeepsNaN, bool kXorsSigns>
Handler extremeHandler(Type type, bool ofThree, bool flushes) {
  return flushes ? extremeHandler<kIsMax, kKeepsNaN, kXorsSigns, true>(type, ofThree)
                 : extremeHandler<kIsMax, kKeepsNaN, kXorsSigns, false>(type, ofThree);
}
template <bool kIsMax>
Handler extremeHandler(Type type, bool ofThree, bool keepsNaN, bool xorsSigns, bool flushes) {
  if (keepsNaN)
    return xorsSigns ? extremeHandler<kIsMax, true, true>(type, ofThree, flushes)
                     : extremeHandler<kIsMax, true, false>(type, ofThree, flushes);
  return xorsSigns ? extremeHandler<kIsMax, false, true>(type, ofThree, flushes)
                   : extremeHandler<kIsMax, false, false>(type, ofThree, flushes);
}

} // namespace

void decodeFloatExtreme(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"ftz", "NaN", "xorsign", "abs"});
  const Form form = formOf(decoder, statement);
  const bool keepsNaN = statement.has("NaN"), xorsSigns = statement.has("xorsign");
  if (xorsSigns != statement.has("abs") ||
      (form.type == Type::F64 && (keepsNaN || xorsSigns || form.flushes)))
    decoder.refuseForm(statement);
  const bool ofThree = statement.operands.size() == 4 && form.type == Type::F32;
  if (ofThree)
    decodeOperands(decoder, statement, step, form.type, {form.type, form.type, form.type});
  else
    decodeOperands(decoder, statement, step, form.type, {form.type, form.type});
  step.run = statement.opcode == "max"
                 ? extremeHandler<true>(form.type, ofThree, keepsNaN, xorsSigns, form.flushes)
                 : extremeHandler<false>(form.type, ofThree, keepsNaN, xorsSigns, form.flushes);
}

//===----------------------------------------------------------------------===//
// Signs and classes
//===----------------------------------------------------------------------===//

namespace {

/// Changes of the sign bit keep the payload of NaN.
template <bool kFlush, bool kIsAbs, typename T> struct ChangeSign {
  T operator()(T bits) const {
    constexpr T kSign = T(T(1) << (sizeof(T) * 8 - 1));
    if constexpr (sizeof(T) == 4)
      bits = asBits(flush<kFlush>(asFloat(bits)));
    if constexpr (sizeof(T) == 2)
      bits = flushHalf<Half, kFlush>(bits);
    return T(kIsAbs ? bits & T(~kSign) : bits ^ kSign);
  }
};

template <bool kFlush, bool kIsAbs> Handler signHandler(Type type) {
  switch (type) {
  case Type::F32:
    return handlerOf<Unary<uint32_t, uint32_t, ChangeSign<kFlush, kIsAbs, uint32_t>>>();
  case Type::F64:
    return handlerOf<Unary<uint64_t, uint64_t, ChangeSign<kFlush, kIsAbs, uint64_t>>>();
  case Type::F16:
  case Type::BF16:
    return handlerOf<Unary<uint16_t, uint16_t, ChangeSign<kFlush, kIsAbs, uint16_t>>>();
  default:
    return handlerOf<Unary<uint16_t, uint16_t, ChangeSign<kFlush, kIsAbs, uint16_t>, 2>>();
  }
}

struct CopySign { // the sign of a, the value of b
  template <typename T> T operator()(T a, T b) const {
    constexpr T kSign = T(1) << (sizeof(T) * 8 - 1);
    return (a & kSign) | (b & ~kSign);
  }
};

void decodeCopySign(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {});
  const Type type = decoder.type(statement);
  if (!isFull(type))
    decoder.refuseForm(statement);
  decodeOperands(decoder, statement, step, type, {type, type});
  step.run = type == Type::F32 ? binary<uint32_t, CopySign>() : binary<uint64_t, CopySign>();
}

constexpr std::string_view kTests[] = {"finite",     "infinite", "number",
                                       "notanumber", "normal",   "subnormal"};

/// `imm`: the index in kTests. Zero is normal.
template <typename T> void testProperty(Warp &warp, const Step &step, Lanes lanes) {
  const T *a = warp.lanes<T>(step.a);
  Lanes result = 0;
  forEachLane(lanes, [&](unsigned lane) {
    const int kind = std::fpclassify(a[lane]);
    const bool tests[] = {
        kind != FP_NAN && kind != FP_INFINITE, kind == FP_INFINITE, kind != FP_NAN, kind == FP_NAN,
        kind == FP_NORMAL || kind == FP_ZERO,  kind == FP_SUBNORMAL};
    result |= Lanes(tests[step.imm]) << lane;
  });
  Lanes &d = warp.predicate(step.d);
  d = (d & ~lanes) | result;
}

void decodeTest(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectOperands(statement, 2, 2);
  const Type type = decoder.type(statement);
  const std::string &name = statement.modifiers.front();
  const auto *found = std::find(std::begin(kTests), std::end(kTests), name);
  if (!isFull(type) || found == std::end(kTests) || statement.modifiers.size() != 2)
    decoder.refuseForm(statement);
  step.imm = found - kTests;
  step.d = decoder.firstOfPair(statement.operands[0], 0);
  step.a = decoder.source(statement.operands[1], type);
  step.run = type == Type::F32 ? testProperty<float> : testProperty<double>;
}

} // namespace

void decodeFloatSign(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"ftz"});
  const Form form = formOf(decoder, statement);
  decodeOperands(decoder, statement, step, form.type, {form.type});
  if (statement.opcode == "abs")
    step.run =
        form.flushes ? signHandler<true, true>(form.type) : signHandler<false, true>(form.type);
  else
    step.run =
        form.flushes ? signHandler<true, false>(form.type) : signHandler<false, false>(form.type);
}

void addFloatArithmetic(Opcodes &opcodes) {
  opcodes["fma"] = decodeFloatFused;
  opcodes["copysign"] = decodeCopySign;
  opcodes["testp"] = decodeTest;
}

} // namespace pe::ptx
