//===- FunctionForms.cpp - Functions of other languages -------------------===//

#include "runtime/plan/FunctionForms.h"

#include <algorithm>

namespace pe::plan {
namespace {

constexpr std::string_view
    kSpecial = "this function is not available; capture a table of its values and read "
               "table[i - j]",
    kRow = "a formula gives one number per pair; of the reductions over an index it has sums "
           "alone, as in sum(n < 8, table[n])",
    kProduct = "a formula has no products over an index; for positive numbers write "
               "exp(sum(n < 8, log(table[n])))",
    kSoftmax = "pe.attention takes the softmax of the scores itself; a formula gives one number "
               "per pair",
    kRandom = "a formula draws no random numbers; pe.attention has dropout(p, %seed), and noise "
              "is captured as a tensor",
    kPositions = "the positions are i and j, and sum(n < 8, table[n]) counts n";

// Sorted by kind. If several formulas are equal in exact arithmetic, the table has the one with
// small rounding errors and finite gradients.
constexpr FunctionForm kForms[] = {
    // Choices and booleans
    {"where", "select(condition, a, b)"},
    {"cond", "select(condition, a, b)"},
    {"if", "select(condition, a, b)"},
    {"heaviside", "select(x < 0, 0, 1)"},
    {"logical_and", "a and b"},
    {"logical_or", "a or b"},
    {"logical_not", "not a"},
    {"any", "a or b"},
    {"all", "a and b"},
    {"eq", "a == b"},
    {"ne", "a != b"},
    {"lt", "a < b"},
    {"le", "a <= b"},
    {"gt", "a > b"},
    {"ge", "a >= b"},
    {"isnan", "x != x"},
    {"isinf", "abs(x) == inf"},
    {"isfinite", "abs(x) < inf"},
    {"bool", "x != 0"},
    // Arithmetic
    {"add", "a + b"},
    {"sub", "a - b"},
    {"subtract", "a - b"},
    {"mul", "a * b"},
    {"multiply", "a * b"},
    {"divide", "a / b"},
    {"true_divide", "a / b"},
    {"div", "a / b"},
    {"floor_divide", "a // b"},
    {"mod", "a % b"},
    {"remainder", "a % b"},
    {"fmod", "a - b * int(a / b)"},
    {"neg", "-x"},
    {"negative", "-x"},
    {"reciprocal", "1 / x"},
    {"inverse", "1 / x"},
    {"lerp", "a + x * (b - a)"},
    {"square", "x * x"},
    {"sqr", "x * x"},
    {"power", "a ^ b"},
    {"rsqrt", "1 / sqrt(x)"},
    {"cbrt", "sign(x) * abs(x) ^ (1 / 3)"},
    {"hypot", "sqrt(a * a + b * b)"},
    {"maximum", "max(a, b)"},
    {"minimum", "min(a, b)"},
    {"fmax", "max(a, b)"},
    {"fmin", "min(a, b)"},
    {"fabs", "abs(x)"},
    {"absolute", "abs(x)"},
    {"sgn", "sign(x)"},
    {"copysign", "abs(a) * select(b < 0, -1, 1)"},
    {"clip", "clamp(x, low, high)"},
    // Rounding
    {"ceil", "-floor(-x)"},
    {"round", "floor(x + 0.5)"},
    {"rint", "floor(x + 0.5)"},
    {"trunc", "int(x)"},
    {"fix", "int(x)"},
    {"frac", "x - int(x)"},
    {"float", "leave it out; integers become real numbers where they meet one", false},
    // Exponentials and logarithms
    {"ln", "log(x)"},
    {"log2", "log(x) / log(2)"},
    {"log10", "log(x) / log(10)"},
    {"exp2", "2 ^ x"},
    {"pow2", "2 ^ x"},
    {"exp10", "10 ^ x"},
    {"expm1", "exp(x) - 1"},
    {"logit", "log(x) - log(1 - x)"},
    {"logaddexp", "max(a, b) + softplus(-abs(a - b))"},
    {"xlogy", "a * log(b)"},
    // Trigonometric and hyperbolic functions
    {"tan", "sin(x) / cos(x)"},
    {"cot", "cos(x) / sin(x)"},
    {"sec", "1 / cos(x)"},
    {"csc", "1 / sin(x)"},
    {"sinc", "let y = max(abs(pi * x), 1e-4) in sin(y) / y"},
    {"sinh", "(exp(x) - exp(-x)) / 2"},
    {"cosh", "(exp(x) + exp(-x)) / 2"},
    {"sech", "2 / (exp(x) + exp(-x))"},
    {"coth", "1 / tanh(x)"},
    {"acosh", "log(x + sqrt(x * x - 1))"},
    {"arccosh", "log(x + sqrt(x * x - 1))"},
    {"asinh", "let s = select(x < 0, -1, 1) in s * log(s * x + sqrt(x * x + 1))"},
    {"arcsinh", "let s = select(x < 0, -1, 1) in s * log(s * x + sqrt(x * x + 1))"},
    {"atanh", "(log1p(x) - log1p(-x)) / 2"},
    {"arctanh", "(log1p(x) - log1p(-x)) / 2"},
    {"deg2rad", "x * pi / 180"},
    {"radians", "x * pi / 180"},
    {"rad2deg", "x * 180 / pi"},
    {"degrees", "x * 180 / pi"},
    {"asin", "formulas have no inverse trigonometric functions; a region has math.asin", false},
    {"arcsin", "formulas have no inverse trigonometric functions; a region has math.asin", false},
    {"acos", "formulas have no inverse trigonometric functions; a region has math.acos", false},
    {"arccos", "formulas have no inverse trigonometric functions; a region has math.acos", false},
    {"atan", "formulas have no inverse trigonometric functions; a region has math.atan", false},
    {"arctan", "formulas have no inverse trigonometric functions; a region has math.atan", false},
    {"atan2", "formulas have no inverse trigonometric functions; a region has math.atan2", false},
    {"arctan2", "formulas have no inverse trigonometric functions; a region has math.atan2", false},
    // Activations
    {"logistic", "sigmoid(x)"},
    {"expit", "sigmoid(x)"},
    {"logsigmoid", "-softplus(-x)"},
    {"log_sigmoid", "-softplus(-x)"},
    {"silu", "x * sigmoid(x)"},
    {"swish", "x * sigmoid(x)"},
    {"gelu", "x * (1 + erf(x / sqrt(2))) / 2"},
    {"mish", "x * tanh(softplus(x))"},
    {"elu", "max(x, 0) + exp(min(x, 0)) - 1"},
    {"leaky_relu", "max(x, 0.01 * x)"},
    {"relu6", "clamp(x, 0, 6)"},
    {"hardtanh", "clamp(x, -1, 1)"},
    {"hardsigmoid", "clamp(x / 6 + 0.5, 0, 1)"},
    {"softsign", "x / (1 + abs(x))"},
    // Special functions
    {"erfc", "1 - erf(x)"},
    {"erfinv", kSpecial, false},
    {"gamma", kSpecial, false},
    {"lgamma", kSpecial, false},
    {"gammaln", kSpecial, false},
    {"loggamma", kSpecial, false},
    {"digamma", kSpecial, false},
    {"beta", kSpecial, false},
    {"zeta", kSpecial, false},
    {"factorial", kSpecial, false},
    {"bessel", kSpecial, false},
    {"bessel_j0", kSpecial, false},
    {"bessel_j1", kSpecial, false},
    {"i0", kSpecial, false},
    {"j0", kSpecial, false},
    {"j1", kSpecial, false},
    // Tensors
    {"len", "size(table, 0)"},
    {"gather", "table[n]"},
    {"take", "table[n]"},
    {"embedding", "table[n]"},
    {"dot", "sum(n < size(table, 0), table[n] * table[n])"},
    {"norm", "sqrt(sum(n < size(table, 0), table[n] * table[n]))"},
    {"mean", "sum(n < size(table, 0), table[n]) / size(table, 0)"},
    {"logsumexp", "log(sum(n < size(table, 0), exp(table[n])))"},
    {"prod", kProduct, false},
    {"argmax", kRow, false},
    {"argmin", kRow, false},
    {"amax", kRow, false},
    {"amin", kRow, false},
    {"std", kRow, false},
    {"var", kRow, false},
    {"median", kRow, false},
    {"sort", kRow, false},
    {"topk", kRow, false},
    {"cumsum", kRow, false},
    {"cumprod", kRow, false},
    {"softmax", kSoftmax, false},
    {"log_softmax", kSoftmax, false},
    {"dropout", kRandom, false},
    {"rand", kRandom, false},
    {"randn", kRandom, false},
    {"range", kPositions, false},
    {"arange", kPositions, false},
};

} // namespace

std::span<const FunctionForm> functionForms() { return kForms; }

const FunctionForm *findFunctionForm(std::string_view name) {
  const auto *form = std::find_if(std::begin(kForms), std::end(kForms),
                                  [&](const FunctionForm &each) { return each.name == name; });
  return form == std::end(kForms) ? nullptr : form;
}

std::string adviceOnFunction(std::string_view name) {
  const FunctionForm *form = findFunctionForm(name);
  if (!form)
    return {};
  return (form->isFormula ? "write " : "") + std::string(form->text);
}

} // namespace pe::plan
