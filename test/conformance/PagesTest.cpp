//===- PagesTest.cpp - Keys and values in pages ---------------------------===//
//
// A call with pages must compute the same bits as the same program on contiguous keys and values,
// for every encoding, type, page size and number of queries, with and without lengths per entry.
// Rows of the pool that no entry reads are NaN, and entries of the table after a length are out of
// range. Sources become paged ones by inserting the clause into their text.
//
//===----------------------------------------------------------------------===//

#include "conformance/Composition.h"
#include "conformance/RandomInputs.h"
#include "pe/pe.h"
#include "runtime/core/Random.h"
#include "runtime/reference/Compare.h"
#include "runtime/reference/Entries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>

namespace pe::conformance {
namespace {

constexpr int64_t kDepth = 16, kValueDepth = 24, kHeads = 4, kKeyHeads = 2;

struct Encoding {
  const char *name;
  const char *folder = "examples/encodings";
  const char *target = "cpu";
  DType dtype = DType::F32;
  const char *lowering = "cpu";
};

std::string readSource(const Encoding &encoding) {
  std::ifstream file(std::string(PE_TEST_SOURCE_DIR) + "/" + encoding.folder + "/" + encoding.name +
                     ".mlir");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Adds the clause pages(...) to the only attention of a source.
std::string withPages(std::string text) {
  const std::string value = R"({pe.name = "v"})", op = "pe.attention ";
  const size_t argument = text.find(value);
  EXPECT_NE(argument, std::string::npos);
  text.insert(argument + value.size(), R"(, %pages: tensor<?x?xi32> {pe.name = "table_of_pages"})");
  size_t at = text.find(op, argument);
  EXPECT_NE(at, std::string::npos);
  EXPECT_EQ(text.find(op, at + 1), std::string::npos);
  for (int depth = 0; depth > 0 || (text[at] != ':' && text[at] != '{'); ++at)
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
  text.insert(at, " pages(%pages : tensor<?x?xi32>) ");
  return text;
}

/// Makes a pool of pages in a random order from contiguous keys or values.
Tensor poolOf(const Tensor &rows, const std::vector<std::vector<int32_t>> &table, int64_t pages,
              int64_t page, const std::vector<int32_t> &lengths) {
  const int64_t heads = rows.dim(1), keys = rows.dim(2), depth = rows.dim(3);
  Tensor pool = Tensor::zeros(DType::F32, {pages, page, heads, depth});
  for (float &x : pool.values<float>())
    x = std::numeric_limits<float>::quiet_NaN();
  for (int64_t b = 0; b < rows.dim(0); ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t j = 0; j < lengths[b]; ++j)
        std::copy_n(rows.values<float>().data() + ((b * heads + h) * keys + j) * depth, depth,
                    pool.values<float>().data() +
                        ((table[b][j / page] * page + j % page) * heads + h) * depth);
  return pool;
}

/// A source with contiguous keys, and the same with pages.
class Sources {
public:
  explicit Sources(const Encoding &encoding) : encoding(encoding) {}

  void compileBoth(const std::string &text) {
    plain = compile(text);
    paged = compile(withPages(text));
  }

  std::optional<pe::Function> compile(const std::string &text) {
    auto program = Program::parse(text, encoding.name);
    EXPECT_TRUE(program) << (program ? "" : program.error().render("error"));
    if (!program)
      return std::nullopt;
    auto function = program->compile({.target = encoding.target,
                                      .headDim = kDepth,
                                      .valueDim = kValueDepth,
                                      .dtype = encoding.dtype,
                                      .lowering = encoding.lowering});
    EXPECT_TRUE(function) << (function ? "" : function.error().render("error")) << text;
    json = program->json();
    return function ? std::optional(*function) : std::nullopt;
  }

  /// Draws a call on contiguous tensors, with the lengths of its entries.
  TensorMap draw(int64_t queries, int64_t keys, const std::vector<int32_t> &lengths) {
    const auto batch = static_cast<int64_t>(lengths.size());
    const Call call = {"pages", batch, kHeads, kKeyHeads, queries, keys, kDepth, kValueDepth};
    auto drawn = drawInputs(plain->signature(), call, static_cast<uint64_t>(queries + keys));
    EXPECT_TRUE(drawn) << (drawn ? "" : drawn.error().render("error"));
    TensorMap inputs;
    for (const ValueInfo &argument : plain->signature().arguments)
      if (auto found = drawn->find(argument.name); found != drawn->end())
        inputs[argument.name] = found->second;
    inputs["kv_len"] = Tensor::of(lengths, {batch});
    for (const char *name : {"q", "k", "v"})
      inputs[name] = *convert(*convert(inputs.at(name), encoding.dtype), DType::F32);
    return inputs;
  }

  /// Returns the same call with keys and values in pages.
  TensorMap inPages(const TensorMap &inputs, int64_t page, const std::vector<int32_t> &lengths) {
    const auto batch = static_cast<int64_t>(lengths.size());
    const int64_t slots = (inputs.at("k").dim(2) + page - 1) / page, pages = batch * slots + 3;
    std::vector<int32_t> order(static_cast<size_t>(pages));
    std::iota(order.begin(), order.end(), 0);
    Random random(static_cast<uint64_t>(page), "pages");
    for (size_t n = order.size(); n-- > 1;)
      std::swap(order[n], order[static_cast<size_t>(random.next64() % (n + 1))]);
    std::vector<std::vector<int32_t>> table;
    std::vector<int32_t> all;
    for (int64_t b = 0; b < batch; ++b) {
      table.emplace_back(order.begin() + b * slots, order.begin() + (b + 1) * slots);
      for (int64_t n = 0; n < slots; ++n)
        all.push_back(n * page < lengths[b] ? table[b][n] : -7);
    }
    TensorMap result = inputs;
    result["table_of_pages"] = Tensor::of(all, {batch, slots});
    for (const char *name : {"k", "v"})
      result[name] = poolOf(inputs.at(name), table, pages, page, lengths);
    return result;
  }

  TensorMap run(const pe::Function &function, TensorMap inputs, int threads = 1) {
    for (const char *name : {"q", "k", "v"})
      inputs[name] = *convert(inputs.at(name), encoding.dtype);
    auto pool = makeThreadPool(threads);
    auto call = function.forward(inputs, {.parallel = pool.get()});
    EXPECT_TRUE(call) << (call ? "" : call.error().render("error"));
    return call ? call->results() : TensorMap();
  }

  const Encoding encoding;
  std::optional<pe::Function> plain, paged;
  std::string json; ///< of the paged program
};

class PagesTest : public testing::TestWithParam<Encoding>, protected Sources {
protected:
  PagesTest() : Sources(GetParam()) {}
  void SetUp() override { compileBoth(readSource(GetParam())); }
};

TEST_P(PagesTest, HasTheBitsOfContiguousKeys) {
  ASSERT_TRUE(plain && paged);
  const std::vector<int32_t> lengths = {70, 1, 0, 37, 64};
  for (int64_t queries : {1, 5, 40})
    for (int64_t page : {1, 16, 24, 64, 128}) {
      SCOPED_TRACE(testing::Message() << queries << " queries, pages of " << page);
      const TensorMap inputs = draw(queries, 70, lengths);
      const TensorMap expected = run(*plain, inputs);
      ASSERT_FALSE(expected.empty());
      const TensorMap found = run(*paged, inPages(inputs, page, lengths), 3);
      ASSERT_EQ(reference::findBitwiseDifference(found, expected), "");
    }
}

/// Without lengths, an entry has all pages of its row of the table.
TEST_P(PagesTest, TableDeterminesTheNumberOfKeys) {
  ASSERT_TRUE(plain && paged);
  const std::vector<int32_t> lengths = {64, 64};
  TensorMap inputs = draw(3, 64, lengths);
  TensorMap pages = inPages(inputs, 16, lengths);
  inputs.erase("kv_len");
  pages.erase("kv_len");
  const TensorMap expected = run(*plain, inputs), found = run(*paged, pages);
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(reference::findBitwiseDifference(found, expected), "");
}

TEST_P(PagesTest, AgreesWithTheReference) {
  ASSERT_TRUE(paged);
  const std::vector<int32_t> lengths = {600, 530};
  const TensorMap inputs = inPages(draw(2, 600, lengths), 32, lengths);
  auto program = reference::parseProgram(json);
  ASSERT_TRUE(program);
  auto expected = reference::evaluateEntries(*program, paged->signature().arguments, inputs, {},
                                             /*grad=*/false);
  ASSERT_TRUE(expected) << expected.error().render("error");
  reference::CompareOptions options;
  if (encoding.target != std::string_view("reference")) // which explains nothing
    options.approximations = *reference::approximationsOf(paged->explainJson());
  auto report = reference::compare(*expected, run(*paged, inputs, 2), options);
  ASSERT_TRUE(report) << report.error().render("error");
  EXPECT_TRUE(report->passes()) << report->table();
}

/// Features that attentions with pages refuse, and the label.
const std::pair<const char *, const char *> kRefused[] = {{"rotation", "pages-C3"},
                                                          {"rotation table", "pages-C3"},
                                                          {"rotation formula", "pages-C3"},
                                                          {"rotation by axes", "pages-C3"},
                                                          {"rotated values", "rotate_values-C2"},
                                                          {"query shift", "pages-C4"},
                                                          {"remainder = value", "pages-C5"}};

/// Programs of many features each (Composition.h) that together contain every feature, without
/// those that pages refuse.
TEST(PagesOfFeatures, HaveTheBitsOfContiguousKeys) {
  std::set<size_t> seen;
  for (Composition chosen : compositions()) {
    const size_t before = seen.size();
    seen.insert(chosen.begin(), chosen.end());
    if (seen.size() == before)
      continue;
    std::erase_if(chosen, [](size_t n) {
      return std::ranges::any_of(
          kRefused, [&](const auto &refused) { return featureNamed(refused.first) == n; });
    });
    const std::string text = programOf(chosen);
    SCOPED_TRACE(text);
    Sources sources({"composition"});
    sources.compileBoth(text);
    ASSERT_TRUE(sources.plain && sources.paged);
    for (int64_t queries : {3, 70}) {
      TensorMap inputs = sources.draw(queries, 72, {72});
      TensorMap pages = sources.inPages(inputs, 24, {72});
      inputs.erase("kv_len");
      pages.erase("kv_len");
      const TensorMap expected = sources.run(*sources.plain, inputs);
      ASSERT_FALSE(expected.empty());
      ASSERT_EQ(reference::findBitwiseDifference(sources.run(*sources.paged, pages), expected), "");
    }
  }
}

TEST(PagesOfFeatures, OthersAreRefused) {
  for (const auto &[feature, label] : kRefused) {
    const std::string text = withPages(programOf(closureOf({featureNamed(feature)})));
    auto program = Program::parse(text, feature);
    ASSERT_FALSE(program) << text;
    EXPECT_NE(program.error().render("error").find(label), std::string::npos)
        << program.error().render("error");
  }
}

std::string nameOf(const testing::TestParamInfo<Encoding> &info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Cpu, PagesTest,
    testing::Values(Encoding{"nope"}, Encoding{"alibi_learned"}, Encoding{"fire"}, Encoding{"t5"},
                    Encoding{"kerple_log"}, Encoding{"sliding_window"}, Encoding{"sink_window"},
                    Encoding{"attention_sink"}, Encoding{"stick_breaking"}, Encoding{"sigmoid"},
                    Encoding{"softpick"}, Encoding{"forgetting"}, Encoding{"document_mask"},
                    Encoding{"shaw_values"}, Encoding{"log_sum_exp"}, Encoding{"custom_mask"},
                    Encoding{"rope_rotated_keys", "test/conformance/encodings"}),
    nameOf);
INSTANTIATE_TEST_SUITE_P(Bf16, PagesTest,
                         testing::Values(Encoding{.name = "fire", .dtype = DType::BF16},
                                         Encoding{.name = "stick_breaking", .dtype = DType::BF16}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(F16, PagesTest,
                         testing::Values(Encoding{.name = "sink_window", .dtype = DType::F16}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Loops, PagesTest,
                         testing::Values(Encoding{.name = "t5", .lowering = "loops"},
                                         Encoding{.name = "stick_breaking", .lowering = "loops"}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Reference, PagesTest,
                         testing::Values(Encoding{.name = "alibi", .target = "reference"}), nameOf);

} // namespace
} // namespace pe::conformance
