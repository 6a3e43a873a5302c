//===- CApiChecksTest.cpp - Errors of the C API ---------------------------===//
//
// Calls every function of pe-c.h with invalid arguments and with closed objects.
//
//===----------------------------------------------------------------------===//

#include "CApiCalls.h"

#include <cstddef>
#include <limits>
#include <utility>

using namespace pe::test;

namespace {

TEST(CApiText, ErrorsHaveALocation) {
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

TEST_F(CApi, RejectsClosedHandles) {
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

TEST_F(CApi, RejectsHandlesOfOtherKinds) {
  ASSERT_EQ(forward(), 0) << pe_last_error();
  pe_view result;
  expectError(pe_result(reinterpret_cast<pe_call *>(function), "o", &result),
              "argument 'call': expected a pe_call, found a pe_function");
  pe_close(reinterpret_cast<pe_function *>(call));
  EXPECT_EQ(pe_result(call, "o", &result), 0) << "the wrong close function closed the call";
  expectError(pe_result(call, "z", &result), "expected a result or gradient of o, found 'z'");
}

TEST_F(CApi, RejectsNullAddresses) {
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
  const auto onGpu = [](pe_options &o, int64_t memory) {
    o.target = "gpu-emulator";
    o.pairs_memory = memory;
  };
  has(errorOf([&](pe_options &o) { onGpu(o, -2); }),
      "expected memory for pairs from 0 to 16777216 MiB, found -2");
  has(errorOf([&](pe_options &o) { onGpu(o, int64_t(1) << 25); }), "found 33554432");
  has(errorOf([](pe_options &o) { o.pairs_memory = 1; }),
      "expected target cuda or gpu-emulator with memory for pairs, found cpu");
  has(errorOf([](pe_options &o) { o.size = 0; }), "argument 'options': expected a size of");
  has(errorOf([](pe_options &o) { o.size = sizeof(o) + 8; }), "which is sizeof(pe_options)");
}

// A caller that was compiled before the field existed passes a smaller struct, which means the
// default.
TEST(CApiOptions, PairsMemory) {
  const auto explanationOf = [](int64_t memory, uint64_t size) {
    pe_options options = optionsOf(true, 128);
    options.target = "gpu-emulator";
    options.dtype = PE_BF16;
    options.pairs_memory = memory;
    options.size = size;
    pe_function *function = openExample("nope", options);
    const char *json = nullptr;
    EXPECT_EQ(pe_describe(function, &json), 0) << pe_last_error();
    std::string text = json;
    pe_close(function);
    return text;
  };
  const uint64_t size = sizeof(pe_options), before = offsetof(pe_options, pairs_memory);
  const auto hasPairs = [](const std::string &text) {
    return text.find("backward_products") != std::string::npos;
  };
  const std::string usual = explanationOf(0, size);
  EXPECT_TRUE(hasPairs(usual));
  EXPECT_EQ(explanationOf(1024, size), usual);
  EXPECT_EQ(explanationOf(3, before), usual);
  EXPECT_NE(explanationOf(2, size), usual);
  EXPECT_FALSE(hasPairs(explanationOf(-1, size)));
}

} // namespace
