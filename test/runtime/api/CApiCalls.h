//===- CApiCalls.h - Small calls of the C API -------------------*- C++ -*-===//
//
// Calls of examples with B1 H2 S8 D8, and the message of the last error.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_RUNTIME_API_CAPICALLS_H
#define PE_TEST_RUNTIME_API_CAPICALLS_H

#include "pe/pe-c.h"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace pe::test {

inline const std::string kExamples = std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/";
constexpr int64_t kHeads = 2, kLength = 8, kDepth = 8, kCount = kHeads * kLength * kDepth;

inline std::string lastMessage() {
  pe_error_info info;
  pe_last_error_info(&info);
  return info.message;
}
inline pe_error_kind lastKind() {
  pe_error_info info;
  pe_last_error_info(&info);
  return info.kind;
}

inline pe_options optionsOf(bool grad, int64_t depth = kDepth) {
  pe_options options = {};
  options.size = sizeof(options);
  options.head_dim = options.value_dim = depth;
  options.grad = grad;
  return options;
}

inline pe_function *openExample(const std::string &encoding, const pe_options &options) {
  pe_function *opened = nullptr;
  EXPECT_EQ(pe_open((kExamples + encoding + ".mlir").c_str(), &options, &opened), 0)
      << pe_last_error();
  return opened;
}

inline pe_view full(const char *name, std::vector<float> &data, int64_t length = kLength,
                    int64_t depth = kDepth) {
  return {name,
          data.data(),
          PE_F32,
          4,
          {1, kHeads, length, depth},
          {kHeads * length * depth, length * depth, depth, 1}};
}

/// Runs halves in a workspace of exactly the required size.
inline int run(const pe_function *function, int32_t half, const std::vector<pe_view> &views,
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

} // namespace pe::test

#endif // PE_TEST_RUNTIME_API_CAPICALLS_H
