//===- ModesTest.cpp - Tests extreme sinks, dropout and merges ------------===//
//
// Compares sinks of +-1e4, minus infinity and NaN with the reference, and merges of rows with empty
// parts and logarithms of +-1e4. Checks the mask of dropout bit by bit, in a call and in its
// shards, against random words computed here.
//
//===----------------------------------------------------------------------===//

#include "conformance/Exemptions.h"
#include "runtime/core/Random.h"
#include "runtime/reference/Compare.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace pe::conformance {
namespace {

constexpr int64_t kBatch = 2, kHeads = 4, kQueries = 21, kKeys = 70, kDepth = 8;

class Modes : public testing::TestWithParam<const char *> {
protected:
  std::unique_ptr<Function> compile(const std::string &text) {
    SubjectOptions options;
    options.target = GetParam();
    options.poison = true;
    auto made = makeSubject(options);
    EXPECT_TRUE(made) << made.error().getMessage();
    subject = std::move(*made);
    source = {.text = text, .name = "modes.mlir", .entry = ""};
    auto function = subject->compile(source, kDepth, kDepth);
    EXPECT_TRUE(function) << function.error().getMessage();
    return std::move(*function);
  }
  std::unique_ptr<Subject> subject;
  jit::Source source;
};

Tensor normal(const std::string &name, Shape shape) {
  Tensor tensor = Tensor::zeros(DType::F32, std::move(shape));
  Random(3, name).fillNormal(tensor, 0, 1);
  return tensor;
}

std::string program(const std::string &arguments, const std::string &clauses) {
  return "!t = tensor<?x?x?x?xf32>\nfunc.func @f(%q: !t {pe.name = \"q\"}, %k: !t {pe.name = "
         "\"k\"}, "
         "%v: !t {pe.name = \"v\"}, " +
         arguments +
         ") -> (!t {pe.name = \"o\"}, tensor<?x?x?xf32> {pe.name = \"lse\"}) {\n  %m = pe.causal\n"
         "  %o, %lse = pe.attention %q, %k, %v " +
         clauses +
         " mask(%m) : (!t, !t, !t) -> !t, tensor<?x?x?xf32>\n"
         "  return %o, %lse : !t, tensor<?x?x?xf32>\n}\n";
}

TEST_P(Modes, ExtremeSinks) {
  auto function = compile(
      program("%s: tensor<?xf32> {pe.name = \"s\", pe.init = 0.0}", "sink(%s : tensor<?xf32>)"));
  auto description = subject->describe(source);
  auto parsed = reference::parseProgram(description->program);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> extremes = {{1e4f, -1e4f, 0.5f, -infinity},
                                                    {std::nanf(""), 1.0f, -1e4f, 3.0f}};
  const SubjectOptions options{.target = GetParam()};
  const Exemption *exemption =
      findExemption("Modes: gradients of a NaN sink", deviceOf(options), options.dtype);
  int differing = 0;                   // calls to which the entry applies
  for (int64_t start : {40, -5, -100}) // with -100 no row has keys
    for (const std::vector<float> &sinks : extremes) {
      TensorMap inputs;
      inputs["q"] = normal("q", {kBatch, kHeads, kQueries, kDepth});
      for (const char *name : {"k", "v"})
        inputs[name] = normal(name, {kBatch, 2, kKeys, kDepth});
      inputs["s"] = Tensor::of(sinks, {kHeads});
      inputs["d_o"] = normal("d_o", {kBatch, kHeads, kQueries, kDepth});
      inputs["d_lse"] = normal("d_lse", {kBatch, kHeads, kQueries});
      Positions positions;
      positions.queryStart = start;
      auto expected = reference::evaluate(*parsed, inputs, positions, /*grad=*/true);
      ASSERT_TRUE(expected) << expected.error().getMessage();
      auto found = function->run(inputs, positions, 2);
      ASSERT_TRUE(found) << found.error().getMessage();
      if (exemption && std::isnan(sinks[0])) {
        auto whole = reference::compare(*expected, *found);
        ASSERT_TRUE(whole);
        differing += !whole->passes();
        for (const char *name : {"d_q", "d_k", "d_v"}) {
          expected->gradients.erase(name);
          found->erase(name);
        }
      }
      auto report = reference::compare(*expected, *found);
      ASSERT_TRUE(report);
      EXPECT_TRUE(report->passes()) << "start " << start << "\n" << report->table();
      // The log-sum-exp of a row without keys is the sink.
      if (start == -100 && !std::isnan(sinks[0]))
        for (int64_t head = 0; head < 3; ++head)
          EXPECT_NEAR((*found)["lse"].values<float>()[head * kQueries], sinks[head],
                      std::fabs(sinks[head]) * 1e-6);
    }
  if (exemption)
    EXPECT_GT(differing, 0) << "remove the entry from Exemptions.cpp";
}

/// Scores near 0, where exp(s) - 1 cancels, scores whose exponentials overflow, exact zeros, and a
/// call in which no row has keys.
TEST_P(Modes, ExtremeScores) {
  for (const char *normalizer : {"sigmoid", "softpick"}) {
    std::string text = program("%t: tensor<?xf32> {pe.name = \"t\", pe.init = 0.0}", "bias(%bias)");
    auto replace = [&](const std::string &from, const std::string &to) {
      ASSERT_NE(text.find(from), std::string::npos);
      text.replace(text.find(from), from.size(), to);
    };
    replace(", tensor<?x?x?xf32> {pe.name = \"lse\"}", "");
    replace("  %o, %lse", "  %bias = pe.bias_fn(%t : tensor<?xf32>) expr \"t[h]\"\n  %o");
    replace("mask(%m)", "mask(%m) {normalizer = #pe.normalizer<" + std::string(normalizer) + ">}");
    replace("-> !t, tensor<?x?x?xf32>", "-> !t");
    replace("%o, %lse : !t, tensor<?x?x?xf32>", "%o : !t");
    auto function = compile(text);
    auto description = subject->describe(source);
    auto parsed = reference::parseProgram(description->program);
    for (double size : {0.0, 1e-4, 1.0, 1e4})
      for (int64_t start : {40, -5, -100}) {
        TensorMap inputs;
        inputs["q"] = normal("q", {kBatch, kHeads, kQueries, kDepth});
        for (float &element : inputs["q"].values<float>())
          element *= static_cast<float>(size);
        for (const char *name : {"k", "v"})
          inputs[name] = normal(name, {kBatch, 2, kKeys, kDepth});
        inputs["t"] = Tensor::of(std::vector<float>{0.0f, 0.0f, -1e4f, 1e-30f}, {kHeads});
        inputs["d_o"] = normal("d_o", {kBatch, kHeads, kQueries, kDepth});
        Positions positions;
        positions.queryStart = start;
        auto expected = reference::evaluate(*parsed, inputs, positions, /*grad=*/true);
        ASSERT_TRUE(expected) << expected.error().getMessage();
        auto found = function->run(inputs, positions, 2);
        ASSERT_TRUE(found) << found.error().getMessage();
        auto report = reference::compare(*expected, *found);
        ASSERT_TRUE(report);
        EXPECT_TRUE(report->passes())
            << normalizer << ", scores of size " << size << ", start " << start << "\n"
            << report->table();
      }
  }
}

/// Returns one row per pair of extreme logarithms; the output of an empty part is 0.
TensorMap extremeParts(bool isSoftmax) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> logs = isSoftmax ? std::vector{-infinity, -1e4f, -3.0f, 0.5f, 1e4f}
                                            : std::vector{0.0f, -1e4f, -3.0f, -0.5f, -1e-6f};
  const auto rows = static_cast<int64_t>(logs.size() * logs.size());
  TensorMap inputs;
  for (int part : {1, 2}) {
    const std::string number = std::to_string(part);
    Tensor o = normal("o" + number, {kBatch, kHeads, rows, kDepth});
    Tensor lse = Tensor::zeros(DType::F32, {kBatch, kHeads, rows});
    for (int64_t row = 0; row < lse.numel(); ++row) {
      const size_t pair = row % rows;
      const float log = logs[part == 1 ? pair / logs.size() : pair % logs.size()];
      lse.values<float>()[row] = log;
      if (log == logs.front())
        std::fill_n(o.values<float>().begin() + row * kDepth, kDepth, 0.0f);
    }
    inputs["o" + number] = o;
    inputs["lse" + number] = lse;
  }
  inputs["d_o"] = normal("d_o", {kBatch, kHeads, rows, kDepth});
  inputs["d_lse"] = normal("d_lse", {kBatch, kHeads, rows});
  return inputs;
}

