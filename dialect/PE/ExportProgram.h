//===- ExportProgram.h - A function as neutral data -------------*- C++ -*-===//
//
// The float64 reference interprets the user's function without MLIR and without sharing a line
// with the passes. This is the form it gets: a generic walk that knows no op.
//
//   {"name": "attention",
//    "args": [{"id": 0, "name": "q", "type": "tensor<?x?x?x?xf32>", "attrs": {}}, ...],
//    "ops": [{"op": "pe.distance", "operands": [], "results": [3], "types": ["!pe.coordinate"],
//             "attrs": {}, "regions": [], "loc": "fire.mlir:14:8"}, ...],
//    "returns": [{"id": 9, "name": "o"}]}
//
// Regions are {"args": [{"id", "type"}], "ops": [...]}. Attributes always include defaults:
// numbers and booleans as such (not finite: "inf", "-inf", "nan"), lists as lists, keywords such
// as #pe.activation<relu> as "relu", a constant tensor as its flat list of elements.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_EXPORTPROGRAM_H
#define PE_DIALECT_PE_EXPORTPROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace mlir::pe {

/// The JSON text of a function with one block, as it is: export it after private functions are
/// inlined and before anything is rewritten.
std::string exportProgram(func::FuncOp function);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_EXPORTPROGRAM_H
