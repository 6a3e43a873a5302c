//===- CApiTest.cpp - What C programs may do wrong ------------------------===//
//
// Every function of pe-c.h with objects that are not what it expects. Calls that go well are those
// of examples/embed-c; sessions are tested with the driver of our own (test/runtime/device/cuda).
//
//===----------------------------------------------------------------------===//

#include "pe/pe-c.h"

#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

namespace {

const std::string kExamples = std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/";
constexpr int64_t kLength = 8, kDepth = 8;

struct CApi : testing::Test {
  std::vector<float> elements = std::vector<float>(kLength * kDepth, 0.5f);
  pe_function *function = nullptr;
  pe_call *call = nullptr;

  pe_function *open(const char *encoding, bool grad = true) {
    pe_options options = {};
    options.head_dim = options.value_dim = kDepth;
    options.grad = grad;
    pe_function *opened = nullptr;
    EXPECT_EQ(pe_open((kExamples + encoding + ".mlir").c_str(), &options, &opened), 0)
        << pe_last_error();
    return opened;
  }
  pe_tensor tensor(const char *name) {
    return {name, elements.data(), PE_F32, 4, {1, 1, kLength, kDepth}};
  }
  int forward(const pe_positions *positions = nullptr) {
    const pe_tensor arguments[] = {tensor("q"), tensor("k"), tensor("v")};
    return pe_forward(function, arguments, 3, positions, &call);
  }
  static void expectError(int outcome, const std::string &message) {
    EXPECT_EQ(outcome, 1);
    EXPECT_EQ(pe_last_error(), "pe: error: " + message);
  }

  void SetUp() override { function = open("nope"); }
  void TearDown() override {
    pe_call_free(call);
    pe_close(function);
  }
};

TEST_F(CApi, ABackwardCallBelongsToTheFunctionOfItsForwardCall) {
  ASSERT_EQ(forward(), 0) << pe_last_error();
  const pe_tensor cotangent = tensor("d_o");
  for (const char *encoding : {"alibi", "fire"}) {
    pe_function *other = open(encoding);
    expectError(pe_backward(other, call, &cotangent, 1),
                "expected a forward call of this function, 'attention', found one that another "
                "function made");
    pe_close(other);
  }
  EXPECT_EQ(pe_backward(function, call, &cotangent, 1), 0) << pe_last_error();
}

TEST_F(CApi, WhatWasClosedIsNotUsed) {
  ASSERT_EQ(forward(), 0) << pe_last_error();
  const pe_tensor cotangent = tensor("d_o");
  pe_call *freed = call;
  call = nullptr;
  pe_call_free(freed);
  const std::string message =
      "argument 'call': expected an open pe_call, found one that was closed or was never opened";
  pe_tensor result;
  expectError(pe_backward(function, freed, &cotangent, 1), message);
  expectError(pe_result(freed, "o", &result), message);
  pe_call_free(freed); // a second time: nothing happens
  EXPECT_EQ(pe_last_error(), "pe: error: " + message);

  pe_function *closed = function;
  pe_close(closed);
  function = closed;
  expectError(forward(), "argument 'function': expected an open pe_function, found one that was "
                         "closed or was never opened");
  function = nullptr;
}

TEST_F(CApi, OneKindOfObjectIsNotAnother) {
  ASSERT_EQ(forward(), 0) << pe_last_error();
  pe_tensor result;
  expectError(pe_result(reinterpret_cast<pe_call *>(function), "o", &result),
              "argument 'call': expected a pe_call, found a pe_function");
  expectError(pe_session_forward(reinterpret_cast<pe_session *>(call), nullptr, nullptr),
              "argument 'session': expected a pe_session, found a pe_call");
  pe_close(reinterpret_cast<pe_function *>(call));
  EXPECT_EQ(pe_result(call, "o", &result), 0) << "nothing was closed by another's function";
}

TEST_F(CApi, PositionsAreChecked) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  for (pe_positions positions : {pe_positions{most, PE_DEFAULT, PE_DEFAULT, PE_DEFAULT},
                                 {PE_DEFAULT, int64_t(1) << 40, PE_DEFAULT, PE_DEFAULT},
                                 {PE_DEFAULT, PE_DEFAULT + 1, PE_DEFAULT, PE_DEFAULT},
                                 {PE_DEFAULT, PE_DEFAULT, 2, PE_DEFAULT},
                                 {PE_DEFAULT, PE_DEFAULT, -1, 4},
                                 {PE_DEFAULT, PE_DEFAULT, most, most}})
    EXPECT_EQ(forward(&positions), 1);
  pe_positions last = {(int64_t(1) << 30) - kLength, (int64_t(1) << 30) - kLength, 3, 4};
  EXPECT_EQ(forward(&last), 0) << pe_last_error();
}

TEST_F(CApi, TensorsAreChecked) {
  const auto errorOf = [&](const pe_tensor &bad) {
    const pe_tensor arguments[] = {bad, tensor("k"), tensor("v")};
    pe_call *none = nullptr;
    EXPECT_EQ(pe_forward(function, arguments, 3, nullptr, &none), 1);
    EXPECT_EQ(none, nullptr);
    return std::string(pe_last_error());
  };
  pe_tensor bad = tensor("q");
  bad.rank = 9;
  EXPECT_NE(errorOf(bad).find("tensor 'q': expected a rank of 0 to 8, found 9"), std::string::npos);
  bad = tensor("q");
  bad.shape[0] = -1;
  EXPECT_NE(errorOf(bad).find("tensor 'q': expected dimensions of at least 0"), std::string::npos);
  bad = tensor("q");
  bad.shape[0] = bad.shape[1] = int64_t(1) << 40;
  EXPECT_NE(errorOf(bad).find("tensor 'q': expected fewer than 2^63"), std::string::npos);
  bad = tensor("q");
  bad.dtype = static_cast<pe_dtype>(16);
  EXPECT_NE(errorOf(bad).find("tensor 'q': expected a pe_dtype, found 16"), std::string::npos);
  bad = tensor(nullptr);
  EXPECT_NE(errorOf(bad).find("tensor 0: expected a name"), std::string::npos);
  EXPECT_NE(errorOf(tensor("k")).find("tensor 'k': expected once, found twice"), std::string::npos);
  EXPECT_NE(errorOf(tensor("z")).find("tensor 'q': expected as argument"), std::string::npos);
}

TEST(CApiOptions, AreChecked) {
  pe_function *function = nullptr;
  const std::string file = kExamples + "nope.mlir";
  const auto errorOf = [&](const pe_options &options) {
    EXPECT_EQ(pe_open(file.c_str(), &options, &function), 1);
    return std::string(pe_last_error());
  };
  pe_options options = {};
  options.dtype = PE_I64;
  EXPECT_NE(errorOf(options).find("options: expected a dtype of PE_F32"), std::string::npos);
  options = {};
  options.head_dim = -8;
  EXPECT_NE(errorOf(options).find("head dim"), std::string::npos);
  options = {};
  options.value_dim = std::numeric_limits<int64_t>::max();
  EXPECT_NE(errorOf(options).find("value dim"), std::string::npos);
  options = {};
  options.target = "tpu";
  EXPECT_NE(errorOf(options).find("unknown target 'tpu'"), std::string::npos);
  options = {};
  options.entry = "none";
  EXPECT_NE(errorOf(options).find("none"), std::string::npos);
}

} // namespace
