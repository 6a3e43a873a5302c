//===- ConstantExpression.h - Integer arithmetic in PTX text ----*- C++ -*-===//
//
// Evaluates constant expressions such as `(4 + 2) * 8` with the precedence of C, in 64 bits that
// wrap around. A value is unsigned if one of its operands is, as section 4.5 of the PTX ISA says.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_CONSTANTEXPRESSION_H
#define PE_RUNTIME_PTX_CONSTANTEXPRESSION_H

#include "runtime/ptx/Lexer.h"

namespace pe::ptx {

struct Constant {
  uint64_t bits = 0;
  bool isUnsigned = false;
};

/// Takes an expression from the lexer and returns its value.
Constant takeConstant(Lexer &lexer);

/// Takes an expression whose value is in [least, greatest]; `what` names it in the message.
uint64_t takeCount(Lexer &lexer, std::string_view what, uint64_t least, uint64_t greatest);

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_CONSTANTEXPRESSION_H
