//===- Pipelines.h - the ways from source to machine code -----------------===//
//
//   pe-front     pe -> pe     check, inline, expand, analyse, simplify
//   pe-to-tile   pe -> tile   buffers and stages of one entry function
//   pe-to-cpu    tile -> one function per stage (vector, scf, memref) -> LLVM dialect
//   pe-to-loops  the same through the naive definition of the tile ops
//
// `pe-opt --pe-to-cpu` and the JIT run the same builders.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_PIPELINES_PIPELINES_H
#define PE_PASSES_PIPELINES_PIPELINES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Schedule/GpuSchedule.h"
#include "passes/ToLoops/ToLoops.h"

#include <string>

namespace mlir::pe {

#define GEN_PASS_DECL
#include "passes/Pipelines/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Pipelines/Passes.h.inc"

/// Marks the functions that a lowering made from stages.
constexpr const char *kStageAttr = "pe.stage";
/// The module's plan as JSON, once exported.
constexpr const char *kPlanAttr = "pe.plan";

struct CompileOptions {
  std::string entry; // empty: the only public function
  int64_t headDim = 64;
  int64_t valueDim = 64;
  bool grad = false;
  bool earlyExit = true;
  std::string features = "x86-64-v3"; // or x86-64-v4
  std::string lowering = "cpu";       // or loops, gpu
  std::string dtype = "f32";          // of activations; or bf16, f16, tf32
  tile::LoopOptions loops;            // of the lowering `loops`
  bool materialize = false;           // the bias and the rotation's tables, not attention
  int64_t sharedBytes = tile::kLeastSharedBytes; // of a CTA of the chip, for the lowering `gpu`
};

/// pe -> pe: checked, inlined, biases as regions of one class each.
void buildPEPipeline(OpPassManager &pm, const CompileOptions &options);
/// pe, as buildPEPipeline leaves it -> tile.
void buildPEToTilePipeline(OpPassManager &pm, const CompileOptions &options);
/// tile -> functions over memrefs.
void buildTileToFunctionsPipeline(OpPassManager &pm, const CompileOptions &options);
/// Kernels of a gpu.module to the LLVM and NVVM dialects.
void buildKernelsToLLVMPipeline(OpPassManager &pm);
/// The same, then to host functions that the emulator runs; without the `dropSync`-th synchronising
/// operation if that is nonnegative.
void buildKernelsToEmulatorPipeline(OpPassManager &pm, int64_t dropSync = -1);

/// Functions over memrefs -> LLVM dialect with the runtime's calling convention.
void buildFunctionsToLLVMPipeline(OpPassManager &pm);

/// Registers `pe-to-tile`, `pe-to-cpu` and `pe-to-loops` with the pass registry.
void registerPEPipelines();

} // namespace mlir::pe

#endif // PE_PASSES_PIPELINES_PIPELINES_H
