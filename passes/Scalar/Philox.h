//===- Philox.h - Philox 4x32-10 as code ----------------------------------===//
//
// What runtime/core/Random.h computes, as operations of arith on numbers or vectors of i32, or of
// i64 whose upper halves mean nothing: a vector machine multiplies 32 by 32 bits to 64 in lanes
// of 64.
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

/// The four words for a counter and a key; all of one type. `multiply`, if given, is how a machine
/// multiplies best.
std::array<Value, 4> emitPhilox(ImplicitLocOpBuilder &builder, std::array<Value, 4> counter,
                                std::array<Value, 2> key, MultiplyWord multiply = nullptr);

} // namespace mlir::tile

#endif // PE_PASSES_SCALAR_PHILOX_H
