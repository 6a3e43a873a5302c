//===- ActivationsTest.cpp - Activations and their generated derivatives ---===//

#include "TestKernels.h"
#include "runtime/core/Random.h"

#include <cmath>
#include <numbers>

using namespace pe;
using namespace pe::test;
using namespace pe::train;

namespace {

/// Reference values and derivatives in double.
struct Truth {
  double y = 0, dx = 0, dUp = 0;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Truth truthOf(const std::string &name, double x, double up) {
  if (name == "relu2")
    return {x > 0 ? x * x : 0, x > 0 ? 2 * x : 0};
  if (name == "gelu") {
    const double share = std::erfc(-x / std::numbers::sqrt2) / 2;
    return {x * share, share + x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi)};
  }
  const double s = sigmoid(x), silu = x * s;
  return {silu * up, (s + silu * sigmoid(-x)) * up, silu};
}

struct Results {
  std::vector<float> y, dx, dUp;
};

Results run(const ActivationKernels &kernels, const std::vector<float> &x,
            const std::vector<float> &up, const std::vector<float> &dy) {
  const auto count = static_cast<int64_t>(x.size());
  Results results{std::vector<float>(x.size()), std::vector<float>(x.size()),
                  std::vector<float>(x.size())};
  if (kernels.isGated()) {
    kernels.gatedForward(x.data(), up.data(), results.y.data(), count);
    kernels.gatedBackward(x.data(), up.data(), dy.data(), results.dx.data(), results.dUp.data(),
                          count);
  } else {
    kernels.forward(x.data(), results.y.data(), count);
    kernels.backward(x.data(), dy.data(), results.dx.data(), count);
  }
  return results;
}

// The range is -12 to 12, where 1 + erf of a negative number would lose all digits.
TEST(Activations, ValuesAndDerivativesAreAccurate) {
  for (const std::string &name : activationNames()) {
    SCOPED_TRACE(name);
    std::vector<float> x, up, dy;
    Random random(1, "activation");
    for (double at = -12; at <= 12; at += 0.01) {
      x.push_back(static_cast<float>(at));
      up.push_back(static_cast<float>(random.normal()));
      dy.push_back(static_cast<float>(random.normal()));
    }
    const Results found = run(compiledActivation(name), x, up, dy);
    for (size_t i = 0; i < x.size(); ++i) {
      const Truth truth = truthOf(name, x[i], up[i]);
      auto expectNear = [&](double value, double expected, double scale) {
        // `scale` is the magnitude of the terms of a derivative that passes through 0. The rounding
        // error of the argument is multiplied by x^2 in e^(-x^2 / 2). Below 1e-37 there are no
        // normal numbers.
        const double relative = 2e-6 + 1.2e-7 * x[i] * x[i];
        EXPECT_NEAR(value, expected, relative * std::abs(scale) + 1e-37) << name << " at " << x[i];
      };
      expectNear(found.y[i], truth.y, truth.y);
      const double slope = std::abs(truth.y) * (1 + std::abs(x[i])) + std::abs(truth.dx);
      expectNear(found.dx[i], truth.dx * dy[i], slope * dy[i]);
      expectNear(found.dUp[i], truth.dUp * dy[i], truth.dUp * dy[i]);
    }
  }
}

// Includes counts below the vector length and counts that are not multiples of it. Nothing is
// written past the end, and gradients may overwrite cotangents.
TEST(Activations, AcceptAnyNumberOfElements) {
  for (const std::string &name : activationNames())
    for (size_t count : {0, 1, 7, 8, 9, 31, 64}) {
      SCOPED_TRACE(name + " " + std::to_string(count));
      std::vector<float> x(count), up(count), dy(count);
      Random random(2, "activation");
      for (size_t i = 0; i < count; ++i) {
        x[i] = static_cast<float>(random.normal());
        up[i] = static_cast<float>(random.normal());
        dy[i] = static_cast<float>(random.normal());
      }
      const ActivationKernels kernels = compiledActivation(name);
      const Results found = run(kernels, x, up, dy);
      std::vector<float> y(count + 1, 7.0f), inPlace = dy, other(count + 1, 7.0f);
      inPlace.push_back(7.0f);
      if (kernels.isGated()) {
        kernels.gatedForward(x.data(), up.data(), y.data(), static_cast<int64_t>(count));
        kernels.gatedBackward(x.data(), up.data(), inPlace.data(), inPlace.data(), other.data(),
                              static_cast<int64_t>(count));
      } else {
        kernels.forward(x.data(), y.data(), static_cast<int64_t>(count));
        kernels.backward(x.data(), inPlace.data(), inPlace.data(), static_cast<int64_t>(count));
      }
      EXPECT_EQ(y[count], 7.0f);
      EXPECT_EQ(inPlace[count], 7.0f);
      EXPECT_EQ(other[count], 7.0f);
      y.pop_back(), inPlace.pop_back();
      EXPECT_EQ(y, found.y);
      EXPECT_EQ(inPlace, found.dx);
      for (size_t i = 0; i < count; ++i)
        EXPECT_NEAR(found.y[i], truthOf(name, x[i], up[i]).y, 1e-5);
    }
}

TEST(Activations, PropagateNonFiniteValues) {
  for (const std::string &name : activationNames()) {
    const float nan = std::nanf("");
    const Results found = run(compiledActivation(name), {nan, 1, 1}, {1, 1, 1}, {1, nan, INFINITY});
    EXPECT_TRUE(std::isnan(found.y[0])) << name;
    EXPECT_TRUE(std::isnan(found.dx[1])) << name;
    EXPECT_EQ(found.dx[2], INFINITY) << name;
  }
}

TEST(Activations, FilesMustDefineOneFunction) {
  auto kernels = bindActivation([](const std::string &) -> void * { return nullptr; });
  ASSERT_FALSE(kernels);
  EXPECT_EQ(kernels.error().getMessage(),
            "expected func.func @activation(%x: f32) -> f32, or @activation(%gate: f32, %up: f32) "
            "-> f32 for a layer with a gate, found neither");
}

} // namespace
