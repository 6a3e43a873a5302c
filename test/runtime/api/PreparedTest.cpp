//===- PreparedTest.cpp - Tests of tables that calls share ----------------===//
//
// Tests Function::prepare: calls that read its tables return bitwise the same as calls that compute
// their own, and mismatched tables are rejected. Also compares FIRE-S in one function with separate
// calls of its attentions.
//
//===----------------------------------------------------------------------===//

#include "pe/pe.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <optional>

using namespace pe;

namespace {

Function compileExample(const std::string &name, const std::string &target = "cpu",
                        bool grad = true) {
  auto program =
      Program::load(std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/" + name + ".mlir");
  EXPECT_TRUE(program) << program.error().getMessage();
  auto function = program->compile({.target = target, .headDim = 16, .valueDim = 16, .grad = grad});
  EXPECT_TRUE(function) << function.error().getMessage();
  return *function;
}

const InputSizes kSizes = {.batch = 2, .heads = 4, .keyHeads = 2, .queries = 90};

/// Returns arguments of a layer with the parameters of `first`.
TensorMap layerOf(const Function &function, uint64_t seed, const TensorMap &first) {
  TensorMap inputs = *function.randomInputs(seed, kSizes);
  for (auto &[name, tensor] : inputs)
    if (name != "q" && name != "k" && name != "v" && !first.empty())
      tensor = first.at(name);
  return inputs;
}

void expectEqual(const TensorMap &found, const TensorMap &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto &[name, tensor] : expected) {
    const auto a = found.at(name).values<float>(), b = tensor.values<float>();
    ASSERT_EQ(a.size(), b.size()) << name;
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(a[i], b[i]) << name << ", element " << i;
  }
}

/// Returns the norm of the difference relative to the norm of `expected`.
double errorOf(const Tensor &found, const std::vector<double> &expected) {
  double difference = 0.0, norm = 0.0;
  const auto values = found.values<float>();
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += (values[i] - expected[i]) * (values[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(difference / norm);
}

} // namespace

class Prepares : public testing::TestWithParam<std::tuple<const char *, const char *>> {};

// In rope, the rotated queries differ by layer, so `prepare` leaves them to the calls.
TEST_P(Prepares, LayersShareTables) {
  const auto [target, name] = GetParam();
  for (bool grad : {true, false}) {
    // The reference has no prepared tensors and no fixed head dim, so the CPU function draws.
    const Function function = compileExample(name, target, grad), drawing = compileExample(name);
    const CallOptions options = {.positions = {.queryStart = 3}};
    const TensorMap first = layerOf(drawing, 1, {});
    auto tables = function.prepare(first, options);
    ASSERT_TRUE(tables) << tables.error().getMessage();
    for (uint64_t seed : {1, 2, 3}) {
      const TensorMap layer = layerOf(drawing, seed, first);
      CallOptions reading = options;
      reading.prepared = &*tables;
      auto own = function.forward(layer, options), shared = function.forward(layer, reading);
      ASSERT_TRUE(own && shared) << (own ? shared : own).error().getMessage();
      expectEqual(shared->results(), own->results());
      if (!grad)
        continue;
      const TensorMap cotangents = {{"d_o", layer.at("q")}};
      auto expected = function.backward(*own, cotangents),
           found = function.backward(*shared, cotangents);
      ASSERT_TRUE(expected && found) << (expected ? found : expected).error().getMessage();
      expectEqual(*found, *expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Prepares,
                         testing::Combine(testing::Values("cpu", "gpu-emulator", "reference"),
                                          testing::Values("fire", "rope", "t5", "nope")),
                         [](const auto &test) {
                           std::string name =
                               std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
                           std::erase(name, '-');
                           return name;
                         });

// The tables are read and not computed again: later changes of the parameters have no effect.
TEST(Prepared, TablesAreNotRecomputed) {
  const Function function = compileExample("t5");
  TensorMap inputs = layerOf(function, 1, {});
  auto before = function.forward(inputs);
  auto tables = function.prepare(inputs);
  ASSERT_TRUE(before && tables);
  for (float &value : inputs.at("table").values<float>())
    value += 1.5f * std::sin(100 * value);
  auto stale = function.forward(inputs, {.prepared = &*tables}), fresh = function.forward(inputs);
  ASSERT_TRUE(stale && fresh);
  expectEqual(stale->results(), before->results());
  EXPECT_NE(fresh->results().at("o").values<float>()[999],
            before->results().at("o").values<float>()[999]);
}

TEST(Prepared, RejectsMismatchedTables) {
  const Function function = compileExample("fire");
  const TensorMap inputs = layerOf(function, 1, {});
  auto tables = function.prepare(inputs);
  ASSERT_TRUE(tables);
  auto messageOf = [&](const Function &called, const TensorMap &arguments, Positions positions,
                       const Prepared &prepared) -> std::string {
    auto call = called.forward(arguments, {.positions = positions, .prepared = &prepared});
    return call ? "" : call.error().getMessage();
  };
  EXPECT_EQ(messageOf(function, inputs, {}, *tables), "");
  EXPECT_EQ(messageOf(function, inputs, {.queryStart = 7}, *tables),
            "expected the sizes and positions that the tables were prepared for, q_start = 0, "
            "found 7; prepare new tables");
  TensorMap others = inputs;
  others["w1"] = inputs.at("w1").clone();
  EXPECT_EQ(messageOf(function, others, {}, *tables),
            "tensor 'w1': expected the tensor that the tables were prepared from, found another; "
            "prepare new tables");
  EXPECT_EQ(messageOf(function, inputs, {}, Prepared()),
            "expected prepared tables, found none; call Function::prepare");
  EXPECT_EQ(messageOf(compileExample("fire", "cpu", /*grad=*/false), inputs, {}, *tables),
            "expected tables that this function, 'attention', prepared, found tables of another "
            "function");
  others.erase("w1");
  EXPECT_FALSE(function.prepare(others));
  EXPECT_FALSE(Function().prepare(inputs));
}

// FIRE-S: two attentions that share a bias, in one call and in two calls that share tables.
TEST(Prepared, GradientsOfSharedNetworksAddUp) {
  const Function both = compileExample("fire_shared"), one = compileExample("fire");
  const TensorMap inputs = *both.randomInputs(5, kSizes);
  auto call = both.forward(inputs);
  ASSERT_TRUE(call) << call.error().getMessage();
  auto found = both.backward(*call, {{"d_o1", inputs.at("q2")}, {"d_o2", inputs.at("q1")}});
  ASSERT_TRUE(found) << found.error().getMessage();

  std::map<std::string, std::vector<double>> sums;
  std::optional<Prepared> tables;
  for (const std::string number : {"1", "2"}) {
    TensorMap layer;
    for (const auto &argument : one.signature().arguments) {
      const bool isActivation = std::string("qkv").find(argument.name) != std::string::npos;
      layer[argument.name] = inputs.at(isActivation ? argument.name + number : argument.name);
    }
    if (!tables)
      tables = *one.prepare(layer);
    auto part = one.forward(layer, {.prepared = &*tables});
    ASSERT_TRUE(part) << part.error().getMessage();
    auto gradients = one.backward(*part, {{"d_o", inputs.at(number == "1" ? "q2" : "q1")}});
    ASSERT_TRUE(gradients) << gradients.error().getMessage();
    for (const auto &[name, gradient] : *gradients) {
      if (name == "d_q" || name == "d_k" || name == "d_v")
        continue;
      std::vector<double> &sum = sums[name];
      sum.resize(static_cast<size_t>(gradient.numel()));
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] += gradient.values<float>()[i];
    }
  }
  ASSERT_EQ(sums.size(), 6u);
  for (const auto &[name, sum] : sums) {
    if (name == "d_b2") // 0 by cancellation, because it is added to an entire row
      continue;
    EXPECT_LE(errorOf(found->at(name), sum), 2e-6) << name;
  }
}
