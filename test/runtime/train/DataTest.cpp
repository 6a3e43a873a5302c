//===- DataTest.cpp - Corpus, vocabulary and batches ----------------------===//

#include "runtime/core/Hash.h"
#include "runtime/train/data/Batches.h"
#include "runtime/train/data/Corpus.h"
#include "runtime/train/data/Vocabulary.h"

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
  std::vector<uint8_t> tokens;
  encode(text, tokens);
  EXPECT_EQ(std::set<uint8_t>(tokens.begin(), tokens.end()).size(), size_t(kVocabulary));
  EXPECT_EQ(*std::max_element(tokens.begin(), tokens.end()), kVocabulary - 1);
  EXPECT_EQ(decode(tokens), text);
}

TEST(Vocabulary, ReplacesWhatItDoesNotHave) {
  std::vector<uint8_t> tokens;
  encode("a\tb\r\nc\xC3\xA9"
         "d\x01",
         tokens);
  EXPECT_EQ(decode(tokens), "a b\nc?d?");
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
  EXPECT_EQ(decode(corpus->heldOut), "st");
  EXPECT_EQ(decode(corpus->training), "acegikmoqbdfhjlnpr");
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
  EXPECT_GT(corpus->training.size(), 100000u);
  EXPECT_GT(corpus->heldOut.size(), 10000u);
}

std::vector<uint8_t> counting(int64_t size) {
  std::vector<uint8_t> text(size);
  for (int64_t i = 0; i < size; ++i)
    text[i] = static_cast<uint8_t>(i % 96);
  return text;
}

TEST(Batches, TargetsAreTheNextCharacters) {
  std::vector<uint8_t> text = counting(1000);
  auto sampler = BatchSampler::create(text, 3, 50, 7);
  ASSERT_TRUE(sampler);
  Batch batch;
  sampler->fill(0, batch);
  ASSERT_EQ(batch.inputs.size(), 150u);
  for (size_t i = 0; i < batch.inputs.size(); ++i)
    EXPECT_EQ(batch.targets[i], (batch.inputs[i] + 1) % 96);
}

TEST(Batches, DependOnSeedAndStepAlone) {
  std::vector<uint8_t> text = counting(5000);
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
  std::vector<uint8_t> text = {0, 1, 2, 3};
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

TEST(Batches, SpreadWindowsOverTheText) {
  std::vector<uint8_t> text = counting(1000);
  auto starts = evaluationWindows(text, 5, 99);
  ASSERT_TRUE(starts);
  EXPECT_EQ(*starts, (std::vector<int64_t>{0, 225, 450, 675, 900}));
  auto tooShort = evaluationWindows(text, 5, 1000);
  ASSERT_FALSE(tooShort);
  EXPECT_NE(tooShort.error().getMessage().find("expected at least 1001 held-out characters"),
            std::string::npos);
}

} // namespace
