//===- PairProductsTest.cpp - Products of pairs of bf16 on the CPU --------===//
//
// On processors with vdpbf16ps, CPU kernels multiply bf16 by pairs (#step.cpu<by = pairdot>). The
// conformance table of bf16 compares these kernels with the reference on such a host. Here, the
// halves of words are tested: pairs of keys and rows of which the mask keeps one, and odd numbers
// of both.
//
//===----------------------------------------------------------------------===//

#include "conformance/RandomInputs.h"
#include "conformance/Subject.h"
#include "runtime/device/cpu/CpuInfo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

namespace pe::conformance {
namespace {

constexpr const char *kMachine = "x86-64-v4+avx512bf16";
constexpr int64_t kDepth = 24;

class PairProducts : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!cpu::hostCpu().runs(*plan::findMachine(kMachine)))
      GTEST_SKIP() << "this processor has no vdpbf16ps";
    const std::string path =
        std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/" + GetParam() + ".mlir";
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    source = {text.str(), path, ""};
    auto made = makeSubject({.features = kMachine, .dtype = DType::BF16});
    ASSERT_TRUE(made) << made.error().render("error");
    subject = std::move(*made);
    auto compiled = subject->compile(source, kDepth, kDepth);
    ASSERT_TRUE(compiled) << compiled.error().render("error");
    function = std::move(*compiled);
  }

  TensorMap draw(int64_t queries, int64_t keys) {
    auto description = subject->describe(source);
    EXPECT_TRUE(description) << (description ? "" : description.error().render("error"));
    auto inputs = drawInputs(description->entry, {"pairs", 1, 2, 1, queries, keys, kDepth, kDepth},
                             /*seed=*/1);
    EXPECT_TRUE(inputs) << (inputs ? "" : inputs.error().render("error"));
    for (auto &[name, tensor] : *inputs)
      if (tensor.rank() == 4)
        tensor = *convert(tensor, DType::BF16);
    return *inputs;
  }

  TensorMap run(const TensorMap &inputs) {
    auto found = function->run(inputs, {}, 2);
    EXPECT_TRUE(found) << (found ? "" : found.error().render("error"));
    return found ? *found : TensorMap();
  }

  /// Fills row `row` of every head of a tensor [b, h, rows, depth].
  static void fill(Tensor &tensor, int64_t row, uint16_t bits) {
    auto *data = static_cast<uint16_t *>(tensor.rawData());
    const int64_t heads = tensor.shape()[0] * tensor.shape()[1], rows = tensor.shape()[2];
    for (int64_t head = 0; head < heads; ++head)
      std::fill_n(data + (head * rows + row) * kDepth, kDepth, bits);
  }

  /// Compares rows [0, count) of every head.
  static void expectSameRows(const TensorMap &a, const TensorMap &b, const std::string &name,
                             int64_t count, const std::string &what) {
    const Tensor &left = a.at(name), &right = b.at(name);
    const int64_t heads = left.shape()[0] * left.shape()[1], rows = left.shape()[2];
    const size_t row = kDepth * sizeof(uint16_t);
    for (int64_t head = 0; head < heads; ++head)
      EXPECT_EQ(std::memcmp(static_cast<const char *>(left.rawData()) + head * rows * row,
                            static_cast<const char *>(right.rawData()) + head * rows * row,
                            count * row),
                0)
          << name << " of head " << head << what;
  }

  jit::Source source;
  std::unique_ptr<Subject> subject;
  std::unique_ptr<Function> function;
};

constexpr uint16_t kNaN = 0x7FC0;

/// Only the last row sees the last key, which shares a word with a key that other rows see, or has
/// no neighbour.
TEST_P(PairProducts, AKeyThatIsMaskedHasNoEffect) {
  for (const int64_t rows : {9, 33, 64, 66, 77}) {
    const TensorMap inputs = draw(rows, rows);
    TensorMap spoiled = inputs;
    fill(spoiled.at("k"), rows - 1, kNaN);
    fill(spoiled.at("v"), rows - 1, kNaN);
    const TensorMap exact = run(inputs), found = run(spoiled);
    const std::string what = " of " + std::to_string(rows) + " rows";
    expectSameRows(exact, found, "o", rows - 1, what);
    expectSameRows(exact, found, "d_q", rows - 1, what);
  }
}

/// The first rows see only the first keys: a row that is NaN changes the gradients of the keys that
/// it sees, and of no others.
TEST_P(PairProducts, ARowThatIsMaskedHasNoEffect) {
  for (const int64_t rows : {10, 34, 67}) {
    const TensorMap inputs = draw(rows, rows);
    TensorMap spoiled = inputs;
    fill(spoiled.at("q"), 0, kNaN);
    const TensorMap exact = run(inputs), found = run(spoiled);
    for (const char *name : {"d_k", "d_v"}) {
      Tensor left = exact.at(name), right = found.at(name);
      fill(left, 0, 0), fill(right, 0, 0);
      expectSameRows({{name, left}}, {{name, right}}, name, rows,
                     " of " + std::to_string(rows) + " rows");
    }
  }
}

/// Results differ from those of f32 products only by the rounding of weights.
TEST_P(PairProducts, ResultsAreNearThoseOfF32) {
  auto made = makeSubject({.features = "x86-64-v4", .dtype = DType::BF16});
  ASSERT_TRUE(made) << made.error().render("error");
  auto exact = (*made)->compile(source, kDepth, kDepth);
  ASSERT_TRUE(exact) << exact.error().render("error");
  const TensorMap inputs = draw(77, 91);
  auto expected = (*exact)->run(inputs, {}, 1);
  ASSERT_TRUE(expected) << expected.error().render("error");
  const TensorMap found = run(inputs);
  for (const char *name : {"o", "d_q", "d_k", "d_v"}) {
    const Tensor left = *convert(expected->at(name), DType::F32);
    const Tensor right = *convert(found.at(name), DType::F32);
    double largest = 0, difference = 0;
    int64_t different = 0;
    for (int64_t i = 0; i < left.numel(); ++i) {
      const double a = left.data<float>()[i], b = right.data<float>()[i];
      largest = std::max(largest, std::abs(a)), difference = std::max(difference, std::abs(a - b));
      different += a != b;
    }
    EXPECT_LE(difference, 0x1p-7 * largest) << name;
    EXPECT_GT(different, 0) << name << ": no product was rounded";
  }
}

INSTANTIATE_TEST_SUITE_P(Encodings, PairProducts,
                         testing::Values("nope", "alibi", "rope", "sigmoid", "fire"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace pe::conformance
