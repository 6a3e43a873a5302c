//===- ProgramTest.cpp - Parsing and refusal of programs ------------------===//

#include "reference/Helpers.h"

namespace pe::test {
namespace {

using reference::Attribute;

std::string errorOf(const ProgramBuilder &f, const TensorMap &inputs, bool grad = false) {
  auto results = reference::evaluate(f.finish(), inputs, {}, grad, {.rounding = {}, .threads = 1});
  return results ? "" : results.error().render("pe");
}

TensorMap inputsFor(const ProgramBuilder &f, const CallShape &shape = {}) {
  return randomInputs({"test", f.finish(), f.parameters()}, shape, 1);
}

TEST(Attributes, NumbersInEverySpelling) {
  EXPECT_EQ(Attribute{0.5}.asNumber(), 0.5);
  EXPECT_EQ(Attribute{std::string("5.0e-01 : f32")}.asNumber(), 0.5);
  EXPECT_EQ(Attribute{std::string("-3 : i64")}.asNumber(), -3.0);
  EXPECT_EQ(Attribute{std::string("softmax")}.asNumber(), std::nullopt);
  EXPECT_EQ(Attribute{std::string("array<i32: 1, 0, 2>")}.asIntegers(),
            (std::vector<int64_t>{1, 0, 2}));
}

TEST(Attributes, KeywordsInEverySpelling) {
  for (const char *text :
       {"softmax", "#pe.normalizer<softmax>", "#pe<normalizer softmax>", "\"softmax\""})
    EXPECT_EQ(Attribute{std::string(text)}.asKeyword(), "softmax") << text;
}

TEST(Parse, MalformedJsonIsAnError) {
  for (const char *text :
       {"", "{", "[]", "{}", "3", R"({"name":"f","args":[],"ops":[{"operands":[]}],"returns":[]})",
        R"({"name":"f","args":[],"ops":[],"returns":[{"id":1,"name":"o"}]})"}) {
    auto program = reference::parseProgram(text);
    ASSERT_FALSE(program) << text;
    EXPECT_EQ(program.error().getMessage().substr(0, 17), "malformed program") << text;
  }
}

TEST(Parse, NonListsAreRefused) {
  const std::string whole =
      R"({"name":"f","args":[],"ops":[{"op":"a.b","operands":[],"results":[],"types":[],)"
      R"("regions":[{"args":[],"ops":[]}]}],"returns":[]})";
  ASSERT_TRUE(reference::parseProgram(whole));
  for (const char *key : {"args", "ops", "operands", "results", "types", "regions", "returns"}) {
    const std::string name = "\"" + std::string(key) + "\":";
    for (size_t at = 0; (at = whole.find(name, at)) != std::string::npos; ++at)
      for (const char *value : {"\"text\"", "3", "null", "{}"}) {
        // Replaces the original list, up to its closing bracket.
        size_t begin = at + name.size(), end = begin, depth = 0;
        do
          depth += (whole[end] == '[') - (whole[end] == ']');
        while (++end, depth);
        auto program = reference::parseProgram(whole.substr(0, begin) + value + whole.substr(end));
        ASSERT_FALSE(program) << key << " " << value;
        EXPECT_NE(program.error().getMessage().find("to be a list, found"), std::string::npos);
      }
  }
}

TEST(Parse, IdsMayBeStrings) {
  auto program = reference::parseProgram(
      R"({"name":"f","args":[{"id":"%0","name":"q","type":"tensor<?xf32>"}],
          "ops":[],"returns":[{"id":"%0","name":"o"}]})");
  ASSERT_TRUE(program) << program.error().getMessage();
  EXPECT_EQ(program->returns[0].id, program->arguments[0].id);
}

TEST(Refusals, UnknownOperationsByNameAndPlace) {
  ProgramBuilder f;
  f.add("linalg.matmul", {0, 1}, {"tensor<?x?x?x?xf32>"}, {});
  f.attention({}, {}, f.noMask);
  EXPECT_EQ(errorOf(f, inputsFor(f)), "test.mlir:1:1: error: 'linalg.matmul' is not an operation "
                                      "that the reference can evaluate");
}

TEST(Refusals, UnknownBias) {
  ProgramBuilder f;
  f.attention({f.bias("pe.new_bias", {})}, {}, f.noMask);
  EXPECT_NE(errorOf(f, inputsFor(f)).find("test.mlir:1:1: error: 'pe.new_bias'"),
            std::string::npos);
}

TEST(Refusals, UnknownAttributeIsRefused) {
  ProgramBuilder f;
  f.attention({}, {f.rotation("pe.rotary", {{"factor", 4.0}})}, f.noMask);
  EXPECT_NE(errorOf(f, inputsFor(f)).find("attribute 'factor'"), std::string::npos);
}

TEST(Refusals, UnknownActivationAndScaling) {
  ProgramBuilder f;
  const int weight = f.parameter("w", {f.heads}), shift = f.parameter("b", {f.heads});
  f.attention({f.bias("pe.mlp", {f.coordinate("pe.distance"), weight, shift},
                      {{"activation", "#pe.activation<mish>"}})},
              {}, f.noMask);
  EXPECT_NE(errorOf(f, inputsFor(f))
                .find("expected activations identity, relu, gelu, tanh, silu, "
                      "cos or step, found mish and identity"),
            std::string::npos)
      << errorOf(f, inputsFor(f));
  ProgramBuilder g;
  g.attention({}, {g.rotation("pe.rotary", {{"scaling", "#pe.rope_scaling<cubic>"}})}, g.noMask);
  EXPECT_NE(errorOf(g, inputsFor(g)).find("has a scaling 'cubic' that the reference does not"),
            std::string::npos);
}

TEST(Refusals, StickBreakingNeedsAnOrder) {
  ProgramBuilder f;
  ProgramBuilder::AttentionOptions options;
  options.normalizer = "stick_breaking";
  int window = f.mask("pe.sliding_window", {}, {{"left", 4}});
  f.attention({}, {}, window, options);
  EXPECT_NE(errorOf(f, inputsFor(f)).find("expected a causal mask"), std::string::npos);
}

TEST(Refusals, ControlFlowInRegions) {
  ProgramBuilder f;
  int bias =
      f.biasFunction({}, [&](const std::vector<int> &a) { return f.scalar("scf.if", {a[0]}); });
  f.attention({bias}, {}, f.noMask);
  EXPECT_NE(errorOf(f, inputsFor(f)).find("'scf.if' is not supported inside a region"),
            std::string::npos);
}

TEST(Refusals, MissingOperands) {
  ProgramBuilder f;
  int slope = f.parameter("slope", {f.heads});
  f.attention({f.bias("pe.linear", {slope}, {{"operandSegmentSizes", {0, 1, 0}}})}, {}, f.noMask);
  TensorMap inputs = inputsFor(f);
  inputs["slope"] = Tensor::zeros(DType::F64, {2});
  EXPECT_NE(errorOf(f, inputs).find("expected an operand in group 0 of 3, found none"),
            std::string::npos);
}

TEST(Refusals, InputsByName) {
  ProgramBuilder f;
  f.attention({}, {}, f.noMask);
  TensorMap inputs = inputsFor(f), missing = inputs, extra = inputs, shape = inputs;
  missing.erase("k");
  extra["w"] = Tensor::scalar(1.0);
  shape["v"] = Tensor::zeros(DType::F64, {2, 2});
  EXPECT_NE(errorOf(f, missing).find("'k'"), std::string::npos);
  EXPECT_NE(errorOf(f, extra).find("'w'"), std::string::npos);
  EXPECT_NE(errorOf(f, shape).find("'v'"), std::string::npos);
  TensorMap cotangent = inputs;
  cotangent["d_o"] = Tensor::zeros(DType::F64, {1});
  EXPECT_EQ(errorOf(f, cotangent), "") << "cotangents are ignored without gradients";
  EXPECT_NE(errorOf(f, cotangent, true).find("'d_o'"), std::string::npos);
}

TEST(Refusals, ShapesOfOneAttention) {
  ProgramBuilder f;
  int slopes = f.parameter("slopes", {3});
  int bias = f.bias("pe.linear", {f.coordinate("pe.distance"), slopes},
                    {{"operandSegmentSizes", {1, 1, 0}}});
  f.attention({bias}, {}, f.noMask);
  EXPECT_NE(errorOf(f, inputsFor(f)).find("2 numbers, one per head, found shape [3]"),
            std::string::npos);
  TensorMap heads = inputsFor(f, {1, 3, 2, 4, 4, 4, 4});
  EXPECT_NE(errorOf(f, heads).find("a multiple of the key heads, found 3 query heads"),
            std::string::npos);
  TensorMap lengths = inputsFor(f, {1, 3, 3, 4, 4, 4, 4});
  lengths["v"] = Tensor::zeros(DType::F64, {1, 3, 5, 4});
  EXPECT_NE(errorOf(f, lengths).find("'k' gives c"), std::string::npos);
}

TEST(Evaluate, ScaleIsAnAttribute) {
  ProgramBuilder f, plain;
  ProgramBuilder::AttentionOptions options;
  options.scale = 0.25;
  f.attention({}, {}, f.noMask, options);
  plain.attention({}, {}, plain.noMask);
  TensorMap inputs = inputsFor(f);
  auto scaled = evaluated(f.finish(), inputs);
  for (double &x : inputs["q"].values<double>())
    x *= 0.5; // the default is 1 / sqrt(4)
  auto halved = evaluated(plain.finish(), inputs);
  expectNear(scaled.outputs["o"], halved.outputs["o"], 1e-15);
}

TEST(Evaluate, ConstantTensorsAreParametersWithoutAName) {
  ProgramBuilder f;
  int constant = f.add("arith.constant", {}, {"tensor<f32>"}, {{"value", 0.5}});
  int bias = f.bias("pe.linear", {f.coordinate("pe.distance"), constant},
                    {{"operandSegmentSizes", {1, 1, 0}}});
  f.attention({bias}, {}, f.mask("pe.causal"));
  auto bias4 = reference::materializeBias(f.finish(), inputsFor(f), {});
  ASSERT_TRUE(bias4) << bias4.error().getMessage();
  EXPECT_EQ(bias4->data<double>()[bias4->offsetOf({0, 0, 3, 1})], 1.0);
}

} // namespace
} // namespace pe::test