std::string merging(const std::string &argument, const std::string &clause) {
  return "!o = tensor<?x?x?x?xf32>\n!r = tensor<?x?x?xf32>\nfunc.func @merge(%o1: !o {pe.name = "
         "\"o1\"}, %l1: !r {pe.name = \"lse1\"}, %o2: !o {pe.name = \"o2\"}, %l2: !r {pe.name = "
         "\"lse2\"}" +
         argument +
         ") -> (!o {pe.name = \"o\"}, !r {pe.name = \"lse\"}) {\n  %o, %lse = pe.merge %o1, %l1, "
         "%o2, %l2 " +
         clause + " : (!o, !r, !o, !r) -> !o, !r\n  return %o, %lse : !o, !r\n}\n";
}

TEST_P(Modes, ExtremeMerges) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::string sink = ", %s: tensor<?xf32> {pe.name = \"s\", pe.init = 0.0}";
  for (auto [argument, clause] : {std::pair<std::string, std::string>{"", ""},
                                  {"", "{normalizer = #pe.normalizer<stick_breaking>}"},
                                  {sink, "sink(%s : tensor<?xf32>)"}}) {
    auto function = compile(merging(argument, clause));
    auto parsed = reference::parseProgram(subject->describe(source)->program);
    TensorMap inputs = extremeParts(clause.find("stick") == std::string::npos);
    if (!argument.empty())
      inputs["s"] = Tensor::of(std::vector<float>{1e4f, -1e4f, 0.5f, -infinity}, {kHeads});
    auto expected = reference::evaluate(*parsed, inputs, {}, /*grad=*/true);
    ASSERT_TRUE(expected) << expected.error().getMessage();
    auto found = function->run(inputs, {}, 2);
    ASSERT_TRUE(found) << found.error().getMessage();
    auto report = reference::compare(*expected, *found);
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->passes()) << clause << "\n" << report->table();
    // An empty part must not change a bit.
    if (!argument.empty())
      continue;
    const auto o = (*found)["o"].values<float>(), o2 = inputs["o2"].values<float>();
    for (int64_t e = 0; e < 5 * kDepth; ++e)
      EXPECT_EQ(o[e], o2[e]) << clause << ", element " << e;
  }
}

