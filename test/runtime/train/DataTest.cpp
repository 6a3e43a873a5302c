//===- DataTest.cpp - Corpus, vocabulary and batches ----------------------===//

#include "runtime/core/Hash.h"
#include "runtime/train/data/Batches.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

using namespace pe;
using namespace pe::train;
namespace fs = std::filesystem;

namespace {

struct Directory {
  fs::path path;

  explicit Directory(const std::string &name) : path(fs::temp_directory_path() / name) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Directory() { fs::remove_all(path); }

  void write(const std::string &name, const std::string &text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
  }
};

TEST(Vocabulary, CoversPrintableTextAndNewline) {
  std::string text = "\n";
  for (char c = 32; c < 127; ++c)
    text.push_back(c);
  const Vocabulary vocabulary;
  std::vector<int32_t> tokens;
  vocabulary.encode(text, tokens);
  EXPECT_EQ(std::set<int32_t>(tokens.begin(), tokens.end()).size(), size_t(vocabulary.size()));
  EXPECT_EQ(*std::max_element(tokens.begin(), tokens.end()), vocabulary.size() - 1);
  EXPECT_EQ(vocabulary.decode(tokens), text);
}

TEST(Vocabulary, ReplacesWhatItDoesNotHave) {
  const Vocabulary vocabulary;
  std::vector<int32_t> tokens;
  vocabulary.encode("a\tb\r\nc\xC3\xA9"
                    "d\x01",
                    tokens);
  EXPECT_EQ(vocabulary.decode(tokens), "a b\nc?d?");
}

TEST(Vocabulary, BytesLoseNothing) {
  auto vocabulary = parseVocabulary("byte");
  ASSERT_TRUE(vocabulary);
  EXPECT_EQ(vocabulary->size(), 256);
  const std::string text("a\t\xC3\xA9\r\n\xFF\0z", 9);
  std::vector<int32_t> tokens;
  vocabulary->encode(text, tokens);
  EXPECT_EQ(tokens, (std::vector<int32_t>{'a', '\t', 0xC3, 0xA9, '\r', '\n', 0xFF, 0, 'z'}));
  EXPECT_EQ(vocabulary->decode(tokens), text);
  EXPECT_EQ(parseVocabulary("word").error().getMessage(),
            "expected 'char' or 'byte', found 'word'");
}

TEST(Corpus, HoldsOutEveryTenthFileInOrderOfPaths) {
  Directory directory("pe-corpus-holdout");
  std::string all;
  for (int i = 0; i < 20; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "%s/f%02d.txt", i % 2 ? "b" : "a", i);
    directory.write(name, std::string(1, static_cast<char>('a' + i)));
  }
  // a/f00 a/f02 ... a/f18, b/f01 ...: the tenth is a/f18 = 's', the twentieth b/f19 = 't'.
  auto corpus = readCorpus({directory.path.string(), {}});
  ASSERT_TRUE(corpus) << corpus.error().getMessage();
  EXPECT_EQ(Vocabulary().decode(corpus->heldOut.tokens), "st");
  EXPECT_EQ(Vocabulary().decode(corpus->training.tokens), "acegikmoqbdfhjlnpr");
  EXPECT_EQ(corpus->heldOut.starts, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(corpus->files, 20);
  EXPECT_EQ(corpus->heldOutFiles, 2);
  EXPECT_EQ(corpus->bytes, 20);
  EXPECT_EQ(corpus->sha256, sha256("acegikmoqsbdfhjlnprt"));
}

TEST(Corpus, TakesTextFilesOnly) {
  Directory directory("pe-corpus-text");
  for (int i = 0; i < 10; ++i)
    directory.write("f" + std::to_string(i), "x");
  directory.write("binary", std::string("a\0b", 3));
  directory.write("__pycache__/f.pyc", "x");
  directory.write(".git/config", "x");
  fs::create_symlink(directory.path / "f1", directory.path / "link");
  fs::create_directory_symlink(directory.path, directory.path / "loop");
  auto corpus = readCorpus({directory.path.string(), {}});
  ASSERT_TRUE(corpus) << corpus.error().getMessage();
  EXPECT_EQ(corpus->files, 10);
  auto some = readCorpus({directory.path.string(), {".txt"}});
  ASSERT_FALSE(some);
}

TEST(Corpus, SaysWhatIsMissing) {
  auto none = readCorpus({"/nonexistent/place", {}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().getMessage(), "expected a directory with text files, found nothing at "
                                       "'/nonexistent/place'; give another --data");
  Directory directory("pe-corpus-few");
  directory.write("only", "x");
  auto few = readCorpus({directory.path.string(), {}});
  ASSERT_FALSE(few);
  EXPECT_NE(few.error().getMessage().find("expected at least 10 text files"), std::string::npos);
}

TEST(Corpus, FindsTextOnThisMachine) {
  auto source = defaultCorpus();
  ASSERT_TRUE(source) << source.error().getMessage();
  auto corpus = readCorpus(*source);
  ASSERT_TRUE(corpus) << corpus.error().getMessage();
  EXPECT_GT(corpus->training.tokens.size(), 100000u);
  EXPECT_GT(corpus->heldOut.tokens.size(), 10000u);
}

Text counting(int64_t size) {
  Text text;
  text.starts = {0};
  for (int64_t i = 0; i < size; ++i)
    text.tokens.push_back(static_cast<int32_t>(i % 96));
  return text;
}

TEST(Batches, TargetsAreTheNextCharacters) {
  const Text text = counting(1000);
  auto sampler = BatchSampler::create(text, 3, 50, 7);
  ASSERT_TRUE(sampler);
  Batch batch;
  sampler->fill(0, batch);
  ASSERT_EQ(batch.inputs.size(), 150u);
  for (size_t i = 0; i < batch.inputs.size(); ++i)
    EXPECT_EQ(batch.targets[i], (batch.inputs[i] + 1) % 96);
}

TEST(Batches, DependOnSeedAndStepAlone) {
  const Text text = counting(5000);
  Batch a, b;
  BatchSampler::create(text, 4, 20, 7)->fill(3, a);
  auto again = BatchSampler::create(text, 4, 20, 7);
  again->fill(9, b);
  EXPECT_NE(a.inputs, b.inputs);
  again->fill(3, b);
  EXPECT_EQ(a.inputs, b.inputs);
  BatchSampler::create(text, 4, 20, 8)->fill(3, b);
  EXPECT_NE(a.inputs, b.inputs);
}

TEST(Batches, ReachTheEndsOfTheText) {
  const Text text = counting(4);
  auto sampler = BatchSampler::create(text, 1, 2, 1);
  ASSERT_TRUE(sampler);
  std::set<int32_t> starts;
  Batch batch;
  for (int64_t step = 0; step < 50; ++step) {
    sampler->fill(step, batch);
    starts.insert(batch.inputs[0]);
  }
  EXPECT_EQ(starts, (std::set<int32_t>{0, 1}));
  EXPECT_FALSE(BatchSampler::create(text, 1, 4, 1));
}

TEST(Batches, CountDocumentsInTheirSequence) {
  Text text = counting(40);
  text.starts = {0, 10, 13, 13, 30};
  Batch batch;
  batch.resize(2, 6);
  batch.set(0, text, 8);
  batch.set(1, text, 20);
  EXPECT_EQ(batch.documents, (std::vector<int32_t>{0, 0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0}));
}

TEST(Batches, MaskTheRightShares) {
  const Text text = counting(5000);
  const BatchRules rules{.objective = Objective::Masked, .maskToken = 96};
  auto sampler = BatchSampler::create(text, 8, 500, 7, rules);
  ASSERT_TRUE(sampler);
  int64_t chosen = 0, masked = 0, same = 0, other = 0, total = 0;
  for (int64_t step = 0; step < 5; ++step) {
    Batch plain, batch;
    BatchSampler::create(text, 8, 500, 7)->fill(step, plain);
    sampler->fill(step, batch);
    EXPECT_EQ(batch.targets, plain.inputs);
    for (size_t i = 0; i < batch.inputs.size(); ++i, ++total) {
      EXPECT_TRUE(batch.weights[i] == 0 || batch.weights[i] == 1);
      if (batch.weights[i] == 0) {
        EXPECT_EQ(batch.inputs[i], batch.targets[i]);
        continue;
      }
      ++chosen;
      masked += batch.inputs[i] == 96;
      same += batch.inputs[i] == batch.targets[i];
      other += batch.inputs[i] != 96 && batch.inputs[i] != batch.targets[i];
      EXPECT_LE(batch.inputs[i], 96);
    }
  }
  // Of 20000 tokens: within four standard deviations.
  const double count = static_cast<double>(chosen);
  EXPECT_NEAR(count / static_cast<double>(total), 0.15, 0.011);
  EXPECT_NEAR(static_cast<double>(masked) / count, 0.8, 0.03);
  EXPECT_NEAR(static_cast<double>(other) / count, 0.1, 0.025);
  EXPECT_NEAR(static_cast<double>(same) / count, 0.1, 0.025);
}

TEST(Batches, MaskSomethingOfEverySequence) {
  const Text text = counting(50);
  auto sampler = BatchSampler::create(text, 16, 1, 7, {Objective::Masked, false, 96});
  Batch batch;
  sampler->fill(0, batch);
  EXPECT_EQ(batch.weights, std::vector<float>(16, 1.0f));
}

TEST(Batches, TeachNothingOfWhatAPrefixShows) {
  const Text text = counting(500);
  auto sampler = BatchSampler::create(text, 40, 10, 7, {Objective::Causal, true, 96});
  Batch batch;
  sampler->fill(0, batch);
  std::set<int32_t> lengths(batch.prefixes.begin(), batch.prefixes.end());
  EXPECT_EQ(lengths, (std::set<int32_t>{0, 1, 2, 3, 4, 5}));
  for (int64_t row = 0; row < 40; ++row)
    for (int64_t i = 0; i < 10; ++i)
      EXPECT_EQ(batch.weights[row * 10 + i], i + 1 < batch.prefixes[row] ? 0 : 1);
}

TEST(Batches, SpreadWindowsOverTheText) {
  const Text text = counting(1000);
  auto starts = evaluationWindows(text, 5, 99);
  ASSERT_TRUE(starts);
  EXPECT_EQ(*starts, (std::vector<int64_t>{0, 225, 450, 675, 900}));
  auto tooShort = evaluationWindows(text, 5, 1000);
  ASSERT_FALSE(tooShort);
  EXPECT_NE(tooShort.error().getMessage().find("expected at least 1001 held-out characters"),
            std::string::npos);
}

} // namespace
