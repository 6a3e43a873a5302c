//===- Pipelines.cpp - pass pipelines from source to machine code ---------===//
#include "passes/Pipelines/Pipelines.h"

#include "dialect/Step/CpuSchedule.h"
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
#include "passes/ToLoops/ToLoops.h"
#include "passes/ToTile/ToTile.h"
#include "passes/Transforms/Passes.h"
#include "passes/Transforms/Prepare.h"
#include "runtime/plan/Machine.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using ::pe::DType;
using ::pe::plan::Lowering;

void mlir::pe::buildStructurePipeline(OpPassManager &pm, const CompileOptions &options) {
  pm.addNestedPass<func::FuncOp>(createPEExpandFunctionsPass());
  pm.addNestedPass<func::FuncOp>(createPEExpandBiasesPass());
  pm.addNestedPass<func::FuncOp>(createPESplitTermsPass());
  pm.addNestedPass<func::FuncOp>(createPEPlacePositionsPass());
  pm.addNestedPass<func::FuncOp>(createPEExpandMasksPass());
  pm.addNestedPass<func::FuncOp>(createPEClassifyFunctionsPass());
  if (!options.materialize) // a materialized bias keeps the terms that a normalizer ignores
    pm.addNestedPass<func::FuncOp>(createPESimplifyUnderNormalizerPass());
}

void mlir::pe::buildPEPipeline(OpPassManager &pm, const CompileOptions &options) {
  PrepareOptions prepare;
  prepare.entry = options.entry;
  populatePreparePipeline(pm, prepare);
  buildStructurePipeline(pm, options);
}

bool mlir::pe::CompileOptions::widens() const {
  const bool isStored = dtype == DType::BF16 || dtype == DType::F16;
  if (lowering != ::pe::plan::Lowering::Cpu || !isStored)
    return false;
  const ::pe::plan::Machine *cpu = ::pe::plan::findMachine(machine);
  return !cpu || !::pe::plan::findMatrixOp(*cpu, ::pe::plan::Form::PairDot, dtype);
}

void mlir::pe::buildPEToTilePipeline(OpPassManager &pm, const CompileOptions &options) {
  PEToTilePassOptions toTile;
  toTile.entry = options.entry;
  toTile.headDim = options.headDim;
  toTile.valueDim = options.valueDim;
  toTile.dtype = nameOf(options.dtype);
  toTile.widen = options.widens();
  if (options.lowering != Lowering::Gpu && !options.materialize)
    toTile.fewRows = tile::kFewRows;
  toTile.grad = options.grad;
  toTile.ownElements = options.lowering == Lowering::Gpu;
  toTile.earlyExit = options.earlyExit;
  toTile.materialize = options.materialize;
  pm.addPass(createPEToTilePass(toTile));
}

/// Sets the options that the passes of both machines have.
template <typename PassOptions>
static PassOptions scheduleOptions(const mlir::pe::CompileOptions &options) {
  PassOptions schedule;
  if (!options.machine.empty())
    schedule.machine = options.machine;
  if (!options.schedule.empty())
    for (StringRef field : llvm::split(options.schedule, ','))
      schedule.set.push_back(field.str());
  return schedule;
}

static tile::PESpillPairsPassOptions spillOptions(const mlir::pe::CompileOptions &options) {
  tile::PESpillPairsPassOptions spill;
  spill.memory = options.pairsMemory;
  if (!options.machine.empty())
    spill.machine = options.machine;
  return spill;
}

void mlir::pe::buildSchedulePipeline(OpPassManager &pm, const CompileOptions &options) {
  pm.addNestedPass<tile::PlanOp>(tile::createPETileDefineIntegersPass());
  switch (options.lowering) {
  case Lowering::Cpu:
    pm.addPass(
        tile::createPEScheduleCpuPass(scheduleOptions<tile::PEScheduleCpuPassOptions>(options)));
    break;
  case Lowering::Gpu: {
    pm.addPass(tile::createPERescaleRarelyPass());
    pm.addPass(tile::createPESpillPairsPass(spillOptions(options)));
    auto schedule = scheduleOptions<tile::PEScheduleGpuPassOptions>(options);
    schedule.smallerForward = options.smallerForward;
    schedule.smallerBackward = options.smallerBackward;
    schedule.smallerKeyBlock = options.smallerKeyBlock;
    pm.addPass(tile::createPEScheduleGpuPass(schedule));
    break;
  }
  case Lowering::Loops:
    break;
  }
}

void mlir::pe::buildGpuRewritesPipeline(OpPassManager &pm) {
  pm.addPass(createCSEPass()); // merges the loads of a panel that several terms use
  pm.addPass(tile::createPEHoistRowValuesPass());
  pm.addPass(tile::createPESplitSumsPass());
  pm.addPass(tile::createPELayOutTablesPass());
  pm.addPass(tile::createPEDivideLoopsPass());
  pm.addPass(tile::createPEFuseLoopsPass());
}

