//===- EmitStageEntries.cpp - the runtime's calling convention ------------===//
#include "passes/Pipelines/Pipelines.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"

#define DEBUG_TYPE "pe-emit-stage-entries"

namespace mlir::pe {
#define GEN_PASS_DEF_PEEMITSTAGEENTRIESPASS
#include "passes/Pipelines/Passes.h.inc"

namespace {

/// Adds the entry `name`, which unpacks the buffers and calls `body`.
void createEntry(LLVM::LLVMFuncOp body, StringRef name) {
  ImplicitLocOpBuilder b(body.getLoc(), body);
  b.setInsertionPointAfter(body);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, pointer, i64});
  auto entry = LLVM::LLVMFuncOp::create(b, name, type);
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  SmallVector<Value> arguments;
  unsigned buffers = body.getNumArguments() - 2;
  for (unsigned i = 0; i < buffers; ++i) {
    Value slot = LLVM::GEPOp::create(b, pointer, pointer, block->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    arguments.push_back(LLVM::LoadOp::create(b, pointer, slot));
    // The buffers of a plan are separate allocations.
    body.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  }
  arguments.push_back(block->getArgument(1));
  arguments.push_back(block->getArgument(2));
  LLVM::CallOp::create(b, body, arguments);
  LLVM::ReturnOp::create(b, ValueRange());
}

struct PEEmitStageEntriesPass : impl::PEEmitStageEntriesPassBase<PEEmitStageEntriesPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> stages;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (function->hasAttr(kStageAttr))
        stages.push_back(function);
    for (LLVM::LLVMFuncOp stage : stages) {
      std::string name = stage.getName().str();
      stage.setName(name + "_body");
      stage.setLinkage(LLVM::Linkage::Internal);
      stage->removeAttr(kStageAttr);
      createEntry(stage, name);
    }
  }
};

} // namespace
} // namespace mlir::pe
