//===- PESignature.h - The types of attentions and merges -------*- C++ -*-===//
//
// Parses and prints ": (types of the operands) -> types of the results" of operations on
// activations and log-sum-exps. Errors are reported at their location in the source, with the
// expected form: a missing type, a surplus type, results in the wrong order, more names than
// results.
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

/// The operands and results of an operation.
struct Signature {
  StringRef op;      ///< with the dialect
  StringRef example; ///< of all types, for messages
  ArrayRef<SignaturePart> operands, results;
  /// The clauses of the operation, which precede the types.
  ArrayRef<StringRef> clauses;
};

/// Parses the types into `types`, operands first. The type of an absent result remains null.
ParseResult parseSignature(OpAsmParser &parser, const Signature &signature, ArrayRef<Type *> types);
/// Reports, at the operation, that its types are missing.
ParseResult reportMissingTypes(OpAsmParser &parser, StringRef example);
/// Returns true if a '(' follows `word`, which is at `loc`. If not, the word is the name of the
/// next operation.
bool beginsClause(SMLoc loc, StringRef word);
/// Prints ": (operands) -> results", without the space before it. Skips null types.
void printSignature(OpAsmPrinter &printer, ArrayRef<Type> operands, ArrayRef<Type> results);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PESIGNATURE_H
