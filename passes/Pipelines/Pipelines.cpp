//===- Pipelines.cpp - pass pipelines from source to machine code ---------===//
#include "passes/Pipelines/Pipelines.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Scalar/Scalar.h"
#include "passes/Schedule/Schedule.h"
#include "passes/ToCPU/ToCPU.h"
#include "passes/ToGPU/ToGPU.h"
#include "passes/ToTile/ToTile.h"
#include "passes/Transforms/Passes.h"
#include "passes/Transforms/Prepare.h"

using namespace mlir;

void mlir::pe::buildStructurePipeline(OpPassManager &pm, const CompileOptions &options) {
  pm.addNestedPass<func::FuncOp>(createPEExpandFunctionsPass());
  pm.addNestedPass<func::FuncOp>(createPEExpandBiasesPass());
  pm.addNestedPass<func::FuncOp>(createPESplitTermsPass());
  pm.addNestedPass<func::FuncOp>(createPEPlacePositionsPass());
  pm.addNestedPass<func::FuncOp>(createPEExpandMasksPass());
  if (!options.materialize) // a materialized bias keeps the terms that a normalizer ignores
    pm.addNestedPass<func::FuncOp>(createPESimplifyUnderNormalizerPass());
}

void mlir::pe::buildPEPipeline(OpPassManager &pm, const CompileOptions &options) {
  PrepareOptions prepare;
  prepare.entry = options.entry;
  populatePreparePipeline(pm, prepare);
  buildStructurePipeline(pm, options);
}

void mlir::pe::buildPEToTilePipeline(OpPassManager &pm, const CompileOptions &options) {
  PEToTilePassOptions toTile;
  toTile.entry = options.entry;
  toTile.headDim = options.headDim;
  toTile.valueDim = options.valueDim;
  toTile.dtype = options.dtype;
  toTile.grad = options.grad;
  toTile.earlyExit = options.earlyExit;
  toTile.materialize = options.materialize;
  pm.addPass(createPEToTilePass(toTile));
}

void mlir::pe::buildSchedulePipeline(OpPassManager &pm, const CompileOptions &options) {
  pm.addNestedPass<tile::PlanOp>(tile::createPETileDefineIntegersPass());
  if (options.lowering == "gpu") {
    tile::PEScheduleGpuPassOptions schedule;
    if (!options.machine.empty())
      schedule.machine = options.machine;
    schedule.set = llvm::to_vector(options.schedule);
    pm.addPass(tile::createPEScheduleGpuPass(schedule));
  } else if (options.lowering == "cpu") {
    tile::PEScheduleCpuPassOptions schedule;
    if (!options.machine.empty())
      schedule.machine = options.machine;
    schedule.set = llvm::to_vector(options.schedule);
    pm.addPass(tile::createPEScheduleCpuPass(schedule));
  }
}

void mlir::pe::buildGpuRewritesPipeline(OpPassManager &pm) {
  pm.addPass(createCSEPass()); // merges the loads of a panel that several terms use
  pm.addPass(tile::createPEHoistRowValuesPass());
  pm.addPass(tile::createPESplitSumsPass());
  pm.addPass(tile::createPELayOutTablesPass());
  pm.addPass(tile::createPEDivideLoopsPass());
}

void mlir::pe::buildScheduledToFunctionsPipeline(OpPassManager &pm, const CompileOptions &options) {
  if (options.lowering == "loops") {
    pm.addPass(tile::createPETileToLoopsPass(options.loops));
  } else if (options.lowering == "gpu") {
    buildGpuRewritesPipeline(pm);
    if (options.lineTables)
      pm.addPass(createPELocateTileOpsPass());
    pm.addPass(tile::createPETileToGpuPass());
  } else {
    pm.addPass(tile::createPETileToCpuPass());
  }
  pm.addPass(createPEExportPlanPass());
}

void mlir::pe::buildTileToFunctionsPipeline(OpPassManager &pm, const CompileOptions &options) {
  buildSchedulePipeline(pm, options);
  buildScheduledToFunctionsPipeline(pm, options);
}

