//===- SizeExpression.h - Expressions over the sizes of a call --*- C++ -*-===//
//
// A compiled function is specialised for head dim, value dim and dtype only. Every other size is an
// expression over names that a plan declares, stored as text in the tile dialect and in the plan:
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

/// The sizes of a call, by name.
using SizeValues = std::map<std::string, int64_t, std::less<>>;

/// Returns the size of `count` blocks, or a value above every limit if it overflows.
int64_t sizeOfBlocks(int64_t count, int64_t block);

/// A parsed expression.
class SizeExpression {
public:
  enum class Kind : uint8_t { Constant, Name, Add, Subtract, Multiply, CeilDiv, Max, Min };
  /// A step of a stack machine; operands precede their operator.
  struct Step {
    Kind kind;
    /// The integer of a constant; after `resolve`, the index of a name in its list.
    int64_t value = 0;
    std::string name = {};
  };

  static Expected<SizeExpression> parse(std::string_view text);
  /// For callers that report errors themselves: `problem` receives what was expected and found.
  static std::optional<SizeExpression> parse(std::string_view text, std::string &problem);

  /// Returns the first name that is not in `names`, or null.
  const std::string *findOtherThan(std::span<const std::string> names) const;
  /// Sets the value of every name to its index in `names`; a missing name is an error.
  Status resolve(std::span<const std::string> names);

  /// Returns the value. Errors: a name without a value, an overflow, a negative result, a division
  /// by a value that is not positive. After `resolve`, names index into `values`.
  Expected<int64_t> evaluate(const SizeValues &values) const;
  Expected<int64_t> evaluate(std::span<const int64_t> values) const;
  /// Same as evaluate, but the result may be negative.
  Expected<int64_t> evaluateSigned(std::span<const int64_t> values) const;

  /// Returns the name if the expression is a single name; asConstant is the same for an integer.
  const std::string *asName() const;
  std::optional<int64_t> asConstant() const;
  /// Returns the indices of x and y if the expression is ceildiv(x, y) of two resolved names: an
  /// axis with this size has blocks of y. If nothing else determines x, it is all of them, times y.
  std::optional<std::pair<int64_t, int64_t>> asBlocks() const;
  const std::string &text() const { return source; }
  std::span<const Step> getSteps() const { return steps; }

  /// Runs the stack machine on any type of value: `leaf(step)` returns the value of a constant or
  /// name, `apply(kind, left, right)` the value of an operator.
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
