//===- SizeExpression.h - Sizes known when a call is made -------*- C++ -*-===//
//
// A compiled function is specialised for head dim, value dim and dtype only; every other size is an
// expression over names that a plan declares, kept as text in the tile dialect and in the plan:
//
//   expression := term (('+' | '-') term)*          term := factor ('*' factor)*
//   factor     := integer | name | '(' expression ')' | function '(' expression ',' expression ')'
//   function   := ceildiv | max | min
//
// "b*hq*ceildiv(r,96)" is the number of query blocks of 96 rows over all heads.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_SIZEEXPRESSION_H
#define PE_RUNTIME_PLAN_SIZEEXPRESSION_H

#include "pe/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pe::plan {

/// The known sizes of a call, by name.
using SizeValues = std::map<std::string, int64_t, std::less<>>;

class SizeExpression {
public:
  enum class Kind : uint8_t { Constant, Name, Add, Subtract, Multiply, CeilDiv, Max, Min };
  /// A step of a stack machine: operands before their operator.
  struct Step {
    Kind kind;
    /// The integer of a constant; after `resolve`, the index of a name in its list.
    int64_t value = 0;
    std::string name = {};
  };

  static Expected<SizeExpression> parse(std::string_view text);
  /// The same for callers that report errors themselves: what was expected and found goes to
  /// `problem`.
  static std::optional<SizeExpression> parse(std::string_view text, std::string &problem);

  /// The first name that is not in `names`, or null.
  const std::string *findOtherThan(std::span<const std::string> names) const;
  /// Replaces every name by its index in `names`; a missing one is an error.
  Status resolve(std::span<const std::string> names);

  /// The value; a name without a value, an overflow, a negative result or a division by a number
  /// that is not positive is an error. The values of resolved names are at their indices.
  Expected<int64_t> evaluate(const SizeValues &values) const;
  Expected<int64_t> evaluate(std::span<const int64_t> values) const;
  /// The same where a result may be negative.
  Expected<int64_t> evaluateSigned(std::span<const int64_t> values) const;

  /// The name if the expression is only a name; likewise for an integer.
  const std::string *asName() const;
  std::optional<int64_t> asConstant() const;
  const std::string &text() const { return source; }
  std::span<const Step> getSteps() const { return steps; }

  /// Runs the stack machine on other values than numbers: `leaf(step)` is the value of a constant
  /// or name, `apply(kind, left, right)` that of an operator.
  template <typename Value, typename Leaf, typename Apply>
  Value fold(Leaf leaf, Apply apply) const {
    std::vector<Value> stack;
    for (const Step &step : steps) {
      if (step.kind == Kind::Constant || step.kind == Kind::Name) {
        stack.push_back(leaf(step));
        continue;
      }
      Value right = stack.back();
      stack.pop_back();
      stack.back() = apply(step.kind, stack.back(), right);
    }
    return stack.back();
  }

private:
  friend class SizeExpressionParser;
  template <typename Lookup> Expected<int64_t> run(Lookup lookup) const;
  Expected<int64_t> checkSign(Expected<int64_t> value) const;

  std::string source;
  std::vector<Step> steps;
};

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_SIZEEXPRESSION_H
