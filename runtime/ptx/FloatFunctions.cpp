//===- FloatFunctions.cpp - rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh ----===//
//
// Approximations of the device compute in double precision and round once, so that they are at
// least as accurate as any device. Roundings other than to nearest change the mode of the host.
//
//===----------------------------------------------------------------------===//

#include "runtime/ptx/Arithmetic.h"
#include "runtime/ptx/HalfFloats.h"

#include <cfenv>
#include <cmath>

namespace pe::ptx {

std::optional<int> directedRounding(const Statement &statement) {
  if (statement.has("rz"))
    return FE_TOWARDZERO;
  if (statement.has("rm"))
    return FE_DOWNWARD;
  if (statement.has("rp"))
    return FE_UPWARD;
  return std::nullopt;
}

namespace {

/// Computes in the current rounding mode.
template <FloatOperation kOperation, typename T> [[gnu::noinline]] T directed(T a, T b, T c) {
#pragma STDC FENV_ACCESS ON
  switch (kOperation) {
  case FloatOperation::Add:
    return a + b;
  case FloatOperation::Subtract:
    return a - b;
  case FloatOperation::Multiply:
    return a * b;
  case FloatOperation::Divide:
    return a / b;
  case FloatOperation::Fuse:
    return std::fma(a, b, c);
  case FloatOperation::Invert:
    return T(1) / a;
  default:
    return std::sqrt(a);
  }
}

template <FloatOperation kOperation, typename T>
void directedLoop(Warp &warp, const Step &step, Lanes lanes) {
  const bool flushes = step.flags & kFlushes, saturates = step.flags & kSaturates;
  auto value = [&](uint32_t offset, unsigned lane) {
    if (offset == kAbsent)
      return T(0);
    const T found = warp.lanes<T>(offset)[lane];
    return flushes ? flush<true>(found) : found;
  };
  const int mode = std::fegetround();
  std::fesetround(int(step.imm));
  forEachLane(lanes, [&](unsigned lane) {
    const T result = canonical(
        directed<kOperation, T>(value(step.a, lane), value(step.b, lane), value(step.c, lane)));
    const T flushed = flushes ? flush<true>(result) : result;
    warp.lanes<T>(step.d)[lane] = saturates ? saturate(flushed) : flushed;
  });
  std::fesetround(mode);
}

template <FloatOperation kOperation> Handler directedHandler(Type type) {
  return type == Type::F32 ? directedLoop<kOperation, float> : directedLoop<kOperation, double>;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

struct Invert {
  template <typename T> T operator()(T a) const { return T(1) / a; }
};
struct Root {
  template <typename T> T operator()(T a) const { return __builtin_elementwise_sqrt(a); }
};
/// f32 and narrower functions compute in double precision.
struct InvertRoot {
  double operator()(double a) const { return 1 / __builtin_elementwise_sqrt(a); }
};
struct Sine {
  double operator()(double a) const { return std::sin(a); }
};
struct Cosine {
  double operator()(double a) const { return std::cos(a); }
};
struct Log2 {
  double operator()(double a) const { return std::log2(a); }
};
/// 2^a for results of single precision and narrower: the Taylor series for the fraction, whose
/// error is below 2^-52, and the integer part as an exponent. Free of branches, as kernels use it
/// most.
struct Exp2 {
  double operator()(double a) const {
    constexpr double kSeries[] = {1.0,
                                  0.6931471805599453,
                                  0.24022650695910072,
                                  0.05550410866482158,
                                  0.009618129107628477,
                                  0.0013333558146428443,
                                  0.00015403530393381608,
                                  1.5252733804059841e-05,
                                  1.3215486790144307e-06,
                                  1.0178086009239699e-07,
                                  7.054911620801122e-09,
                                  4.4455382718708113e-10,
                                  2.5678435993488204e-11,
                                  1.3691488853904128e-12};
    constexpr double kBound = 512, kToInteger = 0x1.8p52; // beyond all results but 0 and infinity
    a = a > kBound ? kBound : a;
    a = a < -kBound ? -kBound : a;
    const double shifted = a + kToInteger; // its low bits are the nearest integer
    const double fraction = a - (shifted - kToInteger);
    // Estrin's order, which has a short chain of dependences.
    const double second = fraction * fraction, fourth = second * second;
    auto four = [&](int i) {
      return (kSeries[i] + kSeries[i + 1] * fraction) +
             (kSeries[i + 2] + kSeries[i + 3] * fraction) * second;
    };
    const double last = (four(8) + (kSeries[12] + kSeries[13] * fraction) * fourth);
    const double sum = (four(0) + four(4) * fourth) + last * (fourth * fourth);
    return sum * asDouble((asBits(shifted) + 1023) << 52);
  }
};
struct Tangent {
  double operator()(double a) const { return std::tanh(a); }
};

/// A function of f32 that computes as T.
template <typename F, typename T, bool kFlush> struct Single {
  float operator()(float a) const { return finish<kFlush, false>(float(F()(T(flush<kFlush>(a))))); }
};
template <typename Format, typename F> struct Narrow {
  uint16_t operator()(uint16_t a) const {
    // Functions are irrational, except at values where rounding to single precision is exact.
    return Format::narrow(singleToOdd(F()(double(Format::widen(a)))));
  }
};
/// Approximations of f64 read and write the upper half of the bits only.
template <typename F> struct Gross {
  double operator()(double a) const {
    constexpr uint64_t kUpper = 0xFFFFFFFF00000000, kExponent = 0x7FF0000000000000;
    uint64_t bits = asBits(a) & kUpper;
    if (a != a)
      return asDouble(0x7FFFFFFF00000000);
    if ((bits & kExponent) == 0)
      bits &= uint64_t(1) << 63;
    const uint64_t result = asBits(F()(asDouble(bits)));
    if (asDouble(result) != asDouble(result))
      return asDouble(0x7FFFFFFF00000000);
    return asDouble(result & ((result & kExponent) ? kUpper : uint64_t(1) << 63));
  }
};

template <typename F, typename T> Handler single(bool flushes) {
  return flushes ? handlerOf<Unary<float, float, Single<F, T, true>>>()
                 : handlerOf<Unary<float, float, Single<F, T, false>>>();
}

/// rcp and sqrt: .approx, .rn and directed roundings of f32; .rn and directed ones of f64.
void decodeRounded(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"approx", "rn", "rz", "rm", "rp", "ftz"});
  const Type type = decoder.type(statement);
  const bool isApproximate = statement.has("approx"), flushes = statement.has("ftz");
  const bool isInverse = statement.opcode == "rcp";
  const std::optional<int> rounding = directedRounding(statement);
  if (type != Type::F32 && type != Type::F64)
    decoder.refuseForm(statement);
  if (isApproximate + statement.has("rn") + rounding.has_value() != 1)
    decoder.refuse("expected a rounding or .approx, found '", statement.mnemonic(), "'");
  decodeOperands(decoder, statement, step, type, {type});
  if (type == Type::F64 && (isApproximate || flushes)) {
    if (!isApproximate || !flushes || !isInverse)
      decoder.refuseForm(statement);
    step.run = handlerOf<Unary<double, double, Gross<Invert>>>();
    return;
  }
  if (rounding) {
    step.imm = *rounding;
    step.flags = flushes ? kFlushes : 0;
    step.run = directedHandler(isInverse ? FloatOperation::Invert : FloatOperation::Root, type);
  } else if (type == Type::F32) {
    step.run = isInverse ? single<Invert, float>(flushes) : single<Root, float>(flushes);
  } else {
    step.run = isInverse ? handlerOf<Unary<double, double, Invert>>()
                         : handlerOf<Unary<double, double, Root>>();
  }
}

void decodeInverseRoot(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"approx", "ftz"});
  const Type type = decoder.type(statement);
  const bool flushes = statement.has("ftz");
  if ((type != Type::F32 && type != Type::F64) || !statement.has("approx"))
    decoder.refuseForm(statement);
  decodeOperands(decoder, statement, step, type, {type});
  if (type == Type::F32)
    step.run = single<InvertRoot, double>(flushes);
  else
    step.run = flushes ? handlerOf<Unary<double, double, Gross<InvertRoot>>>()
                       : handlerOf<Unary<double, double, InvertRoot>>();
}

