//===- Vocabulary.cpp - Text as 96 characters -----------------------------===//
//
// Encoding and decoding as described in the header.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/data/Vocabulary.h"

namespace pe::train {
namespace {

constexpr uint8_t kFirstPrintable = 32, kLastPrintable = 126;

uint8_t tokenOf(unsigned char printable) { return printable - kFirstPrintable + 1; }

bool continuesCharacter(unsigned char byte) { return (byte & 0xC0) == 0x80; }

} // namespace

void encode(std::string_view text, std::vector<uint8_t> &tokens) {
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

std::string decode(const std::vector<uint8_t> &tokens) {
  std::string text;
  text.reserve(tokens.size());
  for (uint8_t token : tokens)
    text.push_back(token == 0 ? '\n' : static_cast<char>(token - 1 + kFirstPrintable));
  return text;
}

} // namespace pe::train
