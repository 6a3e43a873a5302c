//===- StepDecoder.h - From statements to steps ---------------------*- C++ -*-===//
//
// Decodes the functions of a kernel. Each family of instructions registers a function per opcode
// that fills a Step, or refuses the statement.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_STEPDECODER_H
#define PE_RUNTIME_PTX_STEPDECODER_H

#include "runtime/ptx/Program.h"

#include <map>
#include <sstream>

namespace pe::ptx {

class Decoder;
using Decode = void (*)(Decoder &, const Statement &, Step &);
using Opcodes = std::unordered_map<std::string_view, Decode>;

/// Addresses of the module's variables, which the caller has placed.
struct Placement {
  /// Addresses of .global variables, and offsets of .const variables in constant memory.
  std::unordered_map<std::string, uint64_t> addresses;
};

/// Decodes the kernel `name` and all functions that it calls. Refuses unknown instructions,
/// operands of the wrong size, recursion, and calls of undefined functions. Errors have the
/// location "FILE:LINE".
Expected<std::unique_ptr<Kernel>> decode(const Module &module, const std::string &name,
                                         const Placement &placement);

/// Reports a statement that is wrong or unknown. Decoding catches it.
struct DecodeError {
  std::string message;
  int line = 0; // 0: the line of the statement
};

/// The parts of a kernel that the code of one function refers to.
class KernelParts {
public:
  virtual ~KernelParts() = default;
  /// Decodes a function that is called, once.
  virtual Code &decode(const Function &function) = 0;
  /// Returns the address of a variable that is not of a frame, in its space.
  virtual uint64_t addressOf(const std::string &name, const Function &function) = 0;
};

/// Decodes one function. Passed to the functions of Opcodes.
class Decoder {
public:
  /// Ends the decoding with a message such as "expected .f32 or .f64, found .s32".
  template <typename... Parts> [[noreturn]] void refuse(const Parts &...parts) const {
    std::ostringstream out;
    (out << ... << parts);
    throw DecodeError{out.str(), 0};
  }
  /// Refuses a statement whose modifiers or combination of types this machine does not execute.
  [[noreturn]] void refuseForm(const Statement &statement) const;
  /// Refuses a statement that has not between `least` and `most` operands.
  void expectOperands(const Statement &statement, size_t least, size_t most) const;

  /// Returns the types among the modifiers, in order: {F32, BF16, BF16, F32} for an mma.
  std::vector<Type> types(const Statement &statement) const;
  /// Returns the only type among the modifiers.
  Type type(const Statement &statement) const;
  /// Refuses modifiers other than types and those listed.
  void expectModifiers(const Statement &statement,
                       std::initializer_list<std::string_view> known) const;

  /// Returns the offset of 32 lane values of `bytes` bytes each: a register of that size, or an
  /// immediate, special register or address of a variable. `isFloat` gives decimal and 0f/0d
  /// literals their meaning for a 4-byte or 8-byte (or, rounded, 2-byte) type.
  uint32_t source(const Operand &operand, unsigned bytes, bool isFloat = false);
  uint32_t source(const Operand &operand, Type type);
  /// As source, but a register may be wider or narrower; sets `found` to its bytes. For ld, st and
  /// cvt.
  uint32_t sourceOfAnySize(const Operand &operand, Type type, unsigned &found);
  uint32_t destination(const Operand &operand, unsigned bytes) const;
  uint32_t destinationOfAnySize(const Operand &operand, unsigned &found) const;
  /// Returns the offset of a predicate (a mask of 32 bits), and whether the operand is !p.
  uint32_t predicate(const Operand &operand, bool &isNegated) const;
  /// Returns the q of a result p|q, or kAbsent.
  uint32_t secondPredicate(const Operand &operand) const;
  /// Returns the first of a result p|q: a register of `bytes` bytes, or a predicate if 0.
  uint32_t firstOfPair(const Operand &operand, unsigned bytes) const;
  /// Returns an immediate, or refuses.
  int64_t immediate(const Operand &operand) const;
  /// Returns the offset of 32 broadcast values.
  uint32_t constant(uint64_t bits, unsigned bytes);

