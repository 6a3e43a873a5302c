//===- pe-fuzz-files.cpp - Test readers with damaged files ----------------===//
//
//   pe-fuzz-files --seed=1 --count=400 [--kinds=source,plan,...] [--jobs=2] [--timeout=60]
//                 [--corpus=DIR]
//   pe-fuzz-files --kinds=plan --print=SEED > FILE     writes the damaged file of one seed
//   pe-fuzz-files --write-corpus=DIR                   writes valid packages, for a build
//                                                      without a compiler
//
// Seed n damages a file of kind n modulo the number of kinds. Prints the grouped findings and a
// last line with counts. Exits with 1 if anything was found.
//
//===----------------------------------------------------------------------===//

#include "fuzz/FileKinds.h"
#include "fuzz/Generate.h"
#include "fuzz/Print.h"
#include "fuzz/Triage.h"
#include "pe/pe.h"
#include "runtime/core/File.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>

namespace {

using namespace pe;
using namespace pe::fuzz;
namespace fs = std::filesystem;

struct Options {
  uint64_t seed = 1, count = 400;
  std::optional<uint64_t> print;
  std::vector<std::string> kinds;
  std::string corpus, writeCorpus;
  Limits limits{.seconds = 60.0};
};

/// A temporary directory of this run, removed at its end.
class Scratch {
public:
  Scratch() {
    std::string pattern = fs::temp_directory_path() / "pe-fuzz-files-XXXXXX";
    if (mkdtemp(pattern.data()))
      folder = pattern;
    setenv("PE_CACHE_DIR", (folder / "cache").c_str(), 1);
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  fs::path folder;
};

//===----------------------------------------------------------------------===//
// The corpus
//===----------------------------------------------------------------------===//

/// Writes packages of two examples for the cpu and the emulator. Runs in a separate process because
/// the compiler starts threads.
std::string writePackages(const std::string &folder) {
  fs::create_directories(folder);
  for (const char *name : {"alibi_learned", "fire"}) {
    auto program =
        pe::Program::load(std::string(PE_TEST_SOURCE_DIR "/examples/encodings/") + name + ".mlir");
    if (!program)
      return program.error().render(name);
    CompileOptions cpu{.headDim = 16, .valueDim = 16, .grad = true}, gpu = cpu;
    gpu.target = "gpu-emulator";
    auto bytes = program->package(std::vector{cpu, gpu});
    if (!bytes)
      return bytes.error().render(name);
    if (Status status = writeFileAtomically(folder + "/" + name + ".pepkg", *bytes); !status)
      return status.error().render(name);
  }
  return "";
}

/// Writes the packages; on failure prints a message and returns false.
bool makePackages(const std::string &folder) {
  bool isDone = true;
  auto task = [&](uint64_t, const Progress &) { return writePackages(folder); };
  runTasks(0, 1, 1, {.seconds = 300.0}, task, [&](const Outcome &outcome) {
    isDone = outcome.kind == Outcome::Kind::Finished && outcome.text.empty();
    if (!isDone)
      std::fprintf(stderr, "pe-fuzz-files: error: cannot make the packages: %s\n",
                   outcome.text.c_str());
  });
  return isDone;
}

std::vector<std::string> readAll(const fs::path &folder, const std::string &extension) {
  std::vector<fs::path> paths;
  for (const auto &entry : fs::directory_iterator(folder))
    if (entry.path().extension() == extension)
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> contents;
  for (const fs::path &path : paths)
    if (auto bytes = readFile(path.string()))
      contents.push_back(std::move(*bytes));
  return contents;
}

Corpus readCorpus(const std::string &packages) {
  constexpr uint64_t kGenerated = 60;
  Corpus corpus;
  corpus.packages = readAll(packages, ".pepkg");
  corpus.kernels = readAll(PE_TEST_SOURCE_DIR "/test/runtime/ptx/foreign", ".ptx");
  corpus.sources = readAll(PE_TEST_SOURCE_DIR "/examples/encodings", ".mlir");
  for (uint64_t seed = 1; seed <= kGenerated; ++seed)
    corpus.sources.push_back(printProgram(generateProgram(seed)));
  return corpus;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

std::vector<FileKind> chosenKinds(const std::vector<std::string> &names) {
  std::vector<FileKind> chosen;
  for (const FileKind &kind : fileKinds())
    if (names.empty() || std::ranges::find(names, kind.name) != names.end())
      chosen.push_back(kind);
  return chosen;
}

/// Reads the file of a seed. Returns the problem found, or "".
std::string readOne(const FileKind &kind, const Corpus &corpus, const fs::path &scratch,
                    uint64_t seed, const Progress &progress) {
  progress(kind.name);
  std::string bytes = kind.make(corpus, seed);
  fs::path folder = scratch / std::to_string(seed);
  fs::create_directories(folder);
  auto named = [&](const std::string &phase) { progress(kind.name + ": " + phase); };
  std::string problem = kind.read(corpus, bytes, folder, named);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return problem;
}

int runSeeds(const Options &options, const std::vector<FileKind> &kinds, const Corpus &corpus,
             const fs::path &scratch) {
  Triage triage;
  std::map<std::string, int> counts;
  uint64_t failed = 0;
  auto kindOf = [&](uint64_t seed) -> const FileKind & { return kinds[seed % kinds.size()]; };
  auto task = [&](uint64_t seed, const Progress &progress) {
    return readOne(kindOf(seed), corpus, scratch, seed, progress);
  };
  runTasks(options.seed, options.seed + options.count, 1, options.limits, task,
           [&](const Outcome &outcome) {
             const std::string &kind = kindOf(outcome.task).name;
             ++counts[kind];
             bool isDead = outcome.kind != Outcome::Kind::Finished;
             if (!isDead && outcome.text.empty())
               return;
             ++failed;
             triage.add(isDead ? groupOfDeath(outcome) : kind + ": " + generalize(outcome.text),
                        outcome.task, outcome.text);
           });
  std::string all;
  for (const FileKind &kind : kinds)
    all += (all.empty() ? "" : ",") + kind.name;
  std::fputs(triage.report("pe-fuzz-files --kinds=" + all + " --count=1 --seed=").c_str(), stdout);
  std::printf("seeds %lu to %lu:", static_cast<unsigned long>(options.seed),
              static_cast<unsigned long>(options.seed + options.count - 1));
  for (const auto &[kind, count] : counts)
    std::printf(" %d %s,", count, kind.c_str());
  std::printf(" %lu failed\n", static_cast<unsigned long>(failed));
  return triage.isEmpty() ? 0 : 1;
}

int run(Options options) {
  Scratch scratch;
  if (!options.writeCorpus.empty())
    return makePackages(options.writeCorpus) ? 0 : 1;
  std::vector<FileKind> kinds = chosenKinds(options.kinds);
  if (kinds.empty()) {
    std::fprintf(stderr, "pe-fuzz-files: error: unknown kind of file in --kinds\n");
    return 1;
  }
  std::string packages = options.corpus;
  if (packages.empty()) {
    packages = (scratch.folder / "corpus").string();
    if (!makePackages(packages))
      return 1;
  }
  Corpus corpus = readCorpus(packages);
  if (corpus.packages.empty() || corpus.sources.empty()) {
    std::fprintf(stderr, "pe-fuzz-files: error: expected packages in '%s', found none\n",
                 packages.c_str());
    return 1;
  }
  if (options.print) {
    std::string bytes = kinds[*options.print % kinds.size()].make(corpus, *options.print);
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return 0;
  }
  return runSeeds(options, kinds, corpus, scratch.folder);
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Damage sources, tensors, packages, checkpoints and configurations, and read them");
  app.add_option("--seed", options.seed, "first seed");
  app.add_option("--count", options.count, "number of seeds");
  app.add_option("--kinds", options.kinds,
                 "safetensors, plan, signature, program, package, checkpoint, log, run, config, "
                 "source")
      ->delimiter(',');
  app.add_option("--print", options.print, "write the damaged file of this seed");
  app.add_option("--corpus", options.corpus,
                 "directory with valid packages (default: compile them)");
  app.add_option("--write-corpus", options.writeCorpus,
                 "compile the valid packages into this directory");
  app.add_option("--jobs", options.limits.jobs, "number of parallel processes")
      ->check(CLI::Range(1, 1024));
  app.add_option("--timeout", options.limits.seconds, "seconds per file");
  app.add_option("--memory", options.limits.megabytes, "MiB of address space (0: no limit)");
  CLI11_PARSE(app, argc, argv);
  return run(std::move(options));
}