/// The outputs encode which keys of a row were kept: v is 2^(j mod 8) in column j / 8.
constexpr int64_t kShownKeys = 64;

TensorMap inputsThatShowTheMask(int64_t firstKey, int64_t keys, int64_t heads) {
  TensorMap inputs;
  inputs["q"] = Tensor::zeros(DType::F32, {kBatch, heads, kQueries, kDepth});
  inputs["k"] = Tensor::zeros(DType::F32, {kBatch, heads, keys, kDepth});
  Tensor values = Tensor::zeros(DType::F32, {kBatch, heads, keys, kDepth});
  for (int64_t row = 0; row < kBatch * heads * keys; ++row) {
    const int64_t j = firstKey + row % keys;
    values.values<float>()[row * kDepth + j / 8] = static_cast<float>(1 << j % 8);
  }
  inputs["v"] = values;
  inputs["seed"] = Tensor::of(std::vector<int64_t>{-5, int64_t(1) << 62 | 7}, {2});
  inputs["d_o"] = Tensor::zeros(DType::F32, {kBatch, heads, kQueries, kDepth});
  inputs["d_lse"] = Tensor::zeros(DType::F32, {kBatch, heads, kQueries});
  return inputs;
}

/// Returns the keys that each row kept, one bit per key.
std::vector<uint64_t> maskOf(const TensorMap &found, int64_t heads, double probability) {
  std::vector<uint64_t> rows;
  const auto o = found.at("o").values<float>();
  const auto lse = found.at("lse").values<float>();
  for (int64_t row = 0; row < kBatch * heads * kQueries; ++row) {
    uint64_t bits = 0;
    for (int64_t d = 0; d < kDepth; ++d) {
      const double sum = o[row * kDepth + d] * std::exp(lse[row]) * (1 - probability);
      bits |= static_cast<uint64_t>(std::llround(sum)) << 8 * d;
    }
    rows.push_back(bits);
  }
  return rows;
}

