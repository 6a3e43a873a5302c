//===- CApiTest.cpp - Tests of the C API ----------------------------------===//
//
// Calls every function of pe-c.h with valid and with invalid arguments. The checks of views are
// tested in test/runtime/device/common, and GPUs in test/runtime/device/cuda. A complete program is
// in examples/embed-c.
//
//===----------------------------------------------------------------------===//

#include "pe/pe-c.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

const std::string kExamples = std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/";
constexpr int64_t kHeads = 2, kLength = 8, kDepth = 8, kCount = kHeads * kLength * kDepth;

std::string lastMessage() {
  pe_error_info info;
  pe_last_error_info(&info);
  return info.message;
}
pe_error_kind lastKind() {
  pe_error_info info;
  pe_last_error_info(&info);
  return info.kind;
}

pe_options optionsOf(bool grad, int64_t depth = kDepth) {
  pe_options options = {};
  options.size = sizeof(options);
  options.head_dim = options.value_dim = depth;
  options.grad = grad;
  return options;
}

pe_function *openExample(const std::string &encoding, const pe_options &options) {
  pe_function *opened = nullptr;
  EXPECT_EQ(pe_open((kExamples + encoding + ".mlir").c_str(), &options, &opened), 0)
      << pe_last_error();
  return opened;
}

pe_view full(const char *name, std::vector<float> &data, int64_t length = kLength,
             int64_t depth = kDepth) {
  return {name,
          data.data(),
          PE_F32,
          4,
          {1, kHeads, length, depth},
          {kHeads * length * depth, length * depth, depth, 1}};
}

/// Runs halves in a workspace of exactly the required size.
int run(const pe_function *function, int32_t half, const std::vector<pe_view> &views,
        const std::vector<pe_scalar> &scalars = {}, const pe_pool *pool = nullptr) {
  pe_context context = {};
  context.size = sizeof(context);
  const auto count = static_cast<int32_t>(views.size());
  if (pe_workspace(function, half, views.data(), count, &context.workspace_bytes))
    return 1;
  std::vector<char> workspace(static_cast<size_t>(context.workspace_bytes));
  context.workspace = workspace.data();
  context.pool = pool;
  return pe_run(function, half, views.data(), count, scalars.data(),
                static_cast<int32_t>(scalars.size()), &context);
}

struct CApi : testing::Test {
  std::vector<float> q = fill(1), k = fill(2), v = fill(3), o = fill(0), dO = fill(4), dQ = fill(0),
                     lse = std::vector<float>(kHeads * kLength);
  pe_function *function = nullptr;
  pe_call *call = nullptr;

  static std::vector<float> fill(int seed) {
    std::vector<float> values(kCount);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = seed ? float((i * 31 + size_t(seed) * 17) % 23) / 11 - 1 : 0;
    return values;
  }
  std::vector<pe_view> arguments() { return {full("q", q), full("k", k), full("v", v)}; }
  std::vector<pe_view> with(std::vector<pe_view> more) {
    std::vector<pe_view> views = arguments();
    views.insert(views.end(), more.begin(), more.end());
    return views;
  }
  pe_view lseView() {
    return {"attention_lse",
            lse.data(),
            PE_F32,
            3,
            {1, kHeads, kLength},
            {kHeads * kLength, kLength, 1}};
  }
  int forward(const std::vector<pe_scalar> &scalars = {}) {
    return pe_forward(function, arguments().data(), 3, scalars.data(), int32_t(scalars.size()),
                      &call);
  }
  static void expectError(int outcome, const std::string &message) {
    EXPECT_EQ(outcome, 1);
    EXPECT_EQ(pe_last_error(), "pe: error: " + message);
    EXPECT_EQ(lastMessage(), message);
    EXPECT_EQ(lastKind(), PE_ERROR_INPUT);
  }

  void SetUp() override { function = openExample("nope", optionsOf(true)); }
  void TearDown() override {
    pe_call_free(call);
    pe_close(function);
  }
};

