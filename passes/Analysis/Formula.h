//===- Formula.h - formulas of scalar code ----------------------*- C++ -*-===//
//
// Prints a value of a bias region in the syntax of `pe.bias_fn expr`, for human readers:
//
//   %d = arith.subi %i, %j : index
//   %x = arith.index_cast %d : index to i32
//   %y = arith.sitofp %x : i32 to f32
//   %s = pe.read %slopes[%h] : tensor<?xf32>
//   %v = arith.mulf %s, %y : f32                ==>   slopes[h] * (i - j)
//
// Conversions are omitted, a network is mlp(x), and a formula longer than `kMaxFormula` ends in
// "...". A value whose location is a name (NameLoc), such as the value of `let x = ... in`, is
// printed once: "let x = (i - j) / w[h] in (1 - x * x) * exp(-x)".
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_FORMULA_H
#define PE_PASSES_ANALYSIS_FORMULA_H

#include "passes/Analysis/Summands.h"

namespace mlir::pe {

constexpr size_t kMaxFormula = 200;

/// Returns the formula of `root`, a value of the region of a bias or of a score function; `names`
/// are the names of the captures.
std::string formulaOf(Value root, Block &region, ArrayRef<std::string> names);

/// Same as above, but names the arguments before the captures `leading`.
std::string formulaOf(Value root, Block &region, ArrayRef<StringRef> leading,
                      ArrayRef<std::string> names);

/// Returns the formula of a sum: "a[h] * (i - j) - 2 * exp(j)". `namesOf` returns the names of the
/// captures of a bias.
std::string formulaOfSum(ArrayRef<SourcedSummand> summands,
                         llvm::function_ref<SmallVector<std::string>(BiasFnOp)> namesOf);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_FORMULA_H
