//===- IntegerRules.h - Values of integer operations ------------*- C++ -*-===//
//
// One row per integer operation that a bias may use. Integers have a width: 64 bits for type index,
// 1 for a boolean. They are kept sign-extended in an int64_t, so true is -1 here, and wrap around
// at their width.
//
//   arith.divui on i32:  -5 / 7  is  (2^32 - 5) / 7 = 613566755
//   arith.divsi:          x / 0  is  0, and so is the remainder
//   arith.shli on i32:   1 << 32 is  0: all bits are shifted out
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_REFERENCE_INTEGERRULES_H
#define PE_RUNTIME_REFERENCE_INTEGERRULES_H

#include <cstdint>
#include <string_view>

namespace pe::reference {

/// The low `bits` bits of x as a signed number, and as an unsigned one.
int64_t signExtend(int64_t x, unsigned bits);
uint64_t zeroExtend(int64_t x, unsigned bits);

/// Operands are `bits` wide; the result is wrapped to its own width by the caller. An operation
/// with one operand ignores b.
struct IntegerRule {
  std::string_view name;
  unsigned arity;
  int64_t (*value)(int64_t a, int64_t b, unsigned bits);
};

/// The row of an operation such as "arith.addi" or "arith.extui"; null when there is none.
const IntegerRule *findIntegerRule(std::string_view name);

/// The comparison of `arith.cmpi`, by keyword ("sge") or by the number MLIR gives the predicate:
/// -1 (true) or 0. Null when there is none.
const IntegerRule *findIntegerComparison(std::string_view keyword);
const IntegerRule *findIntegerComparison(int64_t number);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_INTEGERRULES_H
