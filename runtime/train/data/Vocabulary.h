//===- Vocabulary.h - Text as 96 characters ---------------------*- C++ -*-===//
//
// A token is a character: newline is 0, the printable ASCII characters 32..126 are 1..95. A tab
// becomes a space, a carriage return is dropped, and any other character (once per UTF-8 character)
// becomes '?'. The vocabulary size is a multiple of 8, as the compiled kernels require.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_DATA_VOCABULARY_H
#define PE_RUNTIME_TRAIN_DATA_VOCABULARY_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pe::train {

inline constexpr int64_t kVocabulary = 96;

/// Appends the tokens of `text`.
void encode(std::string_view text, std::vector<uint8_t> &tokens);

/// The characters of `tokens`.
std::string decode(const std::vector<uint8_t> &tokens);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_DATA_VOCABULARY_H
