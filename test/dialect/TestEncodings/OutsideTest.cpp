//===- OutsideTest.cpp - Test encodings against equivalents in pe ---------===//
//
// Runs a program for every op of the test dialect on loops, the CPU and emulated GPU kernels,
// forward and with all gradients. The float64 reference does not support these ops: it interprets a
// twin, an equivalent program in ops of pe. If both use the same algorithm, the compiled program
// and the compiled twin must agree bit for bit.
//
//===----------------------------------------------------------------------===//

#include "conformance/RandomInputs.h"
#include "conformance/Subject.h"
#include "runtime/reference/Compare.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

namespace pe::conformance {
namespace {

/// A program with an op of the test dialect, and the corresponding lines of its twin.
struct Contribution {
  const char *name;
  const char *parameters; ///< further arguments of the function
  const char *outside, *twin;
  const char *clauses; ///< clauses of the attention
  bool isSameAlgorithm = true;
  bool isPacked = false; ///< one sequence of several documents
};

constexpr Contribution kContributions[] = {
    {"coordinate_and_bias", R"pe(,
    %height: tensor<?xf32> {pe.name = "height", pe.init = "uniform(-1,1)"})pe",
     R"pe(
  %x = test_encodings.square_root_distance
  %b = test_encodings.bump %x height(%height : tensor<?xf32>))pe",
     R"pe(
  %b = pe.bias_fn(%height : tensor<?xf32>) expr "height[h] * exp(-abs(i - j))")pe",
     "bias(%b)", /*isSameAlgorithm=*/false},
    {"data_over_tokens", R"pe(,
    %fq: tensor<?x?x?xf32> {pe.name = "fq", pe.axes = ["batch", "head", "query"],
                            pe.init = "uniform(-2,2)"},
    %fk: tensor<?x?x?xf32> {pe.name = "fk", pe.axes = ["batch", "head", "key"],
                            pe.init = "uniform(-2,2)"})pe",
     R"pe(
  %b = test_encodings.difference_of %fq, %fk : tensor<?x?x?xf32>, tensor<?x?x?xf32>)pe",
     R"pe(
  %b = pe.bias_fn(%fq, %fk : tensor<?x?x?xf32>, tensor<?x?x?xf32>)
      expr "fq[b, h, i] - fk[b, h, j]")pe",
     "bias(%b)"},
    {"pieces", R"pe(,
    %c: tensor<f32> {pe.name = "c", pe.init = 0.1, pe.min = 0.01},
    %steep: tensor<5xf32> {pe.name = "steep", pe.init = "uniform(-2,2)"},
    %corner: tensor<5xf32> {pe.name = "corner", pe.init = "uniform(-1,1)"},
    %rise: tensor<?x5xf32> {pe.name = "rise", pe.init = "uniform(-0.5,0.5)"},
    %below: tensor<?xf32> {pe.name = "below", pe.init = "uniform(-1,1)"})pe",
     R"pe(
  %t = pe.progressive c(%c : tensor<f32>)
  %b = test_encodings.hinges %t, %steep, %corner, %rise, %below
      : tensor<5xf32>, tensor<5xf32>, tensor<?x5xf32>, tensor<?xf32>)pe",
     R"pe(
  %t = pe.progressive c(%c : tensor<f32>)
  %b = pe.mlp %t layers(%steep, %corner, %rise, %below
      : tensor<5xf32>, tensor<5xf32>, tensor<?x5xf32>, tensor<?xf32>)
      {activation = #pe.activation<relu>})pe",
     "bias(%b)"},
    {"score", R"pe(,
    %limit: tensor<?xf32> {pe.name = "limit", pe.init = "uniform(1,3)"})pe",
     R"pe(
  %s = test_encodings.cap %limit : tensor<?xf32>)pe",
     R"pe(
  %s = pe.score_fn(%limit : tensor<?xf32>) expr "let l = limit[h] in l * tanh(s / l)")pe",
     "score(%s)"},
    {"content", R"pe(,
    %table: tensor<9x?xf32> {pe.name = "table", pe.axes = ["distance", "depth"],
                             pe.init = "normal(0.5)"},
    %u: tensor<?x?xf32> {pe.name = "u", pe.axes = ["head", "depth"], pe.init = "normal(0.5)"},
    %w: tensor<?x?xf32> {pe.name = "w", pe.axes = ["depth", "depth"], pe.init = "normal(0.2)"})pe",
     R"pe(
  %c = test_encodings.near_vectors %table : tensor<9x?xf32> shift(%u : tensor<?x?xf32>)
      project(%w : tensor<?x?xf32>))pe",
     R"pe(
  %c = pe.content_fn(%table : tensor<9x?xf32>) shift(%u : tensor<?x?xf32>)
      project(%w : tensor<?x?xf32>) expr "table[clamp(i - j, 0, 8), d]")pe",
     "content(%c)"},
    {"factor", R"pe(,
    %rate: tensor<?xf32> {pe.name = "rate", pe.init = "uniform(0.01,0.2)"})pe",
     R"pe(
  %f = test_encodings.fade %rate : tensor<?xf32>)pe",
     R"pe(
  %f = pe.factor_fn(%rate : tensor<?xf32>) expr "exp(-(rate[h] * abs(i - j)))")pe",
     "factor(%f)", /*isSameAlgorithm=*/false},
    {"factor_with_dropout_and_data", R"pe(,
    %gate: tensor<?x?x?xf32> {pe.name = "gate", pe.axes = ["batch", "head", "key"],
                              pe.init = "uniform(-2,2)"},
    %seed: tensor<?xi64> {pe.name = "seed"})pe",
     R"pe(
  %m = pe.sliding_window {left = 40, right = 3}
  %f = test_encodings.thinned %gate, %seed : tensor<?x?x?xf32>, tensor<?xi64>)pe",
     R"pe(
  %m = pe.sliding_window {left = 40, right = 3}
  %f = pe.factor_fn(%gate, %seed : tensor<?x?x?xf32>, tensor<?xi64>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %g: tensor<?x?x?xf32>, %s: tensor<?xi64>):
    %x = pe.dropout_factor 0.25, %s : tensor<?xi64>
    %y = pe.read %g[%b, %h, %j] : tensor<?x?x?xf32>
    %z = arith.mulf %y, %x : f32
    pe.yield %z : f32
  })pe",
     "factor(%f) mask(%m)"},
    {"factors_under_stick_breaking", R"pe(,
    %rate: tensor<?xf32> {pe.name = "rate", pe.init = "uniform(0.01,0.2)"},
    %seed: tensor<i64> {pe.name = "seed"})pe",
     R"pe(
  %m = pe.causal
  %f = test_encodings.fade %rate : tensor<?xf32>)pe",
     R"pe(
  %m = pe.causal
  %f = pe.factor_fn(%rate : tensor<?xf32>) expr "exp(-(rate[h] * abs(i - j)))")pe",
     "factor(%f) dropout(0.1, %seed : tensor<i64>) mask(%m) "
     "{normalizer = #pe.normalizer<stick_breaking>, remainder = #pe.remainder<value>}",
     /*isSameAlgorithm=*/false},
    {"sink", R"pe(,
    %start: tensor<?xf32> {pe.name = "start", pe.init = "uniform(-1,1)"},
    %rise: tensor<?x?xf32> {pe.name = "rise", pe.axes = ["batch", "query"],
                            pe.init = "uniform(-2,2)"})pe",
     R"pe(
  %m = pe.causal
  %s = test_encodings.rising_sink %start, %rise : tensor<?xf32>, tensor<?x?xf32>)pe",
     R"pe(
  %m = pe.causal
  %s = pe.sink_fn(%start, %rise : tensor<?xf32>, tensor<?x?xf32>) expr "start[h] + rise[b, i]")pe",
     "sink(%s) mask(%m)"},
    {"prologue", R"pe(,
    %u: tensor<?x?xf32> {pe.name = "u", pe.axes = ["head", "depth"], pe.init = "normal(0.5)"})pe",
     R"pe(
  %p = test_encodings.query_shift %u : tensor<?x?xf32>)pe",
     R"pe(
  %p = pe.query_shift %u : tensor<?x?xf32>)pe",
     "prologue(%p)"},
    {"rotation", "", R"pe(
  %r = test_encodings.turning)pe",
     R"pe(
  %r = pe.rotary {base = 50.0})pe",
     "rotate(%r)", /*isSameAlgorithm=*/false},
    {"even_keys", "", R"pe(
  %m = test_encodings.even)pe",
     R"pe(
  %m = pe.mask_fn expr "j <= i and (i - j) % 2 == 0")pe",
     "mask(%m)", /*isSameAlgorithm=*/false},
    {"interval_from_data", R"pe(,
    %end: tensor<?xi32> {pe.name = "end", pe.axes = ["batch"], pe.init = "integers(3,140)"})pe",
     R"pe(
  %m = test_encodings.below %end : tensor<?xi32>)pe",
     R"pe(
  %m = pe.mask_fn(%end : tensor<?xi32>) expr "j < end[b]")pe",
     "mask(%m)"},
    {"mask_of_masks", "", R"pe(
  %all = pe.causal
  %near = pe.sliding_window {left = 5, right = 1}
  %m = test_encodings.one_of %all, %near)pe",
     R"pe(
  %m = pe.mask_fn expr "i - j >= 5")pe",
     "mask(%m)", /*isSameAlgorithm=*/false},
    {"mask_of_a_mask_and_positions", "", R"pe(
  %near = pe.sliding_window {left = 40, right = 3}
  %m = test_encodings.even_sum %near)pe",
     R"pe(
  %m = pe.mask_fn expr "i - j < 40 and j - i < 3 and (i + j) % 2 == 0")pe",
     "mask(%m)", /*isSameAlgorithm=*/false},
    {"documents", R"pe(,
    %starts: tensor<?xi32> {pe.name = "starts", pe.axes = ["boundaries"]},
    %amp: tensor<?xf32> {pe.name = "amp", pe.init = "uniform(-0.1,0.1)"})pe",
     R"pe(
  %b = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[h] * i * j / 32"
  %causal = pe.causal
  %near = pe.sliding_window {left = 5, right = 1}
  %far = test_encodings.one_of %causal, %near
  %packed = test_encodings.packed %starts : tensor<?xi32> {restart}
  %m = pe.mask_and %far, %packed)pe",
     R"pe(
  %b = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[h] * i * j / 32"
  %far = pe.mask_fn expr "i - j >= 5"
  %packed = pe.documents %starts : tensor<?xi32> {restart = true}
  %m = pe.mask_and %far, %packed)pe",
     "bias(%b) mask(%m)", /*isSameAlgorithm=*/false, /*isPacked=*/true},
};

