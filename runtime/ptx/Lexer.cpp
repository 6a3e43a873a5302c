//===- Lexer.cpp - Tokens of PTX text -------------------------------------===//

#include "runtime/ptx/Lexer.h"

#include <array>
#include <bit>
#include <charconv>
#include <limits>

namespace pe::ptx {

/// Returns true for each character that a name may contain after its first one.
static constexpr std::array<bool, 256> makeNameTable() {
  std::array<bool, 256> table{};
  for (unsigned c = 0; c < 256; ++c)
    table[c] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '$';
  return table;
}

static bool isNameCharacter(char c) {
  static constexpr std::array<bool, 256> table = makeNameTable();
  return table[static_cast<unsigned char>(c)];
}

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

static unsigned digitValue(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/// Returns the text of a token for a message, shortened: damaged input can have tokens of any size.
static std::string quoted(const Token &token) {
  if (token.kind == Token::Kind::End)
    return "the end of the text";
  std::string shown;
  for (char c : token.text.substr(0, 40))
    shown += c >= ' ' && c <= '~' ? c : '?';
  return "'" + shown + (token.text.size() > 40 ? "..." : "") + "'";
}

Lexer::Lexer(std::string_view text, const std::string &file) : text(text), file(&file) {
  advance();
}

void Lexer::fail(int line, const std::string &message) const {
  throw ParseFailure{Error(message).at(*file + ":" + std::to_string(line))};
}

void Lexer::failExpected(std::string_view what, const Token &found) const {
  fail(found.line, "expected " + std::string(what) + ", found " + quoted(found));
}

void Lexer::failExpected(std::string_view what) const { failExpected(what, token); }

Token Lexer::peekSecond() const {
  Lexer copy = *this;
  copy.advance();
  return copy.token;
}

Token Lexer::take() {
  Token taken = token;
  advance();
  return taken;
}

bool Lexer::accept(std::string_view mark) {
  if (!token.isMark(mark))
    return false;
  advance();
  return true;
}

bool Lexer::acceptDotted(std::string_view word) {
  if (!token.isDotted(word))
    return false;
  advance();
  return true;
}

void Lexer::expect(std::string_view mark, std::string_view where) {
  if (!accept(mark))
    failExpected("'" + std::string(mark) + "' " + std::string(where));
}

Token Lexer::expectName(std::string_view what) {
  if (token.kind != Token::Kind::Name)
    failExpected(what);
  return take();
}

void Lexer::skipLine() {
  // The token may end far after its line began, so the line is found from the token's start.
  cursor = token.text.data() - text.data();
  line = token.line;
  const size_t end = text.find('\n', cursor);
  cursor = end == std::string_view::npos ? text.size() : end;
  advance();
}

void Lexer::skipComment() {
  const int begin = line;
  for (cursor += 2; cursor < text.size(); ++cursor) {
    if (text[cursor] == '\n')
      ++line;
    else if (text[cursor] == '*' && at(cursor + 1) == '/') {
      cursor += 2;
      return;
    }
  }
  fail(begin, "expected '*/' after the comment, found the end of the text");
}

void Lexer::skipSpace() {
  for (; cursor < text.size(); ++cursor) {
    const char c = text[cursor];
    if (c == '\n') {
      ++line;
    } else if (c == '/' && at(cursor + 1) == '/') {
      const size_t end = text.find('\n', cursor);
      cursor = (end == std::string_view::npos ? text.size() : end) - 1;
    } else if (c == '/' && at(cursor + 1) == '*') {
      skipComment();
      --cursor;
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v') {
      return;
    }
  }
}

void Lexer::finish(Token::Kind kind, size_t end) {
  token.kind = kind;
  token.text = text.substr(cursor, end - cursor);
  cursor = end;
}

void Lexer::advance() {
  skipSpace();
  token.line = line;
  token.bits = 0;
  token.isUnsigned = false;
  if (cursor >= text.size())
    return finish(Token::Kind::End, text.size());
  const char c = text[cursor];
  if (isDigit(c)) {
    if (!lexNumber()) {
      size_t end = cursor;
      while (isNameCharacter(at(end)))
        ++end;
      finish(Token::Kind::Text, end);
      failExpected("a number");
    }
    return;
  }
  if (isNameCharacter(c) ||
      (c == '%' && isNameCharacter(at(cursor + 1)) && !isDigit(at(cursor + 1)))) {
    size_t end = cursor + 1;
    while (isNameCharacter(at(end)))
      ++end;
    return finish(Token::Kind::Name, end);
  }
  if (c == '.' && isNameCharacter(at(cursor + 1)))
    return lexDotted();
  if (c == '"')
    return lexText();
  lexMark();
}

void Lexer::lexDotted() {
  size_t end = cursor + 1;
  while (true) {
    if (isNameCharacter(at(end)))
      ++end;
    else if (at(end) == ':' && at(end + 1) == ':' && isNameCharacter(at(end + 2)))
      end += 2;
    else
      break;
  }
  finish(Token::Kind::Dotted, end);
}

void Lexer::lexText() {
  size_t end = cursor + 1;
  while (end < text.size() && text[end] != '"' && text[end] != '\n')
    end += text[end] == '\\' && at(end + 1) != '\n' && end + 1 < text.size() ? 2 : 1;
  if (at(end) != '"')
    fail(line, "expected '\"' at the end of a string, found the end of the line");
  finish(Token::Kind::Text, end + 1);
}

void Lexer::lexMark() {
  static constexpr std::string_view pairs[] = {"<<", ">>", "&&", "||", "==", "!=", "<=", ">="};
  const std::string_view two = text.substr(cursor, 2);
  for (std::string_view pair : pairs)
    if (two == pair)
      return finish(Token::Kind::Mark, cursor + 2);
  const bool isKnown =
      std::string_view(".,;:(){}[]<>=+-*/%&|^~!?@").find(text[cursor]) != std::string_view::npos;
  finish(isKnown ? Token::Kind::Mark : Token::Kind::Text, cursor + 1);
  if (!isKnown)
    failExpected("a character of PTX");
}

/// Reads digits at `from` into token.bits, and returns the position after them.
size_t Lexer::lexDigits(size_t from, unsigned base) {
  size_t end = from;
  for (; digitValue(at(end)) < base; ++end) {
    const uint64_t digit = digitValue(text[end]);
    if (token.bits > (std::numeric_limits<uint64_t>::max() - digit) / base)
      fail(line, "expected an integer of at most 64 bits, found '" +
                     std::string(text.substr(cursor, 40)).substr(0, end + 1 - cursor) + "...'");
    token.bits = token.bits * base + digit;
  }
  return end;
}

void Lexer::lexBitsOfFloat(size_t digits, Token::Kind kind) {
  size_t end = lexDigits(cursor + 2, 16);
  if (end - cursor - 2 != digits || isNameCharacter(at(end))) {
    while (isNameCharacter(at(end)))
      ++end;
    finish(Token::Kind::Text, end);
    failExpected("0" + std::string(1, token.text[1]) + " and " + std::to_string(digits) +
                 " hexadecimal digits");
  }
  finish(kind, end);
}

void Lexer::lexDecimalFloat(size_t end) {
  double value = 0;
  const auto [last, error] = std::from_chars(text.data() + cursor, text.data() + end, value);
  const bool isWhole = last == text.data() + end && !isNameCharacter(at(end));
  finish(Token::Kind::Double, end);
  if (error != std::errc() || !isWhole)
    failExpected("a number in the range of double precision");
  token.bits = std::bit_cast<uint64_t>(value);
}

/// Returns false if the word is not a number.
bool Lexer::lexNumber() {
  const char second = at(cursor + 1);
  const bool isPrefixed = text[cursor] == '0';
  if (isPrefixed && (second == 'f' || second == 'F'))
    return lexBitsOfFloat(8, Token::Kind::Single), true;
  if (isPrefixed && (second == 'd' || second == 'D'))
    return lexBitsOfFloat(16, Token::Kind::Double), true;
  size_t end = cursor, from = cursor;
  unsigned base = 10;
  if (isPrefixed && (second == 'x' || second == 'X' || second == 'b' || second == 'B')) {
    base = second == 'x' || second == 'X' ? 16 : 2;
    from = cursor + 2;
  } else {
    while (isDigit(at(end)))
      ++end;
    const bool hasExponent = at(end) == 'e' || at(end) == 'E';
    if (hasExponent ||
        (at(end) == '.' && !(isNameCharacter(at(end + 1)) && !isDigit(at(end + 1))))) {
      if (at(end) == '.')
        while (isDigit(at(++end)))
          ;
      if (at(end) == 'e' || at(end) == 'E') {
        end += at(end + 1) == '+' || at(end + 1) == '-' ? 2 : 1;
        while (isDigit(at(end)))
          ++end;
      }
      return lexDecimalFloat(end), true;
    }
    if (isPrefixed && isDigit(second))
      base = 8;
  }
  end = lexDigits(from, base);
  if (end == from)
    return false;
  token.isUnsigned = token.bits > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (at(end) == 'U') {
    token.isUnsigned = true;
    ++end;
  }
  if (isNameCharacter(at(end)))
    return false;
  return finish(Token::Kind::Integer, end), true;
}

} // namespace pe::ptx
