//===- Pipelines.h - pass pipelines from source to machine code -----------===//
//
// Four pipelines for pe-opt. The JIT composes the same builders.
//
//   pe-to-tile-pipeline   pe -> tile: buffers and stages of one entry function
//   pe-to-cpu             pe -> tile -> vector, scf and memref -> LLVM dialect
//   pe-to-loops           the same through the naive lowering of the tile ops
//   pe-to-gpu             pe -> tile -> GPU kernels in the LLVM and NVVM dialects
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_PIPELINES_PIPELINES_H
#define PE_PASSES_PIPELINES_PIPELINES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/plan/CodeOptions.h"

namespace mlir::pe {

#define GEN_PASS_DECL
#include "passes/Pipelines/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Pipelines/Passes.h.inc"

/// Marks a function that was lowered from a stage.
constexpr const char *kStageAttr = "pe.stage";
/// Holds the exported plan of a module, as JSON.
constexpr const char *kPlanAttr = "pe.plan";
/// Holds the tile program that the line tables of a module refer to.
constexpr const char *kListingAttr = "pe.listing";
/// The file name in those line tables.
constexpr const char *kListingName = "tile";

/// The options of the code, for an entry and a machine.
struct CompileOptions : ::pe::plan::CodeOptions {
  /// The public function to compile; if empty, the only one.
  std::string entry = "";
  /// A machine of runtime/plan/Machine.h; if empty, the default of the schedule.
  std::string machine = "";
  /// The steps by which the schedules of each half for GPUs shrink, so that kernels fit the
  /// machine.
  int64_t smallerForward = 0, smallerBackward = 0, smallerKeyBlock = 0;

  /// Returns true if bf16 and f16 tensors are only stored: kernels extend them to f32 where they
  /// load them, because the CPU has no products of them.
  bool widens() const;
};

/// Finds the structure of a program that populatePreparePipeline prepared (pe -> pe): biases become
/// terms of one class each.
void buildStructurePipeline(OpPassManager &pm, const CompileOptions &options);
/// Prepares a source and finds its structure.
void buildPEPipeline(OpPassManager &pm, const CompileOptions &options);
/// Lowers the result of buildPEPipeline to a plan of tile stages.
void buildPEToTilePipeline(OpPassManager &pm, const CompileOptions &options);
/// Chooses the schedules of the stages. Lowering::Loops has none.
void buildSchedulePipeline(OpPassManager &pm, const CompileOptions &options);
/// Rewrites the scheduled stages of a tile program for GPUs: splits and lays out what CTAs share.
void buildGpuRewritesPipeline(OpPassManager &pm);
/// Lowers scheduled stages to functions over memrefs or to GPU kernels, and exports the plan.
void buildScheduledToFunctionsPipeline(OpPassManager &pm, const CompileOptions &options);
/// Builds both.
void buildTileToFunctionsPipeline(OpPassManager &pm, const CompileOptions &options);
/// Lowers the kernels of a gpu.module to the LLVM and NVVM dialects.
void buildKernelsToLLVMPipeline(OpPassManager &pm, const CompileOptions &options);

/// Lowers functions over memrefs to the LLVM dialect with the runtime's calling convention.
void buildFunctionsToLLVMPipeline(OpPassManager &pm);

/// Registers `pe-to-tile-pipeline`, `pe-to-cpu`, `pe-to-loops` and `pe-to-gpu`.
void registerPEPipelines();

} // namespace mlir::pe

#endif // PE_PASSES_PIPELINES_PIPELINES_H
