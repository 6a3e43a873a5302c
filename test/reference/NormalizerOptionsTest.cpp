//===- NormalizerOptionsTest.cpp - What a normalizer supports -------------===//
//
// Tests what the operands and results of an attention may be under each normalizer of the
// reference.
//
//===----------------------------------------------------------------------===//

#include "reference/Helpers.h"
#include "runtime/reference/RowNormalizer.h"

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

/// The operands and results that a normalizer supports.
struct Support {
  const char *keyword;
  bool takesSink, hasStatistic, merges;
};
constexpr Support kSupport[] = {{"softmax", true, true, true},
                                {"stick_breaking", false, true, true},
                                {"sigmoid", false, false, false},
                                {"softpick", false, false, false}};

TEST(Normalizers, AreFoundByTheirKeyword) {
  for (const Support &support : kSupport) {
    ASSERT_NE(Normalizer::find(support.keyword), nullptr) << support.keyword;
    EXPECT_EQ(Normalizer::find(support.keyword)->keyword(), support.keyword);
  }
  EXPECT_EQ(Normalizer::find("sparsemax"), nullptr);
}

TEST(Normalizers, UnknownOnesAreRefusedWithTheList) {
  ProgramBuilder f;
  addAttention(f, "sparsemax");
  EXPECT_NE(errorOf(f).find("expected normalizer 'softmax', 'stick_breaking', 'sigmoid' or "
                            "'softpick', found 'sparsemax'"),
            std::string::npos)
      << errorOf(f);
}

/// Expects that the program is accepted or that its error contains `refusal`.
void expectSupport(const ProgramBuilder &f, bool isSupported, const std::string &refusal) {
  const std::string error = errorOf(f);
  EXPECT_EQ(error.empty(), isSupported) << error;
  EXPECT_EQ(error.find(refusal) != std::string::npos, !isSupported) << error;
}

TEST(Normalizers, SinksRequireADenominator) {
  for (const Support &support : kSupport) {
    ProgramBuilder f;
    addAttention(f, support.keyword, f.parameter("sink", {f.heads}));
    expectSupport(f, support.takesSink, "expected no sink under the normalizer");
  }
}

TEST(Normalizers, RowsWithoutStatisticHaveOneResult) {
  for (const Support &support : kSupport) {
    ProgramBuilder f;
    addAttention(f, support.keyword, -1, "lse");
    expectSupport(f, support.hasStatistic, "expected one result under the normalizer");
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

/// Returns a merge of an attention with itself.
ProgramBuilder mergeWith(const std::string &normalizer, bool hasSink) {
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
  return f;
}

TEST(Normalizers, OnlySomeCanBeMerged) {
  for (const Support &support : kSupport) {
    const std::string found = std::string("found '") + support.keyword + "'";
    expectSupport(mergeWith(support.keyword, false), support.merges,
                  "expected normalizer 'softmax' or 'stick_breaking', " + found);
    if (support.merges)
      expectSupport(mergeWith(support.keyword, true), support.takesSink, "expected no sink");
  }
  expectSupport(mergeWith("sparsemax", false), false, "found 'sparsemax'");
}

} // namespace
} // namespace pe::test
