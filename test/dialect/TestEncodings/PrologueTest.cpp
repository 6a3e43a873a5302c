//===- PrologueTest.cpp - Tests prologues of another dialect --------------===//
//
// Compares two prologues and a rotation of the test dialect with plain attention on queries and
// keys to which the test applies the prologues: q' = (q + u_h) e^(rate_h sin p), k' = k e^(rate_h
// sin p). The expected gradients are computed from the gradients of q' and k'.
//
//===----------------------------------------------------------------------===//

#include "pe/pe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace pe::test {
namespace {

std::string programText(bool hasPrologues) {
  const std::string parameters = R"pe(,
    %u: tensor<?x?xf32> {pe.name = "u", pe.axes = ["head", "depth"], pe.init = "normal(0.5)"},
    %rate: tensor<?xf32> {pe.name = "rate", pe.init = "uniform(0.2,0.9)"})pe";
  const std::string prologues = R"pe(
  %shift = test_encodings.query_shift %u : tensor<?x?xf32>
  %scale = test_encodings.row_scale %rate : tensor<?xf32>)pe";
  std::string text = R"pe(!t = tensor<?x?x?x?xf32>
func.func @attention(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})pe";
  text += (hasPrologues ? parameters : "") + R"pe() -> (!t {pe.name = "o"}) {
  %mask = pe.causal
  %turn = test_encodings.slow_rotation)pe";
  text += hasPrologues ? prologues : "";
  text += "\n  %o = pe.attention %q, %k, %v ";
  text += hasPrologues ? "prologue(%shift, %scale) " : "";
  return text + R"pe(rotate(%turn) mask(%mask) : (!t, !t, !t) -> !t
  return %o : !t
})pe";
}

struct Results {
  TensorMap outputs, gradients;
};

Results run(const std::string &text, const CompileOptions &options, const TensorMap &inputs,
            const Positions &positions) {
  Results results;
  Expected<Program> program = Program::parse(text, "prologues.mlir");
  EXPECT_TRUE(program) << program.error().getMessage();
  if (!program)
    return results;
  Expected<Function> function = program->compile(options);
  EXPECT_TRUE(function) << function.error().getMessage();
  if (!function)
    return results;
  TensorMap arguments = inputs;
  Tensor cotangent = arguments.at("d_o");
  arguments.erase("d_o");
  Expected<Call> call = function->forward(arguments, {.positions = positions});
  EXPECT_TRUE(call) << call.error().getMessage();
  if (!call)
    return results;
  Expected<TensorMap> gradients =
      function->backward(*call, {{"d_o", cotangent}}, {.positions = positions});
  EXPECT_TRUE(gradients) << gradients.error().getMessage();
  if (gradients)
    results = {call->results(), *gradients};
  return results;
}

void expectNear(const Tensor &found, const std::vector<double> &expected, const std::string &name) {
  auto values = found.values<float>();
  ASSERT_EQ(values.size(), expected.size()) << name;
  double error = 0, norm = 0;
  for (size_t n = 0; n < expected.size(); ++n) {
    error += (values[n] - expected[n]) * (values[n] - expected[n]);
    norm += expected[n] * expected[n];
  }
  EXPECT_LE(std::sqrt(error), 1e-5 * std::sqrt(norm)) << name;
  EXPECT_GT(norm, 0) << name;
}

std::vector<double> valuesOf(const Tensor &tensor) {
  auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

class Prologues : public testing::TestWithParam<std::string> {
protected:
  static constexpr int64_t kBatch = 2, kHeads = 4, kKeyHeads = 2, kQueries = 37, kKeys = 50,
                           kDim = 16;
  static constexpr int64_t kQueryStart = 113, kKeyStart = 100;
};

/// The rows of queries (4 heads) or keys (2 heads) after the prologues.
struct Rows {
  int64_t heads, length, start, dim;
  const Tensor &u, &rate;

  template <typename Visit> void forEach(const Visit &visit) const {
    const int64_t group = u.dim(0) / heads;
    size_t n = 0;
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t row = 0; row < length; ++row)
          for (int64_t d = 0; d < dim; ++d, ++n) {
            const double sine = std::sin(static_cast<double>(start + row));
            visit(n, h * group, d, sine, std::exp(rate.values<float>()[h * group] * sine));
          }
  }
};

