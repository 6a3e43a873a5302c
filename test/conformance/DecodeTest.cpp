//===- DecodeTest.cpp - Decoding with a cache of keys and values ----------===//
//
// A sequence that is decoded with a growing cache, token by token or in chunks of 1 to 8 rows, must
// agree with the float64 reference of the whole call, within the bounds of the contract, and so
// does the call of all rows at once. The cache is a view of a larger memory whose spare rows are
// NaN. The bits of a batch entry must depend on nothing but the entry.
//
//===----------------------------------------------------------------------===//

#include "conformance/Conformance.h"
#include "conformance/EntryParts.h"
#include "conformance/RandomInputs.h"
#include "runtime/core/Random.h"

#include <gtest/gtest.h>

#include <map>

namespace pe::conformance {
namespace {

constexpr int64_t kHeadDim = 24, kValueDim = 16;
/// The spare rows of a cache.
constexpr int64_t kSpare = 5;

struct LeftOut {
  std::string_view name, reason;
};

constexpr std::string_view kSeesLater = "rows see later keys";
/// Examples whose rows depend on later tokens, so that a step of decoding computes other values.
constexpr LeftOut kNotDecoded[] = {
    {"alibi_bidirectional", kSeesLater},
    {"rope_bidirectional", kSeesLater},
    {"t5_bidirectional", kSeesLater},
    {"fire_bidirectional", kSeesLater},
    {"rse_bidirectional", kSeesLater},
    {"stick_breaking_both", kSeesLater},
    {"cross_attention", kSeesLater},
    {"neighbourhood_2d", kSeesLater},
    {"prefix_lm", "rows see the keys of the prefix, which may be later"},
    {"rope_dynamic_ntk", "frequencies follow from the number of keys"},
    {"mrope", "there are as many queries as keys"},
    {"mrope_interleaved", "there are as many queries as keys"},
    {"rope_2d", "there are as many queries as keys"},
    {"packed_documents", "the boundaries end at the end of the call"},
    {"explicit_positions", "the test draws positions at random, so rows see later keys"},
    {"merge", "has no keys"},
    {"merge_stick_breaking", "has no keys"},
};
/// Examples whose entries depend on their index in the batch, or that take no lengths.
constexpr LeftOut kNotOfEntries[] = {
    {"dropout", "drops by the index of the entry"},
    {"key_padding", "'kv_len' is an argument of the encoding"},
};

bool isIn(std::span<const LeftOut> list, std::string_view name) {
  return std::ranges::any_of(list, [&](const LeftOut &item) { return item.name == name; });
}

using Parameter = std::tuple<const EncodingFile *, DType>;

/// Returns the decoded examples with the types that the tests run: all of them, or f32 for every
/// file and a 16-bit type for one file in six.
std::vector<Parameter> parameters(bool isComplete) {
  std::vector<Parameter> all;
  size_t number = 0;
  for (const EncodingFile &file : encodingFiles()) {
    if (!file.path.starts_with("examples/") || file.isEmbedding || isIn(kNotDecoded, file.name))
      continue;
    if (!isComplete)
      all.emplace_back(&file, DType::F32);
    for (const auto &[dtype, turn] : {std::pair(DType::BF16, 0), {DType::F16, 3}})
      if (isComplete != (number % 6 == size_t(turn)))
        all.emplace_back(&file, dtype);
    ++number;
  }
  return all;
}

/// A function without gradients, which is how programs that generate text compile it.
struct Compiled {
  jit::Description description;
  reference::Program program;
  std::unique_ptr<Subject> subject;
  std::unique_ptr<Function> function;
};

class Decode : public testing::TestWithParam<Parameter> {
protected:
  void SetUp() override {
    static std::map<Parameter, std::unique_ptr<Compiled>> all;
    auto &slot = all[GetParam()];
    if (!slot)
      slot = std::make_unique<Compiled>();
    compiled = slot.get();
    if (!compiled->function)
      ASSERT_NO_FATAL_FAILURE(compile());
  }

  void compile() {
    const auto &[file, dtype] = GetParam();
    auto made = makeSubject({.dtype = dtype, .grad = false, .poison = true});
    ASSERT_TRUE(made) << made.error().render("error");
    compiled->subject = std::move(*made);
    const jit::Source source = readExample(std::string(file->name));
    auto described = compiled->subject->describe(source);
    ASSERT_TRUE(described) << described.error().render("error");
    compiled->description = *described;
    compiled->program = *reference::parseProgram(described->program);
    auto function = compiled->subject->compile(source, kHeadDim, kValueDim);
    ASSERT_TRUE(function) << function.error().render("error");
    compiled->function = std::move(*function);
  }

