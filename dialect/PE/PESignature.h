//===- PESignature.h - The types of attentions and merges -------*- C++ -*-===//
//
// Parses and prints ": (types of the operands) -> types of the results" of operations on
// activations and log-sum-exps. Every mistake is reported where it is written, with what was
// expected: a missing type, one too many, results in the wrong order, more names than results.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PESIGNATURE_H
#define PE_DIALECT_PE_PESIGNATURE_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::pe {

/// An operand or result of a signature.
struct SignaturePart {
  StringRef name; ///< for messages: "the query"
  /// Activations are tensors [batch, heads, length, head dim], a log-sum-exp has one f32 per row.
  enum class Kind { Activations, LogSumExp } kind = Kind::Activations;
  bool isOptional = false;
};

/// What an operation takes and gives.
struct Signature {
  StringRef op;      ///< with its dialect
  StringRef example; ///< of all types, for messages
  ArrayRef<SignaturePart> operands, results;
  /// Clauses of the operation, which come before the types.
  ArrayRef<StringRef> clauses;
};

/// Parses the types into `types`, operands first; that of an absent result stays null.
ParseResult parseSignature(OpAsmParser &parser, const Signature &signature, ArrayRef<Type *> types);
/// Reports, at the operation, that no types follow its operands.
ParseResult reportMissingTypes(OpAsmParser &parser, StringRef example);
/// Returns whether a '(' follows `word`, which is at `loc`. Otherwise the word is the next
/// operation.
bool beginsClause(SMLoc loc, StringRef word);
/// Prints ": (operands) -> results", without the space before it. Null types are left out.
void printSignature(OpAsmPrinter &printer, ArrayRef<Type> operands, ArrayRef<Type> results);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PESIGNATURE_H