uint64_t expectedMask(int64_t batch, int64_t head, int64_t i, double probability) {
  const int64_t seeds[] = {-5, int64_t(1) << 62 | 7};
  const auto seed = static_cast<uint64_t>(seeds[batch]);
  uint64_t bits = 0;
  for (int64_t j = 0; j < kShownKeys && j <= i; ++j) {
    const auto words = philox4x32(
        {0, static_cast<uint32_t>(head), static_cast<uint32_t>(i), static_cast<uint32_t>(j / 4)},
        {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    bits |= uint64_t(words[j % 4] >= probability * 0x1p32) << j;
  }
  return bits;
}

TEST_P(Modes, DropoutMaskIsTheSameInEveryShard) {
  constexpr double kProbability = 0.375;
  auto function = compile(program("%seed: tensor<?xi64> {pe.name = \"seed\"}",
                                  "dropout(0.375, %seed : tensor<?xi64>)"));
  struct Shard {
    int64_t firstKey, keys, firstHead, heads;
  };
  constexpr int64_t kFirstQuery = 45;
  // The entire call, key ranges that do not start at multiples of four, and a single head.
  for (auto [firstKey, keys, firstHead, heads] :
       {Shard{0, 64, 0, 4}, {0, 30, 0, 4}, {30, 34, 0, 4}, {7, 9, 1, 2}, {0, 64, 3, 1}}) {
    Positions positions;
    positions.queryStart = kFirstQuery;
    positions.keyStart = firstKey;
    positions.headStart = firstHead;
    positions.headsTotal = 4;
    auto found = function->run(inputsThatShowTheMask(firstKey, keys, heads), positions, 2);
    ASSERT_TRUE(found) << found.error().getMessage();
    const std::vector<uint64_t> rows = maskOf(*found, heads, kProbability);
    const uint64_t here = (keys == 64 ? ~uint64_t(0) : (uint64_t(1) << keys) - 1) << firstKey;
    for (int64_t row = 0; row < static_cast<int64_t>(rows.size()); ++row) {
      const int64_t batch = row / (heads * kQueries), head = firstHead + row / kQueries % heads;
      EXPECT_EQ(rows[row],
                expectedMask(batch, head, kFirstQuery + row % kQueries, kProbability) & here)
          << "keys from " << firstKey << ", head " << head << ", row " << row % kQueries;
    }
  }
}

/// Returns which elements of the tokens dropout keeps. Outputs for inputs of one show them, and so
/// do gradients for cotangents of one.
std::vector<bool> expectedTokens(int64_t batch, int64_t firstRow, int64_t rows, int64_t width,
                                 double probability) {
  const int64_t seeds[] = {-5, int64_t(1) << 62 | 7};
  const auto seed = static_cast<uint64_t>(seeds[batch]);
  std::vector<bool> kept;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t d = 0; d < width; ++d) {
      const auto words = philox4x32(
          {0, ~uint32_t(0), static_cast<uint32_t>(firstRow + row), static_cast<uint32_t>(d / 4)},
          {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
      kept.push_back(words[d % 4] >= probability * 0x1p32);
    }
  return kept;
}

TEST_P(Modes, TokenMaskIsTheSameInEveryShard) {
  constexpr double kProbability = 0.375;
  constexpr int64_t kWidth = 22;
  auto function = compile(
      "!x = tensor<?x?x?xf32>\nfunc.func @embed(%x: !x {pe.name = \"x\"}, %seed: tensor<?xi64> "
      "{pe.name = \"seed\"}) -> (!x {pe.name = \"y\"}) {\n  %e = pe.embedding_fn expr \"0.5\"\n"
      "  %y = pe.embed %x, %e dropout(0.375, %seed : tensor<?xi64>) : !x\n  return %y : !x\n}\n");
  // All rows of both batch entries, parts of the rows, and only the second batch entry.
  for (auto [firstBatch, batch, firstRow, rows] :
       {std::tuple<int64_t, int64_t, int64_t, int64_t>{0, 2, 50, 21},
        {0, 2, 50, 9},
        {0, 2, 59, 12},
        {1, 1, 50, 21}}) {
    TensorMap inputs;
    const Shape shape = {batch, rows, kWidth};
    const std::vector<int64_t> seeds = {-5, int64_t(1) << 62 | 7};
    inputs["x"] = Tensor::of(std::vector<float>(batch * rows * kWidth, 0.5f), shape);
    inputs["d_y"] = Tensor::of(std::vector<float>(batch * rows * kWidth, 1.0f), shape);
    inputs["seed"] =
        Tensor::of(std::vector<int64_t>(seeds.begin() + firstBatch, seeds.end()), {batch});
    Positions positions;
    positions.queryStart = firstRow;
    auto found = function->run(inputs, positions, 2);
    ASSERT_TRUE(found) << found.error().getMessage();
    for (const char *name : {"y", "d_x"})
      for (int64_t b = 0; b < batch; ++b) {
        const std::vector<bool> kept =
            expectedTokens(firstBatch + b, firstRow, rows, kWidth, kProbability);
        const auto values = found->at(name).values<float>().subspan(b * rows * kWidth);
        for (size_t n = 0; n < kept.size(); ++n)
          ASSERT_FLOAT_EQ(values[n], kept[n] ? 1 / (1 - static_cast<float>(kProbability)) : 0.0f)
              << name << ", batch entry " << firstBatch + b << ", rows from " << firstRow
              << ", number " << n;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Modes,
                         testing::Values("cpu", "loops", "gpu-emulator", "reference"),
                         [](const auto &test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

} // namespace
} // namespace pe::conformance
