//===- CApiTest.cpp - Tests of calls of the C API -------------------------===//
//
// CApiChecksTest.cpp calls every function of pe-c.h with invalid arguments. The checks of views are
// tested in test/runtime/device/common, and GPUs in test/runtime/device/cuda. A complete program is
// in examples/embed-c.
//
//===----------------------------------------------------------------------===//

#include "CApiCalls.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>

using namespace pe::test;

namespace {

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
TEST_F(CApi, ChecksResults) {
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
TEST_F(CApi, BackwardAcceptsMergedResults) {
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
