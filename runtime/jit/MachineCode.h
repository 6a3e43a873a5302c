//===- MachineCode.h - LLVM dialect to objects ---===//
#ifndef PE_RUNTIME_JIT_MACHINECODE_H
#define PE_RUNTIME_JIT_MACHINECODE_H

#include "runtime/jit/JitInterface.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace pe::jit {

/// A machine to compile for: "" is this one, else an x86-64 baseline by name.
Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const std::string &features);

/// "x86-64-v4" or "x86-64-v3": the widest baseline this machine has; an error below v3.
Expected<std::string> hostBaseline();

/// Optimised LLVM IR of a module in the LLVM dialect.
Expected<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module, llvm::LLVMContext &context,
                                                  llvm::TargetMachine &machine);
/// An ELF object.
Expected<std::string> emitObject(llvm::Module &module, llvm::TargetMachine &machine);

/// Runs the passes that `choose` adds, with the analyses of the machine.
llvm::Error
runPasses(llvm::Module &module, llvm::TargetMachine &machine,
          llvm::function_ref<llvm::Error(llvm::PassBuilder &, llvm::ModulePassManager &)> choose);

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_MACHINECODE_H
