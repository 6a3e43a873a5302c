//===- Jit.cpp - Implementation of the compiler interface -----------------===//
#include "runtime/jit/JitInterface.h"

#include "dialect/PE/ExportProgram.h"
#include "dialect/Tile/Tile.h"
#include "passes/Analysis/Explain.h"
#include "passes/Pipelines/PlanExport.h"
#include "passes/Schedule/StepPrograms.h"
#include "passes/Transforms/Passes.h"
#include "passes/Transforms/Prepare.h"
#include "runtime/jit/Compilation.h"
#include "runtime/jit/MachineCode.h"
#include "runtime/jit/Pieces.h"
#include "runtime/jit/Ptx.h"
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
  /// Returns a compilation that begins with a copy of the module.
  Compilation begin() const { return compilation.copy(); }

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
  static Compilation begin(const PreparedProgram &program) {
    return static_cast<const PreparedModule &>(program).begin();
  }
};

bool isForGpu(const CompileRequest &request) { return isGpu(request.target); }

/// Returns the chip of a request for GPUs; the emulator's default is sm_80.
Expected<Chip> chipOf(const CompileRequest &request) {
  const bool isDefault = request.target == plan::Target::GpuEmulator && request.chip.empty();
  return parseChip(isDefault ? "sm_80" : request.chip);
}

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

/// Returns the structure in one line, for example "softmax + segments; stick_breaking + affine".
std::string summarize(const llvm::json::Value &explanation) {
  std::string line;
  const llvm::json::Array *attentions = explanation.getAsObject()->getArray("attentions");
  for (const llvm::json::Value &value : *attentions) {
    const llvm::json::Object &attention = *value.getAsObject();
    line += (line.empty() ? "" : "; ") + attention.getString("normalizer").value_or("").str();
    if (attention.getObject("score"))
      line += " + score_fn";
    for (const llvm::json::Value &term : *attention.getArray("terms"))
      line += " + " + term.getAsObject()->getString("class").value_or("").str();
  }
  if (const llvm::json::Array *embeddings = explanation.getAsObject()->getArray("embeddings"))
    for (const llvm::json::Value &embed : *embeddings)
      line += (line.empty() ? "" : "; ") + embed.getAsObject()->getString("class")->str();
  if (const llvm::json::Array *merges = explanation.getAsObject()->getArray("merges"))
    for (const llvm::json::Value &merge : *merges)
      line += (line.empty() ? "" : "; ") + merge.getAsObject()->getString("class")->str();
  return line;
}

/// The explanation of a function as text, as JSON and in one line.
struct Explanation {
  std::string text, json, line;
};

Expected<Explanation> explain(Compilation &compilation, const mlir::pe::CompileOptions &options) {
  const std::string &entry = options.entry;
  const mlir::pe::HeadDims dims = {options.headDim, options.valueDim};
  Explanation result;
  for (auto function : compilation.getModule().getOps<mlir::func::FuncOp>()) {
    if (!function.isPublic() || (!entry.empty() && function.getName() != entry))
      continue;
    auto text = mlir::pe::explainStructure(function, dims);
    auto json = mlir::pe::explainStructureAsJson(function, dims);
    if (mlir::failed(text) || mlir::failed(json))
      return compilation.takeError("cannot explain the function");
    result.text = *text;
    llvm::raw_string_ostream(result.json) << *json;
    result.line = summarize(*json);
  }
  return result;
}

/// Adds `value` to an explanation in JSON.
void addToJson(std::string &json, llvm::StringRef key, llvm::json::Value value) {
  auto parsed = llvm::json::parse(json);
  if (!parsed || !parsed->getAsObject())
    return llvm::consumeError(parsed.takeError());
  llvm::json::Object &object = *parsed->getAsObject();
  object[key] = std::move(value);
  json.clear();
  llvm::raw_string_ostream(json) << llvm::json::Value(std::move(object));
}

/// Adds the schedules of the stages with a stream to an explanation.
void explainSchedules(mlir::ModuleOp module, Explanation &explanation) {
  llvm::json::Array schedules;
  std::string text;
  module.walk([&](mlir::tile::StageOp stage) {
    if (!stage.getScheduleAttr() || !stage.getStream())
      return;
    std::string schedule;
    llvm::raw_string_ostream(schedule) << stage.getScheduleAttr();
    text += "  " + stage.getSymName().str() + ": " + schedule;
    llvm::json::Object entry{{"stage", stage.getSymName()}, {"schedule", schedule}};
    if (std::optional<llvm::StringRef> when = stage.getWhen()) {
      text += " if " + when->str() + " > 0";
      entry["when"] = *when;
    }
    text += "\n";
    schedules.push_back(std::move(entry));
  });
  if (schedules.empty())
    return;
  explanation.text += "schedules\n" + text;
  addToJson(explanation.json, "schedules", std::move(schedules));
}

