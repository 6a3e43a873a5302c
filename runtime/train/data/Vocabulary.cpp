//===- Vocabulary.cpp - Text as tokens ------------------------------------===//
//
// Encoding and decoding, as described in the header.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/data/Vocabulary.h"
#include "runtime/core/Error.h"

#include <charconv>

namespace pe::train {
namespace {

constexpr unsigned char kFirstPrintable = 32, kLastPrintable = 126;

int32_t tokenOf(unsigned char printable) { return printable - kFirstPrintable + 1; }

bool continuesCharacter(unsigned char byte) { return (byte & 0xC0) == 0x80; }

void encodeCharacters(std::string_view text, std::vector<int32_t> &tokens) {
  for (unsigned char byte : text) {
    if (byte == '\n')
      tokens.push_back(0);
    else if (byte >= kFirstPrintable && byte <= kLastPrintable)
      tokens.push_back(tokenOf(byte));
    else if (byte == '\t')
      tokens.push_back(tokenOf(' '));
    else if (byte != '\r' && !continuesCharacter(byte))
      tokens.push_back(tokenOf('?'));
  }
}

} // namespace

std::string_view Vocabulary::unitName() const {
  return kind == Unit::Char ? "character" : kind == Unit::Byte ? "byte" : "token";
}

void Vocabulary::encode(std::string_view text, std::vector<int32_t> &tokens) const {
  if (kind == Unit::Char)
    return encodeCharacters(text, tokens);
  for (unsigned char byte : text)
    tokens.push_back(byte);
}

std::string Vocabulary::decode(const std::vector<int32_t> &tokens) const {
  std::string text;
  text.reserve(tokens.size());
  for (int32_t token : tokens)
    if (kind == Unit::Byte)
      text.push_back(static_cast<char>(token));
    else
      text.push_back(token == 0 ? '\n' : static_cast<char>(token - 1 + kFirstPrintable));
  return text;
}

Expected<Vocabulary> parseVocabulary(std::string_view name) {
  if (name == "char")
    return Vocabulary(Vocabulary::Unit::Char);
  if (name == "byte")
    return Vocabulary(Vocabulary::Unit::Byte);
  constexpr int64_t kMost = 1 << 24;
  int64_t count = 0;
  auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), count);
  if (failure == std::errc() && end == name.data() + name.size() && count >= 1 && count <= kMost)
    return Vocabulary::ofTokens(count);
  return makeError("expected 'char', 'byte' or the number of tokens of a token file (at most ",
                   kMost, "), found '", name, "'");
}

} // namespace pe::train
