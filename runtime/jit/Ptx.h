//===- Ptx.h - GPU kernels as PTX text ------------------------------------===//
//
// Chips are named as in LLVM and ptxas, with the PTX version behind a plus if it matters:
// "sm_80", "sm_90a", "sm_80+ptx83". LLVM aborts the process if a chip does not exist or its PTX
// version is too old, so both are checked here first.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_JIT_PTX_H
#define PE_RUNTIME_JIT_PTX_H

#include "pe/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace pe::jit {

/// A chip and the PTX version emitted for it.
struct Chip {
  std::string name;    // "sm_90a"
  int ptx = 0;         // major * 10 + minor
  int sharedBytes = 0; // of one CTA, at most
};

/// "sm_80" or "sm_80+ptx83"; an unknown chip, or a version that the chip or LLVM does not support,
/// is an error that names the supported ones. The default is the version that every CUDA 12 driver
/// reads, or the chip's first if that is later.
Expected<Chip> parseChip(const std::string &text);

/// PTX of every kernel of the module's gpu.module, which is in the LLVM and NVVM dialects.
Expected<std::string> emitPtx(mlir::ModuleOp module, const Chip &chip);

/// runtime/device/library for NVPTX.
llvm::StringRef deviceLibraryBitcode();

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_PTX_H
