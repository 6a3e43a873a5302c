//===- MergeTest.cpp - Merged shards of keys against the unsplit call -----===//
//
// Compares one attention over all keys with two calls over parts of them, merged by the @merge of
// an example. Gradients are computed through the merge, or by backward calls of each part on the
// merged results. A part may be empty, and queries may have no key in a part.
//
//===----------------------------------------------------------------------===//

#include "pe/View.h"
#include "pe/pe.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace {

using namespace pe;

constexpr int64_t kHeads = 4, kKeyHeads = 2, kQueries = 37, kKeys = 90, kDepth = 16;
constexpr int64_t kFirstQuery = 40;

Tensor normal(int seed, Shape shape) {
  Tensor tensor = Tensor::zeros(DType::F32, std::move(shape));
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  for (float &x : tensor.values<float>())
    x = distribution(random);
  return tensor;
}

Function compile(const std::string &example) {
  auto program =
      Program::load(std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/" + example + ".mlir");
  EXPECT_TRUE(program) << program.error().getMessage();
  CompileOptions options;
  options.headDim = options.valueDim = kDepth;
  options.grad = true;
  auto function = program->compile(options);
  EXPECT_TRUE(function) << function.error().getMessage();
  return *std::move(function);
}

TensorMap arguments() {
  return {{"q", normal(1, {1, kHeads, kQueries, kDepth})},
          {"k", normal(2, {1, kKeyHeads, kKeys, kDepth})},
          {"v", normal(3, {1, kKeyHeads, kKeys, kDepth})}};
}

/// Returns the arguments with only the keys [begin, end).
TensorMap part(TensorMap all, int64_t begin, int64_t end) {
  for (const char *name : {"k", "v"})
    all[name] = all[name].slice(2, begin, end);
  return all;
}

CallOptions at(int64_t firstKey) {
  CallOptions options;
  options.positions.queryStart = kFirstQuery;
  options.positions.keyStart = firstKey;
  return options;
}

/// Checks |found - expected| relative to |expected|.
void expectNear(const Tensor &found, const Tensor &expected, const std::string &name) {
  ASSERT_EQ(found.shape(), expected.shape()) << name;
  const Tensor a = found.contiguous(), b = expected.contiguous();
  double error = 0, norm = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double x = a.values<float>()[i], y = b.values<float>()[i];
    if (x == y) // includes infinities
      continue;
    error += (x - y) * (x - y);
    norm += y * y;
  }
  EXPECT_LE(std::sqrt(error), 2e-5 * std::sqrt(norm)) << name;
}

Tensor sum(const Tensor &a, const Tensor &b) {
  Tensor all = Tensor::zeros(DType::F32, a.shape());
  for (int64_t i = 0; i < all.numel(); ++i)
    all.values<float>()[i] = a.values<float>()[i] + b.values<float>()[i];
  return all;
}

/// Compares the gradients of the unsplit call with those of the parts [0, split) and [split,
/// kKeys).
void expectGradients(const TensorMap &whole, const TensorMap (&parts)[2], int64_t split) {
  for (const auto &[name, expected] : whole) {
    if (name != "d_k" && name != "d_v") {
      expectNear(sum(parts[0].at(name), parts[1].at(name)), expected, name);
      continue;
    }
    expectNear(parts[0].at(name), expected.slice(2, 0, split), name + " of the first part");
    expectNear(parts[1].at(name), expected.slice(2, split, kKeys), name + " of the second part");
  }
}

struct MergeCase {
  const char *encoding, *merge, *lse;
};

class Merge : public testing::TestWithParam<MergeCase> {};

