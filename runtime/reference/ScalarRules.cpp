//===- ScalarRules.cpp - Values and derivatives of scalar operations ------===//
//
// Tables of the rules of ScalarRules.h, all in float64.
//
//===----------------------------------------------------------------------===//
#include "runtime/reference/ScalarRules.h"

#include "runtime/plan/Activations.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

namespace pe::reference {
namespace {

double sign(double x) { return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : 0.0); }

double gelu(double x) { return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2)); }

double geluDerivative(double x) {
  double density = std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
  return 0.5 * (1.0 + std::erf(x / std::numbers::sqrt2)) + x * density;
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double siluDerivative(double x) {
  const double s = sigmoid(x);
  return s + x * s * (1.0 - s);
}

//===----------------------------------------------------------------------===//
// Unary rules
//===----------------------------------------------------------------------===//

using Unary = double (*)(double);
using UnaryDerivative = double (*)(double, double);

constexpr UnaryDerivative zeroSlope = nullptr;

const UnaryRule unaryRules[] = {
    {"arith.negf", [](double x) { return -x; }, [](double, double) { return -1.0; }},
    {"math.absf", [](double x) { return std::fabs(x); }, [](double x, double) { return sign(x); }},
    {"math.exp", [](double x) { return std::exp(x); }, [](double, double y) { return y; }},
    {"math.exp2", [](double x) { return std::exp2(x); },
     [](double, double y) { return y * std::numbers::ln2; }},
    {"math.expm1", [](double x) { return std::expm1(x); },
     [](double, double y) { return y + 1.0; }},
    {"math.log", [](double x) { return std::log(x); }, [](double x, double) { return 1.0 / x; }},
    {"math.log2", [](double x) { return std::log2(x); },
     [](double x, double) { return 1.0 / (x * std::numbers::ln2); }},
    {"math.log10", [](double x) { return std::log10(x); },
     [](double x, double) { return 1.0 / (x * std::numbers::ln10); }},
    {"math.log1p", [](double x) { return std::log1p(x); },
     [](double x, double) { return 1.0 / (1.0 + x); }},
    {"math.sqrt", [](double x) { return std::sqrt(x); },
     [](double x, double y) { return x == 0.0 ? 0.0 : 0.5 / y; }},
    {"math.rsqrt", [](double x) { return 1.0 / std::sqrt(x); },
     [](double x, double y) { return -0.5 * y / x; }},
    {"math.cbrt", [](double x) { return std::cbrt(x); },
     [](double x, double y) { return x == 0.0 ? 0.0 : 1.0 / (3.0 * y * y); }},
    {"math.sin", [](double x) { return std::sin(x); },
     [](double x, double) { return std::cos(x); }},
    {"math.cos", [](double x) { return std::cos(x); },
     [](double x, double) { return -std::sin(x); }},
    {"math.tan", [](double x) { return std::tan(x); },
     [](double, double y) { return 1.0 + y * y; }},
    {"math.asin", [](double x) { return std::asin(x); },
     [](double x, double) { return 1.0 / std::sqrt(1.0 - x * x); }},
    {"math.acos", [](double x) { return std::acos(x); },
     [](double x, double) { return -1.0 / std::sqrt(1.0 - x * x); }},
    {"math.atan", [](double x) { return std::atan(x); },
     [](double x, double) { return 1.0 / (1.0 + x * x); }},
    {"math.sinh", [](double x) { return std::sinh(x); },
     [](double x, double) { return std::cosh(x); }},
    {"math.cosh", [](double x) { return std::cosh(x); },
     [](double x, double) { return std::sinh(x); }},
    {"math.tanh", [](double x) { return std::tanh(x); },
     [](double, double y) { return 1.0 - y * y; }},
    {"math.erf", [](double x) { return std::erf(x); },
     [](double x, double) { return 2.0 * std::exp(-x * x) / std::sqrt(std::numbers::pi); }},
    {"math.erfc", [](double x) { return std::erfc(x); },
     [](double x, double) { return -2.0 * std::exp(-x * x) / std::sqrt(std::numbers::pi); }},
    {"math.floor", [](double x) { return std::floor(x); }, zeroSlope},
    {"math.ceil", [](double x) { return std::ceil(x); }, zeroSlope},
    {"math.trunc", [](double x) { return std::trunc(x); }, zeroSlope},
    {"math.round", [](double x) { return std::round(x); }, zeroSlope},
    {"math.roundeven", [](double x) { return std::nearbyint(x); }, zeroSlope},
    {"math.isnan", [](double x) { return std::isnan(x) ? 1.0 : 0.0; }, zeroSlope},
    {"math.isinf", [](double x) { return std::isinf(x) ? 1.0 : 0.0; }, zeroSlope},
    {"math.isfinite", [](double x) { return std::isfinite(x) ? 1.0 : 0.0; }, zeroSlope},
};

constexpr UnaryRule activationRules[] = {
    {"identity", [](double x) { return x; }, [](double, double) { return 1.0; }},
    {"relu", [](double x) { return x <= 0.0 ? 0.0 : x; },
     [](double x, double) { return x > 0.0 ? 1.0 : 0.0; }},
    {"gelu", [](double x) { return gelu(x); }, [](double x, double) { return geluDerivative(x); }},
    {"tanh", [](double x) { return std::tanh(x); }, [](double, double y) { return 1.0 - y * y; }},
    {"silu", [](double x) { return x * sigmoid(x); },
     [](double x, double) { return siluDerivative(x); }},
    {"cos", [](double x) { return std::cos(x); }, [](double x, double) { return -std::sin(x); }},
    {"step", [](double x) { return std::isnan(x) ? x
                                   : x > 0.0     ? 1.0
                                                 : 0.0; },
     [](double, double) { return 0.0; }},
};
static_assert(std::ranges::equal(activationRules, plan::kActivationNames, {}, &UnaryRule::name),
              "a rule per activation, in the order of the table");

//===----------------------------------------------------------------------===//
// Binary rules
//===----------------------------------------------------------------------===//

/// Implements PyTorch's rule for maximum and minimum: equal arguments share the gradient.
Partials chooseLeft(bool left, bool equal) {
  if (equal)
    return {0.5, 0.5};
  return left ? Partials{1.0, 0.0} : Partials{0.0, 1.0};
}

Partials powerDerivative(double base, double exponent, double y) {
  if (base == 0.0)
    return {};
  double byExponent = base > 0.0 ? y * std::log(base) : 0.0;
  return {exponent == 0.0 ? 0.0 : exponent * std::pow(base, exponent - 1.0), byExponent};
}

double maximumNumber(double a, double b) { return std::fmax(a, b); }
double minimumNumber(double a, double b) { return std::fmin(a, b); }
double maximumOrNaN(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::fmax(a, b);
}
double minimumOrNaN(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::fmin(a, b);
}
Partials maximumDerivative(double a, double b, double) { return chooseLeft(a > b, a == b); }
Partials minimumDerivative(double a, double b, double) { return chooseLeft(a < b, a == b); }

const BinaryRule binaryRules[] = {
    {"arith.addf", [](double a, double b) { return a + b; },
     [](double, double, double) { return Partials{1.0, 1.0}; }},
    {"arith.subf", [](double a, double b) { return a - b; },
     [](double, double, double) { return Partials{1.0, -1.0}; }},
    {"arith.mulf", [](double a, double b) { return a * b; },
     [](double a, double b, double) { return Partials{b, a}; }},
    {"arith.divf", [](double a, double b) { return a / b; },
     [](double, double b, double y) { return Partials{1.0 / b, -y / b}; }},
    {"arith.remf", [](double a, double b) { return std::fmod(a, b); },
     [](double a, double b, double) { return Partials{1.0, -std::trunc(a / b)}; }},
    {"arith.maximumf", maximumOrNaN, maximumDerivative},
    {"arith.minimumf", minimumOrNaN, minimumDerivative},
    {"arith.maxnumf", maximumNumber, maximumDerivative},
    {"arith.minnumf", minimumNumber, minimumDerivative},
    {"math.powf", [](double a, double b) { return std::pow(a, b); }, powerDerivative},
    {"math.atan2", [](double a, double b) { return std::atan2(a, b); },
     [](double a, double b, double) {
       double square = a * a + b * b;
       return square == 0.0 ? Partials{} : Partials{b / square, -a / square};
     }},
    {"math.copysign", [](double a, double b) { return std::copysign(a, b); },
     [](double a, double b, double) { return Partials{sign(a) * std::copysign(1.0, b), 0.0}; }},
};

using Comparison = bool (*)(double, double);
template <Comparison function> constexpr BinaryRule compare(std::string_view name) {
  return {name, [](double a, double b) { return function(a, b) ? 1.0 : 0.0; }, nullptr};
}

bool isUnordered(double a, double b) { return std::isnan(a) || std::isnan(b); }

/// In the order of arith::CmpFPredicate.
const BinaryRule floatComparisons[] = {
    compare<[](double, double) { return false; }>("false"),
    compare<[](double a, double b) { return a == b; }>("oeq"),
    compare<[](double a, double b) { return a > b; }>("ogt"),
    compare<[](double a, double b) { return a >= b; }>("oge"),
    compare<[](double a, double b) { return a < b; }>("olt"),
    compare<[](double a, double b) { return a <= b; }>("ole"),
    compare<[](double a, double b) { return a < b || a > b; }>("one"),
    compare<[](double a, double b) { return !isUnordered(a, b); }>("ord"),
    compare<[](double a, double b) { return isUnordered(a, b) || a == b; }>("ueq"),
    compare<[](double a, double b) { return isUnordered(a, b) || a > b; }>("ugt"),
    compare<[](double a, double b) { return isUnordered(a, b) || a >= b; }>("uge"),
    compare<[](double a, double b) { return isUnordered(a, b) || a < b; }>("ult"),
    compare<[](double a, double b) { return isUnordered(a, b) || a <= b; }>("ule"),
    compare<[](double a, double b) { return a != b; }>("une"),
    compare<[](double a, double b) { return isUnordered(a, b); }>("uno"),
    compare<[](double, double) { return true; }>("true"),
};

template <typename Rule>
const Rule *findByName(std::span<const Rule> rules, std::string_view name) {
  auto found =
      std::find_if(rules.begin(), rules.end(), [&](const Rule &rule) { return rule.name == name; });
  return found == rules.end() ? nullptr : &*found;
}

template <typename Rule> const Rule *findByNumber(std::span<const Rule> rules, int64_t number) {
  return number >= 0 && number < static_cast<int64_t>(rules.size()) ? &rules[number] : nullptr;
}

} // namespace

