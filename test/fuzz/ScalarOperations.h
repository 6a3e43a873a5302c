//===- ScalarOperations.h - Generated scalar operations ---------*- C++ -*-===//
//
// One row per operation of arith and math that generated regions use: its spelling in MLIR and in
// formulas, the domain of its operands, and a function that evaluates it. The functions are a
// second implementation of these operations and share no code with runtime/reference or the
// compiler. To let the generator use another operation, add a row.
//
// An n-bit integer is stored sign-extended; true is -1 in one bit. Arithmetic wraps.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_SCALAROPERATIONS_H
#define PE_TEST_FUZZ_SCALAROPERATIONS_H

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pe::fuzz {

enum class Type : uint8_t {
  I1,
  I8,
  I16,
  I32,
  I64,
  Index,
  F32,
  F64,
  Coordinate,
  Bias,
  Mask,
  Rotation
};

constexpr bool isInteger(Type type) { return type <= Type::Index; }
constexpr bool isReal(Type type) { return type == Type::F32 || type == Type::F64; }
constexpr bool isScalar(Type type) { return type <= Type::F64; }
std::string_view nameOf(Type type);
/// Returns the number of bits of an integer type; an index has 64.
int bitsOf(Type type);

using Wide = __int128;
/// Returns the integer in the low bits of `value`.
int64_t wrap(Wide value, int bits);
Wide asUnsigned(int64_t value, int bits);

enum class Form : uint8_t {
  IntegerUnary,
  IntegerBinary,
  IntegerCompare,
  RealUnary,
  RealBinary,
  RealTernary,
  RealCompare,
  RealToWholePower, ///< of a real number and an i32
  Convert,
};

/// The operands for which the result is defined and moderate.
enum class Domain : uint8_t {
  Any,
  Positive, ///< the last operand is positive
  Unit,     ///< inside (-1, 1)
  Small,    ///< of magnitude at most 3
  Exact,    ///< a small multiple of 1/8, because the result is discontinuous
  Divisor,  ///< the second operand is a constant, not 0
  Shift,    ///< the second operand is a constant in [0, bits)
};

/// Returns nullopt if the result is undefined.
using IntegerFunction = std::optional<Wide> (*)(int64_t a, int64_t b, int bits);
using RealFunction = long double (*)(long double a, long double b, long double c);

struct ScalarOperation {
  /// The name, such as "arith.addi"; comparisons include the predicate, as in "arith.cmpi slt".
  std::string_view name;
  Form form;
  Domain domain = Domain::Any;
  /// The spelling in formulas, such as "({0} + {1})"; empty if formulas do not have the operation.
  std::string_view formula = {};
  IntegerFunction integer = nullptr;
  RealFunction real = nullptr;
  /// True if a real result is not correctly rounded.
  bool isApproximate = false;
  /// True if a conversion reads its operand as unsigned.
  bool isUnsigned = false;
};

std::span<const ScalarOperation> scalarOperations();
/// Returns the row of that name, which must exist.
const ScalarOperation *findOperation(std::string_view name);

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_SCALAROPERATIONS_H
