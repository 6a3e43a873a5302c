//===- FileKinds.h - Kinds of files and their readers -----------*- C++ -*-===//
//
// A kind of file has a function that makes a damaged file from a seed and a function that reads it.
// Reading must not crash, hang or use unbounded memory, and every error must be one clear line.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_FILEKINDS_H
#define PE_TEST_FUZZ_FILEKINDS_H

#include "fuzz/Workers.h"
#include "pe/Error.h"

#include <filesystem>
#include <vector>

namespace pe::fuzz {

/// Valid files to damage.
struct Corpus {
  /// The example programs and some generated ones.
  std::vector<std::string> sources;
  /// Packages of compiled programs.
  std::vector<std::string> packages;
  /// PTX of other compilers (test/runtime/ptx/foreign).
  std::vector<std::string> kernels;
};

struct FileKind {
  std::string name;
  /// Returns the damaged file of a seed.
  std::string (*make)(const Corpus &corpus, uint64_t seed);
  /// Reads `bytes` in `scratch`, an empty directory. Returns the problem found, or "".
  std::string (*read)(const Corpus &corpus, const std::string &bytes,
                      const std::filesystem::path &scratch, const Progress &progress);
  /// True if reading needs the compiler's library.
  bool needsCompiler = false;
};

/// Returns all kinds: sources, safetensors, plans, signatures and programs of packages, entire
/// packages, checkpoints, logs, inputs of `pe plot`, configurations and PTX.
const std::vector<FileKind> &fileKinds();
/// Returns the kinds whose readers need no compiler.
std::vector<FileKind> readerKinds();
FileKind sourceKind();
FileKind ptxKind();

/// Returns "" for success and for errors with a clear one-line message.
std::string judgeMessage(const Status &status);
template <typename T> std::string judgeMessage(const Expected<T> &result) {
  return result ? "" : judgeMessage(Status(Error(result.error())));
}

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_FILEKINDS_H
