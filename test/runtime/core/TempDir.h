//===- TempDir.h - Temporary directory of a test ----------------*- C++ -*-===//
//
// Creates a directory in the system's temporary directory, and deletes it with its contents on
// destruction.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_RUNTIME_CORE_TEMPDIR_H
#define PE_TEST_RUNTIME_CORE_TEMPDIR_H

#include <cstdlib>
#include <filesystem>
#include <string>

namespace pe::test {

class TempDir {
public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pe-test-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  TempDir(const TempDir &) = delete;
  TempDir &operator=(const TempDir &) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string file(const std::string &name) const { return path + "/" + name; }
  const std::string &name() const { return path; }
  /// Returns the number of its entries.
  size_t count() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path),
                                             std::filesystem::directory_iterator()));
  }

private:
  std::string path;
};

} // namespace pe::test

#endif // PE_TEST_RUNTIME_CORE_TEMPDIR_H
