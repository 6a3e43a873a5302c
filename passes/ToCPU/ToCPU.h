//===- ToCPU.h - the pass pe-tile-to-cpu ----------------------------------===//
#ifndef PE_PASSES_TOCPU_TOCPU_H
#define PE_PASSES_TOCPU_TOCPU_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::tile {

#define GEN_PASS_DECL
#include "passes/ToCPU/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/ToCPU/Passes.h.inc"

} // namespace mlir::tile

#endif // PE_PASSES_TOCPU_TOCPU_H
