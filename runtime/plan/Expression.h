//===- Expression.h - Infix formulas ----------------------------*- C++ -*-===//
//
// Formulas that users may write instead of a region, parsed into a tree. Plain C++ without MLIR.
//
//   expression := "let" name "=" expression "in" expression | both ("or" both)*
//   both       := negation ("and" negation)*
//   negation   := "not" negation | comparison
//   comparison := sum (("<" | "<=" | ">" | ">=" | "==" | "!=") sum)?
//   sum        := product (("+" | "-") product)*
//   product    := sign (("*" | "/" | "//" | "%") sign)*
//   sign       := "-" sign | power
//   power      := primary ("^" sign)?
//   primary    := number | name | name "[" expression ("," expression)* "]"
//               | name "(" expression ("," expression)* ")" | "(" expression ")"
//
// "-x^2" is -(x^2), and "a^b^c" is a^(b^c). "and(a, b)" and "or(a, b)" are also accepted as calls.
// Example: "amp[h] * exp(-abs(i - j) / tau[h])" is
//
//   * (amp[h], exp(/ (- (abs(- (i, j))), tau[h])))
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_PLAN_EXPRESSION_H
#define PE_RUNTIME_PLAN_EXPRESSION_H

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pe::plan {

/// A node of the tree of a formula.
struct Expression {
  enum class Kind {
    Integer, ///< `number` is the value
    Real,    ///< `number` is the value
    Name,    ///< `text` is the name
    Read,    ///< text[children...]
    Call,    ///< text(children...); operators are calls of "+", "-", "*", "/", "^", "<", "and", ...
    Let,     ///< `text` names the value children[0] within children[1]
  };

  Kind kind = Kind::Integer;
  std::string text;
  double number = 0;
  std::vector<Expression> children;
  /// The offset in the source of its operator or, without one, of its first character.
  size_t offset = 0;
};

/// A syntax error at an offset in the source.
struct ExpressionError {
  size_t offset = 0;
  std::string message;
};

/// Parses all of `source`.
std::variant<Expression, ExpressionError> parseExpression(std::string_view source);

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_EXPRESSION_H