  /// Draws the tensors of a call, with activations in the type.
  TensorMap draw(int64_t batch, int64_t queries, int64_t keys) const {
    const auto &[file, dtype] = GetParam();
    const Call call = {
        "decode", file->isPlaced ? 1 : batch, 4, file->isUngrouped ? 4 : 2, queries, keys, kHeadDim,
        kValueDim};
    auto drawn = drawInputs(compiled->description.entry, call, /*seed=*/1);
    EXPECT_TRUE(drawn) << (drawn ? "" : drawn.error().render("error"));
    TensorMap inputs;
    for (const auto &[name, tensor] : *drawn)
      if (!name.starts_with("d_"))
        inputs[name] = isActivation(compiled->description.entry, name)
                           ? *convert(tensor, storageOf(dtype))
                           : tensor;
    return inputs;
  }

  std::vector<std::string> sizes(const std::string &name) const {
    const EntryInfo &entry = compiled->description.entry;
    for (const ValueInfo &result : entry.results)
      if (result.name == name)
        return result.sizes;
    return sizesOf(entry, name);
  }

  TensorMap run(const TensorMap &inputs, int threads = 2) const {
    auto found = compiled->function->run(inputs, {}, threads);
    EXPECT_TRUE(found) << (found ? "" : found.error().render("error"));
    return found ? *found : TensorMap();
  }

  /// Decodes the rows of a call with a growing cache; `next` returns the rows of the next chunk.
  TensorMap decode(const TensorMap &inputs, int64_t rows, int64_t keys,
                   const std::function<int64_t()> &next) const {
    TensorMap caches, results;
    for (const auto &[name, tensor] : inputs)
      if (const int64_t axis = axisOf(sizes(name), "c"); axis >= 0) {
        Shape shape = tensor.shape();
        shape[size_t(axis)] += kSpare;
        caches[name] = Tensor::zeros(tensor.dtype(), shape);
        spoilAll(caches[name]);
      }
    for (int64_t row = 0, end = 0, cached = 0; row < rows; row = end, cached = keys - rows + end) {
      end = std::min(rows, row + next());
      TensorMap chunk = inputs;
      for (auto &[name, tensor] : chunk) {
        if (const int64_t axis = axisOf(sizes(name), "r"); axis >= 0)
          tensor = tensor.slice(axis, row, end);
        const auto cache = caches.find(name);
        if (cache == caches.end())
          continue;
        const int64_t axis = axisOf(sizes(name), "c"), length = keys - rows + end;
        cache->second.slice(axis, cached, length).copyFrom(tensor.slice(axis, cached, length));
        tensor = cache->second.slice(axis, 0, length);
      }
      for (const auto &[name, tensor] : run(chunk)) {
        const int64_t axis = axisOf(sizes(name), "r");
        Shape shape = tensor.shape();
        shape[size_t(axis)] = rows;
        const Tensor &all =
            results.try_emplace(name, Tensor::zeros(tensor.dtype(), shape)).first->second;
        all.slice(axis, row, end).copyFrom(tensor);
      }
    }
    return results;
  }

  void compare(const reference::Results &expected, const TensorMap &found,
               const std::string &what) const {
    reference::CompareOptions options;
    options.approximations = *reference::approximationsOf(compiled->function->explainJson());
    auto report = reference::compare(expected, found, options);
    ASSERT_TRUE(report) << what << ": " << report.error().render("error");
    EXPECT_TRUE(report->passes()) << what << "\n" << report->table();
  }

  /// Compares an entry of a batch with the call of the entry alone.
  void compareEntry(const TensorMap &found, int64_t index, const TensorMap &alone,
                    const std::string &what) const {
    ASSERT_EQ(found.size(), alone.size());
    for (const auto &[name, tensor] : found)
      expectSameBits(tensor.slice(0, index, index + 1), alone.at(name), what + ": " + name);
  }

  TensorMap entryOf(const TensorMap &inputs, int64_t entry, int64_t length) const {
    TensorMap single;
    for (const auto &[name, tensor] : inputs)
      single[name] = partOf(tensor, sizes(name), entry, length).clone();
    return single;
  }