std::string attentionText(const Contribution &what, bool isTwin) {
  std::string text = R"pe(!t = tensor<?x?x?x?xf32>
func.func @attention(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})pe";
  text += what.parameters;
  text += R"pe() -> (!t {pe.name = "o"}) {)pe";
  text += isTwin ? what.twin : what.outside;
  text += std::string("\n  %o = pe.attention %q, %k, %v ") + what.clauses;
  return text + " : (!t, !t, !t) -> !t\n  return %o : !t\n}\n";
}

std::string embeddingText(bool isTwin) {
  std::string text = R"pe(!t = tensor<?x?x?xf32>
func.func @embed(%x: !t {pe.name = "x"},
    %table: tensor<?x?xf32> {pe.name = "table", pe.axes = ["rows", "model"],
                             pe.init = "normal(1)"},
    %rate: tensor<?xf32> {pe.name = "rate", pe.axes = ["model"], pe.init = "uniform(0.1,1)"})
    -> (!t {pe.name = "y"}) {
  %e = )pe";
  text += isTwin ? R"pe(pe.embedding_fn(%table, %rate : tensor<?x?xf32>, tensor<?xf32>)
      attributes {least = {rows = "n"}, width_multiple = 2}
      expr "table[n - 1 - p, d] + cos(p * rate[d])")pe"
                 : "test_encodings.rows_and_wave %table, %rate : tensor<?x?xf32>, tensor<?xf32>";
  return text + "\n  %y = pe.embed %x, %e : !t\n  return %y : !t\n}\n";
}

