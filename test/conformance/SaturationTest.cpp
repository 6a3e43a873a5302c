//===- SaturationTest.cpp - Tests stick-breaking with keys that take all --===//
//
// With 16-bit operands the forward pass bounds the odds of a key, so it leaves at least 2^-30 of
// the mass before it (docs/numerics.md, section 5). The values are unit vectors, so the outputs are
// the weights, and the error of a small one is not hidden by a larger one.
//
//===----------------------------------------------------------------------===//

#include "conformance/Subject.h"
#include "runtime/core/Random.h"
#include "runtime/reference/Compare.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace pe::conformance {
namespace {

constexpr int64_t kLength = 150, kDepth = 8, kValueDepth = 152;

/// `order` keeps the earlier keys, or all keys for a pass over each side. Some keys between kept
/// ones are masked.
std::string programOf(const std::string &order, bool hasMass) {
  const std::string mass = hasMass ? ", tensor<?x?x?xf32>" : "";
  return "!t = tensor<?x?x?x?xf32>\nfunc.func @f(%q: !t {pe.name = \"q\"}, %k: !t {pe.name = "
         "\"k\"}, "
         "%v: !t {pe.name = \"v\"}, %x: tensor<150x150xi32> {pe.name = \"x\"})\n    -> (!t "
         "{pe.name = "
         "\"o\"}" +
         (hasMass ? mass + " {pe.name = \"mass\"}" : "") +
         ") {\n  %b = pe.bias_fn(%x : tensor<150x150xi32>) expr \"select(x[i, j] < "
         "-1000, log(max(x[i, j] + 1000, 0)), 0.5 * x[i, j])\"\n  %m = pe.mask_fn expr \"" +
         order + "(i + 2 * j) % 7 != 0\"\n  %o" + (hasMass ? ", %mass" : "") +
         " = pe.attention %q, %k, %v bias(%b) mask(%m)\n"
         "      {normalizer = #pe.normalizer<stick_breaking>" +
         (order.empty() ? ", direction = #pe.direction<both>" : "") + "} : (!t, !t, !t) -> !t" +
         mass + "\n  return %o" + (hasMass ? ", %mass" : "") + " : !t" + mass + "\n}\n";
}

/// Draws inputs with biases of -200, near 0, 200 or minus infinity, one at a time or in runs. Every
/// 16th row has no key.
TensorMap draw() {
  constexpr int32_t infinite = -2000;
  TensorMap inputs;
  for (const char *name : {"q", "k"})
    inputs[name] = Tensor::zeros(DType::F32, {1, 1, kLength, kDepth});
  for (const char *name : {"v", "d_o"})
    inputs[name] = Tensor::zeros(DType::F32, {1, 1, kLength, kValueDepth});
  for (const char *name : {"q", "k", "d_o"})
    Random(5, name).fillNormal(inputs[name], 0, 0.5);
  for (int64_t j = 0; j < kLength; ++j)
    inputs["v"].data<float>()[j * kValueDepth + j] = 1.0f;
  inputs["d_mass"] = Tensor::zeros(DType::F32, {1, 1, kLength});
  Random(5, "d_mass").fillNormal(inputs["d_mass"], 0, 0.5);
  Random random(5, "x");
  std::vector<int32_t> x;
  while (int64_t(x.size()) < kLength * kLength) {
    const bool inRuns = int64_t(x.size()) / kLength % 2;
    const int32_t kinds[] = {400, -400, infinite};
    const uint64_t kind = random.below(10);
    for (uint64_t left = 1 + random.below(inRuns ? 40 : 3); left > 0; --left)
      x.push_back(kind < 3 ? kinds[kind] : int32_t(random.below(9)) - 6);
  }
  x.resize(kLength * kLength);
  for (int64_t row = 0; row < kLength; row += 16)
    std::fill_n(x.begin() + row * kLength, kLength, infinite);
  inputs["x"] = Tensor::of(x, {kLength, kLength});
  return inputs;
}

struct Target {
  const char *name;
  DType dtype = DType::F32;
};

/// Compares with the reference: weights to 1e-9 of a row's total weight and rounding, others to
/// rounding of their norm. In bf16, a weight is rounded twice, and others are not compared.
void expectClose(const TensorMap &found, const TensorMap &expected, DType dtype) {
  const bool isNarrow = dtype == DType::BF16;
  const double rounding = isNarrow ? 0x1p-7 : 2e-6;
  for (const auto &[name, tensor] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    if (isNarrow && name != "o")
      continue;
    const Tensor wide = *convert(found.at(name), DType::F32);
    std::span<const float> x = wide.values<float>(), r = tensor.values<float>();
    double error = 0.0, norm = 0.0, beyond = 0.0;
    for (size_t n = 0; n < r.size(); ++n) {
      ASSERT_TRUE(std::isfinite(x[n])) << name << " " << n;
      const double difference = std::abs(double(x[n]) - r[n]);
      error += difference * difference, norm += double(r[n]) * r[n];
      beyond = std::max(beyond, difference - rounding * std::abs(double(r[n])));
    }
    if (name == "o")
      EXPECT_LE(beyond, 1e-9) << name;
    if (!isNarrow)
      EXPECT_LE(std::sqrt(error), 2e-5 * std::sqrt(norm)) << name;
  }
}

class Saturation : public testing::TestWithParam<Target> {
protected:
  TensorMap run(const Target &target, const std::string &text, const TensorMap &inputs) {
    SubjectOptions options;
    options.target = target.name;
    options.dtype = target.dtype;
    options.poison = true;
    auto subject = makeSubject(options);
    EXPECT_TRUE(subject) << subject.error().getMessage();
    auto function = (*subject)->compile({.text = text, .name = "saturation.mlir", .entry = ""},
                                        kDepth, kValueDepth);
    EXPECT_TRUE(function) << function.error().getMessage();
    auto found = (*function)->run(inputs, Positions(), 1);
    EXPECT_TRUE(found) << found.error().getMessage();
    return std::move(*found);
  }
};

TEST_P(Saturation, KeysThatTakeAllMass) {
  const Target target = GetParam();
  TensorMap inputs = draw(), exact;
  for (auto &[name, tensor] : inputs) {
    if (target.dtype != DType::F32 && tensor.rank() == 4)
      tensor = *convert(tensor, target.dtype);
    exact[name] = tensor.dtype() == target.dtype ? *convert(tensor, DType::F32) : tensor;
  }
  for (const char *order : {"j < i and ", ""})
    for (bool hasMass : {true, false}) {
      if (hasMass && !*order)
        continue; // each side has its own mass
      SCOPED_TRACE(std::string(order) + (hasMass ? "with the mass left" : ""));
      TensorMap given = inputs, wide = exact;
      if (!hasMass) {
        given.erase("d_mass");
        wide.erase("d_mass");
      }
      const std::string text = programOf(order, hasMass);
      expectClose(run(target, text, given), run({"reference"}, text, wide), target.dtype);
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, Saturation,
                         testing::Values(Target{"loops"}, Target{"cpu"}, Target{"gpu-emulator"},
                                         Target{"loops", DType::BF16},
                                         Target{"gpu-emulator", DType::BF16}),
                         [](const auto &info) {
                           const bool isWide = info.param.dtype == DType::F32;
                           return std::string(info.param.name).substr(0, 3) + // without a hyphen
                                  (isWide ? "" : "Bf16");
                         });

} // namespace
} // namespace pe::conformance