TEST_P(Prologues, EqualChangedQueriesAndKeys) {
  CompileOptions options{.headDim = kDim, .valueDim = kDim, .grad = true};
  options.target = GetParam() == "loops" ? "cpu" : GetParam();
  if (GetParam() == "loops")
    options.lowering = "loops";
  Expected<Program> program = Program::parse(programText(true), "prologues.mlir");
  ASSERT_TRUE(program) << program.error().getMessage();
  Expected<Function> function = program->compile(options);
  ASSERT_TRUE(function) << function.error().getMessage();
  Expected<TensorMap> inputs =
      function->randomInputs(1, {kBatch, kHeads, kKeyHeads, kQueries, kKeys});
  ASSERT_TRUE(inputs) << inputs.error().getMessage();
  Tensor cotangent = Tensor::zeros(DType::F32, {kBatch, kHeads, kQueries, kDim});
  for (size_t n = 0; float &value : cotangent.values<float>())
    value = static_cast<float>(std::sin(1.7 * static_cast<double>(n++)));
  inputs->insert_or_assign("d_o", cotangent);
  Positions positions;
  positions.queryStart = kQueryStart;
  positions.keyStart = kKeyStart;
  const Tensor &u = inputs->at("u"), &rate = inputs->at("rate");
  const Rows queries{kHeads, kQueries, kQueryStart, kDim, u, rate};
  const Rows keys{kKeyHeads, kKeys, kKeyStart, kDim, u, rate};
  auto shift = [&](int64_t h, int64_t d) { return u.values<float>()[h * kDim + d]; };

  TensorMap changed = {{"v", inputs->at("v")}, {"d_o", inputs->at("d_o")}};
  changed.insert_or_assign("q", Tensor::zeros(DType::F32, inputs->at("q").shape()));
  changed.insert_or_assign("k", Tensor::zeros(DType::F32, inputs->at("k").shape()));
  auto q = inputs->at("q").values<float>(), k = inputs->at("k").values<float>();
  auto newQ = changed.at("q").values<float>(), newK = changed.at("k").values<float>();
  queries.forEach([&](size_t n, int64_t h, int64_t d, double, double scale) {
    newQ[n] = static_cast<float>((q[n] + shift(h, d)) * scale);
  });
  keys.forEach([&](size_t n, int64_t, int64_t, double, double scale) {
    newK[n] = static_cast<float>(k[n] * scale);
  });
  const Results found = run(programText(true), options, *inputs, positions);
  const Results plain = run(programText(false), options, changed, positions);
  ASSERT_FALSE(found.gradients.empty() || plain.gradients.empty());

  std::vector<double> dQ = valuesOf(plain.gradients.at("d_q")),
                      dK = valuesOf(plain.gradients.at("d_k"));
  std::vector<double> dU(kHeads * kDim), dRate(kHeads);
  queries.forEach([&](size_t n, int64_t h, int64_t d, double sine, double scale) {
    dRate[h] += dQ[n] * newQ[n] * sine;
    dQ[n] *= scale;
    dU[h * kDim + d] += dQ[n];
  });
  keys.forEach([&](size_t n, int64_t h, int64_t, double sine, double scale) {
    dRate[h] += dK[n] * newK[n] * sine;
    dK[n] *= scale;
  });
  expectNear(found.outputs.at("o"), valuesOf(plain.outputs.at("o")), "o");
  expectNear(found.gradients.at("d_q"), dQ, "d_q");
  expectNear(found.gradients.at("d_k"), dK, "d_k");
  expectNear(found.gradients.at("d_v"), valuesOf(plain.gradients.at("d_v")), "d_v");
  expectNear(found.gradients.at("d_u"), dU, "d_u");
  expectNear(found.gradients.at("d_rate"), dRate, "d_rate");
}

INSTANTIATE_TEST_SUITE_P(Targets, Prologues, testing::Values("loops", "cpu", "gpu-emulator"),
                         [](const auto &info) {
                           return info.param == "gpu-emulator" ? std::string("emulator")
                                                               : info.param;
                         });

} // namespace
} // namespace pe::test
