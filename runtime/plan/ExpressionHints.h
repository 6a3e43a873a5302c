//===- ExpressionHints.h - Hints for syntax of other languages --*- C++ -*-===//
//
// Recognizes forms of other languages in a formula that cannot be parsed, and returns a hint with
// the form to write:
//
//   x ** 2            a power is written x ^ 2
//   a if c else b     a choice is written select(condition, a, b)
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_PLAN_EXPRESSIONHINTS_H
#define PE_RUNTIME_PLAN_EXPRESSIONHINTS_H

#include <cstddef>
#include <string>
#include <string_view>

namespace pe::plan {

/// Returns the message for an unexpected character at `at`: "expected `expected`, found '*'",
/// followed by a hint if there is one.
std::string unexpectedCharacter(std::string_view source, size_t at, std::string_view expected);

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_EXPRESSIONHINTS_H
