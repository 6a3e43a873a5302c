//===- SizeExpression.h - extents and counts as text ----------------------===//
//
// Every extent but the two depths is known at run time only, so buffer types, loops and launches
// carry it as an expression over names:
//
//   expression := term (('+' | '-') term)*          term := factor ('*' factor)*
//   factor     := integer | name | '(' expression ')' | function '(' expression ',' expression ')'
//   function   := ceildiv | max | min
//
// Names: b hq hkv r c d e; t (distances of a call, r + c + 63) and kb (key blocks of the schedule,
// ceildiv(c, key_block)); in loops and `tile.size` also q_start k_start head_start heads_total.
// A plan that leaves the compiler knows b hq hkv r c d e only: `forPlan` rewrites the others.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_TILE_SIZEEXPRESSION_H
#define PE_DIALECT_TILE_SIZEEXPRESSION_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace mlir::tile {

/// One parsed expression, as the steps of a stack machine: operands before their operator.
class SizeExpression {
public:
  enum class Kind : uint8_t { Constant, Name, Add, Subtract, Multiply, CeilDiv, Max, Min };
  struct Step {
    Kind kind;
    int64_t constant = 0;
    std::string name = {};
  };

  /// On failure `problem` says what was expected and found.
  static FailureOr<SizeExpression> parse(StringRef text, std::string &problem);

  ArrayRef<Step> getSteps() const { return steps; }
  /// The first name that is not in `names`, or empty.
  StringRef findOtherThan(ArrayRef<StringRef> names) const;

private:
  friend class SizeExpressionParser;
  llvm::SmallVector<Step> steps;
};

/// The names of extents, and all that `tile.size` and loops may use.
ArrayRef<StringRef> getExtentNames();
ArrayRef<StringRef> getSizeNames();

/// `text` with `t` and `kb` written out, as a plan's reader understands it.
std::string forPlan(StringRef text, int64_t keyBlock);

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_SIZEEXPRESSION_H