TEST_F(CApi, BothHalvesOnTheCallersMemory) {
  ASSERT_EQ(run(function, PE_FORWARD, with({full("o", o), lseView()})), 0) << pe_last_error();
  ASSERT_EQ(
      run(function, PE_BACKWARD, with({full("o", o), lseView(), full("d_o", dO), full("d_q", dQ)})),
      0)
      << pe_last_error();
  // The calls that allocate return bitwise the same results.
  ASSERT_EQ(forward(), 0) << pe_last_error();
  pe_view result;
  ASSERT_EQ(pe_result(call, "o", &result), 0) << pe_last_error();
  EXPECT_EQ(std::memcmp(result.data, o.data(), kCount * 4), 0);
  EXPECT_EQ(result.rank, 4);
  EXPECT_EQ(result.strides[2], kDepth);
  const pe_view cotangent = full("d_o", dO);
  ASSERT_EQ(pe_backward(function, call, &cotangent, 1), 0) << pe_last_error();
  ASSERT_EQ(pe_result(call, "d_q", &result), 0) << pe_last_error();
  EXPECT_EQ(std::memcmp(result.data, dQ.data(), kCount * 4), 0);
}

// Correct results pass with the line that `pe run --check` prints. A changed gradient fails, and
// the message names it.
TEST_F(CApi, CheckJudgesResults) {
  std::vector<float> dK(kCount), dV(kCount);
  const std::vector<pe_view> gradients = {full("d_q", dQ), full("d_k", dK), full("d_v", dV)};
  ASSERT_EQ(run(function, PE_FORWARD, with({full("o", o), lseView()})), 0) << pe_last_error();
  std::vector<pe_view> views = with({full("o", o), lseView(), full("d_o", dO)});
  views.insert(views.end(), gradients.begin(), gradients.end());
  ASSERT_EQ(run(function, PE_BACKWARD, views), 0) << pe_last_error();

  const std::vector<pe_view> inputs = with({full("d_o", dO)});
  std::vector<pe_view> found = {full("o", o)};
  found.insert(found.end(), gradients.begin(), gradients.end());
  const auto judge = [&](const std::vector<pe_scalar> &scalars = {}) -> std::string {
    const char *json = nullptr;
    if (pe_check(function, inputs.data(), int32_t(inputs.size()), found.data(),
                 int32_t(found.size()), scalars.data(), int32_t(scalars.size()), &json))
      return pe_last_error();
    return json;
  };
  std::string text = judge();
  EXPECT_TRUE(text.starts_with("{\"passes\":true,\"message\":\"\"")) << text;
  EXPECT_NE(text.find("\"line\":\"d_q                  error "), std::string::npos) << text;
  dK[3] += 0.01f;
  text = judge();
  EXPECT_TRUE(text.starts_with("{\"passes\":false")) << text;
  EXPECT_NE(text.find("beyond the stated tolerance"), std::string::npos) << text;
  EXPECT_NE(judge({{"rows", 1}}).find("scalar 'rows': expected q_start, k_start, head_start or "),
            std::string::npos);
  found.pop_back();
  EXPECT_NE(judge().find("\"problem\":\"missing\""), std::string::npos);
  expectError(pe_check(function, nullptr, 0, nullptr, 0, nullptr, 0, nullptr),
              "argument 'json': expected an address, found none");
}

/// Computes log(exp(a) + exp(b)) in double.
double logAdd(double a, double b) {
  const double high = std::max(a, b);
  return std::isinf(high) ? high : high + std::log(std::exp(a - high) + std::exp(b - high));
}

