//===- Scalar.h - the pass pe-tile-define-integers ------------------------===//
#ifndef PE_PASSES_SCALAR_SCALAR_H
#define PE_PASSES_SCALAR_SCALAR_H

#include "dialect/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Pass/Pass.h"

namespace mlir::tile {

#define GEN_PASS_DECL
#include "passes/Scalar/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Scalar/Passes.h.inc"

} // namespace mlir::tile

#endif // PE_PASSES_SCALAR_SCALAR_H
