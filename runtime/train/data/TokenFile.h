//===- TokenFile.h - A file of tokens written by another program -*- C++ -*-===//
//
// FILE.bin contains little-endian uint16 tokens and nothing else, or uint32 tokens with
// "?type=uint32", or it begins with the header of llm.c, which gives the type. The file is mapped,
// not read: it may be larger than memory, and it must not change while in use.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_DATA_TOKENFILE_H
#define PE_RUNTIME_TRAIN_DATA_TOKENFILE_H

#include "pe/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pe::train {

class TokenFile {
public:
  /// Returns true if `data` names a token file: without its options, it ends with ".bin".
  static bool isName(std::string_view data);
  /// Returns the part of `data` before the options.
  static std::string pathOf(std::string_view data);
  /// Opens and maps the file. A token that is not less than `vocabulary` is an error.
  static Expected<std::shared_ptr<const TokenFile>> open(std::string_view data, int64_t vocabulary);

  ~TokenFile();
  TokenFile(const TokenFile &) = delete;
  TokenFile &operator=(const TokenFile &) = delete;

  int64_t size() const { return count; }
  int32_t operator[](int64_t index) const {
    return isWide ? static_cast<const int32_t *>(tokens)[index]
                  : static_cast<const uint16_t *>(tokens)[index];
  }
  /// Returns the content of the entire file.
  std::string_view bytes() const { return {static_cast<const char *>(mapped), length}; }

private:
  TokenFile() = default;
  Status map(const std::string &path);
  Status findTokens(const std::string &path, bool wide);

  const void *mapped = nullptr, *tokens = nullptr;
  size_t length = 0;
  int64_t count = 0;
  bool isWide = false;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_DATA_TOKENFILE_H
