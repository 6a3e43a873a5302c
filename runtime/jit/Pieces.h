//===- Pieces.h - A program as text to be joined with others ----*- C++ -*-===//
//
// A caller joins the encoding of one program with other encodings, masks, sinks or documents in a
// new program. It gets the text of the encoding and of the mask as pieces:
//
//   {"encoding": {"definitions": "%{v0} = pe.distance\n%{v1} = pe.linear %{v0} ...",
//                 "clauses": ["bias(%{v1})"],
//                 "arguments": [{"name": "slopes", "type": "tensor<?xf32>",
//                                "attributes": "pe.init = 1.0", "key": "arg3"}]},
//    "mask": null}
//
// Names of values are written %{NAME}, so that the caller can prefix those of each piece. A clause
// is one of `pe.attention`'s, with one value in lists such as bias(...), or an attribute such as
// `normalizer = #pe.normalizer<stick_breaking>`. Captures, aliases and private functions have been
// resolved, and defaults of attributes are omitted.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_JIT_PIECES_H
#define PE_RUNTIME_JIT_PIECES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace pe::jit {

/// Returns the pieces of a function that the prepare pipeline accepted, or "null" if it does not
/// have exactly one attention.
std::string piecesOf(mlir::func::FuncOp function);

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_PIECES_H
