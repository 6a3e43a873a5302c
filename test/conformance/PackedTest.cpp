//===- PackedTest.cpp - Packed documents against separate calls -----------===//
//
// Compares packed documents in which positions restart with one call per document without a
// document mask: outputs and gradients of tokens are concatenated, gradients of parameters are
// summed. Also tests the errors for invalid boundaries and positions.
//
//===----------------------------------------------------------------------===//

#include "conformance/Subject.h"
#include "runtime/core/Random.h"

#include <cmath>
#include <gtest/gtest.h>

namespace pe::conformance {
namespace {

constexpr int64_t kHeads = 4, kKeyHeads = 2, kDepth = 16;
const std::vector<int32_t> kBoundaries = {0, 1, 70, 70, 134, 200};

/// Returns a program that reads positions, differences, a network of both, a score function, data
/// of tokens, a rotation and a mask of positions, with or without documents.
std::string program(bool isPacked) {
  const std::string documents = isPacked
                                    ? "  %d = pe.documents %cu : tensor<?xi32> {restart = true}\n"
                                      "  %m = pe.mask_and %window, %d\n"
                                    : "";
  const std::string boundaries =
      isPacked ? ", %cu: tensor<?xi32> {pe.name = \"cu\", pe.axes = [\"boundaries\"]}" : "";
  return "!t = tensor<?x?x?x?xf32>\n"
         "func.func @f(%q: !t {pe.name = \"q\"}, %k: !t {pe.name = \"k\"}, %v: !t {pe.name = "
         "\"v\"},\n"
         "  %w: tensor<?xf32> {pe.name = \"w\"}, %c: tensor<f32> {pe.name = \"c\"},\n"
         "  %w1: tensor<4xf32> {pe.name = \"w1\"}, %b1: tensor<4xf32> {pe.name = \"b1\"},\n"
         "  %w2: tensor<?x4xf32> {pe.name = \"w2\"}, %b2: tensor<?xf32> {pe.name = \"b2\"},\n"
         "  %f: tensor<?x?xf32> {pe.name = \"f\", pe.axes = [\"batch\", \"key\"]}" +
         boundaries +
         ") -> (!t {pe.name = \"o\"}) {\n"
         "  %t = pe.progressive c(%c : tensor<f32>)\n"
         "  %fire = pe.mlp %t layers(%w1, %b1, %w2, %b2 : tensor<4xf32>, tensor<4xf32>,"
         " tensor<?x4xf32>, tensor<?xf32>)\n"
         "  %line = pe.bias_fn(%w, %f : tensor<?xf32>, tensor<?x?xf32>)\n"
         "      expr \"w[h] * sqrt(j) + f[b, j] * cos(j) - 0.01 * w[h] * (i - j)\"\n"
         "  %pair = pe.bias_fn(%w : tensor<?xf32>) expr \"w[h] * sin(i * j)\"\n"
         "  %s = pe.score_fn expr \"s * log(2 + i)\"\n"
         "  %r = pe.rotary\n"
         "  %window = pe.mask_fn expr \"j <= i and (j < 4 or i - j < 50)\"\n" +
         documents +
         "  %o = pe.attention %q, %k, %v bias(%fire, %line, %pair) rotate(%r) score(%s) mask(" +
         (isPacked ? "%m" : "%window") + ") : (!t, !t, !t) -> !t\n  return %o : !t\n}\n";
}

Tensor normal(const std::string &name, Shape shape, double deviation = 1) {
  Tensor tensor = Tensor::zeros(DType::F32, std::move(shape));
  Random(7, name).fillNormal(tensor, 0, deviation);
  return tensor;
}

/// Slices tokens [first, last) of a tensor with token axis `axis`.
Tensor tokensOf(const Tensor &all, int axis, int64_t first, int64_t last) {
  Shape shape = all.shape();
  const int64_t length = shape[axis];
  shape[axis] = last - first;
  int64_t outer = 1, inner = 1;
  for (int k = 0; k < axis; ++k)
    outer *= shape[k];
  for (size_t k = axis + 1; k < shape.size(); ++k)
    inner *= shape[k];
  Tensor part = Tensor::zeros(DType::F32, shape);
  for (int64_t n = 0; n < outer; ++n)
    std::copy_n(all.values<float>().data() + (n * length + first) * inner, (last - first) * inner,
                part.values<float>().data() + n * (last - first) * inner);
  return part;
}

/// Returns the axis of tokens, or -1.
int axisOfTokens(const std::string &name) {
  const std::string plain = name.starts_with("d_") ? name.substr(2) : name;
  return plain == "f"                                                                ? 1
         : plain.size() == 1 && std::string("qkvo").find(plain) != std::string::npos ? 2
                                                                                     : -1;
}

TensorMap inputsOfPack() {
  const int64_t length = kBoundaries.back();
  TensorMap inputs;
  for (const char *name : {"q", "o"})
    inputs[name == std::string("o") ? "d_o" : name] = normal(name, {1, kHeads, length, kDepth});
  for (const char *name : {"k", "v"})
    inputs[name] = normal(name, {1, kKeyHeads, length, kDepth});
  inputs["w"] = normal("w", {kHeads}, 0.3);
  inputs["c"] = Tensor::of(std::vector<float>{0.3f}, {});
  inputs["w1"] = normal("w1", {4});
  inputs["b1"] = normal("b1", {4});
  inputs["w2"] = normal("w2", {kHeads, 4});
  inputs["b2"] = normal("b2", {kHeads});
  inputs["f"] = normal("f", {1, length});
  return inputs;
}

TensorMap inputsOfDocument(const TensorMap &pack, int64_t first, int64_t last) {
  TensorMap inputs;
  for (const auto &[name, tensor] : pack) {
    const int axis = axisOfTokens(name);
    inputs[name] = axis < 0 ? tensor : tokensOf(tensor, axis, first, last);
  }
  return inputs;
}

class Packed : public testing::TestWithParam<const char *> {
protected:
  std::unique_ptr<Function> compile(const std::string &text) {
    SubjectOptions options;
    options.target = GetParam();
    options.poison = true;
    auto made = makeSubject(options);
    EXPECT_TRUE(made) << made.error().getMessage();
    subjects.push_back(std::move(*made));
    auto function = subjects.back()->compile({.text = text, .name = "packed.mlir", .entry = ""},
                                             kDepth, kDepth);
    EXPECT_TRUE(function) << function.error().getMessage();
    return function ? std::move(*function) : nullptr;
  }
  std::vector<std::unique_ptr<Subject>> subjects;
};

void expectNear(const std::string &name, const Tensor &found, const Tensor &expected) {
  ASSERT_EQ(found.shape(), expected.shape()) << name;
  double largest = 1; // the tolerance is relative to terms that can cancel
  for (float value : expected.values<float>())
    largest = std::max<double>(largest, std::fabs(value));
  for (int64_t n = 0; n < found.numel(); ++n)
    ASSERT_NEAR(found.values<float>()[n], expected.values<float>()[n], 5e-5 * largest)
        << name << " at " << n;
}

TEST_P(Packed, EqualsSeparateCalls) {
  auto together = compile(program(/*isPacked=*/true)), alone = compile(program(false));
  ASSERT_TRUE(together && alone);
  const TensorMap pack = inputsOfPack();
  TensorMap inputs = pack;
  inputs["cu"] = Tensor::of(kBoundaries, {static_cast<int64_t>(kBoundaries.size())});
  auto found = together->run(inputs, {}, 2);
  ASSERT_TRUE(found) << found.error().getMessage();
  TensorMap sums;
  for (size_t n = 0; n + 1 < kBoundaries.size(); ++n) {
    const int64_t first = kBoundaries[n], last = kBoundaries[n + 1];
    auto own = alone->run(inputsOfDocument(pack, first, last), {}, 2);
    ASSERT_TRUE(own) << own.error().getMessage();
    for (const auto &[name, tensor] : *own) {
      if (int axis = axisOfTokens(name); axis >= 0) {
        expectNear(name, tokensOf((*found)[name], axis, first, last), tensor);
        continue;
      }
      Tensor &sum = sums.try_emplace(name, Tensor::zeros(DType::F32, tensor.shape())).first->second;
      for (int64_t e = 0; e < tensor.numel(); ++e)
        sum.values<float>()[e] += tensor.values<float>()[e];
    }
  }
  EXPECT_EQ(sums.size(), 6u);
  for (const auto &[name, sum] : sums)
    expectNear(name, (*found)[name], sum);
}

TEST_P(Packed, InvalidBoundariesAreRefused) {
  auto function = compile(program(/*isPacked=*/true));
  ASSERT_TRUE(function);
  auto refuse = [&](const std::vector<int32_t> &boundaries, const std::string &message) {
    TensorMap inputs = inputsOfPack();
    inputs["cu"] = Tensor::of(boundaries, {static_cast<int64_t>(boundaries.size())});
    auto found = function->run(inputs, {}, 1);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().getMessage(), message);
  };
  refuse({1, 200}, "tensor 'cu': expected it to begin at 0, found 1");
  refuse({0, 90, 80, 200},
         "tensor 'cu': expected values in nondecreasing order, found 80 after 90 at index 2");
  refuse({0, 199}, "tensor 'cu': expected it to end at 200, where the call ends, found 199");
  refuse({0, 201}, "tensor 'cu': expected it to end at 200, where the call ends, found 201");
}

TEST_P(Packed, TwoSequencesAreRefused) {
  auto function = compile(program(/*isPacked=*/true));
  ASSERT_TRUE(function);
  TensorMap inputs = inputsOfPack();
  for (auto &[name, tensor] : inputs)
    if (axisOfTokens(name) >= 0) {
      Shape shape = tensor.shape();
      shape[0] = 2;
      tensor = normal(name, shape);
    }
  inputs["cu"] = Tensor::of(kBoundaries, {static_cast<int64_t>(kBoundaries.size())});
  auto found = function->run(inputs, {}, 1);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().getMessage(),
            "batch of packed documents, because tensor 'cu' holds the boundaries of one sequence: "
            "expected at most 1, found 2");
}

