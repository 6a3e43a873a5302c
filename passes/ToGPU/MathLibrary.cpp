//===- MathLibrary.cpp - math functions in kernels ------------------------===//
//
// PTX has instructions for square roots, rounding and similar functions, which LLVM's intrinsics
// use. Functions without an instruction, or with only an approximate one, are called from the
// device library (runtime/device/library):
//
//   math.sin %x : f64   ==>   llvm.call @pe_gpu_sin_f64(%x)
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/ToGPU.h"

#include "dialect/Math/ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

/// Returns the library's name for an operation's function; it is empty for instructions, which
/// LLVM's intrinsics emit.
static std::optional<StringRef> libraryName(Operation *op) {
  const ::pe::math::ScalarOp *row = ::pe::math::findScalarOp(op->getName().getStringRef());
  if (!row)
    return std::nullopt;
  if (row->device == ::pe::math::Device::Instruction)
    return StringRef();
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<math::PowFOp>([](auto) { return "pow"; })
      .Case<arith::RemFOp>([](auto) { return "fmod"; })
      .Default([](Operation *op) { return op->getName().stripDialect(); });
}

LogicalResult mlir::tile::gpu::callMathLibrary(mlir::gpu::GPUModuleOp kernels) {
  SmallVector<Operation *> ops;
  kernels.walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()) || isa<arith::RemFOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    std::optional<StringRef> name = libraryName(op);
    Type type = op->getResult(0).getType();
    if (!name || (!name->empty() && !type.isF32() && !type.isF64()))
      return op->emitOpError("has no function in the GPU device library for ") << type;
    if (name->empty())
      continue;
    ImplicitLocOpBuilder b(op->getLoc(), op);
    std::string symbol = ("pe_gpu_" + *name + (type.isF32() ? "_f32" : "_f64")).str();
    auto function = kernels.lookupSymbol<LLVM::LLVMFuncOp>(symbol);
    if (!function) {
      OpBuilder at = OpBuilder::atBlockBegin(kernels.getBody());
      SmallVector<Type> operands(op->getOperandTypes());
      function = LLVM::LLVMFuncOp::create(at, op->getLoc(), symbol,
                                          LLVM::LLVMFunctionType::get(type, operands));
    }
    op->getResult(0).replaceAllUsesWith(
        LLVM::CallOp::create(b, function, op->getOperands()).getResult());
    op->erase();
  }
  return success();
}
