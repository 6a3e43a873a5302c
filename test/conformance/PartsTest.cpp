//===- PartsTest.cpp - Tests the split of rows into parts -----------------===//
//
// The CPU's backward pass splits rows into parts. With few heads every part is a work item; with
// many heads a work item has all parts of its head. The results and gradients of a sequence must
// not depend, bit for bit, on the rest of the batch or on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "conformance/RandomInputs.h"
#include "conformance/Subject.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace pe::conformance {
namespace {

/// Three parts per head, and enough sequences that a work item has all parts of a head.
constexpr int64_t kBatch = 17, kQueries = 1100, kKeys = 300, kDepth = 8;

/// Returns sequence `index` of a tensor whose first axis is the batch.
Tensor sequenceOf(const Tensor &tensor, int64_t index) {
  Shape shape = tensor.shape();
  shape[0] = 1;
  Expected<Tensor> part = Tensor::allocate(tensor.dtype(), shape);
  const size_t bytes = part->byteSize();
  std::memcpy(part->rawData(), static_cast<const char *>(tensor.rawData()) + index * bytes, bytes);
  return *part;
}

class PartsTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    const std::string path =
        std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/" + GetParam() + ".mlir";
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    const jit::Source source = {text.str(), path, ""};
    auto subject = makeSubject({});
    ASSERT_TRUE(subject) << subject.error().render("error");
    auto description = (*subject)->describe(source);
    ASSERT_TRUE(description) << description.error().render("error");
    const Call call = {"parts", kBatch, 2, 1, kQueries, kKeys, kDepth, kDepth};
    auto drawn = drawInputs(description->entry, call, 1);
    ASSERT_TRUE(drawn) << drawn.error().render("error");
    inputs = *drawn;
    auto compiled = (*subject)->compile(source, kDepth, kDepth);
    ASSERT_TRUE(compiled) << compiled.error().render("error");
    function = std::move(*compiled);
  }

  TensorMap inputsOf(int64_t sequence) const {
    TensorMap single;
    for (const auto &[name, tensor] : inputs)
      single[name] = tensor.rank() == 4 ? sequenceOf(tensor, sequence) : tensor;
    return single;
  }

  TensorMap run(const TensorMap &arguments, int threads) {
    auto found = function->run(arguments, {}, threads);
    EXPECT_TRUE(found) << (found ? "" : found.error().render("error"));
    return found ? *found : TensorMap();
  }

  TensorMap inputs;
  std::unique_ptr<Function> function;
};

void expectSameBits(const Tensor &a, const Tensor &b, const std::string &what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  EXPECT_EQ(std::memcmp(a.rawData(), b.rawData(), a.byteSize()), 0) << what;
}

TEST_P(PartsTest, SequencesDoNotDependOnTheBatch) {
  TensorMap all = run(inputs, 2);
  for (int64_t sequence : {int64_t(0), kBatch - 1})
    for (const auto &[name, tensor] : run(inputsOf(sequence), 2))
      if (tensor.rank() == 4) // gradients of parameters are sums over the batch
        expectSameBits(tensor, sequenceOf(all.at(name), sequence), name);
}

TEST_P(PartsTest, ResultsDoNotDependOnThreads) {
  for (const TensorMap &arguments : {inputs, inputsOf(1)}) {
    TensorMap first = run(arguments, 1);
    for (int threads : {2, 3, 5})
      for (const auto &[name, tensor] : run(arguments, threads))
        expectSameBits(tensor, first.at(name), name);
  }
}

INSTANTIATE_TEST_SUITE_P(Encodings, PartsTest,
                         testing::Values("nope", "alibi_learned", "fire", "custom_bias",
                                         "sliding_window", "stick_breaking"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace pe::conformance