  /// Adds operands in braces to Code::offsets and returns the index of the first; kAbsent for `_`.
  /// A single operand counts as a list of one.
  uint32_t sources(const Operand &operand, Type type, uint8_t &count);
  uint32_t destinations(const Operand &operand, unsigned bytes, uint8_t &count);
  uint32_t append(const std::vector<uint32_t> &offsets);

  /// Fills `a` (the offset of the base address), `imm` and `width` (4 or 8, the bytes of the base)
  /// of a step from an address operand of any space but Param.
  void address(const Operand &operand, Step &step);
  /// Fills `a` (a variable of the frame), `target` (its bytes) and `imm` of an access of `bytes`
  /// bytes to a parameter of a function or call. Returns false for parameters of a kernel, which
  /// have addresses.
  bool parameter(const Operand &operand, Step &step, uint64_t bytes);

  /// Returns the frame offset and the bytes of a parameter of a function or call.
  std::pair<uint32_t, uint32_t> parameterNamed(const std::string &name) const;
  /// Decodes a function that this one calls.
  Code &decodeFunction(const Function &callee);

  const Module &module() const { return theModule; }
  const Function &function() const { return theFunction; }
  Code &code() { return theCode; }

private:
  friend class KernelDecoder;
  Decoder(const Module &module, const Function &function, Code &code, KernelParts &kernel);
  uint32_t symbol(const Operand &operand, unsigned bytes);
  uint32_t special(const Operand &operand, unsigned bytes);
  uint32_t slot(unsigned bytes);
  const Register &registerOf(const Operand &operand) const;

  const Module &theModule;
  const Function &theFunction;
  Code &theCode;
  KernelParts &kernel;
  std::vector<uint32_t> registerOffsets;
  std::map<std::pair<uint64_t, unsigned>, uint32_t> constantOffsets;
  std::map<std::pair<std::string, unsigned>, uint32_t> namedOffsets; // specials and locals
  std::unordered_map<std::string, std::pair<uint32_t, uint32_t>> parameterOffsets;
  std::unordered_map<std::string, uint32_t> localOffsets;
};

/// Returns the least multiple of `align` that is at least `value`.
inline uint64_t alignUp(uint64_t value, uint64_t align) {
  return (value + align - 1) / align * align;
}

/// Returns a read-only register and its bytes.
std::optional<std::pair<Special, unsigned>> specialNamed(std::string_view name);

/// Add the instructions of a family.
void addArithmetic(Opcodes &opcodes);     // Arithmetic.cpp: add, mul, mad, fma, min, div, ...
void addFloatFunctions(Opcodes &opcodes); // FloatFunctions.cpp: rcp, sqrt, ex2, sin, ...
void addLogic(Opcodes &opcodes);          // Logic.cpp: and, shl, lop3, prmt, setp, selp, ...
void addConversions(Opcodes &opcodes);    // Conversions.cpp: cvt
void addMoves(Opcodes &opcodes);          // Moves.cpp: mov, cvta, isspacep, ...
void addMemory(Opcodes &opcodes);         // MemoryAccess.cpp: ld, st, prefetch, fence
void addAtomics(Opcodes &opcodes);        // Atomics.cpp: atom, red
void addCopies(Opcodes &opcodes);         // AsyncCopies.cpp: cp.async
void addCollectives(Opcodes &opcodes);    // WarpCollectives.cpp: shfl, vote, match, redux, bar, ...
void addMatrix(Opcodes &opcodes);         // Matrix.cpp: mma, ldmatrix, stmatrix, movmatrix
void addControl(Opcodes &opcodes);        // Control.cpp: bra, brx, call, ret, exit, trap

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_STEPDECODER_H
