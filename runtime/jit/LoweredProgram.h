//===- LoweredProgram.h - a program in the LLVM dialect ---------*- C++ -*-===//
//
// Runs the pipelines from a prepared module to functions or kernels in the LLVM dialect, and
// explains what they chose. Only the lowering of a kernel knows how much shared memory it takes:
// kernels that exceed the memory of their chip are lowered again with smaller blocks.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_JIT_LOWEREDPROGRAM_H
#define PE_RUNTIME_JIT_LOWEREDPROGRAM_H

#include "passes/Pipelines/Pipelines.h"
#include "runtime/jit/Compilation.h"
#include "runtime/jit/JitInterface.h"
#include "runtime/jit/Ptx.h"

#include <memory>

namespace pe::jit {

/// The explanation of a function as text, as JSON and in one line.
struct Explanation {
  std::string text, json, line;
  bool hasKeyBlock = false; ///< stages with snapshots share a block of keys
};

/// A program that the pipelines have lowered to the LLVM dialect.
struct LoweredProgram {
  mlir::pe::CompileOptions options;
  Compilation compilation;
  Explanation explanation;
  plan::Plan plan;
};

bool isForGpu(const CompileRequest &request);

/// Returns the chip of a request for GPUs; the emulator's default is sm_80.
Expected<Chip> chipOf(const CompileRequest &request);

/// Runs the pipelines up to functions in the LLVM dialect. The plan is an attribute of the module.
Expected<Explanation> lower(Compilation &compilation, const CompileRequest &request,
                            const mlir::pe::CompileOptions &options);

/// Lowers a copy of a prepared module. If a kernel for a GPU takes too much shared memory, lowers
/// the program again with smaller blocks in that half. Fields of schedules that the caller sets are
/// kept as they are.
Expected<std::unique_ptr<LoweredProgram>> lowerToFit(const Compilation &prepared,
                                                     const CompileRequest &request,
                                                     mlir::pe::CompileOptions options);

/// Adds the kernels that use shared memory to an explanation: CTAs, threads, bytes of shared
/// memory, and how many CTAs of a multiprocessor their threads and shared memory allow. The JSON
/// also lists all launches in order.
void explainKernels(const plan::Plan &plan, const plan::Machine &chip, std::string &text,
                    std::string &json);

} // namespace pe::jit

#endif // PE_RUNTIME_JIT_LOWEREDPROGRAM_H