/// Runs the pipelines up to functions in the LLVM dialect. The plan is an attribute of the module.
Expected<Explanation> lower(Compilation &compilation, const CompileRequest &request,
                            const mlir::pe::CompileOptions &options) {
  Status structured = compilation.run(
      [&](mlir::OpPassManager &pm) { mlir::pe::buildStructurePipeline(pm, options); });
  if (!structured)
    return structured.error();
  auto explanation = explain(compilation, options);
  if (!explanation)
    return explanation;
  Status scheduled = compilation.run([&](mlir::OpPassManager &pm) {
    mlir::pe::buildPEToTilePipeline(pm, options);
    mlir::pe::buildSchedulePipeline(pm, options);
  });
  if (!scheduled)
    return scheduled.error();
  explainSchedules(compilation.getModule(), *explanation);
  Status lowered = compilation.run(
      [&](mlir::OpPassManager &pm) { mlir::pe::buildScheduledToFunctionsPipeline(pm, options); });
  if (!lowered)
    return lowered.error();
  auto convert = [&](mlir::OpPassManager &pm) {
    if (isForGpu(request))
      mlir::pe::buildKernelsToLLVMPipeline(pm, options);
    else
      mlir::pe::buildFunctionsToLLVMPipeline(pm);
  };
  if (Status converted = compilation.run(convert, Compilation::Verify::Once); !converted)
    return converted.error();
  return explanation;
}

Expected<plan::Plan> takePlan(mlir::ModuleOp module) {
  auto text = module->getAttrOfType<mlir::StringAttr>(mlir::pe::kPlanAttr);
  if (!text)
    return makeError("the pipelines produced no plan; this is a defect of pe");
  auto plan = plan::parsePlan(text.strref());
  module->removeAttr(mlir::pe::kPlanAttr);
  return plan;
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

/// Emits machine code, or PTX for GPUs after checking that the stages of the plan fit the chip.
Expected<std::string> emitCode(mlir::ModuleOp module, const CompileRequest &request,
                               plan::Plan &plan) {
  if (!isForGpu(request))
    return emitMachineCode(module, request.features);
  auto chip = chipOf(request);
  if (!chip)
    return chip.error();
  for (const plan::Stage &stage : plan.stages)
    if (stage.launch && stage.launch->sharedBytes > chip->machine->sharedBytes)
      return makeError(
          "kernel '", stage.symbol, "' needs ", stage.launch->sharedBytes,
          " bytes of shared memory, expected at most ", chip->machine->sharedBytes, " on ",
          chip->machine->name,
          "; choose a smaller head dim, a 16-bit dtype, or smaller blocks and fewer slots "
          "in the schedule (step-C6)");
  plan.features = chip->machine->name;
  return emitPtx(module, *chip);
}

/// Adds the kernels that use shared memory to an explanation: CTAs, threads, bytes of shared
/// memory, and how many CTAs of a multiprocessor their threads and shared memory allow. The JSON
/// also lists all launches in order.
void explainKernels(const plan::Plan &plan, const plan::Machine &chip, std::string &text,
                    std::string &json) {
  llvm::json::Array kernels, launches;
  text += "kernels for " + std::string(chip.name) + "\n";
  for (const plan::Stage &stage : plan.stages) {
    if (!stage.launch)
      continue;
    launches.push_back(llvm::json::Object{{"name", stage.symbol},
                                          {"phase", std::string(nameOf(stage.phase))},
                                          {"ctas", stage.items},
                                          {"threads", stage.launch->threads}});
    if (stage.launch->sharedBytes == 0)
      continue;
    // Of the shared memory of a multiprocessor, each CTA takes 1 KiB more than it asks for.
    constexpr int kReserved = 1024;
    const int byMemory = (chip.sharedBytes + kReserved) / (stage.launch->sharedBytes + kReserved);
    const int ctas = std::min(byMemory, chip.threads / stage.launch->threads);
    text += "  " + stage.symbol + ": " + stage.items + " CTAs of " +
            std::to_string(stage.launch->threads) + " threads and " +
            std::to_string(stage.launch->sharedBytes) + " bytes of shared memory; at most " +
            std::to_string(ctas) + " on a multiprocessor\n";
    kernels.push_back(llvm::json::Object{{"name", stage.symbol},
                                         {"ctas", stage.items},
                                         {"threads", stage.launch->threads},
                                         {"shared_bytes", stage.launch->sharedBytes},
                                         {"ctas_per_multiprocessor", ctas}});
  }
  addToJson(json, "chip", std::string(chip.name));
  addToJson(json, "kernels", std::move(kernels));
  addToJson(json, "launches", std::move(launches));
}

Expected<CompiledCode> MlirJit::compile(const PreparedProgram &program,
                                        const CompileRequest &request) {
  auto options = optionsOf(request);
  if (!options)
    return options.error();
  Compilation compilation = begin(program);
  auto explanation = lower(compilation, request, *options);
  if (!explanation)
    return explanation.error();
  auto plan = takePlan(compilation.getModule());
  if (!plan)
    return plan.error();
  CompiledCode code;
  code.explainText = std::move(explanation->text);
  code.explainJson = std::move(explanation->json);
  code.plan = std::move(*plan);
  code.plan.target = request.target;
  code.plan.features = options->machine;
  code.plan.dtype = request.dtype;
  code.plan.products = options->widens() ? DType::F32 : request.dtype;
  code.plan.structure = std::move(explanation->line);
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