// Compares both results, and all gradients through the merge. In stick-breaking the part with the
// nearer keys, the second one, is the first operand of the merge.
TEST_P(Merge, PartsEqualTheUnsplitCall) {
  const auto [encoding, merge, lse] = GetParam();
  const bool nearFirst = std::string(lse) == "log_mass";
  const std::string log = lse;
  const Function attention = compile(encoding), merging = compile(merge);
  const TensorMap all = arguments();
  const TensorMap cotangents = {{"d_o", normal(4, {1, kHeads, kQueries, kDepth})},
                                {"d_" + log, normal(5, {1, kHeads, kQueries})}};
  auto whole = attention.forward(all, at(0));
  ASSERT_TRUE(whole) << whole.error().getMessage();
  auto expected = attention.backward(*whole, cotangents);
  ASSERT_TRUE(expected) << expected.error().getMessage();
  // Empty parts, a part without keys for the first queries, and a split in the middle.
  for (int64_t split : {int64_t(0), int64_t(30), int64_t(55), kKeys}) {
    std::optional<Call> calls[2];
    TensorMap merged;
    for (int n : {0, 1}) {
      auto call = attention.forward(part(all, n ? split : 0, n ? kKeys : split), at(n ? split : 0));
      ASSERT_TRUE(call) << call.error().getMessage();
      const std::string number = (n == 0) != nearFirst ? "1" : "2";
      merged["o" + number] = call->results().at("o");
      merged[log + number] = call->results().at(log);
      calls[n] = *call;
    }
    auto result = merging.forward(merged);
    ASSERT_TRUE(result) << result.error().getMessage();
    for (const auto &[name, tensor] : whole->results())
      expectNear(result->results().at(name), tensor, name + " split at " + std::to_string(split));
    auto through = merging.backward(*result, cotangents);
    ASSERT_TRUE(through) << through.error().getMessage();
    TensorMap gradients[2];
    for (int n : {0, 1}) {
      const std::string number = (n == 0) != nearFirst ? "1" : "2";
      auto found = attention.backward(*calls[n], {{"d_o", through->at("d_o" + number)},
                                                  {"d_" + log, through->at("d_" + log + number)}});
      ASSERT_TRUE(found) << found.error().getMessage();
      gradients[n] = *std::move(found);
    }
    expectGradients(*expected, gradients, split);
  }
}

INSTANTIATE_TEST_SUITE_P(Normalizers, Merge,
                         testing::Values(MergeCase{"log_sum_exp", "merge", "lse"},
                                         MergeCase{"stick_breaking_mass", "merge_stick_breaking",
                                                   "log_mass"}),
                         [](const auto &test) { return std::string(test.param.encoding); });

/// Runs one half of a call on these tensors, in a workspace of exactly the required size.
void run(const Function &function, int half, const TensorMap &tensors, int64_t firstKey) {
  std::vector<View> views;
  for (const auto &[name, tensor] : tensors)
    views.push_back(viewOf(name.c_str(), tensor));
  auto bytes = function.workspace(half, views);
  ASSERT_TRUE(bytes) << bytes.error().getMessage();
  std::vector<char> workspace(static_cast<size_t>(*bytes));
  RunContext context;
  context.workspace = workspace.data();
  context.workspaceBytes = *bytes;
  context.positions = at(firstKey).positions;
  const Status status = function.run(half, views, context);
  ASSERT_TRUE(status) << status.error().getMessage();
}

// A backward call of each part that reads the merged results returns its share of the gradients of
// the unsplit call: gradients of queries and parameters are the sums over the parts.
TEST(MergedShards, BackwardAcceptsMergedResults) {
  const Function attention = compile("alibi_learned"), merging = compile("merge");
  TensorMap all = arguments();
  all["slopes"] = Tensor::of(std::vector<float>{0.5f, 0.2f, 0.07f, 0.01f}, {kHeads});
  const Tensor dO = normal(4, {1, kHeads, kQueries, kDepth});
  const Shape rows = {1, kHeads, kQueries};
  auto outputs = [&] {
    return TensorMap{{"o", Tensor::zeros(DType::F32, dO.shape())},
                     {"attention_lse", Tensor::zeros(DType::F32, rows)}};
  };
  auto forward = [&](TensorMap given, int64_t firstKey) {
    given.merge(outputs());
    run(attention, PE_PREPARE | PE_FORWARD, given, firstKey);
    return given;
  };
  auto backward = [&](TensorMap given, const TensorMap &results, int64_t firstKey) {
    TensorMap gradients;
    for (const char *name : {"q", "k", "v", "slopes"})
      gradients[std::string("d_") + name] = Tensor::zeros(DType::F32, given.at(name).shape());
    given["o"] = results.at("o");
    given["attention_lse"] = results.at("lse");
    given["d_o"] = dO;
    given.insert(gradients.begin(), gradients.end());
    run(attention, PE_PREPARE | PE_BACKWARD, given, firstKey);
    return gradients;
  };
  const TensorMap whole = forward(all, 0);
  const TensorMap expected =
      backward(all, {{"o", whole.at("o")}, {"lse", whole.at("attention_lse")}}, 0);
  for (int64_t split : {30, 55}) {
    const TensorMap given[2] = {part(all, 0, split), part(all, split, kKeys)};
    const TensorMap results[2] = {forward(given[0], 0), forward(given[1], split)};
    auto merged = merging.forward({{"o1", results[0].at("o")},
                                   {"lse1", results[0].at("attention_lse")},
                                   {"o2", results[1].at("o")},
                                   {"lse2", results[1].at("attention_lse")}});
    ASSERT_TRUE(merged) << merged.error().getMessage();
    const TensorMap gradients[2] = {backward(given[0], merged->results(), 0),
                                    backward(given[1], merged->results(), split)};
    expectGradients(expected, gradients, split);
  }
}

} // namespace