// Merges two calls with half of the keys each, and runs the backward of each on the merged results.
TEST_F(CApi, ABackwardTakesMergedResults) {
  std::vector<float> whole(kCount), wholeLse = lse, dK(kCount), wholeDQ(kCount), wholeDK(kCount);
  pe_view wholeLseView = lseView();
  wholeLseView.data = wholeLse.data();
  ASSERT_EQ(run(function, PE_FORWARD, with({full("o", whole), wholeLseView})), 0);
  ASSERT_EQ(run(function, PE_BACKWARD,
                with({full("o", whole), wholeLseView, full("d_o", dO), full("d_q", wholeDQ),
                      full("d_k", wholeDK)})),
            0);
  constexpr int64_t half = kLength / 2;
  std::vector<float> os[2] = {o, o}, lses[2] = {lse, lse}, dQs[2] = {o, o};
  const auto part = [&](int which, std::vector<pe_view> more) {
    std::vector<pe_view> views = arguments();
    for (pe_view *view : {&views[1], &views[2]}) {
      view->data = static_cast<float *>(view->data) + which * half * kDepth;
      view->shape[2] = half;
    }
    views.insert(views.end(), more.begin(), more.end());
    return views;
  };
  pe_view lseViews[2] = {lseView(), lseView()};
  const auto scalars = [&](int which) {
    return std::vector<pe_scalar>{{"q_start", 0}, {"k_start", which * half}};
  };
  for (int which : {0, 1}) {
    lseViews[which].data = lses[which].data();
    ASSERT_EQ(run(function, PE_FORWARD, part(which, {full("o", os[which]), lseViews[which]}),
                  scalars(which)),
              0)
        << pe_last_error();
  }
  EXPECT_TRUE(std::isinf(lses[1][0]) && lses[1][0] < 0)
      << "the first query has no key in this part";
  for (size_t row = 0; row < lse.size(); ++row) {
    const double merged = logAdd(lses[0][row], lses[1][row]);
    lse[row] = static_cast<float>(merged);
    for (size_t i = row * kDepth; i < (row + 1) * kDepth; ++i)
      o[i] = static_cast<float>(std::exp(lses[0][row] - merged) * os[0][i] +
                                std::exp(lses[1][row] - merged) * os[1][i]);
    EXPECT_NEAR(lse[row], wholeLse[row], 1e-5);
  }
  for (int which : {0, 1}) {
    pe_view gradient = full("d_k", dK);
    gradient.data = dK.data() + which * half * kDepth;
    gradient.shape[2] = half;
    ASSERT_EQ(run(function, PE_BACKWARD,
                  part(which, {full("o", o), lseView(), full("d_o", dO), full("d_q", dQs[which]),
                               gradient}),
                  scalars(which)),
              0)
        << pe_last_error();
  }
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_NEAR(dQs[0][i] + dQs[1][i], wholeDQ[i], 2e-6);
    EXPECT_NEAR(dK[i], wholeDK[i], 2e-6);
  }
}

TEST(CApiText, PreparedTensorsAreKept) {
  std::stringstream text;
  text << std::ifstream(kExamples + "rope.mlir").rdbuf();
  pe_function *function = nullptr;
  const pe_options options = optionsOf(true);
  ASSERT_EQ(pe_open_text(text.str().c_str(), "rope.mlir", &options, &function), 0)
      << pe_last_error();
  const char *json = nullptr;
  ASSERT_EQ(pe_describe(function, &json), 0) << pe_last_error();
  const std::string description = json;
  for (const char *part : {"\"entry\": \"attention\"", "\"k_start + c - r\"", "\"attention_lse\"",
                           "\"attention_queries\"", "\"read_by\"", "\"d_q\"", "\"kv_head\""})
    EXPECT_NE(description.find(part), std::string::npos) << part << " in " << description;
  std::vector<float> q = CApi::fill(1), k = CApi::fill(2), v = CApi::fill(3), o(kCount),
                     kept(kCount);
  std::vector<pe_view> views = {full("q", q), full("k", k), full("v", v)};
  pe_view turned = {};
  turned.name = "attention_queries";
  ASSERT_EQ(pe_shape(function, views.data(), 3, &turned), 0) << pe_last_error();
  EXPECT_EQ(turned.dtype, PE_U8);
  EXPECT_EQ(turned.shape[0], kCount * 4);
  std::vector<char> memory(static_cast<size_t>(turned.shape[0]) + 16);
  turned.data = memory.data() + (16 - reinterpret_cast<uintptr_t>(memory.data()) % 16) % 16;
  views.push_back(turned);
  ASSERT_EQ(run(function, PE_PREPARE, views), 0) << pe_last_error();
  views.push_back(full("o", kept));
  ASSERT_EQ(run(function, PE_FORWARD, views), 0) << pe_last_error();
  views[3] = full("o", o);
  views.pop_back();
  ASSERT_EQ(run(function, PE_FORWARD, views), 0) << pe_last_error();
  EXPECT_EQ(kept, o);
  pe_close(function);
}

