//===- Arithmetic.h - Parts of the arithmetic family ------------*- C++ -*-===//
//
// The parts of addArithmetic and addLogic that have separate files.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_ARITHMETIC_H
#define PE_RUNTIME_PTX_ARITHMETIC_H

#include "runtime/ptx/StepDecoder.h"

namespace pe::ptx {

/// Floating-point forms of the opcodes that integers have too (FloatArithmetic.cpp).
void decodeFloatSum(Decoder &decoder, const Statement &statement, Step &step); // add, sub, mul, div
void decodeFloatFused(Decoder &decoder, const Statement &statement, Step &step);   // fma, mad
void decodeFloatExtreme(Decoder &decoder, const Statement &statement, Step &step); // min, max
void decodeFloatSign(Decoder &decoder, const Statement &statement, Step &step);    // abs, neg
void addFloatArithmetic(Opcodes &opcodes); // fma, copysign, testp

/// Rounding of floating-point results, and the modifiers of results.
enum DirectedFlags : uint16_t { kFlushes = 1, kSaturates = 2 };
enum class FloatOperation : uint8_t { Add, Subtract, Multiply, Divide, Fuse, Invert, Root };
/// Returns a handler of an operation on f32 or f64 that rounds as Step::imm, a mode of <cfenv>,
/// states; `flags` are DirectedFlags.
Handler directedHandler(FloatOperation operation, Type type);
/// Returns the mode of <cfenv> of .rz, .rm or .rp, or nullopt for .rn and without a rounding.
std::optional<int> directedRounding(const Statement &statement);

void addBitFields(Opcodes &opcodes);   // BitFields.cpp: popc, clz, bfe, dp4a, ...
void addCarries(Opcodes &opcodes);     // Carries.cpp: addc, subc, madc
void addComparisons(Opcodes &opcodes); // Comparisons.cpp: set, setp

/// Forms of add, sub and mad that set the carry (Carries.cpp).
void decodeCarry(Decoder &decoder, const Statement &statement, Step &step);

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_ARITHMETIC_H
