//===- Philox.h - emission of Philox 4x32-10 ------------------------------===//
//
// Emits the function of runtime/core/Random.h as arith operations on scalars or vectors of i32, or
// of i64 whose upper halves are ignored: vector machines multiply 32 by 32 bits to 64 in 64-bit
// lanes.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_SCALAR_PHILOX_H
#define PE_PASSES_SCALAR_PHILOX_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <array>

namespace mlir::tile {

/// The lower and the upper half of the product of a word and a multiplier.
using WordProduct = std::pair<Value, Value>;
using MultiplyWord = llvm::function_ref<WordProduct(Value word, uint32_t multiplier)>;

/// Emits the four words for a counter and a key, all of one type. `multiply`, if given, emits the
/// multiplication in the way that is best for the machine.
std::array<Value, 4> emitPhilox(ImplicitLocOpBuilder &builder, std::array<Value, 4> counter,
                                std::array<Value, 2> key, MultiplyWord multiply = nullptr);

} // namespace mlir::tile

#endif // PE_PASSES_SCALAR_PHILOX_H
