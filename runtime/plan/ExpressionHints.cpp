//===- ExpressionHints.cpp - Hints for syntax of other languages ----------===//

#include "runtime/plan/ExpressionHints.h"

#include "runtime/plan/FunctionForms.h"

#include <algorithm>
#include <cctype>

namespace pe::plan {
namespace {

/// A symbol, word or function name of another language, and the advice for it.
struct Form {
  std::string_view found, advice;
};

constexpr Form kSymbols[] = {
    {"&&", "write 'and'"},
    {"&", "write 'and'"},
    {"||", "write 'or'"},
    {"|", "write 'or', or abs(x) for a magnitude"},
    {"!", "write 'not'"},
    {"~", "write 'not'"},
    {"?", "a choice is written select(condition, a, b)"},
    {"=", "equality is written =="},
    {"'", "infinity is written inf"},
    {"[", "write all indices of a tensor in one list, as in t[h, i]"},
    {"×", "a product is written *"},
    {"·", "a product is written *"},
    {"÷", "a quotient is written /"},
    {"−", "a difference is written -"},
    {"²", "a square is written x ^ 2"},
    {"√", "a root is written sqrt(x)"},
    {"∞", "infinity is written inf"},
    {"π", "pi is written pi"},
    {"≤", "write <="},
    {"≥", "write >="},
    {"≠", "write !="},
    {"∧", "write 'and'"},
    {"∨", "write 'or'"},
};

constexpr Form kWords[] = {
    {"if", "a choice is written select(condition, a, b)"},
    {"else", "a choice is written select(condition, a, b)"},
    {"for", "a sum over an index is written sum(n < 8, a[n])"},
    {"xor", "write select(a, not b, b)"},
    {"mod", "a remainder is written a % b"},
    {"div", "a quotient rounded down is written a // b"},
    {"is", "equality is written =="},
};

constexpr std::string_view kModules[] = {"torch", "math", "np",  "numpy", "jnp",
                                         "jax",   "F",    "std", "mlir",  "tl"};

bool isNameCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Returns the character at `at`, with all its bytes.
std::string_view characterAt(std::string_view source, size_t at) {
  size_t end = at + 1;
  while (end < source.size() && (static_cast<unsigned char>(source[end]) & 0xC0) == 0x80)
    ++end;
  return source.substr(at, end - at);
}

std::string_view wordAt(std::string_view source, size_t at) {
  size_t end = at;
  while (end < source.size() && isNameCharacter(source[end]))
    ++end;
  return source.substr(at, end - at);
}

/// Returns the word that ends at `end`, skipping spaces before `end`.
std::string_view wordBefore(std::string_view source, size_t end) {
  while (end > 0 && source[end - 1] == ' ')
    --end;
  size_t begin = end;
  while (begin > 0 && isNameCharacter(source[begin - 1]))
    --begin;
  return source.substr(begin, end - begin);
}

/// Returns the advice for a '.' after a word: a function of a module, or a method.
std::string adviceForDot(std::string_view source, size_t at) {
  const std::string before(wordBefore(source, at));
  std::string_view function = wordAt(source, at + 1);
  if (function.empty())
    return {};
  if (function == "inf" || function == "pi")
    return "write " + std::string(function);
  if (std::find(std::begin(kModules), std::end(kModules), before) != std::end(kModules)) {
    const FunctionForm *form = findFunctionForm(function);
    if (form && !form->isFormula)
      return std::string(form->text);
    return (form ? adviceOnFunction(function) : "write " + std::string(function) + "(...)") +
           " without '" + before + ".'";
  }
  return "a function is written before its argument, as in abs(x)";
}

std::string adviceAt(std::string_view source, size_t at) {
  if (at > 0 && source[at] == '*' && source[at - 1] == '*')
    return "a power is written x ^ 2";
  if (source[at] == '.')
    return adviceForDot(source, at);
  const std::string_view word = wordAt(source, at), before = wordBefore(source, at);
  if (before == "lambda" || word == "lambda")
    return "write the formula itself, without 'lambda ...:'";
  if (before == "return")
    return "write the formula itself, without 'return'";
  if (source[at] == ':')
    return "a tensor is read at one index per axis; there are no slices";
  for (const Form &form : kWords)
    if (word == form.found)
      return std::string(form.advice);
  for (const Form &form : kSymbols)
    if (word.empty() && source.substr(at).starts_with(form.found))
      return std::string(form.advice);
  return {};
}

} // namespace

std::string unexpectedCharacter(std::string_view source, size_t at, std::string_view expected) {
  if (at >= source.size())
    return "expected " + std::string(expected) + ", found the end";
  const std::string_view word = wordAt(source, at);
  std::string_view found = word.empty() ? characterAt(source, at) : word;
  for (std::string_view symbol : {"&&", "||"})
    if (source.substr(at).starts_with(symbol))
      found = symbol;
  const bool isPower = found == "*" && at > 0 && source[at - 1] == '*';
  const std::string advice = adviceAt(source, at);
  return "expected " + std::string(expected) + ", found '" + (isPower ? "**" : std::string(found)) +
         "'" + (advice.empty() ? "" : "; " + advice);
}

} // namespace pe::plan
