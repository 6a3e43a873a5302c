//===- Vocabulary.h - Text as tokens ----------------------------*- C++ -*-===//
//
// Char: a token is one of 96 characters. Newline is 0, the printable ASCII characters 32..126 are
// 1..95; a tab becomes a space, a carriage return is dropped, and any other character (once per
// UTF-8 character) becomes '?'. Byte: a token is a byte; the encoding is lossless. Token: tokens of
// another program (TokenFile.h), of which only the number is known.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_DATA_VOCABULARY_H
#define PE_RUNTIME_TRAIN_DATA_VOCABULARY_H

#include "pe/Error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pe::train {

class Vocabulary {
public:
  enum class Unit : uint8_t { Char, Byte, Token };

  Vocabulary() = default;
  explicit Vocabulary(Unit unit) : kind(unit), count(unit == Unit::Char ? 96 : 256) {}
  /// Returns a vocabulary of `count` tokens of unknown meaning.
  static Vocabulary ofTokens(int64_t count) {
    Vocabulary vocabulary(Unit::Token);
    vocabulary.count = count;
    return vocabulary;
  }

  Unit unit() const { return kind; }
  /// Returns the unit that bits of loss are measured per: "character", "byte" or "token".
  std::string_view unitName() const;
  /// Returns the vocabulary size; all tokens are less than this.
  int64_t size() const { return count; }

  /// Appends the tokens of `text`, in characters or bytes.
  void encode(std::string_view text, std::vector<int32_t> &tokens) const;
  /// Returns the text that `tokens` represent.
  std::string decode(const std::vector<int32_t> &tokens) const;

private:
  Unit kind = Unit::Char;
  int64_t count = 96;
};

/// Parses "char", "byte" or a number of tokens.
Expected<Vocabulary> parseVocabulary(std::string_view name);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_DATA_VOCABULARY_H
