//===- Lexer.h - Tokens of PTX text -----------------------------*- C++ -*-===//
//
// Divides PTX text into tokens, one at a time and without copies. A word with a leading dot is one
// token, because modifiers such as `.16x64b` and `.L1::no_allocate` are neither numbers nor names.
//
//   Lexer lexer("add.s32 %r1, %r2, 4;", "a.ptx");
//   lexer.take().text; // "add", then ".s32", "%r1", ",", ...
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_LEXER_H
#define PE_RUNTIME_PTX_LEXER_H

#include "pe/Error.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace pe::ptx {

/// An error on its way to parse(), which catches it. It never leaves this room.
struct ParseFailure {
  Error error;
};

struct Token {
  enum class Kind : uint8_t {
    End,
    Name,    // foo, $L__BB0_1, %r1, _
    Dotted,  // .reg, .L1::no_allocate; `text` includes the dot
    Integer, // `bits`
    Single,  // 0f3F800000: `bits`
    Double,  // 0d3FF0000000000000 or 1.5: `bits`
    Text,    // "a string", with its quotes
    Mark     // punctuation, of one or two characters
  };
  Kind kind = Kind::End;
  bool isUnsigned = false; // an integer with the suffix U, or above the greatest signed one
  int line = 1;
  std::string_view text;
  uint64_t bits = 0;

  bool isMark(std::string_view mark) const { return kind == Kind::Mark && text == mark; }
  bool isDotted(std::string_view word) const { return kind == Kind::Dotted && text == word; }
  /// Returns true if `next` follows without a space.
  bool touches(const Token &next) const { return text.data() + text.size() == next.text.data(); }
};

/// A view of the text with one token of lookahead. Copies are cheap.
class Lexer {
public:
  /// Reads the first token. `file` is named in messages and must outlive the lexer, as the text.
  Lexer(std::string_view text, const std::string &file);

  const Token &peek() const { return token; }
  /// Returns the token after the next one.
  Token peekSecond() const;
  Token take();

  /// Takes the next token if it is the mark or the word, and returns true if it was.
  bool accept(std::string_view mark);
  bool acceptDotted(std::string_view word);
  /// Takes the mark; fails unless it is next. `where` completes the message: "after a label".
  void expect(std::string_view mark, std::string_view where);
  /// Takes a name; fails unless one is next. `what` is the thing named: "the name of a function".
  Token expectName(std::string_view what);
  /// Continues with the first token of the line that follows.
  void skipLine();

  /// Throws a ParseFailure at the given line.
  [[noreturn]] void fail(int line, const std::string &message) const;
  /// Throws "expected WHAT, found TOKEN" at the next token.
  [[noreturn]] void failExpected(std::string_view what) const;
  /// Throws "expected WHAT, found TOKEN" at `found`.
  [[noreturn]] void failExpected(std::string_view what, const Token &found) const;

private:
  void advance();
  void skipSpace();
  void skipComment();
  bool lexNumber();
  void lexDecimalFloat(size_t end);
  void lexBitsOfFloat(size_t digits, Token::Kind kind);
  size_t lexDigits(size_t from, unsigned base);
  void lexDotted();
  void lexText();
  void lexMark();
  void finish(Token::Kind kind, size_t end);
  char at(size_t position) const { return position < text.size() ? text[position] : '\0'; }

  std::string_view text;
  const std::string *file;
  size_t cursor = 0;
  int line = 1;
  Token token;
};

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_LEXER_H