/// A target on which programs are compared.
struct Place {
  const char *name, *target;
  DType dtype = DType::F32;
};
constexpr Place kPlaces[] = {{"loops", "loops"},
                             {"cpu", "cpu"},
                             {"emulator", "gpu-emulator"},
                             {"emulator_bf16", "gpu-emulator", DType::BF16}};

constexpr Positions kLate{.queryStart = 113, .keyStart = 100};
constexpr Call kCalls[] = {{"odd", 2, 4, 2, 37, 50, 16, 24, kLate},
                           {"single", 1, 2, 1, 1, 1, 16, 24},
                           {"blocks", 1, 2, 2, 130, 130, 16, 24}};

class Judge {
public:
  explicit Judge(const Place &place) : place(place) {
    auto made = makeSubject({.target = place.target, .dtype = place.dtype});
    EXPECT_TRUE(made) << made.error().getMessage();
    subject = std::move(*made);
  }

  void judge(const std::string &outside, const std::string &twin, const Call &call, int rank,
             bool isSameAlgorithm) {
    const jit::Source source{outside, "outside.mlir", ""}, other{twin, "twin.mlir", ""};
    auto known = subject->describe(other);
    ASSERT_TRUE(known) << known.error().getMessage();
    auto program = reference::parseProgram(known->program);
    ASSERT_TRUE(program) << program.error().getMessage();
    auto inputs = drawInputs(known->entry, call, 7);
    ASSERT_TRUE(inputs) << inputs.error().getMessage();
    for (auto &[name, tensor] : *inputs)
      if (static_cast<int>(tensor.rank()) == rank && place.dtype != DType::F32)
        tensor = *convert(tensor, place.dtype);
    auto expected = reference::evaluate(*program, *inputs, call.positions, /*grad=*/true);
    ASSERT_TRUE(expected) << expected.error().getMessage();
    reference::EvaluateOptions rounding;
    if (place.dtype != DType::F32)
      rounding.rounding = place.dtype;
    auto rounded = reference::evaluate(*program, *inputs, call.positions, /*grad=*/true, rounding);
    ASSERT_TRUE(rounded) << rounded.error().getMessage();
    Function *function = compile(source, call);
    ASSERT_TRUE(function);
    reference::CompareOptions options;
    options.computation = place.dtype;
    options.rounded = place.dtype != DType::F32 ? &*rounded : nullptr;
    auto approximations = reference::approximationsOf(function->explainJson());
    ASSERT_TRUE(approximations) << approximations.error().getMessage();
    options.approximations = *approximations;
    auto found = function->run(*inputs, call.positions, 1);
    ASSERT_TRUE(found) << found.error().getMessage();
    auto report = reference::compare(*expected, *found, options);
    ASSERT_TRUE(report) << report.error().getMessage();
    EXPECT_TRUE(report->passes()) << call.name << "\n" << report->table();
    auto again = function->run(*inputs, call.positions, 3);
    ASSERT_TRUE(again) << again.error().getMessage();
    EXPECT_EQ(reference::findBitwiseDifference(*found, *again), "") << call.name << ", threads";
    if (isSameAlgorithm)
      expectTwin(other, call, *inputs, *found);
  }

private:
  /// Compiles each program once, because all calls have the same dims. Returns null on failure.
  Function *compile(const jit::Source &source, const Call &call) {
    std::unique_ptr<Function> &function = functions[source.text];
    if (function)
      return function.get();
    auto compiled = subject->compile(source, call.headDim, call.valueDim);
    EXPECT_TRUE(compiled) << compiled.error().getMessage();
    if (compiled)
      function = std::move(*compiled);
    return function.get();
  }
  void expectTwin(const jit::Source &twin, const Call &call, const TensorMap &inputs,
                  const TensorMap &found) {
    Function *function = compile(twin, call);
    ASSERT_TRUE(function);
    auto same = function->run(inputs, call.positions, 1);
    ASSERT_TRUE(same) << same.error().getMessage();
    EXPECT_EQ(reference::findBitwiseDifference(found, *same), "") << call.name << ", twin";
  }

