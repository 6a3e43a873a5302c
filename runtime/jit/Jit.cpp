//===- Jit.cpp - Implementation of the compiler interface -----------------===//
#include "runtime/jit/JitInterface.h"

#include "dialect/PE/ExportProgram.h"
#include "dialect/Tile/Tile.h"
#include "passes/Schedule/StepPrograms.h"
#include "passes/Transforms/Passes.h"
#include "passes/Transforms/Prepare.h"
#include "runtime/jit/LoweredProgram.h"
#include "runtime/jit/MachineCode.h"
#include "runtime/jit/Pieces.h"
#include "runtime/jit/Represent.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/TargetSelect.h"

namespace pe::jit {
namespace {

using plan::Lowering;

/// The module after the prepare pipeline, and its description.
class PreparedModule final : public PreparedProgram {
public:
  /// Parses, checks, inlines and describes a source.
  Status prepare(const Source &source);
  const Description &description() const override { return described; }
  const Compilation &prepared() const { return compilation; }

private:
  Compilation compilation{getRegistry()};
  Description described;
};

class MlirJit : public Jit {
public:
  std::string llvmVersion() const override { return LLVM_VERSION_STRING; }
  Expected<std::unique_ptr<PreparedProgram>> prepare(const Source &source) override;
  Expected<CompiledCode> compile(const PreparedProgram &program,
                                 const CompileRequest &request) override;
  Expected<std::string> compileKernels(const Source &source) override;
  Expected<std::string> emit(const PreparedProgram &program, const CompileRequest &request,
                             EmitStage stage) override;
  Expected<RepresentedProgram> represent(const PreparedProgram &program,
                                         const RepresentRequest &request) override {
    return jit::represent(begin(program), program.description().entry, request);
  }

private:
  /// Programs are created by `prepare` only.
  static const Compilation &prepared(const PreparedProgram &program) {
    return static_cast<const PreparedModule &>(program).prepared();
  }
  /// Returns a compilation that begins with a copy of the module.
  static Compilation begin(const PreparedProgram &program) { return prepared(program).copy(); }
};

Status checkDepths(const CompileRequest &request) {
  for (auto [what, depth] :
       {std::pair{"head dim", request.headDim}, std::pair{"value dim", request.valueDim}})
    if (depth < 8 || depth > 256 || depth % 8 != 0)
      return makeError("expected a ", what, " from 8 to 256 that is a multiple of 8, found ",
                       depth);
  return Status::success();
}

/// Checks the request and returns the options of the pipelines.
Expected<mlir::pe::CompileOptions> optionsOf(const CompileRequest &request) {
  const bool isGpu = isForGpu(request), isLoops = request.lowering == Lowering::Loops;
  const bool takesTf32 = isGpu || isLoops;
  if (request.dtype != DType::F32 &&
      (!isNarrow(request.dtype) || (request.dtype == DType::TF32 && !takesTf32)))
    return makeError("expected dtype ", takesTf32 ? "f32, bf16, f16 or tf32" : "f32, bf16 or f16",
                     " on target ", nameOf(request.target), ", found ", nameOf(request.dtype));
  if (Status depths = checkDepths(request); !depths)
    return depths.takeError();
  if (isGpu && request.lowering != Lowering::Cpu)
    return makeError("expected target cpu with lowering ", nameOf(request.lowering), ", found ",
                     nameOf(request.target));
  if (isGpu && !request.features.empty())
    return makeError("expected target cpu with features ", request.features, ", found ",
                     nameOf(request.target));
  if (!isLoops && request.loops != LoopOptions())
    return makeError("expected lowering loops with loop options, found ",
                     isGpu ? "gpu" : nameOf(request.lowering));
  if (request.lineTables && !isGpu)
    return makeError("expected target cuda or gpu-emulator with line tables, found ",
                     nameOf(request.target));
  if (!request.schedule.empty() && isLoops)
    return makeError("expected lowering cpu or a GPU with fields of schedules, found loops");
  constexpr int64_t kMostMemory = int64_t(1) << 24; // 16 TiB
  if (request.pairsMemory < 0 || request.pairsMemory > kMostMemory)
    return makeError("expected memory for pairs from 0 to ", kMostMemory, " MiB, found ",
                     request.pairsMemory);
  if (!isGpu && request.pairsMemory != CompileRequest().pairsMemory)
    return makeError("expected target cuda or gpu-emulator with memory for pairs, found ",
                     nameOf(request.target));
  mlir::pe::CompileOptions options{request, request.source.entry};
  if (isGpu) {
    auto chip = chipOf(request);
    if (!chip)
      return chip.error();
    options.lowering = Lowering::Gpu;
    options.machine = chip->machine->name;
    return options;
  }
  auto baseline = baselineOf(request.features);
  if (!baseline)
    return baseline.error();
  options.machine = (*baseline)->name;
  return options;
}

Status PreparedModule::prepare(const Source &source) {
  if (Status parsed = compilation.parse(source); !parsed)
    return parsed;
  Status prepared = compilation.run([&](mlir::OpPassManager &pm) {
    mlir::pe::PrepareOptions options;
    options.entry = source.entry;
    mlir::pe::populatePreparePipeline(pm, options);
  });
  if (!prepared)
    return prepared;
  described.entry = describeEntry(compilation.getModule(), source.entry);
  auto function = compilation.getModule().lookupSymbol<mlir::func::FuncOp>(described.entry.name);
  described.program = mlir::pe::exportProgram(function);
  described.pieces = piecesOf(function);
  return Status::success();
}

Expected<std::unique_ptr<PreparedProgram>> MlirJit::prepare(const Source &source) {
  auto program = std::make_unique<PreparedModule>();
  if (Status prepared = program->prepare(source); !prepared)
    return prepared.takeError();
  return program;
}

/// Translates, optimizes and emits a module in the LLVM dialect.
Expected<std::string> emitMachineCode(mlir::ModuleOp module, const std::string &features) {
  auto machine = createTargetMachine(features);
  if (!machine)
    return machine.error();
  llvm::LLVMContext context;
  auto translated = translate(module, context, **machine);
  if (!translated)
    return translated.error();
  return emitObject(**translated, **machine);
}

/// Emits machine code, or PTX for GPUs.
Expected<std::string> emitCode(mlir::ModuleOp module, const CompileRequest &request,
                               plan::Plan &plan) {
  if (!isForGpu(request))
    return emitMachineCode(module, request.features);
  auto chip = chipOf(request);
  if (!chip)
    return chip.error();
  plan.features = chip->machine->name;
  return emitPtx(module, *chip);
}

Expected<CompiledCode> MlirJit::compile(const PreparedProgram &program,
                                        const CompileRequest &request) {
  auto options = optionsOf(request);
  if (!options)
    return options.error();
  auto lowered = lowerToFit(prepared(program), request, *options);
  if (!lowered)
    return lowered.error();
  Compilation &compilation = (*lowered)->compilation;
  CompiledCode code;
  code.explainText = std::move((*lowered)->explanation.text);
  code.explainJson = std::move((*lowered)->explanation.json);
  code.plan = std::move((*lowered)->plan);
  code.plan.target = request.target;
  code.plan.features = options->machine;
  code.plan.dtype = request.dtype;
  code.plan.products = options->widens() ? DType::F32 : request.dtype;
  code.plan.structure = std::move((*lowered)->explanation.line);
  code.plan.diagnostics = compilation.getDiagnostics().getRemarks();
  for (const std::string &remark : code.plan.diagnostics)
    code.explainText += remark + "\n";
  auto object = emitCode(compilation.getModule(), request, code.plan);
  if (!object)
    return object.error();
  code.object = std::move(*object);
  if (isForGpu(request))
    explainKernels(code.plan, *chipOf(request)->machine, code.explainText, code.explainJson);
  return code;
}

Expected<std::string> MlirJit::compileKernels(const Source &source) {
  Compilation compilation(getRegistry());
  if (Status parsed = compilation.parse(source); !parsed)
    return parsed.error();
  auto baseline = baselineOf("");
  if (!baseline)
    return baseline.error();
  mlir::pe::PEElementwiseToVectorsPassOptions vectors;
  vectors.machine = (*baseline)->name;
  Status lowered = compilation.run([&](mlir::OpPassManager &pm) {
    pm.addPass(mlir::pe::createPEElementwiseToVectorsPass(vectors));
    mlir::pe::buildFunctionsToLLVMPipeline(pm);
  });
  if (!lowered)
    return lowered.error();
  return emitMachineCode(compilation.getModule(), /*features=*/"");
}

/// Runs the pipelines up to a stage before machine code.
static Status runUpTo(EmitStage stage, Compilation &compilation, const CompileRequest &request,
                      const mlir::pe::CompileOptions &options) {
  if (stage == EmitStage::LLVM) {
    auto lowered = lower(compilation, request, options);
    return lowered ? Status::success() : Status(lowered.error());
  }
  return compilation.run([&](mlir::OpPassManager &pm) {
    mlir::pe::buildStructurePipeline(pm, options);
    if (stage == EmitStage::PE && options.grad)
      pm.addPass(mlir::pe::createPEDifferentiatePass());
    if (stage == EmitStage::PE)
      return;
    mlir::pe::buildPEToTilePipeline(pm, options);
    if (stage == EmitStage::Tile)
      return;
    mlir::pe::buildSchedulePipeline(pm, options);
    if (isForGpu(request))
      mlir::pe::buildGpuRewritesPipeline(pm);
  });
}

Expected<std::string> MlirJit::emit(const PreparedProgram &program, const CompileRequest &request,
                                    EmitStage stage) {
  if (stage == EmitStage::Ptx && !isForGpu(request))
    return makeError("expected --target=cuda or gpu-emulator for PTX, found --target=",
                     nameOf(request.target));
  if (stage == EmitStage::Object && isForGpu(request))
    return makeError("expected stage ptx for target ", nameOf(request.target),
                     ", found object; assemble PTX with ptxas");
  if (stage == EmitStage::Object || stage == EmitStage::Ptx) {
    auto code = compile(program, request);
    if (!code)
      return code.error();
    return std::move(code->object);
  }
  auto options = optionsOf(request);
  if (!options)
    return options.error();
  if (stage == EmitStage::Step && options->lowering == Lowering::Loops)
    return makeError("expected lowering cpu or a GPU for stage step, found loops, which has no "
                     "schedule");
  if (isForGpu(request) && (stage == EmitStage::Step || stage == EmitStage::LLVM))
    if (auto fitted = lowerToFit(prepared(program), request, *options))
      options = (*fitted)->options; // otherwise prints what does not fit
  Compilation compilation = begin(program);
  if (Status done = runUpTo(stage, compilation, request, *options); !done)
    return done.error();
  if (stage == EmitStage::Step) {
    auto text = mlir::tile::describeSteps(compilation.getModule());
    if (mlir::failed(text))
      return compilation.takeError("cannot derive the step programs");
    return *text;
  }
  if (stage != EmitStage::LLVM)
    return compilation.print();
  if (isForGpu(request)) // kernels in the LLVM and NVVM dialects
    return compilation.print();
  auto machine = createTargetMachine(request.features);
  if (!machine)
    return machine.error();
  llvm::LLVMContext context;
  auto module = translate(compilation.getModule(), context, **machine);
  if (!module)
    return module.error();
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*module)->print(stream, nullptr);
  return text;
}

} // namespace
} // namespace pe::jit

extern "C" __attribute__((visibility("default"))) pe::jit::Jit *peCreateJit(int abiVersion) {
  if (abiVersion != pe::jit::kJitAbiVersion)
    return nullptr;
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();
  return new pe::jit::MlirJit();
}
