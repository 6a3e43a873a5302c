//===- PETerms.h - The terms of a sum of biases -----------------*- C++ -*-===//
//
// A term is taken apart once, by pe-split-terms; simplification, lowerings and explanations read
// its class and its parts:
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

/// A part of a term, named for what it is a function of besides batch and head.
enum class TermPart {
  Row,       ///< i
  Column,    ///< j
  Distance,  ///< d = i - j
  Factor,    ///< d: the factor of a segments term's coordinate
  RowFactor, ///< i: the other factor
  Scale,     ///< nothing
  Piece,     ///< x, the coordinate
  Pair,      ///< i and j
};

/// The parts of a class, in the order of the op's regions.
ArrayRef<TermPart> partsOf(TermClass cls);
/// "row", "row factor", ...
StringRef nameOf(TermPart part);
/// The types of a part's block arguments between h and the captures.
SmallVector<Type> pointTypesOf(TermPart part, MLIRContext *context);

/// The first argument that stands for a capture in a part's block.
unsigned firstCaptureOf(TermPart part);

} // namespace mlir::pe

#define GET_OP_CLASSES
#include "dialect/PE/PETerms.h.inc"

#endif // PE_DIALECT_PE_PETERMS_H
