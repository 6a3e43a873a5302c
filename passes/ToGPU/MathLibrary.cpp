//===- MathLibrary.cpp - functions of numbers in kernels ------------------===//
//
// PTX has instructions for square roots, rounding and so on, which LLVM's intrinsics reach. What it
// has none for, or only an approximate one, is called from the device library
// (runtime/device/library): `math.sin %x : f64` becomes `llvm.call @pe_gpu_sin_f64(%x)`.
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/ToGPU.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

/// The library's name for an operation's function; empty: LLVM's intrinsic, lowered by NVPTX.
static std::optional<StringRef> libraryName(Operation *op) {
  using Name = std::optional<StringRef>;
  return llvm::TypeSwitch<Operation *, Name>(op)
      .Case<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::FmaOp,
            math::RoundEvenOp, math::RoundOp, math::SqrtOp, math::RsqrtOp, math::TruncOp,
            math::CountLeadingZerosOp, math::CountTrailingZerosOp, math::CtPopOp, math::IsFiniteOp,
            math::IsInfOp, math::IsNaNOp, math::IsNormalOp>([](auto) { return StringRef(); })
      .Case([](math::PowFOp) { return StringRef("pow"); })
      .Case<math::SinOp, math::CosOp, math::TanOp, math::AsinOp, math::AcosOp, math::AtanOp,
            math::Atan2Op, math::SinhOp, math::CoshOp, math::TanhOp, math::ExpOp, math::Exp2Op,
            math::ExpM1Op, math::LogOp, math::Log2Op, math::Log10Op, math::Log1pOp, math::CbrtOp,
            math::ErfOp, math::ErfcOp>([&](auto) { return op->getName().stripDialect(); })
      .Default([](Operation *) { return std::nullopt; });
}

LogicalResult mlir::tile::gpu::callMathLibrary(mlir::gpu::GPUModuleOp kernels) {
  SmallVector<Operation *> ops;
  kernels.walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    std::optional<StringRef> name = libraryName(op);
    Type type = op->getResult(0).getType();
    if (!name || (!name->empty() && !type.isF32() && !type.isF64()))
      return op->emitOpError("has no function in the library of GPU kernels for ") << type;
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
