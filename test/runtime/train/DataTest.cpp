//===- DataTest.cpp - Corpus, vocabulary and batches ----------------------===//

#include "ScratchFolder.h"
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

  explicit Directory(const std::string &name) : path(pe::test::scratchFolder(name)) {
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

TEST(Vocabulary, ReplacesUnknownCharacters) {
  const Vocabulary vocabulary;
  std::vector<int32_t> tokens;
  vocabulary.encode("a\tb\r\nc\xC3\xA9"
                    "d\x01",
                    tokens);
  EXPECT_EQ(vocabulary.decode(tokens), "a b\nc?d?");
}

TEST(Vocabulary, BytesAreLossless) {
  auto vocabulary = parseVocabulary("byte");
  ASSERT_TRUE(vocabulary);
  EXPECT_EQ(vocabulary->size(), 256);
  const std::string text("a\t\xC3\xA9\r\n\xFF\0z", 9);
  std::vector<int32_t> tokens;
  vocabulary->encode(text, tokens);
  EXPECT_EQ(tokens, (std::vector<int32_t>{'a', '\t', 0xC3, 0xA9, '\r', '\n', 0xFF, 0, 'z'}));
  EXPECT_EQ(vocabulary->decode(tokens), text);
  EXPECT_EQ(parseVocabulary("word").error().getMessage(),
            "expected 'char', 'byte' or the number of tokens of a token file (at most 16777216), "
            "found 'word'");
}

TEST(Corpus, HoldsOutEveryTenthFileInOrderOfPaths) {
  Directory directory("corpus-holdout");
  std::string all;
  for (int i = 0; i < 20; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "%s/f%02d.txt", i % 2 ? "b" : "a", i);
    directory.write(name, std::string(1, static_cast<char>('a' + i)));
  }
  // The order is a/f00 a/f02 ... a/f18, b/f01 ...: the tenth file is a/f18 = 's', the twentieth
  // b/f19 = 't'.
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

TEST(Corpus, ReadsOnlyTextFiles) {
  Directory directory("corpus-text");
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
  EXPECT_EQ(corpus->leftOut, "3 skipped: 1 with a zero byte, 2 symbolic links");
  auto some = readCorpus({directory.path.string(), {".txt"}});
  ASSERT_FALSE(some);
}

TEST(Corpus, ReportsMissingText) {
  auto none = readCorpus({"/nonexistent/place", {}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().getMessage(),
            "expected a text file or a directory with text files, "
            "found nothing at '/nonexistent/place'; give another --data");
  Directory directory("corpus-none");
  directory.write("utf16", std::string("a\0b\0", 4));
  fs::create_symlink(directory.path / "loop", directory.path / "loop");
  auto binary = readCorpus({directory.path.string(), {}});
  ASSERT_FALSE(binary);
  EXPECT_EQ(
      binary.error().getMessage(),
      "expected text files in '" + directory.path.string() +
          "', found none, 2 skipped: 1 with a zero byte, 1 symbolic link; give another --data");
  auto one = readCorpus({(directory.path / "utf16").string(), {}});
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().getMessage(),
            "file '" + (directory.path / "utf16").string() +
                "': expected text, found a zero byte at offset 1; a file of tokens must be named "
                "FILE.bin");
}

TEST(Corpus, HoldsOutTheLastTenthOfFewFiles) {
  Directory directory("corpus-few");
  directory.write("a.txt", "abcdefghijABCDEFGHIJ");
  auto one = readData((directory.path / "a.txt").string());
  ASSERT_TRUE(one) << one.error().getMessage();
  EXPECT_EQ(Vocabulary().decode(one->training.tokens), "abcdefghijABCDEFGH");
  EXPECT_EQ(Vocabulary().decode(one->heldOut.tokens), "IJ");
  EXPECT_EQ(one->tokensPerByte, 1);
  EXPECT_EQ(one->sha256, sha256("abcdefghijABCDEFGHIJ"));
  EXPECT_EQ(filesOf(*one), "1 file, its last tenth held out");

  directory.write("b.txt", "0123456789");
  auto two = readData(directory.path.string());
  ASSERT_TRUE(two) << two.error().getMessage();
  EXPECT_EQ(Vocabulary().decode(two->training.tokens), "abcdefghijABCDEFGH012345678");
  EXPECT_EQ(Vocabulary().decode(two->heldOut.tokens), "IJ9");
  EXPECT_EQ(two->heldOut.starts, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(filesOf(*two), "2 files, the last tenth of each held out");
}

/// The caches of model hubs are directories of links.
TEST(Corpus, ReadsLinksIfThereAreNoOtherFiles) {
  Directory blobs("corpus-blobs"), directory("corpus-links");
  for (int i = 0; i < 10; ++i) {
    const std::string name = "f" + std::to_string(i);
    blobs.write(name, name);
    fs::create_symlink(blobs.path / name, directory.path / name);
  }
  fs::create_symlink("/dev/zero", directory.path / "device");
  fs::create_directory_symlink(blobs.path, directory.path / "linked");
  auto links = readData(directory.path.string());
  ASSERT_TRUE(links) << links.error().getMessage();
  EXPECT_EQ(links->sha256, readData(blobs.path.string())->sha256);
  EXPECT_EQ(filesOf(*links), "10 files, 1 of them held out, 2 skipped: 2 symbolic links");

  directory.write("own.txt", "0123456789");
  auto own = readData(directory.path.string());
  ASSERT_TRUE(own) << own.error().getMessage();
  EXPECT_EQ(filesOf(*own), "1 file, its last tenth held out, 12 skipped: 12 symbolic links");
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

TEST(Batches, DependOnlyOnSeedAndStep) {
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

TEST(Batches, MaskTheExpectedShares) {
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
  // Four standard deviations for 20000 tokens.
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

TEST(Batches, ExcludeTargetsVisibleInAPrefix) {
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

/// The following tests check that the answers follow from the preceding tokens by these rules.
TEST(Task, FlipFlopAsksForTheLastBitWritten) {
  auto task = Task::parse("task:flip-flop?p=0.5");
  ASSERT_TRUE(task);
  Random random(1, "test");
  int64_t asked = 0, ignored = 0, pairs = 0;
  for (int64_t length : {3, 4, 63, 64}) {
    const Exercise exercise = task->generate(random, length, true);
    ASSERT_EQ(exercise.tokens.size(), size_t(length + 1));
    int32_t memory = -1;
    for (int64_t i = 0; i + 1 < length + 1; i += 2) {
      const int32_t instruction = exercise.tokens[i], bit = exercise.tokens[i + 1];
      EXPECT_FALSE(exercise.asked[i]);
      EXPECT_EQ(exercise.asked[i + 1], instruction == 2);
      if (instruction == 0)
        memory = bit;
      if (instruction == 2) {
        EXPECT_EQ(bit, memory);
      }
      asked += instruction == 2;
      ignored += instruction == 1;
      ++pairs;
      EXPECT_TRUE(bit == 3 || bit == 4);
    }
  }
  EXPECT_GT(asked, pairs / 8);
  EXPECT_GT(ignored, pairs / 4);
}

TEST(Task, CopyAsksForTheSymbolsAgain) {
  auto task = Task::parse("task:copy?symbols=5");
  ASSERT_TRUE(task);
  EXPECT_EQ(task->vocabulary(), 6);
  Random random(1, "test");
  const Exercise exercise = task->generate(random, 9, true); // 4 symbols, and one unused token
  for (int i = 0; i < 4; ++i) {
    EXPECT_LT(exercise.tokens[i], 5);
    EXPECT_EQ(exercise.tokens[5 + i], exercise.tokens[i]);
    EXPECT_TRUE(exercise.asked[5 + i] && !exercise.asked[i]);
  }
  EXPECT_EQ(exercise.tokens[4], 5);
  EXPECT_FALSE(exercise.asked[4] || exercise.asked[9]);
}

TEST(Task, AdditionAddsLowestDigitFirst) {
  auto task = Task::parse("task:addition?digits=3");
  ASSERT_TRUE(task);
  Random random(1, "test");
  std::set<int64_t> sizes;
  for (int trial = 0; trial < 60; ++trial) {
    const bool training = trial % 2;
    const Exercise exercise = task->generate(random, 20, training);
    const std::vector<int32_t> &tokens = exercise.tokens;
    const int64_t digits = std::find(tokens.begin(), tokens.end(), 10) - tokens.begin();
    auto number = [&](int64_t begin, int64_t count) {
      int64_t value = 0;
      for (int64_t i = count; i-- > 0;)
        value = 10 * value + tokens[begin + i];
      return value;
    };
    EXPECT_EQ(tokens[2 * digits + 1], 11);
    EXPECT_EQ(number(0, digits) + number(digits + 1, digits), number(2 * digits + 2, digits + 1));
    for (int64_t i = 0; i <= 20; ++i)
      EXPECT_EQ(exercise.asked[i], i > 2 * digits + 1 && i < 3 * digits + 3);
    if (training)
      sizes.insert(digits);
    else
      EXPECT_EQ(digits, 6); // as many as fit
  }
  EXPECT_EQ(sizes, (std::set<int64_t>{1, 2, 3}));
}

TEST(Task, DyckAsksForTheKindOfTheLastOpenBracket) {
  auto task = Task::parse("task:dyck?k=3&depth=4");
  ASSERT_TRUE(task);
  EXPECT_EQ(task->vocabulary(), 5);
  Random random(1, "test");
  size_t deepest = 0;
  for (int trial = 0; trial < 20; ++trial) {
    const Exercise exercise = task->generate(random, 63, false);
    std::vector<int32_t> open;
    for (int i = 0; i < 64; i += 2) {
      const bool closes = exercise.tokens[i] == 1;
      EXPECT_EQ(exercise.asked[i + 1], closes);
      if (!closes) {
        open.push_back(exercise.tokens[i + 1]);
        deepest = std::max(deepest, open.size());
        continue;
      }
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(exercise.tokens[i + 1], open.back());
      open.pop_back();
    }
    EXPECT_TRUE(open.empty());
  }
  EXPECT_EQ(deepest, 4u);
}

std::string taskError(const std::string &name) {
  auto task = Task::parse(name);
  return task ? task->spelling() : task.error().getMessage();
}

TEST(Task, ParsesNames) {
  EXPECT_EQ(taskError("task:dyck?depth=4"), "task:dyck?depth=4&k=2");
  EXPECT_EQ(taskError("task:flipflop"),
            "expected a task of 'flip-flop', 'copy', 'addition' or 'dyck', found 'flipflop'; did "
            "you mean 'flip-flop'?");
  EXPECT_EQ(
      taskError("task:copy?symbol=4"),
      "task 'copy': expected an option of 'symbols', found 'symbol'; did you mean 'symbols'?");
  EXPECT_EQ(taskError("task:flip-flop?p=1.5"),
            "task 'flip-flop': 'p': expected a number from 0 to 1, found '1.5'");
  EXPECT_EQ(taskError("task:copy?"), "expected ?KEY=VALUE, found nothing after '?' in 'copy?'");
  EXPECT_EQ(taskError("task:copy?symbols"),
            "expected ?KEY=VALUE&KEY=VALUE, found 'symbols' in 'copy?symbols'");
  EXPECT_EQ(taskError("task:copy?symbols=16&symbols=3"),
            "'symbols' is given twice in 'copy?symbols=16&symbols=3'");
}

TEST(Task, BatchesDependOnlyOnSeedAndStep) {
  auto corpus = readData("task:flip-flop");
  ASSERT_TRUE(corpus);
  Batch a, b, c;
  ASSERT_TRUE(BatchSampler::create(corpus->training, 3, 16, 7));
  BatchSampler::create(corpus->training, 3, 16, 7)->fill(5, a);
  BatchSampler::create(corpus->training, 3, 16, 7)->fill(5, b);
  BatchSampler::create(corpus->training, 3, 16, 7)->fill(6, c);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_NE(a.inputs, c.inputs);
  for (size_t i = 0; i < a.inputs.size(); ++i)
    EXPECT_EQ(a.weights[i], a.inputs[i] == 2 ? 1.0f : 0.0f);
  EXPECT_EQ(BatchSampler::create(corpus->training, 3, 2, 7).error().getMessage(),
            "expected --seq of at least 3 for task:flip-flop?p=0.8, found 2");
  // Checkpoints identify the task by a hash of all digits.
  EXPECT_EQ(corpus->sha256, sha256("task:flip-flop?p=0.80000000000000004"));
  EXPECT_EQ(filesOf(*corpus), "");
}

TEST(Task, SequencesContainTheRequestedDigits) {
  auto corpus = readData("task:addition?digits=6");
  ASSERT_TRUE(corpus);
  EXPECT_TRUE(BatchSampler::create(corpus->training, 3, 20, 7));
  EXPECT_EQ(BatchSampler::create(corpus->training, 3, 19, 7).error().getMessage(),
            "expected --seq of at least 20 for task:addition?digits=6, found 19");
}

template <typename Token> std::string tokenBytes(int count, std::vector<int32_t> header = {}) {
  std::vector<Token> tokens;
  for (int i = 0; i < count; ++i)
    tokens.push_back(static_cast<Token>(i % 50));
  header.resize(header.empty() ? 0 : 256);
  return std::string(reinterpret_cast<const char *>(header.data()), header.size() * 4) +
         std::string(reinterpret_cast<const char *>(tokens.data()), tokens.size() * sizeof(Token));
}

TEST(TokenFile, AllFormatsContainTheSameTokens) {
  Directory directory("token-test");
  directory.write("a.bin", tokenBytes<uint16_t>(1000));
  directory.write("b.bin", tokenBytes<uint32_t>(1000));
  directory.write("c.bin", tokenBytes<uint16_t>(1000, {20240520, 1, 1000}));
  directory.write("d.bin", tokenBytes<uint32_t>(1000, {20240801, 7, 1000}));
  for (const char *name : {"a.bin", "b.bin?type=uint32", "c.bin", "d.bin"}) {
    auto corpus = readData((directory.path / name).string(), Vocabulary::ofTokens(50));
    ASSERT_TRUE(corpus) << corpus.error().getMessage();
    ASSERT_EQ(corpus->training.size(), 900);
    ASSERT_EQ(corpus->heldOut.size(), 100);
    EXPECT_EQ(corpus->training[899], 49);
    EXPECT_EQ(corpus->heldOut[1], 1);
    Batch batch;
    BatchSampler::create(corpus->training, 2, 30, 7)->fill(0, batch);
    EXPECT_EQ(batch.targets[3], (batch.inputs[3] + 1) % 50);
  }
}

TEST(TokenFile, ReportsErrors) {
  Directory directory("token-test");
  directory.write("a.bin", tokenBytes<uint16_t>(1000));
  directory.write("empty.bin", "");
  directory.write("odd.bin", "abc");
  directory.write("short.bin", tokenBytes<uint16_t>(999, {20240520, 1, 1000}));
  auto errorOf = [&](const std::string &name, int64_t vocabulary = 50) {
    const std::string path = (directory.path / name).string();
    auto corpus = readData(path, Vocabulary::ofTokens(vocabulary));
    const std::string message = corpus ? "read" : corpus.error().getMessage();
    const size_t colon = message.find("': ");
    return colon == std::string::npos ? message : message.substr(colon + 3);
  };
  EXPECT_EQ(errorOf("a.bin", 40), "expected tokens below 40 (--vocab), found 40 at index 40");
  EXPECT_EQ(errorOf("empty.bin"), "expected tokens, found an empty file");
  EXPECT_EQ(errorOf("odd.bin"), "expected a multiple of the token size 2, found 3 bytes");
  EXPECT_EQ(errorOf("short.bin"), "expected 1000 tokens, as its header says, found 999");
  directory.write("new.bin", tokenBytes<uint16_t>(1000, {20240520, 99, 1000}));
  EXPECT_EQ(errorOf("new.bin"), "expected version 1 in the header of llm.c, found 99");
  EXPECT_EQ(errorOf("none.bin"), "cannot open: No such file or directory");
  EXPECT_EQ(errorOf("a.bin?type=int8"),
            "expected the option type=uint16 or type=uint32, found 'type=int8'");
  EXPECT_NE(errorOf("").find("expected a file of tokens (FILE.bin) with --vocab=50"),
            std::string::npos);
}

} // namespace
