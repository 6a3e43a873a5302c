//===- ContentsTest.cpp - Tests content terms against changed keys --------===//
//
// For a single query, a content term is equivalent to adding its vector of i - j to the key, and a
// value content term to adding its vector to the value. The test compares attention with these
// terms with plain attention on keys and values to which it has added the vectors. The gradient of
// a vector is the sum of the gradients of the keys or values to which it is added.
//
//===----------------------------------------------------------------------===//

#include "conformance/Subject.h"
#include "runtime/core/Random.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace pe::conformance {
namespace {

constexpr int64_t kKeys = 150, kDepth = 16, kEntries = 160;

/// Returns a program with a term of keys or of values; `index` is the formula of the table index.
std::string program(bool hasVectors, const std::string &index, bool ofValues) {
  auto table = [](const std::string &name, const std::string &depth) {
    return ", %" + name + ": tensor<160x?xf32> {pe.name = \"" + name +
           "\", pe.axes = [\"offset\", \"" + depth + "\"]}";
  };
  auto vector = [&](const std::string &result, const std::string &name) {
    return "  " + result + " = pe.content_fn(%" + name + " : tensor<160x?xf32>) expr \"" + name +
           "[" + index + ", d]\"\n";
  };
  const bool hasBoth = hasVectors && ofValues;
  const std::string tables = (hasVectors ? table("p", "depth") : "") +
                             (hasBoth ? table("x", "value_depth") : ""),
                    vectors =
                        (hasVectors ? vector("%a", "p") : "") + (hasBoth ? vector("%b", "x") : "");
  const std::string clauses =
      hasVectors ? std::string(" content(%a)") + (ofValues ? " value_content(%b)" : "") : "";
  return "!t = tensor<?x?x?x?xf32>\n"
         "func.func @f(%q: !t {pe.name = \"q\"}, %k: !t {pe.name = \"k\"}, "
         "%v: !t {pe.name = \"v\"}" +
         tables + ") -> (!t {pe.name = \"o\"}) {\n" + vectors +
         "  %m = pe.causal\n  %o = pe.attention %q, %k, %v" + clauses +
         " mask(%m) : (!t, !t, !t) -> !t\n  return %o : !t\n}\n";
}

Tensor normal(const std::string &name, Shape shape) {
  Tensor tensor = Tensor::zeros(DType::F32, std::move(shape));
  Random(11, name).fillNormal(tensor, 0, 1);
  return tensor;
}

/// Adds rows of a table to keys, or rows of keys to a table.
void addRows(Tensor &into, const Tensor &from, const std::vector<int64_t> &entryOfKey,
             bool toTable) {
  for (int64_t key = 0; key < kKeys; ++key)
    for (int64_t d = 0; d < kDepth; ++d) {
      const int64_t ofTable = entryOfKey[key] * kDepth + d, ofKey = key * kDepth + d;
      into.values<float>()[toTable ? ofTable : ofKey] +=
          from.values<float>()[toTable ? ofKey : ofTable];
    }
}

/// The tolerance is relative to `terms`, the summands of the expected values, because they can
/// cancel.
void expectNear(const std::string &name, const Tensor &found, const Tensor &expected,
                const Tensor &terms) {
  ASSERT_EQ(found.shape(), expected.shape()) << name;
  double largest = 0;
  for (float value : terms.values<float>())
    largest = std::max(largest, std::fabs(double(value)));
  for (size_t n = 0; n < expected.values<float>().size(); ++n)
    ASSERT_NEAR(found.values<float>()[n], expected.values<float>()[n], 2e-5 * largest)
        << name << "[" << n << "]";
}

class Contents : public testing::TestWithParam<const char *> {
protected:
  TensorMap run(const std::string &text, const TensorMap &inputs) {
    SubjectOptions options;
    options.target = GetParam();
    options.poison = true;
    auto made = makeSubject(options);
    EXPECT_TRUE(made) << made.error().getMessage();
    auto function =
        (*made)->compile({.text = text, .name = "contents.mlir", .entry = ""}, kDepth, kDepth);
    EXPECT_TRUE(function) << function.error().getMessage();
    auto found = (*function)->run(inputs, {}, 1);
    EXPECT_TRUE(found) << found.error().getMessage();
    return found ? std::move(*found) : TensorMap();
  }

  /// The query is at the position of the last key.
  void compare(const std::string &index, bool ofValues,
               const std::function<int64_t(int64_t distance)> &entryOf) {
    std::vector<int64_t> entryOfKey;
    for (int64_t key = 0; key < kKeys; ++key)
      entryOfKey.push_back(entryOf(kKeys - 1 - key));
    TensorMap inputs = {{"q", normal("q", {1, 1, 1, kDepth})},
                        {"k", normal("k", {1, 1, kKeys, kDepth})},
                        {"v", normal("v", {1, 1, kKeys, kDepth})},
                        {"d_o", normal("o", {1, 1, 1, kDepth})}};
    TensorMap changed;
    for (const auto &[name, tensor] : inputs)
      changed[name] = Tensor::of(
          std::vector<float>(tensor.values<float>().begin(), tensor.values<float>().end()),
          tensor.shape());
    inputs["p"] = normal("p", {kEntries, kDepth});
    if (ofValues)
      inputs["x"] = normal("x", {kEntries, kDepth});
    addRows(changed["k"], inputs["p"], entryOfKey, /*toTable=*/false);
    if (ofValues)
      addRows(changed["v"], inputs["x"], entryOfKey, /*toTable=*/false);
    const TensorMap expected = run(program(false, index, ofValues), changed);
    const TensorMap found = run(program(true, index, ofValues), inputs);
    for (const char *name : {"o", "d_q", "d_k", "d_v"})
      expectNear(name, found.at(name), expected.at(name), expected.at(name));
    auto expectSums = [&](const char *table, const char *row) {
      Tensor sums = Tensor::zeros(DType::F32, {kEntries, kDepth});
      addRows(sums, expected.at(row), entryOfKey, /*toTable=*/true);
      expectNear(table, found.at(table), sums, expected.at(row));
    };
    expectSums("d_p", "d_k");
    if (ofValues)
      expectSums("d_x", "d_v");
  }
};

TEST_P(Contents, FewVectorsEqualChangedKeysAndValues) {
  compare("clamp(i - j, 2, 9)", true,
          [](int64_t distance) { return std::clamp<int64_t>(distance, 2, 9); });
}

TEST_P(Contents, OneVectorEqualsChangingAllKeysAndValues) {
  compare("3", true, [](int64_t) { return 3; });
}

TEST_P(Contents, VectorPerDistanceEqualsChangingOneKey) {
  compare("159 - (i - j)", false, [](int64_t distance) { return 159 - distance; });
}

INSTANTIATE_TEST_SUITE_P(Targets, Contents,
                         testing::Values("reference", "cpu", "loops", "gpu-emulator"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
} // namespace pe::conformance
