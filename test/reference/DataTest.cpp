//===- DataTest.cpp - Axes of data, and score functions -------------------===//

#include "reference/Helpers.h"

#include <cmath>

namespace pe::test {
namespace {

/// Queries at positions 7 to 9, keys at 4 to 8, four query heads on two key heads.
constexpr int64_t kBatch = 2, kHeads = 4, kKeyHeads = 2, kQueries = 3, kKeys = 5, kDim = 2;
Positions startsAt(int64_t queries, int64_t keys) {
  Positions positions;
  positions.queryStart = queries;
  positions.keyStart = keys;
  return positions;
}

Tensor counted(Shape shape) {
  std::vector<double> values;
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  for (; count > 0; --count)
    values.push_back(0.1 * static_cast<double>(values.size()));
  return doubles(values, shape);
}

TensorMap inputsWith(const std::string &name, Tensor data) {
  return {{"q", counted({kBatch, kHeads, kQueries, kDim})},
          {"k", counted({kBatch, kKeyHeads, kKeys, kDim})},
          {"v", counted({kBatch, kKeyHeads, kKeys, kDim})},
          {name, std::move(data)}};
}

/// Returns the dense bias `data[b, h, at(i, j)]`.
template <typename Index>
Tensor denseBias(const std::vector<std::string> &axes, const Tensor &data, Index indices) {
  ProgramBuilder f;
  int tensor = f.data("data", axes);
  int bias = f.biasFunction({tensor}, [&](const std::vector<int> &a) {
    std::vector<int> operands = {a[4]};
    for (int index : indices(a))
      operands.push_back(index);
    return f.scalar("pe.read", operands);
  });
  f.attention({bias}, {}, f.mask("pe.causal"));
  auto dense = reference::materializeBias(f.finish(), inputsWith("data", data), startsAt(7, 4));
  if (!dense) {
    ADD_FAILURE() << dense.error().render("materializeBias");
    return {};
  }
  return *dense;
}

TEST(Data, AnAxisMayBeginWithAnUnderscore) {
  Tensor data = counted({kHeads, 5});
  Tensor dense = denseBias({"head", "_n"}, data,
                           [](const std::vector<int> &a) { return std::vector<int>{a[1], a[3]}; });
  ASSERT_TRUE(dense.isDefined());
  EXPECT_EQ(dense.data<double>()[dense.offsetOf({1, 3, 1, 2})],
            data.data<double>()[data.offsetOf({3, 4})]); // the last entry, as keys begin at 4
}

TEST(Data, KeysAreReadAtTheirPositions) {
  Tensor data = counted({kBatch, kKeys});
  Tensor dense = denseBias({"batch", "key"}, data,
                           [](const std::vector<int> &a) { return std::vector<int>{a[0], a[3]}; });
  for (int64_t b = 0; b < kBatch; ++b)
    for (int64_t key = 0; key < kKeys; ++key)
      EXPECT_EQ(dense.data<double>()[dense.offsetOf({b, 3, 1, key})],
                data.data<double>()[data.offsetOf({b, key})]);
}

TEST(Data, AQueryReadsTheKeyAtItsOwnPositionOrTheNearest) {
  Tensor data = counted({kBatch, kHeads, kKeys});
  Tensor dense = denseBias({"batch", "head", "key"}, data, [](const std::vector<int> &a) {
    return std::vector<int>{a[0], a[1], a[2]};
  });
  // The queries at 7, 8 and 9 use the keys 3, 4 and 4, as there is no key at 9.
  const int64_t keys[] = {3, 4, 4};
  for (int64_t row = 0; row < kQueries; ++row)
    EXPECT_EQ(dense.data<double>()[dense.offsetOf({1, 2, row, 0})],
              data.data<double>()[data.offsetOf({1, 2, keys[row]})]);
}

TEST(Data, AQueryHeadReadsItsKeyHead) {
  Tensor data = counted({kKeyHeads, kQueries});
  Tensor dense = denseBias({"kv_head", "query"}, data,
                           [](const std::vector<int> &a) { return std::vector<int>{a[1], a[2]}; });
  for (int64_t head = 0; head < kHeads; ++head)
    EXPECT_EQ(dense.data<double>()[dense.offsetOf({0, head, 2, 0})],
              data.data<double>()[data.offsetOf({head / 2, 2})]);
}

TEST(Data, AShapeThatDisagreesWithTheCallIsRefused) {
  ProgramBuilder f;
  int tensor = f.data("data", {"batch", "key"});
  int bias = f.biasFunction(
      {tensor}, [&](const std::vector<int> &a) { return f.scalar("pe.read", {a[4], a[0], a[3]}); });
  f.attention({bias}, {}, f.mask("pe.causal"));
  auto results = reference::evaluate(f.finish(), inputsWith("data", counted({kBatch, kKeys + 1})),
                                     {}, false, {.rounding = {}, .threads = 1});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().getMessage(),
            "tensor 'data': expected shape [b = 2, c = 5], found [2, 6]; 'k' gives c");
}

/// Compares 3 tanh(s / 3) under softmax with the plain formula.
TEST(Score, ScoreFunctionIsAppliedBeforeBiases) {
  ProgramBuilder f;
  ProgramBuilder::AttentionOptions options;
  options.scale = 1.0;
  options.score = f.scoreFunction({}, [&](const std::vector<int> &a) {
    int third = f.scalar("arith.divf", {a[0], f.number(3.0)});
    return f.scalar("arith.mulf", {f.scalar("math.tanh", {third}), f.number(3.0)});
  });
  int bias = f.biasFunction({}, [&](const std::vector<int> &) { return f.number(0.25); });
  options.lseName = "lse";
  f.attention({bias}, {}, ProgramBuilder::noMask, options);
  TensorMap inputs = {{"q", doubles({1.0}, {1, 1, 1, 1})},
                      {"k", doubles({2.0, -5.0}, {1, 1, 2, 1})},
                      {"v", doubles({1.0, 0.0}, {1, 1, 2, 1})}};
  auto results = evaluated(f.finish(), inputs);
  const double first = std::exp(3.0 * std::tanh(2.0 / 3.0) + 0.25);
  const double second = std::exp(3.0 * std::tanh(-5.0 / 3.0) + 0.25);
  EXPECT_NEAR(results.outputs.at("o").values<double>()[0], first / (first + second), 1e-14);
  EXPECT_NEAR(results.outputs.at("lse").values<double>()[0], std::log(first + second), 1e-14);
}

} // namespace
} // namespace pe::test
