//===- ExportProgram.h - Export of a function to JSON -----------*- C++ -*-===//
//
// The float64 reference interprets the user's function without MLIR and shares no code with the
// passes. Its input is this JSON, which a generic walk writes without knowledge of the ops.
//
//   {"name": "attention",
//    "args": [{"id": 0, "name": "q", "type": "tensor<?x?x?x?xf32>", "attrs": {}}, ...],
//    "ops": [{"op": "pe.distance", "operands": [], "results": [3], "types": ["!pe.coordinate"],
//             "attrs": {}, "regions": [], "loc": "fire.mlir:14:8"}, ...],
//    "returns": [{"id": 9, "name": "o"}]}
//
// Regions are {"args": [{"id", "type"}], "ops": [...]}. Attributes always include defaults. They
// are written as JSON numbers and booleans ("inf", "-inf" and "nan" as strings), lists, keywords
// such as "relu" for #pe.activation<relu>, and the flat list of elements of a constant tensor.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_EXPORTPROGRAM_H
#define PE_DIALECT_PE_EXPORTPROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace mlir::pe {

/// Returns the JSON form of a function with one block. Call it after private functions are inlined
/// and before any rewrite.
std::string exportProgram(func::FuncOp function);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_EXPORTPROGRAM_H
