//===- LengthsTest.cpp - Calls with lengths per batch entry ---------------===//
//
// A call with `kv_len` must compute the same bits as one call per batch entry with the entry's keys
// alone, whatever the batch, the threads and the memory beyond the lengths, and agree with the
// float64 reference. The gradients of keys beyond a length are 0; gradients of parameters are sums
// over the entries.
//
//===----------------------------------------------------------------------===//

#include "conformance/EntryParts.h"
#include "conformance/RandomInputs.h"
#include "conformance/Subject.h"
#include "runtime/reference/Compare.h"
#include "runtime/reference/Entries.h"

#include <gtest/gtest.h>

namespace pe::conformance {
namespace {

constexpr int64_t kCapacity = 70, kDepth = 16;
/// The lengths of the first entries of every batch: all keys, one, none, and two others.
const std::vector<int32_t> kLengths = {kCapacity, 1, 0, 37, 64};

struct Encoding {
  const char *name;
  const char *target = "cpu";
};

class LengthsTest : public testing::TestWithParam<Encoding> {
protected:
  void SetUp() override {
    source = readExample(GetParam().name);
    auto made = makeSubject({.target = GetParam().target, .poison = true});
    ASSERT_TRUE(made) << made.error().render("error");
    subject = std::move(*made);
    auto described = subject->describe(source);
    ASSERT_TRUE(described) << described.error().render("error");
    description = *described;
    auto compiled = subject->compile(source, kDepth, kDepth);
    ASSERT_TRUE(compiled) << compiled.error().render("error");
    function = std::move(*compiled);
  }

  /// Draws the inputs of a batch whose first entry has the length kLengths[first].
  TensorMap draw(int64_t batch, int64_t queries, size_t first) {
    const Call call = {"lengths", batch, 4, 2, queries, kCapacity, kDepth, kDepth};
    auto drawn = drawInputs(description.entry, call, 1);
    EXPECT_TRUE(drawn) << (drawn ? "" : drawn.error().render("error"));
    TensorMap inputs = *drawn;
    lengths.clear();
    for (int64_t entry = 0; entry < batch; ++entry)
      lengths.push_back(kLengths[(first + static_cast<size_t>(entry)) % kLengths.size()]);
    for (auto &[name, tensor] : inputs)
      spoil(tensor, sizesOf(description.entry, name), lengths);
    inputs["kv_len"] = Tensor::of(lengths, {batch});
    return inputs;
  }

  TensorMap inputsOf(const TensorMap &inputs, size_t entry) const {
    TensorMap single;
    for (const auto &[name, tensor] : inputs)
      if (name != "kv_len")
        single[name] =
            partOf(tensor, sizesOf(description.entry, name), int64_t(entry), lengths[entry])
                .clone();
    return single;
  }

  TensorMap run(const TensorMap &inputs, int threads) {
    auto found = function->run(inputs, {}, threads);
    EXPECT_TRUE(found) << (found ? "" : found.error().render("error"));
    return found ? *found : TensorMap();
  }

  /// Compares one result of all entries with those of single calls.
  void compare(const std::string &name, const Tensor &all, const std::vector<TensorMap> &singles) {
    const bool isGradient = name.starts_with("d_");
    const auto sizes = sizesOf(description.entry, isGradient ? name.substr(2) : name);
    if (axisOf(sizes, "b") < 0)
      return compareSum(name, all, singles);
    Tensor rest = all.clone();
    for (size_t entry = 0; entry < lengths.size(); ++entry) {
      const std::string what = name + " of entry " + std::to_string(entry);
      expectSameBits(partOf(all, sizes, int64_t(entry), lengths[entry]), singles[entry].at(name),
                     what);
      Tensor part = partOf(rest, sizes, int64_t(entry), lengths[entry]);
      part.copyFrom(Tensor::zeros(part.dtype(), part.shape()));
    }
    for (float x : rest.values<float>())
      ASSERT_EQ(x, 0.0f) << name << " beyond the lengths";
  }

  /// The gradient of a parameter is the sum in the order of the entries, in f64.
  void compareSum(const std::string &name, const Tensor &all,
                  const std::vector<TensorMap> &singles) {
    for (int64_t e = 0; e < all.numel(); ++e) {
      double sum = 0;
      for (const TensorMap &single : singles)
        sum += single.at(name).values<float>()[e];
      ASSERT_EQ(all.values<float>()[e], static_cast<float>(sum)) << name << ", element " << e;
    }
  }

  jit::Source source;
  jit::Description description;
  std::unique_ptr<Subject> subject;
  std::unique_ptr<Function> function;
  std::vector<int32_t> lengths;
};

TEST_P(LengthsTest, EntriesEqualSingleCalls) {
  for (int64_t batch = 1; batch <= 5; ++batch) {
    const int64_t queries = 1 + batch % 4;
    const TensorMap inputs = draw(batch, queries, static_cast<size_t>(batch) + 1);
    std::vector<TensorMap> singles;
    for (size_t entry = 0; entry < lengths.size(); ++entry)
      singles.push_back(run(inputsOf(inputs, entry), 1));
    for (int threads : {1, 3}) {
      const TensorMap all = run(inputs, threads);
      ASSERT_FALSE(all.empty());
      for (const auto &[name, tensor] : all)
        compare(name, tensor, singles);
    }
  }
}

TEST_P(LengthsTest, AgreesWithTheReference) {
  for (int64_t queries : {1, 4}) {
    const TensorMap inputs = draw(5, queries, 0);
    auto program = reference::parseProgram(description.program);
    ASSERT_TRUE(program);
    auto expected = reference::evaluateEntries(*program, description.entry.arguments, inputs, {},
                                               /*grad=*/true);
    ASSERT_TRUE(expected) << expected.error().render("error");
    reference::CompareOptions options;
    options.approximations = *reference::approximationsOf(function->explainJson());
    auto report = reference::compare(*expected, run(inputs, 2), options);
    ASSERT_TRUE(report) << report.error().render("error");
    EXPECT_TRUE(report->passes()) << report->table();
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, LengthsTest,
                         testing::Values(Encoding{"nope"}, Encoding{"alibi_learned"},
                                         Encoding{"rope"}, Encoding{"t5"}, Encoding{"fire"},
                                         Encoding{"kerple_log"}, Encoding{"forgetting"},
                                         Encoding{"key_bias"}, Encoding{"stick_breaking"},
                                         Encoding{"sliding_window"}, Encoding{"attention_sink"},
                                         Encoding{"document_mask"}, Encoding{"shaw"},
                                         Encoding{"log_sum_exp"}, Encoding{"transformer_xl"}),
                         [](const auto &info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Gpu, LengthsTest,
                         testing::Values(Encoding{"alibi_learned", "gpu-emulator"},
                                         Encoding{"forgetting", "gpu-emulator"},
                                         Encoding{"stick_breaking", "gpu-emulator"}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace pe::conformance