  Place place;
  std::unique_ptr<Subject> subject;
  std::map<std::string, std::unique_ptr<Function>>
      functions; // by source; destroyed before the subject
};

class Outside : public testing::TestWithParam<std::tuple<Place, Contribution>> {};

TEST_P(Outside, EqualsTheReference) {
  const auto &[place, what] = GetParam();
  Judge judge(place);
  for (Call call : kCalls) {
    if (what.isPacked) {
      call.batch = 1;
      call.keys = call.queries;
      call.positions = {};
    }
    judge.judge(attentionText(what, false), attentionText(what, true), call, 4,
                what.isSameAlgorithm);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Outside, testing::Combine(testing::ValuesIn(kPlaces), testing::ValuesIn(kContributions)),
    [](const auto &info) {
      return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param).name;
    });

class OutsideEmbedding : public testing::TestWithParam<Place> {};

TEST_P(OutsideEmbedding, EqualsTheReference) {
  Judge judge(GetParam());
  for (Call call : kCalls) {
    call.positions = {.queryStart = call.positions.queryStart.value_or(0)}; // there are no keys
    judge.judge(embeddingText(false), embeddingText(true), call, 3, /*isSameAlgorithm=*/true);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OutsideEmbedding, testing::ValuesIn(kPlaces),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace pe::conformance