const UnaryRule clampToUnitRule = {
    "clamp_to_unit", [](double x) { return x < 0.0   ? 0.0
                                           : x > 1.0 ? 1.0
                                                     : x; },
    [](double x, double) { return x >= 0.0 && x <= 1.0 ? 1.0 : 0.0; }};

const BinaryRule positivePowerRule = {
    "positive_power", [](double x, double e) { return x > 0.0 ? std::pow(x, e) : 0.0; },
    [](double x, double e, double y) {
      return x > 0.0 ? Partials{e * std::pow(x, e - 1.0), y * std::log(x)} : Partials{};
    }};

const BinaryRule geometricSlopeRule = {
    "geometric_slope",
    [](double head, double heads) { return std::exp2(-8.0 * (head + 1.0) / heads); }, nullptr};

const BinaryRule interleavedSlopeRule = {"interleaved_slope",
                                         [](double head, double heads) {
                                           double power = std::exp2(std::floor(std::log2(heads)));
                                           if (head < power)
                                             return std::exp2(-8.0 * (head + 1.0) / power);
                                           double odd = 2.0 * (head - power) + 1.0;
                                           return std::exp2(-8.0 * odd / (2.0 * power));
                                         },
                                         nullptr};

const UnaryRule *findUnaryRule(std::string_view name) {
  return findByName<UnaryRule>(unaryRules, name);
}
const BinaryRule *findBinaryRule(std::string_view name) {
  return findByName<BinaryRule>(binaryRules, name);
}
const BinaryRule *findFloatComparison(std::string_view keyword) {
  return findByName<BinaryRule>(floatComparisons, keyword);
}
const BinaryRule *findFloatComparison(int64_t number) {
  return findByNumber<BinaryRule>(floatComparisons, number);
}
const UnaryRule *findActivation(std::string_view name) {
  return findByName<UnaryRule>(activationRules, name);
}

} // namespace pe::reference
