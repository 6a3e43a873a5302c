//===- PETerms.h - The terms of a sum of biases -----------------*- C++ -*-===//
//
// pe-split-terms splits each term into parts once. Simplification, lowerings and explanations read
// its class and parts:
//
//   for (TermOp term : *termsOf(attention))           // passes/Analysis/Structure.h
//     if (term.getTermClass() == TermClass::Distance)
//       Value value = term.getPartValue(TermPart::Distance); // of the region's h and d = i - j
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PETERMS_H
#define PE_DIALECT_PE_PETERMS_H

#include "dialect/PE/PEDialect.h"
#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::pe {

/// A part of a term. The comments list the arguments in addition to batch and head.
enum class TermPart {
  Row,       ///< i
  Column,    ///< j
  Distance,  ///< d = i - j
  Factor,    ///< d: the factor of a segments term's coordinate
  RowFactor, ///< i: the other factor
  Scale,     ///< no further arguments
  Piece,     ///< x, the coordinate
  Pair,      ///< i and j
};

/// Returns the parts of a class, in the order of the op's regions.
ArrayRef<TermPart> partsOf(TermClass cls);
/// Returns the name of a part: "row", "row factor", ...
StringRef nameOf(TermPart part);
/// Returns the types of a part's block arguments between h and the captures.
SmallVector<Type> pointTypesOf(TermPart part, MLIRContext *context);

/// Returns the index of the first block argument of a part that is a capture.
unsigned firstCaptureOf(TermPart part);

} // namespace mlir::pe

#define GET_OP_CLASSES
#include "dialect/PE/PETerms.h.inc"

#endif // PE_DIALECT_PE_PETERMS_H