/// A FIRE bias that two layers share, and its prepared tensors.
struct SharedNetwork : testing::Test {
  pe_function *function = openExample("fire", optionsOf(true));
  std::vector<float> c = {0.1f}, threshold = {0.01f}, w1 = CApi::fill(5), b1 = CApi::fill(6),
                     w2 = CApi::fill(7), b2 = CApi::fill(8);
  std::vector<float> layers[2][3] = {{CApi::fill(1), CApi::fill(2), CApi::fill(3)},
                                     {CApi::fill(9), CApi::fill(10), CApi::fill(11)}};
  std::vector<std::string> names;
  std::vector<std::vector<char>> memory;
  std::vector<pe_view> tables;

  ~SharedNetwork() override { pe_close(function); }

  std::vector<pe_view> argumentsOf(std::vector<float> *data) {
    return {full("q", data[0]),
            full("k", data[1]),
            full("v", data[2]),
            {"c", c.data(), PE_F32, 0, {}, {}},
            {"L_multiplier", threshold.data(), PE_F32, 0, {}, {}},
            {"w1", w1.data(), PE_F32, 1, {32}, {1}},
            {"b1", b1.data(), PE_F32, 1, {32}, {1}},
            {"w2", w2.data(), PE_F32, 2, {kHeads, 32}, {32, 1}},
            {"b2", b2.data(), PE_F32, 1, {kHeads}, {1}}};
  }

  /// Creates a view for every prepared tensor in the description.
  void makeTables() {
    const char *json = nullptr;
    ASSERT_EQ(pe_describe(function, &json), 0) << pe_last_error();
    const std::string text = json;
    const size_t end = text.find("\"cotangents\"");
    for (size_t at = text.find("\"prepared\""); (at = text.find("\"name\": \"", at)) < end;) {
      at += 9;
      names.push_back(text.substr(at, text.find('"', at) - at));
    }
    std::vector<pe_view> arguments = argumentsOf(layers[0]);
    memory.resize(names.size());
    for (size_t n = 0; n < names.size(); ++n) {
      pe_view table = {};
      table.name = names[n].c_str();
      ASSERT_EQ(pe_shape(function, arguments.data(), int32_t(arguments.size()), &table), 0)
          << pe_last_error();
      memory[n].resize(static_cast<size_t>(table.shape[0]) + 64);
      table.data =
          memory[n].data() + (64 - reinterpret_cast<uintptr_t>(memory[n].data()) % 64) % 64;
      tables.push_back(table);
    }
  }

  /// Runs a call of one layer and returns o, d_c and d_w2.
  std::vector<std::vector<float>> call(std::vector<float> *data, bool reads) {
    std::vector<std::vector<float>> results = {std::vector<float>(kCount), std::vector<float>(1),
                                               std::vector<float>(kHeads * 32)};
    std::vector<float> dO = CApi::fill(4);
    std::vector<pe_view> views = argumentsOf(data);
    if (reads)
      views.insert(views.end(), tables.begin(), tables.end());
    views.push_back(full("o", results[0]));
    views.push_back(full("d_o", dO));
    views.push_back({"d_c", results[1].data(), PE_F32, 0, {}, {}});
    views.push_back({"d_w2", results[2].data(), PE_F32, 2, {kHeads, 32}, {32, 1}});
    EXPECT_EQ(run(function, PE_FORWARD | PE_BACKWARD, views), 0) << pe_last_error();
    return results;
  }
};

