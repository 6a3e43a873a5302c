//===- ReinitApiTest.cpp - Tests of pe/reinit.h and pe_reinit -------------===//

#include "pe/reinit.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace pe;

namespace {

Tensor weightsOf(Shape shape, double frequency = 0.7) {
  Tensor weights = Tensor::zeros(DType::F32, std::move(shape));
  double i = 0;
  for (float &value : weights.values<float>()) {
    value = static_cast<float>(std::sin(frequency * i * i));
    ++i;
  }
  return weights;
}

std::vector<float> valuesOf(const Tensor &tensor) {
  auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

std::string failureOf(const View &weights, const reinit::Settings &settings = {}) {
  auto reports = reinit::project(weights, settings);
  return reports ? "none" : reports.error().getMessage();
}

TEST(ReinitApi, ProjectsInPlace) {
  Tensor weights = weightsOf({24, 16});
  reinit::Settings settings;
  settings.scale = reinit::Scale::None;
  auto reports = reinit::project(viewOf("w", weights), settings);
  ASSERT_TRUE(reports) << reports.error().getMessage();
  ASSERT_EQ(reports->size(), 1u);
  EXPECT_EQ((*reports)[0].name, "w");
  EXPECT_LT((*reports)[0].dfiAfter, 1e-12);
  const std::vector<float> w = valuesOf(weights);
  for (int64_t i = 0; i < 16; ++i)
    for (int64_t j = 0; j < 16; ++j) {
      double dot = 0;
      for (int64_t row = 0; row < 24; ++row)
        dot += static_cast<double>(w[row * 16 + i]) * w[row * 16 + j];
      EXPECT_NEAR(dot, i == j, 1e-6);
    }
}

TEST(ReinitApi, StacksEqualSingleMatrices) {
  Tensor stack = weightsOf({3, 8, 12}), single = Tensor::zeros(DType::F32, {8, 12});
  std::memcpy(single.rawData(), stack.data<float>() + 96, single.byteSize());
  pe_reinit_report reports[3];
  const pe_view view = viewOf("experts", stack);
  ASSERT_EQ(pe_reinit(&view, nullptr, reports, 3), 0) << pe_last_error();
  ASSERT_TRUE(reinit::project(viewOf("one", single), {}));
  EXPECT_EQ(std::memcmp(single.rawData(), stack.data<float>() + 96, single.byteSize()), 0);
  EXPECT_EQ(reports[1].rows, 8);
  EXPECT_EQ(reports[1].cols, 12);
  EXPECT_EQ(reports[1].rank, 8);
  EXPECT_EQ(reports[1].chosen, 1);
  EXPECT_NEAR(reports[1].scale, std::sqrt(8.0 / 12), 1e-12);
}

TEST(ReinitApi, ErrorsLeaveTheWeightsUnchanged) {
  Tensor stack = weightsOf({2, 4, 4});
  stack.data<float>()[21] = std::numeric_limits<float>::infinity();
  const std::vector<float> before = valuesOf(stack);
  EXPECT_EQ(failureOf(viewOf("w", stack)),
            "parameter 'w[1]': expected finite weights, found inf at [1, 1]");
  EXPECT_EQ(valuesOf(stack), before);
}

TEST(ReinitApi, RejectsOtherShapes) {
  Tensor vector = weightsOf({4}), matrix = weightsOf({6, 4});
  EXPECT_EQ(failureOf(viewOf("w", vector)),
            "tensor 'w': expected a matrix or a stack of matrices, found rank 1");
  EXPECT_EQ(failureOf(viewOf("w", matrix.slice(1, 0, 2))),
            "tensor 'w': expected contiguous weights, found stride 4 for axis 0 instead of 2");
  EXPECT_EQ(failureOf(viewOf("w", Tensor::zeros(DType::I32, {2, 2}))),
            "tensor 'w': expected weights of f32, f64, bf16 or f16");
  EXPECT_EQ(failureOf(viewOf("w", Tensor::zeros(DType::F32, {0, 2}))),
            "tensor 'w': expected at least one element, found axis 0 of size 0");
  reinit::Settings cubic;
  cubic.engine = reinit::Engine::Cubic;
  cubic.iterations = 0;
  EXPECT_EQ(failureOf(viewOf("w", matrix), cubic),
            "expected at least one iteration of engine cubic, found 0");
}

TEST(ReinitApi, CApiReportsErrors) {
  Tensor matrix = weightsOf({6, 4});
  const pe_view view = viewOf("w", matrix);
  pe_reinit_options options = {};
  options.size = sizeof options;
  options.engine = "svd";
  EXPECT_EQ(pe_reinit(&view, &options, nullptr, 0), 1);
  EXPECT_STREQ(pe_last_error(),
               "pe: error: expected an engine of 'qdwh', 'quintic' or 'cubic', found 'svd'");
  EXPECT_EQ(pe_reinit(nullptr, nullptr, nullptr, 0), 1);
  EXPECT_STREQ(pe_last_error(), "pe: error: argument 'weights': expected an address, found none");
  pe_reinit_report report;
  EXPECT_EQ(pe_reinit(&view, nullptr, &report, 2), 1);
  EXPECT_STREQ(pe_last_error(), "pe: error: expected 1 reports, one per matrix, found 2");
  options.engine = "cubic";
  options.iterations = 3;
  options.scale = "fro";
  EXPECT_EQ(pe_reinit(&view, &options, &report, 1), 0) << pe_last_error();
  EXPECT_EQ(report.iterations, 3);
}

} // namespace
