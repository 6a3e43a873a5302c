//===- ExpressionHints.h - Forms of other languages in formulas -*- C++ -*-===//
//
// Recognizes what people write from habit where a formula cannot be parsed, and says how it is
// written here:
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

/// Returns the message for the character at `at`, where `expected` was expected: "expected
/// `expected`, found '*'", followed by the right form where it is known.
std::string unexpectedCharacter(std::string_view source, size_t at, std::string_view expected);

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_EXPRESSIONHINTS_H