namespace {

struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> entry{*this, "entry", llvm::cl::desc("Entry function")};
  Option<int64_t> headDim{*this, "head-dim", llvm::cl::desc("Head dim of queries and keys"),
                          llvm::cl::init(64)};
  Option<int64_t> valueDim{*this, "value-dim", llvm::cl::desc("Head dim of values"),
                           llvm::cl::init(64)};
  Option<std::string> dtype{*this, "dtype", llvm::cl::desc("f32, bf16, f16 or tf32"),
                            llvm::cl::init("f32")};
  Option<bool> grad{*this, "grad", llvm::cl::desc("Also compute gradients"), llvm::cl::init(false)};
  Option<bool> earlyExit{*this, "early-exit", llvm::cl::desc("Let stick-breaking stop early"),
                         llvm::cl::init(true)};
  Option<bool> materialize{*this, "materialize",
                           llvm::cl::desc("Compute the bias and the rotation's tables only"),
                           llvm::cl::init(false)};
  Option<std::string> machine{*this, "machine",
                              llvm::cl::desc("A CPU or GPU of runtime/plan/Machine.h; default: "
                                             "that of pe-schedule-cpu or pe-schedule-gpu")};
  Option<bool> lineTables{
      *this, "line-tables",
      llvm::cl::desc("Give the code of GPU kernels the lines of their tile ops"),
      llvm::cl::init(false)};

  ListOption<std::string> schedule{
      *this, "schedule", llvm::cl::desc("Fields of the schedules, NAME=VALUE or PHASE.NAME=VALUE")};

  mlir::pe::CompileOptions get(StringRef lowering) const {
    return {entry,   headDim,    valueDim,
            grad,    earlyExit,  lowering.str(),
            dtype,   {},         materialize,
            machine, lineTables, std::vector<std::string>(schedule.begin(), schedule.end())};
  }
};

} // namespace

static void registerPEToGpu() {
  PassPipelineRegistration<PipelineOptions>(
      "pe-to-gpu", "From the pe dialect to GPU kernels in the LLVM and NVVM dialects",
      [](OpPassManager &pm, const PipelineOptions &options) {
        buildPEPipeline(pm, options.get("gpu"));
        buildPEToTilePipeline(pm, options.get("gpu"));
        buildTileToFunctionsPipeline(pm, options.get("gpu"));
        mlir::pe::buildKernelsToLLVMPipeline(pm, options.get("gpu"));
      });
}

void mlir::pe::registerPEPipelines() {
  PassPipelineRegistration<PipelineOptions>("pe-to-tile-pipeline",
                                            "From the pe dialect to a plan of tile stages",
                                            [](OpPassManager &pm, const PipelineOptions &options) {
                                              buildPEPipeline(pm, options.get("cpu"));
                                              buildPEToTilePipeline(pm, options.get("cpu"));
                                            });
  for (StringRef lowering : {"cpu", "loops"})
    PassPipelineRegistration<PipelineOptions>(
        lowering == "cpu" ? "pe-to-cpu" : "pe-to-loops",
        lowering == "cpu" ? "From the pe dialect to the LLVM dialect for CPUs"
                          : "From the pe dialect to the LLVM dialect through naive loops",
        [lowering](OpPassManager &pm, const PipelineOptions &options) {
          buildPEPipeline(pm, options.get(lowering));
          buildPEToTilePipeline(pm, options.get(lowering));
          buildTileToFunctionsPipeline(pm, options.get(lowering));
          buildFunctionsToLLVMPipeline(pm);
        });
  registerPEToGpu();
}

void mlir::pe::buildKernelsToLLVMPipeline(OpPassManager &pm, const CompileOptions &options) {
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCSEPass());
  if (options.lineTables) {
    LLVM::DIScopeForLLVMFuncOpPassOptions lines;
    lines.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
    pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass(lines));
  }
}

void mlir::pe::buildFunctionsToLLVMPipeline(OpPassManager &pm) {
  // Run a single iteration, because LLVM simplifies the remainder faster.
  GreedyRewriteConfig once;
  once.setMaxIterations(1).setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  pm.addPass(createCanonicalizerPass(once));
  pm.addPass(createCSEPass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vector;
  vector.vectorTransposeLowering = vector::VectorTransposeLowering::Shuffle16x16;
  pm.addPass(createConvertVectorToLLVMPass(vector));
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createPECallLibmNearZeroPass());
  pm.addPass(createConvertMathToLLVMPass());
  // Functions without an LLVM intrinsic, which occur only in scalar code, become calls of libm.
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions func;
  func.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(func));
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createPEEmitStageEntriesPass());
}
