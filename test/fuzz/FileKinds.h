//===- FileKinds.h - What reads files, and good files for it ----*- C++ -*-===//
//
// A kind of file: how a seed determines a damaged one, and how it is read. Reading must not crash,
// hang or use unbounded memory, and every refusal is one clear line.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_FILEKINDS_H
#define PE_TEST_FUZZ_FILEKINDS_H

#include "fuzz/Workers.h"
#include "pe/Error.h"

#include <filesystem>
#include <vector>

namespace pe::fuzz {

/// Good files to damage.
struct Corpus {
  /// Programs: the examples, and generated ones.
  std::vector<std::string> sources;
  /// Packages of compiled programs.
  std::vector<std::string> packages;
};

struct FileKind {
  std::string name;
  /// The damaged file of a seed.
  std::string (*make)(const Corpus &corpus, uint64_t seed);
  /// Reads it below `scratch`, an empty folder; returns what is wrong with the outcome, or nothing.
  std::string (*read)(const Corpus &corpus, const std::string &bytes,
                      const std::filesystem::path &scratch, const Progress &progress);
  /// Needs the compiler's library.
  bool needsCompiler = false;
};

/// Sources; safetensors; plans, signatures and programs of packages; whole packages; checkpoints;
/// logs; what pe plot reads; configurations.
const std::vector<FileKind> &fileKinds();
/// The part of fileKinds that is defined in ReaderKinds.cpp.
std::vector<FileKind> readerKinds();
FileKind sourceKind();

/// "" for success and for errors of one clear line.
std::string judgeMessage(const Status &status);
template <typename T> std::string judgeMessage(const Expected<T> &result) {
  return result ? "" : judgeMessage(Status(Error(result.error())));
}

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_FILEKINDS_H
