//===- ScalarOperations.cpp - Generated scalar operations -----------------===//

#include "fuzz/ScalarOperations.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace pe::fuzz {
namespace {

using Result = std::optional<Wide>;
using Real = long double;

/// Returns the quotient, rounded down (`round` is -1), toward 0 (0) or up (1).
Result divide(Wide a, Wide b, int round) {
  if (b == 0)
    return std::nullopt;
  Wide quotient = a / b, remainder = a % b;
  bool isNegative = (remainder < 0) != (b < 0);
  if (remainder != 0 && round < 0 && isNegative)
    --quotient;
  if (remainder != 0 && round > 0 && !isNegative)
    ++quotient;
  return quotient;
}

/// Divides signed integers. The quotient of the smallest integer and -1 is not representable.
template <int round> Result divideSigned(int64_t a, int64_t b, int bits) {
  Result quotient = divide(a, b, round);
  if (!quotient || wrap(*quotient, bits) != *quotient)
    return std::nullopt;
  return quotient;
}
template <int round> Result divideUnsigned(int64_t a, int64_t b, int bits) {
  return divide(asUnsigned(a, bits), asUnsigned(b, bits), round);
}
Result remainderSigned(int64_t a, int64_t b, int bits) {
  if (!divideSigned<0>(a, b, bits))
    return std::nullopt;
  return Wide(a) % b;
}
Result remainderUnsigned(int64_t a, int64_t b, int bits) {
  if (b == 0)
    return std::nullopt;
  return asUnsigned(a, bits) % asUnsigned(b, bits);
}

bool isShift(int64_t amount, int bits) { return amount >= 0 && amount < bits; }
Result shiftLeft(int64_t a, int64_t b, int bits) {
  return isShift(b, bits) ? Result(Wide(asUnsigned(a, bits)) << b) : std::nullopt;
}
Result shiftRightSigned(int64_t a, int64_t b, int bits) {
  return isShift(b, bits) ? Result(Wide(a) >> b) : std::nullopt;
}
Result shiftRightUnsigned(int64_t a, int64_t b, int bits) {
  return isShift(b, bits) ? Result(asUnsigned(a, bits) >> b) : std::nullopt;
}

using Compare = bool (*)(Wide, Wide);
/// Returns -1 (true in one bit) or 0.
template <Compare compare> Result compareSigned(int64_t a, int64_t b, int) {
  return compare(a, b) ? -1 : 0;
}
template <Compare compare> Result compareUnsigned(int64_t a, int64_t b, int bits) {
  return compare(asUnsigned(a, bits), asUnsigned(b, bits)) ? -1 : 0;
}
constexpr auto isLess = [](Wide a, Wide b) { return a < b; };
constexpr auto isAtMost = [](Wide a, Wide b) { return a <= b; };
constexpr auto isGreater = [](Wide a, Wide b) { return a > b; };
constexpr auto isAtLeast = [](Wide a, Wide b) { return a >= b; };

const ScalarOperation kOperations[] = {
    // Integers.
    {"math.absi", Form::IntegerUnary, Domain::Any, "abs({0})",
     [](int64_t a, int64_t, int) -> Result { return a < 0 ? -Wide(a) : Wide(a); }},
    {"arith.addi", Form::IntegerBinary, Domain::Any, "({0} + {1})",
     [](int64_t a, int64_t b, int) -> Result { return Wide(a) + b; }},
    {"arith.subi", Form::IntegerBinary, Domain::Any, "({0} - {1})",
     [](int64_t a, int64_t b, int) -> Result { return Wide(a) - b; }},
    {"arith.muli", Form::IntegerBinary, Domain::Any, "({0} * {1})",
     [](int64_t a, int64_t b, int) -> Result { return Wide(a) * b; }},
    {"arith.maxsi", Form::IntegerBinary, Domain::Any, "max({0}, {1})",
     [](int64_t a, int64_t b, int) -> Result { return std::max(a, b); }},
    {"arith.minsi", Form::IntegerBinary, Domain::Any, "min({0}, {1})",
     [](int64_t a, int64_t b, int) -> Result { return std::min(a, b); }},
    {"arith.maxui", Form::IntegerBinary, Domain::Any, "",
     [](int64_t a, int64_t b, int bits) -> Result {
       return std::max(asUnsigned(a, bits), asUnsigned(b, bits));
     }},
    {"arith.minui", Form::IntegerBinary, Domain::Any, "",
     [](int64_t a, int64_t b, int bits) -> Result {
       return std::min(asUnsigned(a, bits), asUnsigned(b, bits));
     }},
    {"arith.andi", Form::IntegerBinary, Domain::Any, "",
     [](int64_t a, int64_t b, int) -> Result { return a & b; }},
    {"arith.ori", Form::IntegerBinary, Domain::Any, "",
     [](int64_t a, int64_t b, int) -> Result { return a | b; }},
    {"arith.xori", Form::IntegerBinary, Domain::Any, "",
     [](int64_t a, int64_t b, int) -> Result { return a ^ b; }},
    {"arith.divsi", Form::IntegerBinary, Domain::Divisor, "", divideSigned<0>},
    {"arith.divui", Form::IntegerBinary, Domain::Divisor, "", divideUnsigned<0>},
    {"arith.floordivsi", Form::IntegerBinary, Domain::Divisor, "({0} // {1})", divideSigned<-1>},
    {"arith.ceildivsi", Form::IntegerBinary, Domain::Divisor, "", divideSigned<1>},
    {"arith.ceildivui", Form::IntegerBinary, Domain::Divisor, "", divideUnsigned<1>},
    {"arith.remsi", Form::IntegerBinary, Domain::Divisor, "", remainderSigned},
    {"arith.remui", Form::IntegerBinary, Domain::Divisor, "", remainderUnsigned},
    {"formula.remainder", Form::IntegerBinary, Domain::Divisor, "({0} % {1})",
     [](int64_t a, int64_t b, int) -> Result {
       return b == 0 ? Wide(a) : ((Wide(a) % b) + b) % b;
     }},
    {"arith.shli", Form::IntegerBinary, Domain::Shift, "", shiftLeft},
    {"arith.shrsi", Form::IntegerBinary, Domain::Shift, "", shiftRightSigned},
    {"arith.shrui", Form::IntegerBinary, Domain::Shift, "", shiftRightUnsigned},
    {"arith.cmpi eq", Form::IntegerCompare, Domain::Any, "({0} == {1})",
     [](int64_t a, int64_t b, int) -> Result { return a == b ? -1 : 0; }},
    {"arith.cmpi ne", Form::IntegerCompare, Domain::Any, "({0} != {1})",
     [](int64_t a, int64_t b, int) -> Result { return a != b ? -1 : 0; }},
    {"arith.cmpi slt", Form::IntegerCompare, Domain::Any, "({0} < {1})", compareSigned<isLess>},
    {"arith.cmpi sle", Form::IntegerCompare, Domain::Any, "({0} <= {1})", compareSigned<isAtMost>},
    {"arith.cmpi sgt", Form::IntegerCompare, Domain::Any, "({0} > {1})", compareSigned<isGreater>},
    {"arith.cmpi sge", Form::IntegerCompare, Domain::Any, "({0} >= {1})", compareSigned<isAtLeast>},
    {"arith.cmpi ult", Form::IntegerCompare, Domain::Any, "", compareUnsigned<isLess>},
    {"arith.cmpi ule", Form::IntegerCompare, Domain::Any, "", compareUnsigned<isAtMost>},
    {"arith.cmpi ugt", Form::IntegerCompare, Domain::Any, "", compareUnsigned<isGreater>},
    {"arith.cmpi uge", Form::IntegerCompare, Domain::Any, "", compareUnsigned<isAtLeast>},
    // Real numbers, correctly rounded.
    {"arith.negf", Form::RealUnary, Domain::Any, "(-{0})", nullptr,
     [](Real a, Real, Real) { return -a; }},
    {"math.absf", Form::RealUnary, Domain::Any, "abs({0})", nullptr,
     [](Real a, Real, Real) { return std::fabs(a); }},
    {"math.floor", Form::RealUnary, Domain::Exact, "floor({0})", nullptr,
     [](Real a, Real, Real) { return std::floor(a); }},
    {"math.ceil", Form::RealUnary, Domain::Exact, "", nullptr,
     [](Real a, Real, Real) { return std::ceil(a); }},
    {"math.trunc", Form::RealUnary, Domain::Exact, "", nullptr,
     [](Real a, Real, Real) { return std::trunc(a); }},
    {"math.round", Form::RealUnary, Domain::Exact, "", nullptr,
     [](Real a, Real, Real) { return std::round(a); }},
    {"math.roundeven", Form::RealUnary, Domain::Exact, "", nullptr,
     [](Real a, Real, Real) { return a - std::remainder(a, Real(1)); }},
    {"math.sqrt", Form::RealUnary, Domain::Positive, "sqrt({0})", nullptr,
     [](Real a, Real, Real) { return std::sqrt(a); }},
    {"arith.addf", Form::RealBinary, Domain::Any, "({0} + {1})", nullptr,
     [](Real a, Real b, Real) { return a + b; }},
    {"arith.subf", Form::RealBinary, Domain::Any, "({0} - {1})", nullptr,
     [](Real a, Real b, Real) { return a - b; }},
    {"arith.mulf", Form::RealBinary, Domain::Any, "({0} * {1})", nullptr,
     [](Real a, Real b, Real) { return a * b; }},
    {"arith.divf", Form::RealBinary, Domain::Positive, "({0} / {1})", nullptr,
     [](Real a, Real b, Real) { return a / b; }},
    {"arith.remf", Form::RealBinary, Domain::Exact, "", nullptr,
     [](Real a, Real b, Real) { return std::fmod(a, b); }},
    {"formula.real_remainder", Form::RealBinary, Domain::Exact, "({0} % {1})", nullptr,
     [](Real a, Real b, Real) { return a - std::floor(a / b) * b; }},
    {"arith.maximumf", Form::RealBinary, Domain::Any, "max({0}, {1})", nullptr,
     [](Real a, Real b, Real) { return std::fmax(a, b); }},
    {"arith.minimumf", Form::RealBinary, Domain::Any, "min({0}, {1})", nullptr,
     [](Real a, Real b, Real) { return std::fmin(a, b); }},
    {"arith.maxnumf", Form::RealBinary, Domain::Any, "", nullptr,
     [](Real a, Real b, Real) { return std::fmax(a, b); }},
    {"arith.minnumf", Form::RealBinary, Domain::Any, "", nullptr,
     [](Real a, Real b, Real) { return std::fmin(a, b); }},
    {"math.copysign", Form::RealBinary, Domain::Any, "", nullptr,
     [](Real a, Real b, Real) { return std::copysign(a, b); }},
    {"math.fma", Form::RealTernary, Domain::Any, "", nullptr,
     [](Real a, Real b, Real c) { return a * b + c; }},
    {"math.clampf", Form::RealTernary, Domain::Any, "", nullptr,
     [](Real a, Real b, Real c) { return std::fmin(std::fmax(a, b), c); }},
    // Real numbers, approximated.
    {"math.exp", Form::RealUnary, Domain::Small, "exp({0})", nullptr,
     [](Real a, Real, Real) { return std::exp(a); }, true},
    {"math.exp2", Form::RealUnary, Domain::Small, "", nullptr,
     [](Real a, Real, Real) { return std::exp2(a); }, true},
    {"math.expm1", Form::RealUnary, Domain::Small, "", nullptr,
     [](Real a, Real, Real) { return std::expm1(a); }, true},
    {"math.log", Form::RealUnary, Domain::Positive, "log({0})", nullptr,
     [](Real a, Real, Real) { return std::log(a); }, true},
    {"math.log2", Form::RealUnary, Domain::Positive, "", nullptr,
     [](Real a, Real, Real) { return std::log2(a); }, true},
    {"math.log10", Form::RealUnary, Domain::Positive, "", nullptr,
     [](Real a, Real, Real) { return std::log10(a); }, true},
    {"math.log1p", Form::RealUnary, Domain::Positive, "log1p({0})", nullptr,
     [](Real a, Real, Real) { return std::log1p(a); }, true},
    {"formula.sigmoid", Form::RealUnary, Domain::Any, "sigmoid({0})", nullptr,
     [](Real a, Real, Real) { return 1 / (1 + std::exp(-a)); }, true},
    {"formula.softplus", Form::RealUnary, Domain::Any, "softplus({0})", nullptr,
     [](Real a, Real, Real) { return std::fmax(a, 0) + std::log1p(std::exp(-std::fabs(a))); },
     true},
    {"formula.relu", Form::RealUnary, Domain::Any, "relu({0})", nullptr,
     [](Real a, Real, Real) { return std::fmax(a, 0); }},
    {"formula.sign", Form::RealUnary, Domain::Exact, "sign({0})", nullptr,
     [](Real a, Real, Real) { return Real((a > 0) - (a < 0)); }},
    {"math.rsqrt", Form::RealUnary, Domain::Positive, "", nullptr,
     [](Real a, Real, Real) { return 1 / std::sqrt(a); }, true},
    {"math.cbrt", Form::RealUnary, Domain::Positive, "", nullptr,
     [](Real a, Real, Real) { return std::cbrt(a); }, true},
    {"math.sin", Form::RealUnary, Domain::Any, "sin({0})", nullptr,
     [](Real a, Real, Real) { return std::sin(a); }, true},
    {"math.cos", Form::RealUnary, Domain::Any, "cos({0})", nullptr,
     [](Real a, Real, Real) { return std::cos(a); }, true},
    {"math.tan", Form::RealUnary, Domain::Unit, "", nullptr,
     [](Real a, Real, Real) { return std::tan(a); }, true},
    {"math.asin", Form::RealUnary, Domain::Unit, "", nullptr,
     [](Real a, Real, Real) { return std::asin(a); }, true},
    {"math.acos", Form::RealUnary, Domain::Unit, "", nullptr,
     [](Real a, Real, Real) { return std::acos(a); }, true},
    {"math.atan", Form::RealUnary, Domain::Any, "", nullptr,
     [](Real a, Real, Real) { return std::atan(a); }, true},
    {"math.sinh", Form::RealUnary, Domain::Small, "", nullptr,
     [](Real a, Real, Real) { return std::sinh(a); }, true},
    {"math.cosh", Form::RealUnary, Domain::Small, "", nullptr,
     [](Real a, Real, Real) { return std::cosh(a); }, true},
    {"math.tanh", Form::RealUnary, Domain::Any, "tanh({0})", nullptr,
     [](Real a, Real, Real) { return std::tanh(a); }, true},
    {"math.erf", Form::RealUnary, Domain::Any, "erf({0})", nullptr,
     [](Real a, Real, Real) { return std::erf(a); }, true},
    {"math.erfc", Form::RealUnary, Domain::Any, "", nullptr,
     [](Real a, Real, Real) { return std::erfc(a); }, true},
    {"math.atan2", Form::RealBinary, Domain::Positive, "", nullptr,
     [](Real a, Real b, Real) { return std::atan2(a, b); }, true},
    {"math.powf", Form::RealBinary, Domain::Small, "pow({0}, {1})", nullptr,
     [](Real a, Real b, Real) { return std::pow(a, b); }, true},
    {"math.fpowi", Form::RealToWholePower, Domain::Small, "", nullptr,
     [](Real a, Real b, Real) { return std::pow(a, b); }, true},
    {"arith.cmpf olt", Form::RealCompare, Domain::Any, "({0} < {1})", nullptr,
     [](Real a, Real b, Real) { return Real(a < b); }},
    {"arith.cmpf ole", Form::RealCompare, Domain::Any, "({0} <= {1})", nullptr,
     [](Real a, Real b, Real) { return Real(a <= b); }},
    {"arith.cmpf ogt", Form::RealCompare, Domain::Any, "({0} > {1})", nullptr,
     [](Real a, Real b, Real) { return Real(a > b); }},
    {"arith.cmpf uge", Form::RealCompare, Domain::Any, "", nullptr,
     [](Real a, Real b, Real) { return Real(a >= b); }},
    {"arith.cmpf oeq", Form::RealCompare, Domain::Any, "({0} == {1})", nullptr,
     [](Real a, Real b, Real) { return Real(a == b); }},
    {"arith.cmpf une", Form::RealCompare, Domain::Any, "({0} != {1})", nullptr,
     [](Real a, Real b, Real) { return Real(a != b); }},
    // Conversions.
    {"arith.index_cast", Form::Convert},
    {.name = "arith.index_castui", .form = Form::Convert, .isUnsigned = true},
    {"arith.extsi", Form::Convert},
    {.name = "arith.extui", .form = Form::Convert, .isUnsigned = true},
    {"arith.trunci", Form::Convert},
    {"arith.sitofp", Form::Convert},
    {.name = "arith.uitofp", .form = Form::Convert, .isUnsigned = true},
    {"arith.fptosi", Form::Convert},
    {"arith.extf", Form::Convert},
    {"arith.truncf", Form::Convert},
};

} // namespace

std::string_view nameOf(Type type) {
  static constexpr std::array<std::string_view, 12> names = {
      "i1",       "i8",       "i16",         "i32", "i64", "index", "f32", "f64", "!pe.coordinate",
      "!pe.bias", "!pe.mask", "!pe.rotation"};
  return names[static_cast<size_t>(type)];
}

int bitsOf(Type type) {
  static constexpr std::array<int, 6> bits = {1, 8, 16, 32, 64, 64};
  return bits[static_cast<size_t>(type)];
}

int64_t wrap(Wide value, int bits) {
  Wide low = value & ((Wide(1) << bits) - 1);
  return static_cast<int64_t>(low >> (bits - 1) ? low - (Wide(1) << bits) : low);
}

Wide asUnsigned(int64_t value, int bits) { return Wide(value) & ((Wide(1) << bits) - 1); }

std::span<const ScalarOperation> scalarOperations() { return kOperations; }

const ScalarOperation *findOperation(std::string_view name) {
  auto *found = std::ranges::find(kOperations, name, &ScalarOperation::name);
  assert(found != std::end(kOperations) && "no such operation");
  return found;
}

} // namespace pe::fuzz