// Layers that share a learned network share its tables, which are prepared once.
TEST_F(SharedNetwork, PreparesItsTablesOnce) {
  makeTables();
  ASSERT_FALSE(tables.empty());
  std::vector<pe_view> views = argumentsOf(layers[0]);
  views.insert(views.end(), tables.begin(), tables.end());
  ASSERT_EQ(run(function, PE_PREPARE, views), 0) << pe_last_error();
  for (auto &layer : layers) {
    const auto own = call(layer, /*reads=*/false);
    EXPECT_EQ(call(layer, /*reads=*/true), own);
    EXPECT_NE(own[1][0], 0);
  }
  // The tables are read: changing them changes the result.
  for (std::vector<char> &bytes : memory)
    std::fill(bytes.begin(), bytes.end(), 0);
  EXPECT_NE(call(layers[0], /*reads=*/true)[0], call(layers[0], /*reads=*/false)[0]);
}

TEST(CApiText, ErrorsHaveAPlace) {
  pe_function *function = nullptr;
  EXPECT_EQ(pe_open_text("func.func @f() {\n  oops\n}", "mine.mlir", nullptr, &function), 1);
  pe_error_info info;
  pe_last_error_info(&info);
  EXPECT_EQ(info.kind, PE_ERROR_COMPILE);
  EXPECT_STREQ(info.file, "mine.mlir");
  EXPECT_EQ(info.line, 2);
  EXPECT_GT(info.column, 0);
  EXPECT_EQ(std::string(pe_last_error()).find("mine.mlir:2:"), 0u) << pe_last_error();
  EXPECT_EQ(pe_open("no such file.mlir", nullptr, &function), 1);
  EXPECT_EQ(lastKind(), PE_ERROR_INPUT);
  pe_last_error_info(nullptr); // a no-op
}

// The float64 reference as a target, with f64 tensors.
TEST(CApiReference, IsATarget) {
  pe_options options = optionsOf(true);
  options.target = "reference";
  options.dtype = PE_F64;
  pe_function *function = openExample("alibi_learned", options);
  std::vector<double> data(7 * kCount, 0.25), slopes = {0.5, 0.25}, dSlopes(2);
  std::vector<pe_view> views;
  const char *names[] = {"q", "k", "v", "o", "d_o", "d_q"};
  for (size_t i = 0; i < 6; ++i) {
    std::vector<float> none;
    views.push_back(full(names[i], none));
    views.back().dtype = PE_F64;
    views.back().data = data.data() + i * kCount;
    for (size_t e = 0; e < kCount; ++e)
      data[i * kCount + e] = double((e * (i + 3)) % 13) / 7;
  }
  views.push_back({"slopes", slopes.data(), PE_F64, 1, {kHeads}, {1}});
  views.push_back({"d_slopes", dSlopes.data(), PE_F64, 1, {kHeads}, {1}});
  ASSERT_EQ(run(function, PE_FORWARD | PE_BACKWARD, views), 0) << pe_last_error();
  // Finite differences of sum(o * d_o).
  const auto loss = [&](double by) {
    slopes[1] += by;
    std::vector<pe_view> forward = {views[0], views[1], views[2], views[3], views[6]};
    EXPECT_EQ(run(function, PE_FORWARD, forward), 0) << pe_last_error();
    slopes[1] -= by;
    double sum = 0;
    for (size_t e = 0; e < kCount; ++e)
      sum += data[3 * kCount + e] * data[4 * kCount + e];
    return sum;
  };
  EXPECT_NEAR((loss(1e-6) - loss(-1e-6)) / 2e-6, dSlopes[1], 1e-7);
  pe_close(function);
  options.dtype = PE_BF16;
  EXPECT_EQ(pe_open((kExamples + "nope.mlir").c_str(), &options, &function), 1);
  EXPECT_EQ(lastMessage(), "options: expected a dtype of PE_F32 or PE_F64, found 2");
}