TEST_P(Packed, InvalidPositionsAreRefused) {
  auto function = compile(
      "!t = tensor<?x?x?x?xf32>\n!p = tensor<?x?xi32>\n"
      "func.func @f(%q: !t {pe.name = \"q\"}, %k: !t {pe.name = \"k\"}, %v: !t {pe.name = \"v\"},\n"
      "  %x: !p {pe.name = \"x\"}, %y: !p {pe.name = \"y\"}) -> (!t {pe.name = \"o\"}) {\n"
      "  %o = pe.attention %q, %k, %v positions(%x, %y : !p, !p) : (!t, !t, !t) -> !t\n"
      "  return %o : !t\n}\n");
  ASSERT_TRUE(function);
  TensorMap inputs;
  for (const char *name : {"q", "k", "v", "d_o"})
    inputs[name] = normal(name, {1, 2, 3, kDepth});
  auto messageWith = [&](const char *name, const std::vector<int32_t> &positions) {
    inputs["x"] = inputs["y"] = Tensor::of(std::vector<int32_t>{2, 0, 1 << 29}, {1, 3});
    inputs[name] = Tensor::of(positions, {1, static_cast<int64_t>(positions.size())});
    auto found = function->run(inputs, {}, 1);
    return found ? "nothing" : found.error().getMessage();
  };
  EXPECT_EQ(messageWith("x", {0, 1, 2}), "nothing");
  EXPECT_EQ(messageWith("x", {0, -1, 2}),
            "tensor 'x': expected values from 0 to 1073741823, found -1 at index 1");
  EXPECT_EQ(messageWith("y", {0, 1, 1 << 30}),
            "tensor 'y': expected values from 0 to 1073741823, found 1073741824 at index 2");
  EXPECT_NE(messageWith("y", {0, 1}).find("'y'"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Targets, Packed, testing::Values("cpu", "loops", "gpu-emulator"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
} // namespace pe::conformance
