//===- MachineCode.cpp - LLVM dialect to objects --------------------------===//
#include "runtime/jit/MachineCode.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/TargetParser/Host.h"

namespace pe::jit {

static Error fromLLVM(const char *doing, llvm::Error error) {
  return makeError(doing, ": ", llvm::toString(std::move(error)));
}

/// Returns the best CPU whose features this machine has, or null.
static const plan::Machine *hostBaseline() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  const plan::Machine *best = nullptr;
  for (const plan::Machine &machine : plan::kMachines)
    if (!machine.isGpu && llvm::all_of(llvm::split(llvm::StringRef(machine.needs), ' '),
                                       [&](llvm::StringRef name) { return features.lookup(name); }))
      best = &machine;
  return best;
}

Expected<const plan::Machine *> baselineOf(const std::string &features) {
  if (features.empty()) {
    if (const plan::Machine *best = hostBaseline())
      return best;
    return makeError("expected a CPU with AVX2 and FMA (x86-64-v3), found ",
                     llvm::sys::getHostCPUName().str());
  }
  const plan::Machine *machine = plan::findMachine(features);
  if (!machine || machine->isGpu)
    return makeError("expected features ", plan::namesOf(/*isGpu=*/false, " or "), ", found ",
                     features);
  return machine;
}

Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const std::string &features) {
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return fromLLVM("cannot describe this machine to LLVM", builder.takeError());
  if (!features.empty()) {
    if (auto baseline = baselineOf(features); !baseline)
      return baseline.takeError();
    auto [cpu, extensions] = llvm::StringRef(features).split('+');
    builder->setCPU(cpu.str());
    builder->getFeatures() = llvm::SubtargetFeatures();
    for (llvm::StringRef extension : llvm::split(extensions, '+'))
      if (!extension.empty())
        builder->getFeatures().AddFeature(extension);
  }
  // AVX-512 kernels use vectors of 16 elements, which LLVM would split for some CPUs.
  builder->getFeatures().AddFeature("prefer-256-bit", /*Enable=*/false);
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  builder->setRelocationModel(llvm::Reloc::PIC_);
  builder->setCodeModel(llvm::CodeModel::Small);
  auto machine = builder->createTargetMachine();
  if (!machine)
    return fromLLVM("cannot generate code for this machine", machine.takeError());
  return std::move(*machine);
}

/// The passes for kernels, which are already explicit vector code with their final loops. LLVM's O2
/// pipeline takes five times as long, without a measurable speedup (docs/decisions.md). The scalar
/// stages need loop rotation and vectorization.
constexpr const char *kPasses =
    "always-inline,inline,globaldce,"
    "function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,loop-simplify,lcssa,"
    "loop-mssa(loop-rotate,licm),loop-vectorize,early-cse,simplifycfg)";

llvm::Error
runPasses(llvm::Module &module, llvm::TargetMachine &machine,
          llvm::function_ref<llvm::Error(llvm::PassBuilder &, llvm::ModulePassManager &)> choose) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = choose(builder, passes))
    return error;
  passes.run(module, modules);
  return llvm::Error::success();
}

static llvm::Error optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  return runPasses(module, machine,
                   [](llvm::PassBuilder &builder, llvm::ModulePassManager &passes) {
                     return builder.parsePassPipeline(passes, kPasses);
                   });
}

Expected<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module, llvm::LLVMContext &context,
                                                  llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> result = mlir::translateModuleToLLVMIR(module, context);
  if (!result)
    return makeError("cannot translate the compiled module to LLVM IR");
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(machine.createDataLayout());
  if (llvm::Error error = optimise(*result, machine))
    return fromLLVM("cannot optimize the compiled module", std::move(error));
  return result;
}

Expected<std::string> emitObject(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return makeError("LLVM cannot emit an object for ", machine.getTargetTriple().str());
  passes.run(module);
  return bytes.str().str();
}

} // namespace pe::jit
