//===- SizeExpression.h - Sizes known when a call is made -------*- C++ -*-===//
//
// A compiled function is specialised on head dim, value dim and dtype only; every other size is an
// expression over the sizes of the call, kept as text in the plan:
//
//   expression := term (('+' | '-') term)*          term := factor ('*' factor)*
//   factor     := integer | name | '(' expression ')' | function '(' expression ',' expression ')'
//   name       := b | hq | hkv | r | c | d | e      (batch, query heads, key heads, queries, keys,
//                                                    head dim, value dim)
//   function   := ceildiv | max | min
//
// "b*hq*ceildiv(r,96)" is the number of query blocks of 96 rows over all heads.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_SIZEEXPRESSION_H
#define PE_RUNTIME_PLAN_SIZEEXPRESSION_H

#include "pe/Error.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pe::plan {

/// The names of the grammar, in the order of SizeValues.
enum class SizeName : uint8_t { B, Hq, Hkv, R, C, D, E };
inline constexpr size_t kSizeNames = 7;
std::string_view nameOf(SizeName name);

/// A value per name; absent while it is not bound yet.
using SizeValues = std::array<std::optional<int64_t>, kSizeNames>;

class SizeExpression {
public:
  static Expected<SizeExpression> parse(std::string_view text);

  /// The value; an unbound name, an overflow, a negative result or a division by a number that is
  /// not positive is an error.
  Expected<int64_t> evaluate(const SizeValues &values) const;

  /// The name if the expression is just that, and likewise the integer.
  std::optional<SizeName> asName() const;
  std::optional<int64_t> asConstant() const;
  const std::string &text() const { return source; }

private:
  friend class SizeExpressionParser;
  enum class Kind : uint8_t { Constant, Name, Add, Subtract, Multiply, CeilDiv, Max, Min };
  /// Postfix: operands before their operator.
  struct Instruction {
    Kind kind;
    int64_t value; // Constant: the integer; Name: the SizeName
  };
  std::string source;
  std::vector<Instruction> code;
};

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_SIZEEXPRESSION_H
