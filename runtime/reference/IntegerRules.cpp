//===- IntegerRules.cpp - Values of integer operations --------------------===//
//
// Sums and products are computed on unsigned integers, whose wraparound is defined.
//
//===----------------------------------------------------------------------===//
#include "runtime/reference/IntegerRules.h"

#include <algorithm>
#include <bit>
#include <span>

namespace pe::reference {

uint64_t zeroExtend(int64_t x, unsigned bits) {
  auto word = static_cast<uint64_t>(x);
  return bits >= 64 ? word : word & ((uint64_t(1) << bits) - 1);
}

int64_t signExtend(int64_t x, unsigned bits) {
  if (bits >= 64)
    return x;
  uint64_t sign = uint64_t(1) << (bits - 1);
  return static_cast<int64_t>((zeroExtend(x, bits) ^ sign) - sign);
}

namespace {

using Word = uint64_t;

template <Word (*function)(Word, Word)> int64_t wrapping(int64_t a, int64_t b, unsigned) {
  return static_cast<int64_t>(function(static_cast<Word>(a), static_cast<Word>(b)));
}

/// Applies a function to the operands' bits as unsigned integers.
template <Word (*function)(Word, Word)> int64_t unsignedly(int64_t a, int64_t b, unsigned bits) {
  return static_cast<int64_t>(function(zeroExtend(a, bits), zeroExtend(b, bits)));
}

int64_t negated(int64_t a) { return static_cast<int64_t>(-static_cast<Word>(a)); }

/// Rounds toward zero. A quotient by 0 is 0; the lowest number divided by -1 wraps to itself.
int64_t quotient(int64_t a, int64_t b, unsigned) {
  if (b == 0)
    return 0;
  return b == -1 ? negated(a) : a / b;
}

int64_t remainder(int64_t a, int64_t b, unsigned) { return b == 0 || b == -1 ? 0 : a % b; }

int64_t floorQuotient(int64_t a, int64_t b, unsigned bits) {
  bool isInexact = remainder(a, b, bits) != 0;
  return quotient(a, b, bits) - (isInexact && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t ceilQuotient(int64_t a, int64_t b, unsigned bits) {
  bool isInexact = remainder(a, b, bits) != 0;
  return quotient(a, b, bits) + (isInexact && (a < 0) == (b < 0) ? 1 : 0);
}

/// A shift by at least the width gives zeros, or copies of the sign.
int64_t shiftLeft(int64_t a, int64_t b, unsigned bits) {
  return zeroExtend(b, bits) >= bits ? 0 : static_cast<int64_t>(static_cast<Word>(a) << b);
}
int64_t shiftRight(int64_t a, int64_t b, unsigned bits) {
  return a >> std::min<Word>(zeroExtend(b, bits), 63);
}
int64_t shiftRightUnsigned(int64_t a, int64_t b, unsigned bits) {
  return zeroExtend(b, bits) >= bits ? 0 : static_cast<int64_t>(zeroExtend(a, bits) >> b);
}

int64_t keepSign(int64_t a, int64_t, unsigned) { return a; }
int64_t dropSign(int64_t a, int64_t, unsigned bits) {
  return static_cast<int64_t>(zeroExtend(a, bits));
}

const IntegerRule rules[] = {
    {"arith.addi", 2, wrapping<[](Word a, Word b) { return a + b; }>},
    {"arith.subi", 2, wrapping<[](Word a, Word b) { return a - b; }>},
    {"arith.muli", 2, wrapping<[](Word a, Word b) { return a * b; }>},
    {"arith.andi", 2, wrapping<[](Word a, Word b) { return a & b; }>},
    {"arith.ori", 2, wrapping<[](Word a, Word b) { return a | b; }>},
    {"arith.xori", 2, wrapping<[](Word a, Word b) { return a ^ b; }>},
    {"arith.divsi", 2, quotient},
    {"arith.floordivsi", 2, floorQuotient},
    {"arith.ceildivsi", 2, ceilQuotient},
    {"arith.remsi", 2, remainder},
    {"arith.divui", 2, unsignedly<[](Word a, Word b) { return b == 0 ? 0 : a / b; }>},
    {"arith.ceildivui", 2,
     unsignedly<[](Word a, Word b) { return b == 0 ? 0 : a / b + (a % b != 0); }>},
    {"arith.remui", 2, unsignedly<[](Word a, Word b) { return b == 0 ? 0 : a % b; }>},
    {"arith.maxsi", 2, [](int64_t a, int64_t b, unsigned) { return std::max(a, b); }},
    {"arith.minsi", 2, [](int64_t a, int64_t b, unsigned) { return std::min(a, b); }},
    {"arith.maxui", 2, unsignedly<[](Word a, Word b) { return std::max(a, b); }>},
    {"arith.minui", 2, unsignedly<[](Word a, Word b) { return std::min(a, b); }>},
    {"arith.shli", 2, shiftLeft},
    {"arith.shrsi", 2, shiftRight},
    {"arith.shrui", 2, shiftRightUnsigned},
    {"math.absi", 1, [](int64_t a, int64_t, unsigned) { return a < 0 ? negated(a) : a; }},
    {"math.ctlz", 1,
     [](int64_t a, int64_t, unsigned bits) {
       return static_cast<int64_t>(std::countl_zero(zeroExtend(a, bits)) - (64 - bits));
     }},
    {"math.cttz", 1,
     [](int64_t a, int64_t, unsigned bits) {
       return std::min<int64_t>(std::countr_zero(zeroExtend(a, bits)), bits);
     }},
    {"math.ctpop", 1,
     [](int64_t a, int64_t, unsigned bits) {
       return static_cast<int64_t>(std::popcount(zeroExtend(a, bits)));
     }},
    {"arith.index_cast", 1, keepSign},
    {"arith.extsi", 1, keepSign},
    {"arith.trunci", 1, keepSign},
    {"arith.index_castui", 1, dropSign},
    {"arith.extui", 1, dropSign},
};

template <bool (*function)(int64_t, int64_t)> int64_t compare(int64_t a, int64_t b, unsigned) {
  return function(a, b) ? -1 : 0;
}
template <bool (*function)(Word, Word)>
int64_t compareUnsigned(int64_t a, int64_t b, unsigned bits) {
  return function(zeroExtend(a, bits), zeroExtend(b, bits)) ? -1 : 0;
}

/// In the order of arith::CmpIPredicate.
const IntegerRule comparisons[] = {
    {"eq", 2, compare<[](int64_t a, int64_t b) { return a == b; }>},
    {"ne", 2, compare<[](int64_t a, int64_t b) { return a != b; }>},
    {"slt", 2, compare<[](int64_t a, int64_t b) { return a < b; }>},
    {"sle", 2, compare<[](int64_t a, int64_t b) { return a <= b; }>},
    {"sgt", 2, compare<[](int64_t a, int64_t b) { return a > b; }>},
    {"sge", 2, compare<[](int64_t a, int64_t b) { return a >= b; }>},
    {"ult", 2, compareUnsigned<[](Word a, Word b) { return a < b; }>},
    {"ule", 2, compareUnsigned<[](Word a, Word b) { return a <= b; }>},
    {"ugt", 2, compareUnsigned<[](Word a, Word b) { return a > b; }>},
    {"uge", 2, compareUnsigned<[](Word a, Word b) { return a >= b; }>},
};

const IntegerRule *find(std::span<const IntegerRule> table, std::string_view name) {
  auto found = std::find_if(table.begin(), table.end(),
                            [&](const IntegerRule &rule) { return rule.name == name; });
  return found == table.end() ? nullptr : &*found;
}

} // namespace

const IntegerRule *findIntegerRule(std::string_view name) { return find(rules, name); }

const IntegerRule *findIntegerComparison(std::string_view keyword) {
  return find(comparisons, keyword);
}

const IntegerRule *findIntegerComparison(int64_t number) {
  bool isKnown = number >= 0 && number < static_cast<int64_t>(std::size(comparisons));
  return isKnown ? &comparisons[number] : nullptr;
}

} // namespace pe::reference
