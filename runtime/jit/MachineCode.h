//===- MachineCode.h - LLVM dialect to objects ------------------*- C++ -*-===//
#ifndef PE_RUNTIME_JIT_MACHINECODE_H
#define PE_RUNTIME_JIT_MACHINECODE_H

#include "runtime/jit/JitInterface.h"

#include "runtime/plan/Machine.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace pe::jit {

/// Creates the target machine of an x86-64 baseline, or of this machine if `features` is empty.
Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const std::string &features);

/// Returns the CPU called `features`, or the best one that this machine supports if `features` is
/// empty.
Expected<const plan::Machine *> baselineOf(const std::string &features);

/// Translates a module in the LLVM dialect to optimized LLVM IR.
Expected<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module, llvm::LLVMContext &context,
                                                  llvm::TargetMachine &machine);
/// Emits an ELF object.
Expected<std::string> emitObject(llvm::Module &module, llvm::TargetMachine &machine);

/// Runs the passes that `choose` adds, with the analyses of the target machine.
llvm::Error
runPasses(llvm::Module &module, llvm::TargetMachine &machine,
          llvm::function_ref<llvm::Error(llvm::PassBuilder &, llvm::ModulePassManager &)> choose);

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_MACHINECODE_H
