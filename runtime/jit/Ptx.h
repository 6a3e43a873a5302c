//===- Ptx.h - GPU kernels to PTX -------------------------------*- C++ -*-===//
//
// Chips are named as in LLVM and ptxas, optionally followed by a plus and a PTX version: "sm_80",
// "sm_90a", "sm_80+ptx83". LLVM aborts the process if a chip does not exist or the PTX version is
// too old for it, so both are checked first.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_JIT_PTX_H
#define PE_RUNTIME_JIT_PTX_H

#include "pe/Error.h"
#include "runtime/plan/Machine.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace pe::jit {

/// A chip and the PTX version emitted for it.
struct Chip {
  const plan::Machine *machine = nullptr;
  int ptx = 0; // major * 10 + minor
};

/// Parses "sm_80" or "sm_80+ptx83". Reports an unknown chip, or a version that the chip or LLVM
/// does not support, with the supported ones. The default version is the one that every CUDA 12
/// driver accepts, or the first version of the chip if that is later.
Expected<Chip> parseChip(const std::string &text);

/// Emits the kernels of the module's gpu.module, which is in the LLVM and NVVM dialects, as PTX.
Expected<std::string> emitPtx(mlir::ModuleOp module, const Chip &chip);

/// Returns the bitcode of runtime/device/library for NVPTX.
llvm::StringRef deviceLibraryBitcode();

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_PTX_H
