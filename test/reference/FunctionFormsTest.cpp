//===- FunctionFormsTest.cpp - Suggested formulas compute the function ----===//
//
// Every formula of runtime/plan/FunctionForms.h is compiled, evaluated by the reference and
// compared with the function of the C++ library that it replaces.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/FunctionForms.h"
#include "reference/Helpers.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <regex>
#include <set>

namespace pe::test {
namespace {

constexpr double kPi = std::numbers::pi, kLow = -0.5, kHigh = 1.25;
constexpr double kTable[] = {0.5, -1.5, 2.0};
constexpr double kPairs[][2] = {{1.7, -0.6}, {-2.5, 0.8}, {3.0, 2.0}, {0.0, 0.5}};

struct Point {
  double x, a, b;
};
using Function = double (*)(const Point &);

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double sinc(double x) { return x == 0 ? 1 : std::sin(kPi * x) / (kPi * x); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double modulo(double a, double b) { return a - std::floor(a / b) * b; }

const std::map<std::string_view, Function> kElementary = {
    {"heaviside", [](const Point &p) { return p.x < 0 ? 0.0 : 1.0; }},
    {"add", [](const Point &p) { return p.a + p.b; }},
    {"sub", [](const Point &p) { return p.a - p.b; }},
    {"subtract", [](const Point &p) { return p.a - p.b; }},
    {"mul", [](const Point &p) { return p.a * p.b; }},
    {"multiply", [](const Point &p) { return p.a * p.b; }},
    {"divide", [](const Point &p) { return p.a / p.b; }},
    {"true_divide", [](const Point &p) { return p.a / p.b; }},
    {"div", [](const Point &p) { return p.a / p.b; }},
    {"floor_divide", [](const Point &p) { return std::floor(p.a / p.b); }},
    {"mod", [](const Point &p) { return modulo(p.a, p.b); }},
    {"remainder", [](const Point &p) { return modulo(p.a, p.b); }},
    {"fmod", [](const Point &p) { return std::fmod(p.a, p.b); }},
    {"neg", [](const Point &p) { return -p.x; }},
    {"negative", [](const Point &p) { return -p.x; }},
    {"reciprocal", [](const Point &p) { return 1 / p.x; }},
    {"inverse", [](const Point &p) { return 1 / p.x; }},
    {"lerp", [](const Point &p) { return std::lerp(p.a, p.b, p.x); }},
    {"square", [](const Point &p) { return p.x * p.x; }},
    {"sqr", [](const Point &p) { return p.x * p.x; }},
    {"power", [](const Point &p) { return std::pow(p.a, p.b); }},
    {"rsqrt", [](const Point &p) { return 1 / std::sqrt(p.x); }},
    {"cbrt", [](const Point &p) { return std::cbrt(p.x); }},
    {"hypot", [](const Point &p) { return std::hypot(p.a, p.b); }},
    {"maximum", [](const Point &p) { return std::fmax(p.a, p.b); }},
    {"minimum", [](const Point &p) { return std::fmin(p.a, p.b); }},
    {"fmax", [](const Point &p) { return std::fmax(p.a, p.b); }},
    {"fmin", [](const Point &p) { return std::fmin(p.a, p.b); }},
    {"fabs", [](const Point &p) { return std::fabs(p.x); }},
    {"absolute", [](const Point &p) { return std::fabs(p.x); }},
    {"sgn", [](const Point &p) { return double(p.x > 0) - double(p.x < 0); }},
    {"copysign", [](const Point &p) { return std::copysign(p.a, p.b); }},
    {"clip", [](const Point &p) { return std::clamp(p.x, kLow, kHigh); }},
    {"ceil", [](const Point &p) { return std::ceil(p.x); }},
    {"round", [](const Point &p) { return std::round(p.x); }},
    {"rint", [](const Point &p) { return std::rint(p.x); }},
    {"trunc", [](const Point &p) { return std::trunc(p.x); }},
    {"fix", [](const Point &p) { return std::trunc(p.x); }},
    {"frac", [](const Point &p) { return p.x - std::trunc(p.x); }},
};

const std::map<std::string_view, Function> kTranscendental = {
    {"ln", [](const Point &p) { return std::log(p.x); }},
    {"log2", [](const Point &p) { return std::log2(p.x); }},
    {"log10", [](const Point &p) { return std::log10(p.x); }},
    {"exp2", [](const Point &p) { return std::exp2(p.x); }},
    {"pow2", [](const Point &p) { return std::exp2(p.x); }},
    {"exp10", [](const Point &p) { return std::pow(10.0, p.x); }},
    {"expm1", [](const Point &p) { return std::expm1(p.x); }},
    {"logit", [](const Point &p) { return std::log(p.x) - std::log1p(-p.x); }},
    {"logaddexp", [](const Point &p) { return std::log(std::exp(p.a) + std::exp(p.b)); }},
    {"xlogy", [](const Point &p) { return p.a == 0 ? 0 : p.a * std::log(p.b); }},
    {"tan", [](const Point &p) { return std::tan(p.x); }},
    {"cot", [](const Point &p) { return 1 / std::tan(p.x); }},
    {"sec", [](const Point &p) { return 1 / std::cos(p.x); }},
    {"csc", [](const Point &p) { return 1 / std::sin(p.x); }},
    {"sinc", [](const Point &p) { return sinc(p.x); }},
    {"sinh", [](const Point &p) { return std::sinh(p.x); }},
    {"cosh", [](const Point &p) { return std::cosh(p.x); }},
    {"sech", [](const Point &p) { return 1 / std::cosh(p.x); }},
    {"coth", [](const Point &p) { return 1 / std::tanh(p.x); }},
    {"acosh", [](const Point &p) { return std::acosh(p.x); }},
    {"arccosh", [](const Point &p) { return std::acosh(p.x); }},
    {"asinh", [](const Point &p) { return std::asinh(p.x); }},
    {"arcsinh", [](const Point &p) { return std::asinh(p.x); }},
    {"atanh", [](const Point &p) { return std::atanh(p.x); }},
    {"arctanh", [](const Point &p) { return std::atanh(p.x); }},
    {"deg2rad", [](const Point &p) { return p.x * kPi / 180; }},
    {"radians", [](const Point &p) { return p.x * kPi / 180; }},
    {"rad2deg", [](const Point &p) { return p.x * 180 / kPi; }},
    {"degrees", [](const Point &p) { return p.x * 180 / kPi; }},
    {"logistic", [](const Point &p) { return sigmoid(p.x); }},
    {"expit", [](const Point &p) { return sigmoid(p.x); }},
    {"logsigmoid", [](const Point &p) { return -softplus(-p.x); }},
    {"log_sigmoid", [](const Point &p) { return -softplus(-p.x); }},
    {"silu", [](const Point &p) { return p.x * sigmoid(p.x); }},
    {"swish", [](const Point &p) { return p.x * sigmoid(p.x); }},
    {"gelu", [](const Point &p) { return p.x * std::erfc(-p.x / std::sqrt(2.0)) / 2; }},
    {"mish", [](const Point &p) { return p.x * std::tanh(softplus(p.x)); }},
    {"elu", [](const Point &p) { return p.x > 0 ? p.x : std::expm1(p.x); }},
    {"leaky_relu", [](const Point &p) { return p.x > 0 ? p.x : 0.01 * p.x; }},
    {"relu6", [](const Point &p) { return std::clamp(p.x, 0.0, 6.0); }},
    {"hardtanh", [](const Point &p) { return std::clamp(p.x, -1.0, 1.0); }},
    {"hardsigmoid", [](const Point &p) { return std::clamp(p.x / 6 + 0.5, 0.0, 1.0); }},
    {"softsign", [](const Point &p) { return p.x / (1 + std::fabs(p.x)); }},
    {"erfc", [](const Point &p) { return std::erfc(p.x); }},
};

/// Functions of the table [0.5, -1.5, 2.0] and of the index n = 1.
const std::map<std::string_view, Function> kReductions = {
    {"len", [](const Point &) { return 3.0; }},
    {"gather", [](const Point &) { return kTable[1]; }},
    {"take", [](const Point &) { return kTable[1]; }},
    {"embedding", [](const Point &) { return kTable[1]; }},
    {"dot", [](const Point &) { return 6.5; }},
    {"norm", [](const Point &) { return std::sqrt(6.5); }},
    {"mean", [](const Point &) { return 1.0 / 3; }},
    {"logsumexp",
     [](const Point &) { return std::log(std::exp(0.5) + std::exp(-1.5) + std::exp(2.0)); }},
};

/// Functions that return a boolean.
const std::map<std::string_view, Function> kTests = {
    {"eq", [](const Point &p) { return double(p.a == p.b); }},
    {"ne", [](const Point &p) { return double(p.a != p.b); }},
    {"lt", [](const Point &p) { return double(p.a < p.b); }},
    {"le", [](const Point &p) { return double(p.a <= p.b); }},
    {"gt", [](const Point &p) { return double(p.a > p.b); }},
    {"ge", [](const Point &p) { return double(p.a >= p.b); }},
    {"isnan", [](const Point &p) { return double(std::isnan(p.x)); }},
    {"isinf", [](const Point &p) { return double(std::isinf(p.x)); }},
    {"isfinite", [](const Point &p) { return double(std::isfinite(p.x)); }},
    {"bool", [](const Point &p) { return double(p.x != 0); }},
};

/// Functions that select by a condition, here x > 0.
const std::map<std::string_view, Function> kChoices = {
    {"where", [](const Point &p) { return p.x > 0 ? p.a : p.b; }},
    {"cond", [](const Point &p) { return p.x > 0 ? p.a : p.b; }},
    {"if", [](const Point &p) { return p.x > 0 ? p.a : p.b; }},
};

/// Functions of two booleans, here x > -1 and x < 1.
const std::map<std::string_view, Function> kLogic = {
    {"logical_and", [](const Point &p) { return double(p.x > -1 && p.x < 1); }},
    {"logical_or", [](const Point &) { return 1.0; }},
    {"logical_not", [](const Point &p) { return double(p.x <= -1); }},
    {"any", [](const Point &) { return 1.0; }},
    {"all", [](const Point &p) { return double(p.x > -1 && p.x < 1); }},
};

/// A suggested formula, its captures, and the function that it computes.
struct Case {
  std::string_view name;
  std::string captures, formula;
  Function function;
};

/// Returns the suggestion as a formula of x, a, c, low, high and table whose value is a number.
std::string formulaOf(const plan::FunctionForm &form) {
  // b is the batch entry in a formula, and any operand in a suggestion.
  const std::string text = std::regex_replace(std::string(form.text), std::regex("\\bb\\b"), "c");
  if (kLogic.contains(form.name))
    return "let a = x > -1 in let c = x < 1 in select(" + text + ", 1, 0)";
  if (kTests.contains(form.name))
    return "select(" + text + ", 1, 0)";
  if (kChoices.contains(form.name))
    return "let condition = x > 0 in " + text;
  return text == "table[n]" ? "let n = 1 in " + text : text;
}

/// Returns "(%x, %a : tensor<f32>, tensor<f32>)" for the tensors that a formula names.
std::string capturesOf(const std::string &formula) {
  std::string names, types;
  for (const std::string name : {"x", "a", "c", "low", "high", "table"}) {
    const bool isBound = formula.starts_with("let a = ") && name != "x";
    if (isBound || !std::regex_search(formula, std::regex("\\b" + name + "\\b")))
      continue;
    names += (names.empty() ? "%" : ", %") + name;
    types += std::string(types.empty() ? "" : ", ") +
             (name == "table" ? "tensor<3xf32>" : "tensor<f32>");
  }
  return "(" + names + " : " + types + ")";
}

std::vector<Case> allCases() {
  std::vector<Case> cases;
  for (const plan::FunctionForm &form : plan::functionForms()) {
    if (!form.isFormula)
      continue;
    Function function = nullptr;
    for (const auto *functions :
         {&kElementary, &kTranscendental, &kReductions, &kTests, &kChoices, &kLogic})
      if (auto found = functions->find(form.name); found != functions->end())
        function = found->second;
    const std::string formula = formulaOf(form);
    cases.push_back({form.name, capturesOf(formula), formula, function});
  }
  return cases;
}

/// Returns a program with one bias per case: the value of the formula at one key, and 0 at the
/// others.
std::string programOf(const std::vector<Case> &cases) {
  std::string text = "!t = tensor<?x?x?x8xf32>\nfunc.func @forms(%q: !t {pe.name = \"q\"}, %k: !t "
                     "{pe.name = \"k\"}, %v: !t {pe.name = \"v\"}";
  for (const char *name : {"x", "a", "c", "low", "high"})
    text += std::string(", %") + name + ": tensor<f32> {pe.name = \"" + name + "\"}";
  text += ", %table: tensor<3xf32> {pe.name = \"table\"}) -> (!t {pe.name = \"o\"}) {\n";
  std::string biases;
  for (size_t n = 0; n < cases.size(); ++n) {
    const std::string bias = "%bias" + std::to_string(n);
    text += "  " + bias + " = pe.bias_fn" + cases[n].captures +
            " expr \"select(j == " + std::to_string(n) + ", (" + cases[n].formula + "), 0)\"\n";
    biases += (n ? ", " : "") + bias;
  }
  return text + "  %o = pe.attention %q, %k, %v bias(" + biases +
         ") : (!t, !t, !t) -> !t\n  return %o : !t\n}\n";
}

class FunctionForms : public testing::Test {
protected:
  /// Returns the values of all cases at a point.
  std::vector<double> valuesAt(const Point &point) {
    inputs["x"] = Tensor::scalar(point.x);
    inputs["a"] = Tensor::scalar(point.a);
    inputs["c"] = Tensor::scalar(point.b);
    auto bias = reference::materializeBias(*program, inputs, {});
    if (!bias) {
      ADD_FAILURE() << bias.error().render("materializeBias");
      return {};
    }
    std::vector<double> values;
    for (int64_t key = 0; key < static_cast<int64_t>(cases.size()); ++key)
      values.push_back(bias->data<double>()[bias->offsetOf({0, 0, 0, key})]);
    return values;
  }

  void SetUp() override {
    const auto path = std::filesystem::path(testing::TempDir()) / "function-forms.mlir";
    std::ofstream(path) << programOf(cases);
    const std::string json =
        outputOf(std::string(PE_TEST_BINARY_DIR) + "/bin/pe-opt " + path.string() +
                 " --pe-prepare --pe-export-program -o /dev/null");
    auto parsed = reference::parseProgram(json);
    ASSERT_TRUE(parsed) << parsed.error().getMessage();
    program = std::move(*parsed);
    const auto keys = static_cast<int64_t>(cases.size());
    inputs["q"] = Tensor::zeros(DType::F64, {1, 1, 1, 8});
    inputs["k"] = inputs["v"] = Tensor::zeros(DType::F64, {1, 1, keys, 8});
    inputs["low"] = Tensor::scalar(kLow);
    inputs["high"] = Tensor::scalar(kHigh);
    inputs["table"] = doubles({kTable[0], kTable[1], kTable[2]}, {3});
  }

  const std::vector<Case> cases = allCases();
  std::optional<reference::Program> program;
  TensorMap inputs;
};

TEST_F(FunctionForms, ComputeTheFunction) {
  std::set<std::string_view> compared;
  for (double x : {-3000.0, -2.3, -0.7, 0.0, 0.4, 1.5, 40.0, double(NAN), double(INFINITY)})
    for (const auto &[a, b] : kPairs) {
      const Point point{x, a, b};
      const std::vector<double> found = valuesAt(point);
      ASSERT_EQ(found.size(), cases.size());
      for (size_t n = 0; n < cases.size(); ++n) {
        ASSERT_TRUE(cases[n].function) << cases[n].name << " has no value in this test";
        const bool isTest = kTests.contains(cases[n].name);
        if (!std::isfinite(x) && !isTest)
          continue;
        const double expected = cases[n].function(point);
        // Constants such as pi are rounded to f32.
        if (std::isfinite(expected)) {
          EXPECT_NEAR(found[n], expected, 2e-6 * (1 + std::fabs(expected)))
              << cases[n].name << " at x = " << x << ", a = " << a << ", b = " << b;
          compared.insert(cases[n].name);
        } else {
          EXPECT_FALSE(std::isfinite(found[n])) << cases[n].name << " at x = " << x;
        }
      }
    }
  EXPECT_EQ(compared.size(), cases.size());
}

TEST(FunctionFormsTable, HasEachNameOnce) {
  std::set<std::string_view> names;
  for (const plan::FunctionForm &form : plan::functionForms())
    EXPECT_TRUE(names.insert(form.name).second) << form.name;
}

// Lit tests contain the message for each name.
TEST(FunctionFormsTable, HasAMessageForEachName) {
  std::string text;
  for (const auto &entry :
       std::filesystem::directory_iterator(PE_TEST_SOURCE_DIR "/test/dialect/PE"))
    if (entry.path().filename().string().starts_with("errors-functions-")) {
      std::ifstream file(entry.path());
      text.append(std::istreambuf_iterator<char>(file), {});
    }
  for (const plan::FunctionForm &form : plan::functionForms())
    EXPECT_NE(text.find("unknown function '" + std::string(form.name) + "';"), std::string::npos)
        << form.name << " has no case in test/dialect/PE/errors-functions-*.mlir";
}

} // namespace
} // namespace pe::test