TEST_F(CApi, ABackwardCallBelongsToTheFunctionOfItsForwardCall) {
  ASSERT_EQ(forward(), 0) << pe_last_error();
  const pe_view cotangent = full("d_o", dO);
  for (const char *encoding : {"alibi", "fire"}) {
    pe_function *other = openExample(encoding, optionsOf(true));
    expectError(pe_backward(other, call, &cotangent, 1),
                "expected a forward call of this function, 'attention', found a call of another "
                "function");
    pe_close(other);
  }
  EXPECT_EQ(pe_backward(function, call, &cotangent, 1), 0) << pe_last_error();
}

TEST_F(CApi, WhatWasClosedIsNotUsed) {
  ASSERT_EQ(forward(), 0) << pe_last_error();
  const pe_view cotangent = full("d_o", dO);
  pe_call *freed = std::exchange(call, nullptr);
  pe_call_free(freed);
  const std::string message =
      "argument 'call': expected an open pe_call, found one that was closed or was never opened";
  pe_view result;
  expectError(pe_backward(function, freed, &cotangent, 1), message);
  expectError(pe_result(freed, "o", &result), message);
  pe_call_free(freed); // the second call is a no-op
  EXPECT_EQ(pe_last_error(), "pe: error: " + message);

  pe_function *closed = std::exchange(function, nullptr);
  pe_close(closed);
  const std::string gone = "argument 'function': expected an open pe_function, found one that was "
                           "closed or was never opened";
  int64_t bytes;
  const char *json;
  expectError(run(closed, PE_FORWARD, with({full("o", o)})), gone);
  expectError(pe_workspace(closed, PE_FORWARD, nullptr, 0, &bytes), gone);
  expectError(pe_run(closed, PE_FORWARD, nullptr, 0, nullptr, 0, nullptr), gone);
  expectError(pe_describe(closed, &json), gone);
  expectError(pe_shape(closed, nullptr, 0, &result), gone);
  expectError(pe_forward(closed, nullptr, 0, nullptr, 0, &call), gone);
}

TEST_F(CApi, OneKindOfObjectIsNotAnother) {
  ASSERT_EQ(forward(), 0) << pe_last_error();
  pe_view result;
  expectError(pe_result(reinterpret_cast<pe_call *>(function), "o", &result),
              "argument 'call': expected a pe_call, found a pe_function");
  pe_close(reinterpret_cast<pe_function *>(call));
  EXPECT_EQ(pe_result(call, "o", &result), 0) << "the wrong close function closed the call";
  expectError(pe_result(call, "z", &result), "expected a result or gradient of o, found 'z'");
}

TEST_F(CApi, NoAddressIsAnError) {
  const auto missing = [](const std::string &argument) {
    return "argument '" + argument + "': expected an address, found none";
  };
  pe_function *opened = nullptr;
  expectError(pe_open(nullptr, nullptr, &opened), missing("file"));
  expectError(pe_open("x", nullptr, nullptr), missing("function"));
  expectError(pe_open_text(nullptr, "x", nullptr, &opened), missing("text"));
  expectError(pe_open_text("", "x", nullptr, nullptr), missing("function"));
  expectError(pe_describe(nullptr, nullptr), missing("function"));
  expectError(pe_describe(function, nullptr), missing("json"));
  expectError(pe_workspace(function, PE_FORWARD, nullptr, 0, nullptr), missing("bytes"));
  pe_view nameless = {};
  expectError(pe_shape(function, nullptr, 0, nullptr), missing("tensor"));
  expectError(pe_shape(function, nullptr, 0, &nameless), missing("tensor.name"));
  expectError(pe_forward(function, nullptr, 0, nullptr, 0, nullptr), missing("call"));
  expectError(pe_backward(function, nullptr, nullptr, 0), missing("call"));
  expectError(pe_result(nullptr, "o", &nameless), missing("call"));
  const pe_pool pool = {};
  expectError(run(function, PE_FORWARD, with({full("o", o)}), {}, &pool),
              missing("pool.parallel_for"));
  int64_t bytes;
  expectError(pe_workspace(function, PE_FORWARD, nullptr, 3, &bytes),
              "expected a list of tensors, found no list and a count of 3");
  expectError(pe_run(function, PE_FORWARD, arguments().data(), -1, nullptr, 0, nullptr),
              "expected a list of tensors, found a count of -1");
  const std::vector<pe_view> views = with({full("o", o)});
  expectError(pe_run(function, PE_FORWARD, views.data(), 4, nullptr, 2, nullptr),
              "expected a list of scalars, found no list and a count of 2");
}

