//===- ScratchFolder.h - A folder of this process for files of tests ------===//

#ifndef PE_TEST_RUNTIME_TRAIN_SCRATCHFOLDER_H
#define PE_TEST_RUNTIME_TRAIN_SCRATCHFOLDER_H

#include <filesystem>
#include <string>
#include <unistd.h>

namespace pe::test {

/// Two runs of a test program at a time do not meet here. The caller makes and removes it.
inline std::filesystem::path scratchFolder(const std::string &name) {
  return std::filesystem::temp_directory_path() / ("pe-" + name + "-" + std::to_string(::getpid()));
}

} // namespace pe::test

#endif // PE_TEST_RUNTIME_TRAIN_SCRATCHFOLDER_H
