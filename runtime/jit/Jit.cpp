//===- Jit.cpp - the compiler behind the runtime's interface --------------------===//
#include "runtime/jit/JitInterface.h"

#include "dialect/PE/ExportProgram.h"
#include "passes/Pipelines/PlanExport.h"
#include "passes/Transforms/Prepare.h"
#include "runtime/jit/Compiler.h"
#include "runtime/jit/MachineCode.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/TargetSelect.h"

namespace pe::jit {
namespace {

class MlirJit : public Jit {
public:
  std::string llvmVersion() const override { return LLVM_VERSION_STRING; }
  Expected<Description> describe(const Source &source) override;
  Expected<CompiledCode> compile(const CompileRequest &request) override;
  Expected<std::unique_ptr<LoadedObject>> load(const std::string &object) override {
    return loadObject(object);
  }
  Expected<std::string> emit(const CompileRequest &request, EmitStage stage) override;
};

/// The requested baseline, or this machine's.
Expected<mlir::pe::CompileOptions> optionsOf(const CompileRequest &request) {
  if (request.target != "cpu")
    return makeError("expected target cpu, found ", request.target);
  if (request.dtype != DType::F32)
    return makeError("expected dtype f32 on the CPU, found ", nameOf(request.dtype));
  for (auto [what, depth] : {std::pair{"head dim", request.headDim},
                             std::pair{"value dim", request.valueDim}})
    if (depth < 8 || depth > 256 || depth % 8 != 0)
      return makeError("expected a ", what, " of 8 to 256 in steps of 8 on the CPU, found ", depth);
  mlir::pe::CompileOptions options;
  options.entry = request.source.entry;
  options.headDim = request.headDim;
  options.valueDim = request.valueDim;
  options.grad = request.grad;
  options.earlyExit = request.earlyExit;
  options.lowering = request.lowering;
  if (options.lowering != "cpu" && options.lowering != "loops")
    return makeError("expected lowering cpu or loops, found ", options.lowering);
  options.features = request.features;
  if (options.features.empty()) {
    auto baseline = hostBaseline();
    if (!baseline)
      return baseline.error();
    options.features = *baseline;
  }
  return options;
}

Expected<Description> MlirJit::describe(const Source &source) {
  Compilation compilation(getRegistry());
  if (Status parsed = compilation.parse(source); !parsed)
    return parsed.error();
  Status prepared = compilation.run([&](mlir::OpPassManager &pm) {
    mlir::pe::PrepareOptions options;
    options.entry = source.entry;
    mlir::pe::populatePreparePipeline(pm, options);
  });
  if (!prepared)
    return prepared.error();
  auto entry = describeEntry(compilation.getModule(), source.entry);
  if (!entry)
    return entry.error();
  Description description;
  description.entry = std::move(*entry);
  auto function = compilation.getModule().lookupSymbol<mlir::func::FuncOp>(description.entry.name);
  description.program = mlir::pe::exportProgram(function);
  return description;
}

/// Runs the pipelines up to functions in the LLVM dialect; the module keeps the plan.
Status lower(Compilation &compilation, const mlir::pe::CompileOptions &options) {
  Status toTile = compilation.run(
      [&](mlir::OpPassManager &pm) { mlir::pe::buildPEToTilePipeline(pm, options); });
  if (!toTile)
    return toTile;
  return compilation.run([&](mlir::OpPassManager &pm) {
    mlir::pe::buildTileToFunctionsPipeline(pm, options);
    mlir::pe::buildFunctionsToLLVMPipeline(pm);
  });
}

Expected<plan::Plan> takePlan(mlir::ModuleOp module) {
  auto text = module->getAttrOfType<mlir::StringAttr>(mlir::pe::kPlanAttr);
  if (!text)
    return makeError("the pipelines left no plan; this is a defect of pe");
  auto plan = plan::parsePlan(text.strref());
  module->removeAttr(mlir::pe::kPlanAttr);
  return plan;
}

Expected<CompiledCode> MlirJit::compile(const CompileRequest &request) {
  auto options = optionsOf(request);
  if (!options)
    return options.error();
  Compilation compilation(getRegistry());
  if (Status parsed = compilation.parse(request.source); !parsed)
    return parsed.error();
  if (Status lowered = lower(compilation, *options); !lowered)
    return lowered.error();
  auto plan = takePlan(compilation.getModule());
  if (!plan)
    return plan.error();
  CompiledCode code;
  code.plan = std::move(*plan);
  code.plan.target = request.target;
  code.plan.features = options->features;
  code.plan.dtype = request.dtype;
  auto machine = createTargetMachine(request.features);
  if (!machine)
    return machine.error();
  llvm::LLVMContext context;
  auto module = translate(compilation.getModule(), context, **machine);
  if (!module)
    return module.error();
  auto object = emitObject(**module, **machine);
  if (!object)
    return object.error();
  code.object = std::move(*object);
  return code;
}

Expected<std::string> MlirJit::emit(const CompileRequest &request, EmitStage stage) {
  if (stage == EmitStage::Object) {
    auto code = compile(request);
    if (!code)
      return code.error();
    return std::move(code->object);
  }
  auto options = optionsOf(request);
  if (!options)
    return options.error();
  Compilation compilation(getRegistry());
  if (Status parsed = compilation.parse(request.source); !parsed)
    return parsed.error();
  Status done = Status::success();
  if (stage == EmitStage::PE)
    done = compilation.run([&](mlir::OpPassManager &pm) {
      mlir::pe::buildPEPipeline(pm, *options);
    });
  else if (stage == EmitStage::Tile)
    done = compilation.run([&](mlir::OpPassManager &pm) {
      mlir::pe::buildPEToTilePipeline(pm, *options);
    });
  else
    done = lower(compilation, *options);
  if (!done)
    return done.error();
  if (stage != EmitStage::LLVM)
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
