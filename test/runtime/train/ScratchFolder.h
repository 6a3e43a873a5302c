//===- ScratchFolder.h - Temporary directory of a test process --*- C++ -*-===//

#ifndef PE_TEST_RUNTIME_TRAIN_SCRATCHFOLDER_H
#define PE_TEST_RUNTIME_TRAIN_SCRATCHFOLDER_H

#include <filesystem>
#include <string>
#include <unistd.h>

namespace pe::test {

/// Returns a path that is unique to this process, so that tests can run concurrently. The caller
/// creates and removes the directory.
inline std::filesystem::path scratchFolder(const std::string &name) {
  return std::filesystem::temp_directory_path() / ("pe-" + name + "-" + std::to_string(::getpid()));
}

} // namespace pe::test

#endif // PE_TEST_RUNTIME_TRAIN_SCRATCHFOLDER_H