/// Functions that are approximations only. ex2 and tanh have narrower types, too.
template <typename F, bool kHasHalves>
void decodeFunction(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"approx", "ftz"});
  const Type type = decoder.type(statement);
  const bool flushes = statement.has("ftz");
  if (!statement.has("approx"))
    decoder.refuse("expected .approx, found '", statement.mnemonic(), "'");
  decodeOperands(decoder, statement, step, type, {type});
  using U = uint16_t;
  if (type == Type::F32) {
    step.run = single<F, double>(flushes);
    return;
  }
  if constexpr (kHasHalves)
    switch (type) {
    case Type::F16:
      step.run = handlerOf<Unary<U, U, Narrow<Half, F>>>();
      break;
    case Type::BF16:
      step.run = handlerOf<Unary<U, U, Narrow<Brain, F>>>();
      break;
    case Type::F16x2:
      step.run = handlerOf<Unary<U, U, Narrow<Half, F>, 2>>();
      break;
    case Type::BF16x2:
      step.run = handlerOf<Unary<U, U, Narrow<Brain, F>, 2>>();
      break;
    default:
      break;
    }
  if (!step.run)
    decoder.refuseForm(statement);
}

} // namespace

Handler directedHandler(FloatOperation operation, Type type) {
  using enum FloatOperation;
  switch (operation) {
  case Add:
    return directedHandler<Add>(type);
  case Subtract:
    return directedHandler<Subtract>(type);
  case Multiply:
    return directedHandler<Multiply>(type);
  case Divide:
    return directedHandler<Divide>(type);
  case Fuse:
    return directedHandler<Fuse>(type);
  case FloatOperation::Invert:
    return directedHandler<FloatOperation::Invert>(type);
  default:
    return directedHandler<FloatOperation::Root>(type);
  }
}

void addFloatFunctions(Opcodes &opcodes) {
  opcodes["rcp"] = opcodes["sqrt"] = decodeRounded;
  opcodes["rsqrt"] = decodeInverseRoot;
  opcodes["sin"] = decodeFunction<Sine, false>;
  opcodes["cos"] = decodeFunction<Cosine, false>;
  opcodes["lg2"] = decodeFunction<Log2, false>;
  opcodes["ex2"] = decodeFunction<Exp2, true>;
  opcodes["tanh"] = decodeFunction<Tangent, true>;
}

} // namespace pe::ptx
