//===- Passes.h - passes from pe to pe --------------------------*- C++ -*-===//
#ifndef PE_PASSES_TRANSFORMS_PASSES_H
#define PE_PASSES_TRANSFORMS_PASSES_H

#include "dialect/PE/PEDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace mlir::pe {

#define GEN_PASS_DECL
#include "passes/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Transforms/Passes.h.inc"

} // namespace mlir::pe

#endif // PE_PASSES_TRANSFORMS_PASSES_H