TEST_F(CApi, ShapesFollowFromTheArguments) {
  pe_view tensor = {};
  tensor.name = "attention_lse";
  const std::vector<pe_view> views = arguments();
  ASSERT_EQ(pe_shape(function, views.data(), 1, &tensor), 0) << pe_last_error();
  EXPECT_EQ(tensor.rank, 3);
  EXPECT_EQ(tensor.shape[1], kHeads);
  EXPECT_EQ(tensor.strides[1], kLength);
  tensor.name = "d_v";
  expectError(pe_shape(function, views.data(), 1, &tensor),
              "tensor 'd_v': size expression 'hkv': no tensor of the call gives 'hkv'");
  tensor.name = "z";
  expectError(pe_shape(function, views.data(), 3, &tensor),
              "tensor 'z': 'attention' has no such tensor; expected one of q, k, v, d_q, d_k, d_v, "
              "o, d_o, attention_lse");
}

TEST_F(CApi, ScalarsAreChecked) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  for (const std::vector<pe_scalar> &scalars : {std::vector<pe_scalar>{{"q_start", most}},
                                                {{"k_start", int64_t(1) << 40}},
                                                {{"k_start", INT64_MIN}},
                                                {{"head_start", 2}},
                                                {{"head_start", -1}, {"heads_total", 4}},
                                                {{"head_start", most}, {"heads_total", most}}}) {
    EXPECT_EQ(forward(scalars), 1);
    EXPECT_EQ(run(function, PE_FORWARD, with({full("o", o)}), scalars), 1);
  }
  const int64_t last = (int64_t(1) << 30) - kLength;
  EXPECT_EQ(forward({{"q_start", last}, {"k_start", last}, {"head_start", 3}, {"heads_total", 5}}),
            0)
      << pe_last_error();
  const std::vector<pe_view> views = with({full("o", o)});
  expectError(run(function, PE_FORWARD, views, {{"start", 1}}),
              "expected the parameters k_start, q_start, head_start, heads_total, found 'start'");
  expectError(run(function, PE_FORWARD, views, {{"k_start", 1}, {"k_start", 1}}),
              "scalar 'k_start': expected it once, found it twice");
  expectError(run(function, PE_FORWARD, views, {{nullptr, 1}}),
              "scalar 0: expected a name, found none");
}

TEST_F(CApi, TheWorkspaceIsChecked) {
  const std::vector<pe_view> views = with({full("o", o)});
  pe_context context = {};
  context.size = sizeof(context);
  int64_t bytes = 0;
  ASSERT_EQ(pe_workspace(function, PE_FORWARD, views.data(), 4, &bytes), 0);
  ASSERT_GT(bytes, 0) << "it holds the log-sum-exp, which was not passed";
  const auto outcome = [&] {
    return pe_run(function, PE_FORWARD, views.data(), 4, nullptr, 0, &context);
  };
  expectError(outcome(), "expected a workspace of " + std::to_string(bytes) +
                             " bytes (pe_workspace), found no address and 0");
  context.size = 4;
  expectError(outcome(), "argument 'context': expected a size of 48 bytes at most, which is "
                         "sizeof(pe_context), found 4");
  context.size = 1000;
  EXPECT_EQ(outcome(), 1);
}