static tile::LoopOptions convert(const ::pe::LoopOptions &loops) {
  using From = ::pe::LoopOptions::Owner;
  using To = tile::LoopOwner;
  tile::LoopOptions options;
  options.blockRows = loops.blockRows;
  options.blockColumns = loops.blockColumns;
  options.owner = loops.owner == From::Auto   ? To::Auto
                  : loops.owner == From::Rows ? To::Rows
                                              : To::Columns;
  options.useStop = loops.useStop;
  options.useSkip = loops.useSkip;
  return options;
}

void mlir::pe::buildScheduledToFunctionsPipeline(OpPassManager &pm, const CompileOptions &options) {
  switch (options.lowering) {
  case Lowering::Cpu:
    pm.addPass(tile::createPETileToCpuPass());
    break;
  case Lowering::Loops:
    pm.addPass(tile::createPETileToLoopsPass(convert(options.loops)));
    break;
  case Lowering::Gpu:
    buildGpuRewritesPipeline(pm);
    if (options.lineTables)
      pm.addPass(createPELocateTileOpsPass());
    pm.addPass(tile::createPETileToGpuPass());
    pm.addPass(tile::createPEMergeLaunchesPass());
    break;
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
  Option<DType> dtype{
      *this, "dtype", llvm::cl::desc("The type of activations"), llvm::cl::init(DType::F32),
      llvm::cl::values(clEnumValN(DType::F32, "f32", "32 bits"),
                       clEnumValN(DType::BF16, "bf16", "bfloat16"),
                       clEnumValN(DType::F16, "f16", "16 bits"),
                       clEnumValN(DType::TF32, "tf32", "f32, rounded by products"))};
  Option<bool> grad{*this, "grad", llvm::cl::desc("Also compute gradients"), llvm::cl::init(false)};
  Option<bool> earlyExit{*this, "early-exit", llvm::cl::desc("Let stick-breaking stop early"),
                         llvm::cl::init(true)};
  Option<int64_t> pairsMemory{*this, "pairs-memory",
                              llvm::cl::desc("The most memory for pairs, in MiB"),
                              llvm::cl::init(1024)};
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

  mlir::pe::CompileOptions get(Lowering lowering) const {
    mlir::pe::CompileOptions options;
    options.headDim = headDim;
    options.valueDim = valueDim;
    options.dtype = dtype;
    options.grad = grad;
    options.earlyExit = earlyExit;
    options.pairsMemory = pairsMemory;
    options.materialize = materialize;
    options.lowering = lowering;
    options.lineTables = lineTables;
    options.schedule = llvm::join(schedule, ",");
    options.entry = entry;
    options.machine = machine;
    return options;
  }
};

} // namespace

void mlir::pe::registerPEPipelines() {
  PassPipelineRegistration<PipelineOptions>(
      "pe-structure-pipeline",
      "The structure of attentions, which pe-explain-structure and pe-to-tile read",
      [](OpPassManager &pm, const PipelineOptions &options) {
        buildStructurePipeline(pm, options.get(Lowering::Cpu));
      });
  PassPipelineRegistration<PipelineOptions>("pe-to-tile-pipeline",
                                            "From the pe dialect to a plan of tile stages",
                                            [](OpPassManager &pm, const PipelineOptions &options) {
                                              // 16-bit tensors are multiplied, as on GPUs.
                                              buildPEPipeline(pm, options.get(Lowering::Gpu));
                                              buildPEToTilePipeline(pm, options.get(Lowering::Gpu));
                                            });
  const auto add = [](Lowering lowering, StringRef name, StringRef description) {
    PassPipelineRegistration<PipelineOptions>(
        name, description, [lowering](OpPassManager &pm, const PipelineOptions &given) {
          const CompileOptions options = given.get(lowering);
          buildPEPipeline(pm, options);
          buildPEToTilePipeline(pm, options);
          buildTileToFunctionsPipeline(pm, options);
          if (lowering == Lowering::Gpu)
            buildKernelsToLLVMPipeline(pm, options);
          else
            buildFunctionsToLLVMPipeline(pm);
        });
  };
  add(Lowering::Cpu, "pe-to-cpu", "From the pe dialect to the LLVM dialect for CPUs");
  add(Lowering::Loops, "pe-to-loops",
      "From the pe dialect to the LLVM dialect through naive loops");
  add(Lowering::Gpu, "pe-to-gpu",
      "From the pe dialect to GPU kernels in the LLVM and NVVM dialects");
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
