//===- NormalizerTest.cpp - Normalizers of the reference ------------------===//
//
// Tests what the operands and results of an attention may be under each normalizer.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Normalizer.h"
#include "reference/Helpers.h"

#include <cmath>

namespace pe::test {
namespace {

using reference::Normalizer;

std::string errorOf(const ProgramBuilder &f) {
  const TensorMap inputs = randomInputs({"test", f.finish(), f.parameters()}, {}, 1);
  auto results = reference::evaluate(f.finish(), inputs, {}, false, {.rounding = {}, .threads = 1});
  return results ? "" : results.error().getMessage();
}

/// Adds a causal attention with a sink, if `sink` is not -1, which has its position among the
/// operands before the mask.
void addAttention(ProgramBuilder &f, const std::string &normalizer, int sink = -1,
                  const std::string &lseName = "") {
  ProgramBuilder::AttentionOptions options;
  options.normalizer = normalizer;
  options.score = sink;
  options.lseName = lseName;
  f.attention({}, {}, f.mask("pe.causal"), options);
}

TEST(Normalizers, AreFoundByTheirKeyword) {
  for (const char *keyword : {"softmax", "stick_breaking"}) {
    ASSERT_NE(Normalizer::find(keyword), nullptr) << keyword;
    EXPECT_EQ(Normalizer::find(keyword)->keyword(), keyword);
  }
  EXPECT_EQ(Normalizer::find("sparsemax"), nullptr);
}

TEST(Normalizers, UnknownOnesAreRefusedWithTheList) {
  ProgramBuilder f;
  addAttention(f, "sparsemax");
  EXPECT_NE(errorOf(f).find("expected normalizer 'softmax' or 'stick_breaking', found 'sparsemax'"),
            std::string::npos)
      << errorOf(f);
}

TEST(Normalizers, SinksRequireADenominator) {
  for (const char *keyword : {"softmax", "stick_breaking"}) {
    ProgramBuilder f;
    addAttention(f, keyword, f.parameter("sink", {f.heads}));
    const bool takesSink = Normalizer::find(keyword)->takesSink();
    EXPECT_EQ(errorOf(f).empty(), takesSink) << errorOf(f);
    EXPECT_EQ(errorOf(f).find("expected no sink under the normalizer") != std::string::npos,
              !takesSink);
  }
}

TEST(Normalizers, OptionsOfOrderedKeysAreRefusedWithoutAnOrder) {
  for (const auto &[name, value] : {std::pair("attend_current", ProgramBuilder::Json(true)),
                                    std::pair("remainder", ProgramBuilder::Json("value")),
                                    std::pair("direction", ProgramBuilder::Json("both"))}) {
    ProgramBuilder f;
    ProgramBuilder::AttentionOptions options;
    options.attributes = {{name, value}};
    f.attention({}, {}, f.mask("pe.causal"), options);
    EXPECT_NE(errorOf(f).find("expected no attend_current, remainder or direction"),
              std::string::npos)
        << name << errorOf(f);
  }
}

/// Returns the error of a merge of an attention with itself.
std::string errorOfMerge(const std::string &normalizer, bool hasSink) {
  ProgramBuilder f;
  const int sink = hasSink ? f.parameter("sink", {f.heads}) : -1;
  ProgramBuilder::AttentionOptions options;
  options.lseName = "lse";
  const int o = f.attention({}, {}, f.noMask, options);
  std::vector<int> operands = {o, o + 1, o, o + 1};
  if (hasSink)
    operands.push_back(sink);
  f.add("pe.merge", operands, {"tensor<?x?x?x?xf32>", "tensor<?x?x?xf32>"},
        {{"normalizer", normalizer}});
  return errorOf(f);
}

TEST(Normalizers, OnlySomeCanBeMerged) {
  EXPECT_EQ(errorOfMerge("softmax", true), "");
  EXPECT_EQ(errorOfMerge("stick_breaking", false), "");
  EXPECT_NE(errorOfMerge("stick_breaking", true).find("expected no sink"), std::string::npos);
  EXPECT_NE(errorOfMerge("sparsemax", false)
                .find("expected normalizer 'softmax' or 'stick_breaking', found 'sparsemax'"),
            std::string::npos);
}

} // namespace
} // namespace pe::test