TEST(CApiOptions, AreChecked) {
  pe_function *function = nullptr;
  const std::string file = kExamples + "nope.mlir";
  const auto errorOf = [&](auto change) {
    pe_options options = optionsOf(false);
    change(options);
    EXPECT_EQ(pe_open(file.c_str(), &options, &function), 1);
    return lastMessage();
  };
  const auto has = [](const std::string &text, const char *part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(errorOf([](pe_options &o) { o.dtype = PE_I64; }), "options: expected a dtype of PE_F32");
  has(errorOf([](pe_options &o) { o.dtype = static_cast<pe_dtype>(99); }), "found 99");
  has(errorOf([](pe_options &o) { o.head_dim = -8; }), "head dim");
  has(errorOf([](pe_options &o) { o.value_dim = INT64_MAX; }), "value dim");
  has(errorOf([](pe_options &o) { o.target = "tpu"; }), "unknown target 'tpu'");
  has(errorOf([](pe_options &o) { o.entry = "none"; }), "none");
  has(errorOf([](pe_options &o) { o.size = 0; }), "argument 'options': expected a size of");
  has(errorOf([](pe_options &o) { o.size = sizeof(o) + 8; }), "which is sizeof(pe_options)");
}

// Many threads make calls while one closes the function.
TEST_F(CApi, ManyThreadsCall) {
  ASSERT_EQ(run(function, PE_FORWARD, with({full("o", o)})), 0) << pe_last_error();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        std::vector<float> own(kCount);
        wrong += run(function, PE_FORWARD, with({full("o", own)})) != 0 || own != o;
        pe_view bad = full("z", own);
        wrong += run(function, PE_FORWARD, with({bad})) != 1 ||
                 lastMessage().find("'z'") == std::string::npos;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  pe_function *other = openExample("nope", optionsOf(true));
  threads.clear();
  std::atomic<int> closed = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::vector<float> own(kCount);
        if (run(other, PE_FORWARD, with({full("o", own)})))
          ++closed;
        else
          wrong += own != o;
      }
    });
  pe_close(other);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

// Prints the overhead of a small call (B1 H2 S8). The bound is loose because machines may be busy.
TEST_F(CApi, ASmallCallTakesMicroseconds) {
  pe_function *large = openExample("alibi", optionsOf(true, 64));
  constexpr int64_t count = kHeads * kLength * 64;
  std::vector<float> data[7];
  for (auto &values : data)
    values.assign(count, 0.5f);
  std::vector<pe_view> views;
  const char *names[] = {"q", "k", "v", "o", "d_o", "d_q", "d_k"};
  for (size_t i = 0; i < 7; ++i)
    views.push_back(full(names[i], data[i], kLength, 64));
  views.push_back(lseView());
  std::swap(views[4], views[7]); // q k v o lse | d_q d_k d_o
  std::vector<char> workspace(1 << 20);
  pe_context context = {};
  context.size = sizeof(context);
  context.workspace = workspace.data();
  context.workspace_bytes = static_cast<int64_t>(workspace.size());
  for (auto [half, tensors] : {std::pair{PE_FORWARD, 5}, {PE_BACKWARD, 8}}) {
    double best = 1;
    for (int round = 0; round < 2000; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      ASSERT_EQ(pe_run(large, half, views.data(), tensors, nullptr, 0, &context), 0)
          << pe_last_error();
      best = std::min(
          best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::printf("B1 H2 S8 D64, %s: %.2f us\n", half == PE_FORWARD ? "forward" : "backward",
                best * 1e6);
    EXPECT_LE(best, half == PE_FORWARD ? 50e-6 : 100e-6);
  }
  pe_close(large);
}

} // namespace