  Compiled *compiled = nullptr;
};

TEST_P(Decode, TokensAndChunksAgreeWithAllRows) {
  // From an empty cache, and across the boundary of two splits of 512 keys.
  for (const auto &[rows, keys] : {std::pair<int64_t, int64_t>(20, 20), {24, 521}}) {
    const TensorMap inputs = draw(2, rows, keys);
    auto expected = reference::evaluate(compiled->program, inputs, {}, /*grad=*/false);
    ASSERT_TRUE(expected) << expected.error().render("error");
    const std::string what = " of " + std::to_string(keys) + " keys";
    compare(*expected, run(inputs), "all rows" + what);
    compare(*expected, decode(inputs, rows, keys, [] { return 1; }), "token by token" + what);
    for (uint64_t seed : {1, 2}) {
      Random random(seed, "chunks");
      const auto next = [&] { return 1 + int64_t(random.below(8)); };
      compare(*expected, decode(inputs, rows, keys, next),
              "chunks of seed " + std::to_string(seed) + what);
    }
  }
}

/// The lengths of a batch: several splits, one that is full, and one key more than a split.
const std::vector<int32_t> kLengths = {1030, 512, 513};
constexpr int64_t kRows = 3, kKeys = 1040;

TEST_P(Decode, EntryBitsDoNotDependOnTheBatch) {
  if (isIn(kNotOfEntries, std::get<0>(GetParam())->name))
    return;
  const TensorMap inputs = draw(3, kRows, kKeys);
  ASSERT_TRUE(takesLengths(compiled->program, compiled->description.entry));
  TensorMap batch = inputs;
  for (auto &[name, tensor] : batch)
    spoil(tensor, sizes(name), kLengths);
  batch["kv_len"] = Tensor::of(kLengths, {3});
  const TensorMap equal = run(inputs), found = run(batch);
  for (int64_t entry = 0; entry < 3; ++entry) {
    const int64_t length = kLengths[size_t(entry)];
    const TensorMap alone = run(entryOf(inputs, entry, length));
    compareEntry(found, entry, alone, "with lengths");
    compareEntry(equal, entry, run(entryOf(inputs, entry, kKeys)), "without lengths");
    // The neighbours are NaN.
    TensorMap spoiled = batch;
    for (auto &[name, tensor] : spoiled)
      if (axisOf(sizes(name), "b") == 0 && name != "kv_len" && tensor.dtype() != DType::I32) {
        tensor = tensor.clone();
        spoilAll(tensor);
        partOf(tensor, sizes(name), entry, length)
            .copyFrom(partOf(batch.at(name), sizes(name), entry, length));
      }
    compareEntry(run(spoiled), entry, alone, "next to NaN");
  }
}

TEST_P(Decode, EntryBitsDoNotDependOnThreadsAndCalls) {
  TensorMap inputs = draw(3, kRows, kKeys);
  for (bool hasLengths : {false, true}) {
    if (hasLengths && isIn(kNotOfEntries, std::get<0>(GetParam())->name))
      return;
    if (hasLengths)
      inputs["kv_len"] = Tensor::of(kLengths, {3});
    const TensorMap first = run(inputs, 1);
    for (int threads : {1, 2, 3})
      EXPECT_EQ(reference::findBitwiseDifference(first, run(inputs, threads)), "")
          << threads << " threads, lengths: " << hasLengths;
  }
}

/// Returns the tensor with every slice along `axis` `count` times.
Tensor repeated(const Tensor &tensor, int64_t axis, int64_t count) {
  Shape shape = tensor.shape();
  shape[size_t(axis)] *= count;
  Tensor all = Tensor::zeros(tensor.dtype(), shape);
  for (int64_t i = 0; i < shape[size_t(axis)]; ++i)
    all.slice(axis, i, i + 1).copyFrom(tensor.slice(axis, i / count, i / count + 1));
  return all;
}

// The rows of the heads that share a key head are computed together where all of them keep a block.
TEST_P(Decode, GroupedHeadsHaveTheBitsOfSeparateHeads) {
  if (std::get<0>(GetParam())->isUngrouped)
    return;
  for (int64_t rows : {1, 3}) {
    const TensorMap grouped = draw(2, rows, kKeys);
    TensorMap separate = grouped;
    int64_t found = 0;
    for (auto &[name, tensor] : separate)
      if (const int64_t axis = axisOf(sizes(name), "hkv"); axis >= 0) {
        tensor = repeated(tensor, axis, 2);
        ++found;
      }
    EXPECT_GE(found, 2) << "keys and values";
    EXPECT_EQ(reference::findBitwiseDifference(run(grouped), run(separate)), "") << rows << " rows";
  }
}

TEST(Decoding, ListsAreOfExamples) {
  for (std::span<const LeftOut> list : {std::span<const LeftOut>(kNotDecoded), {kNotOfEntries}})
    for (const LeftOut &item : list)
      EXPECT_TRUE(std::ranges::any_of(encodingFiles(), [&](const EncodingFile &file) {
        return file.name == item.name;
      })) << item.name;
}

std::string nameOfCase(const testing::TestParamInfo<Parameter> &info) {
  const auto &[file, dtype] = info.param;
  return std::string(file->name) + "_" + std::string(nameOf(dtype));
}
INSTANTIATE_TEST_SUITE_P(Quick, Decode, testing::ValuesIn(parameters(false)), nameOfCase);
INSTANTIATE_TEST_SUITE_P(Complete, Decode, testing::ValuesIn(parameters(true)), nameOfCase);

} // namespace
} // namespace pe::conformance
