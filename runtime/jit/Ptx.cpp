//===- Ptx.cpp - GPU kernels to PTX ---------------------------------------===//
#include "runtime/jit/Ptx.h"

#include "passes/Pipelines/Pipelines.h"
#include "runtime/jit/MachineCode.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"

#include <mutex>

namespace pe::jit {
namespace {

/// PTX versions that LLVM 22 emits.
constexpr int kPtxVersions[] = {70, 71, 72, 73, 74, 75, 76, 77, 78, 80,
                                81, 82, 83, 84, 85, 86, 87, 88, 90};

template <typename Range, typename Text> std::string listOf(const Range &range, Text text) {
  std::string list;
  for (const auto &entry : range)
    list += (list.empty() ? "" : ", ") + text(entry);
  return list;
}

Error fromLLVM(const char *doing, llvm::Error error) {
  return makeError(doing, ": ", llvm::toString(std::move(error)));
}

const llvm::Target &findTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string problem; // none, because the target is linked
  return *llvm::TargetRegistry::lookupTarget(llvm::Triple("nvptx64-nvidia-cuda"), problem);
}

/// Sets the option of LLVM for 32-bit pointers to shared, constant and local memory during its
/// lifetime. LLVM has this option only per process, and reads it when it creates a target machine;
/// other users of LLVM in this process keep its default.
class ShortPointers {
public:
  ShortPointers() : lock(mutex) {
    auto &options = llvm::cl::getRegisteredOptions();
    const auto found = options.find(kName);
    assert(found != options.end() && "LLVM 22 has the option");
    option = found->second;
    option->addOccurrence(/*pos=*/0, kName, "true");
  }
  ~ShortPointers() { option->reset(); }

private:
  static constexpr const char *kName = "nvptx-short-ptr";
  static inline std::mutex mutex;
  std::lock_guard<std::mutex> lock;
  llvm::cl::Option *option = nullptr;
};

std::unique_ptr<llvm::TargetMachine> createMachine(const Chip &chip) {
  const llvm::Target &target = findTarget(); // registers the option
  ShortPointers pointers;
  return std::unique_ptr<llvm::TargetMachine>(target.createTargetMachine(
      llvm::Triple("nvptx64-nvidia-cuda"), chip.machine->name, "+ptx" + std::to_string(chip.ptx),
      llvm::TargetOptions(), std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Links the functions of the device library that the kernels call.
Status linkLibrary(llvm::Module &kernels) {
  const bool callsAny = llvm::any_of(kernels, [](const llvm::Function &function) {
    return function.isDeclaration() && function.getName().starts_with("pe_gpu_");
  });
  if (!callsAny)
    return Status::success();
  auto library = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(deviceLibraryBitcode(), "device library"), kernels.getContext());
  if (!library)
    return fromLLVM("cannot read the device library", library.takeError());
  (*library)->setTargetTriple(kernels.getTargetTriple());
  (*library)->setDataLayout(kernels.getDataLayout());
  if (llvm::Linker::linkModules(
          kernels, std::move(*library), llvm::Linker::LinkOnlyNeeded,
          [](llvm::Module &module, const llvm::StringSet<> &linked) {
            llvm::internalizeModule(module, [&](const llvm::GlobalValue &value) {
              return !value.hasName() || !linked.contains(value.getName());
            });
          }))
    return makeError("cannot link the device library");
  for (const llvm::Function &function : kernels)
    if (function.isDeclaration() && !function.isIntrinsic())
      return makeError("the device library has no function ", function.getName().str(),
                       "; this is a defect of pe");
  return Status::success();
}

Status optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::Error error =
      runPasses(module, machine, [](llvm::PassBuilder &builder, llvm::ModulePassManager &passes) {
        passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
        return llvm::Error::success();
      });
  if (error)
    return fromLLVM("cannot optimize the kernels", std::move(error));
  return Status::success();
}

/// Skips straight-line strength reduction (slsr) in long kernels. Its time is quadratic in the
/// number of addresses, and it took most of the compile time of kernels with scalar code.
class LongKernels : public llvm::OptPassGate {
public:
  explicit LongKernels(const llvm::Module &module) {
    constexpr unsigned kLong = 8192; // instructions; attention of head dim 128 has up to 7300
    for (const llvm::Function &function : module)
      if (function.getInstructionCount() > kLong)
        names.insert(("function (" + function.getName() + ")").str());
  }
  bool isEnabled() const override { return !names.empty(); }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef place) const override {
    return pass != "slsr" || !names.contains(place);
  }

private:
  llvm::StringSet<> names;
};

} // namespace

Expected<Chip> parseChip(const std::string &text) {
  auto [name, version] = llvm::StringRef(text).split('+');
  const plan::Machine *known = plan::findMachine(name);
  if (!known || !known->isGpu) {
    const std::string found = name.empty() ? "none; give --chip=sm_90" : "'" + name.str() + "'";
    return makeError("expected a chip of ", plan::namesOf(/*isGpu=*/true), ", found ", found);
  }
  if (version.empty() && !llvm::StringRef(text).contains('+'))
    return Chip{known, known->usualPtx};
  int ptx = 0;
  if (!version.consume_front("ptx") || version.getAsInteger(10, ptx) ||
      !llvm::is_contained(kPtxVersions, ptx) || ptx < known->lowestPtx)
    return makeError(
        "expected a PTX version of ",
        listOf(llvm::make_filter_range(kPtxVersions, [&](int v) { return v >= known->lowestPtx; }),
               [](int v) { return "ptx" + std::to_string(v); }),
        " after '", std::string(known->name), "+', found '", text, "'");
  return Chip{known, ptx};
}

/// Combines two consecutive xors into a lop3 instruction, which LLVM does not do.
static void joinExclusiveOrs(llvm::Module &module) {
  llvm::Type *i32 = llvm::Type::getInt32Ty(module.getContext());
  llvm::InlineAsm *join =
      llvm::InlineAsm::get(llvm::FunctionType::get(i32, {i32, i32, i32}, /*isVarArg=*/false),
                           "lop3.b32 $0, $1, $2, $3, 0x96;", "=r,r,r,r", /*hasSideEffects=*/false);
  auto asXor = [&](llvm::Value *value) {
    auto *op = llvm::dyn_cast<llvm::BinaryOperator>(value);
    return op && op->getOpcode() == llvm::Instruction::Xor && op->getType() == i32 ? op : nullptr;
  };
  llvm::SmallVector<llvm::BinaryOperator *> all;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *op = asXor(&instruction))
        all.push_back(op);
  for (llvm::BinaryOperator *outer : llvm::reverse(all))
    for (unsigned n : {0, 1}) {
      llvm::BinaryOperator *inner = asXor(outer->getOperand(n));
      if (!inner || !inner->hasOneUse() || outer->use_empty())
        continue;
      llvm::IRBuilder<> builder(outer);
      outer->replaceAllUsesWith(builder.CreateCall(
          join, {inner->getOperand(0), inner->getOperand(1), outer->getOperand(1 - n)}));
      break;
    }
  for (llvm::BinaryOperator *op : llvm::reverse(all)) // users before their operands
    if (op->use_empty())
      op->eraseFromParent();
}

/// Replaces `or disjoint` by `add` if its operands are disjoint only after a branch, such as n |
/// -64 for n - 64 where n < 64. LLVM 22 computes it before the branch (speculative-execution) and
/// then reuses it as n - 64 for every n (slsr).
static void replaceGuardedOrs(llvm::Module &module) {
  const llvm::SimplifyQuery everywhere(module.getDataLayout());
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&instruction);
      if (!disjoint || !disjoint->isDisjoint())
        continue;
      llvm::Value *left = disjoint->getOperand(0), *right = disjoint->getOperand(1);
      if (llvm::haveNoCommonBitsSet(left, right, everywhere))
        continue;
      disjoint->replaceAllUsesWith(llvm::IRBuilder<>(disjoint).CreateAdd(left, right));
      disjoint->eraseFromParent();
    }
}

/// Returns the tile program that the line tables refer to as comments, one per line; empty if there
/// are no line tables.
static std::string listingOf(mlir::ModuleOp module) {
  auto listing = module->getAttrOfType<mlir::StringAttr>(mlir::pe::kListingAttr);
  if (!listing)
    return "";
  std::string text = std::string("// ") + mlir::pe::kListingName + "\n";
  unsigned number = 0;
  for (llvm::StringRef line : llvm::split(listing.getValue().rtrim(), '\n'))
    text += "// " + std::to_string(++number) + ": " + line.str() + "\n";
  return text;
}

Expected<std::string> emitPtx(mlir::ModuleOp module, const Chip &chip) {
  auto kernels = module.lookupSymbol<mlir::gpu::GPUModuleOp>("kernels");
  if (!kernels)
    return makeError("the pipelines left no kernels; this is a defect of pe");
  const std::unique_ptr<llvm::TargetMachine> machine = createMachine(chip);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated = mlir::translateModuleToLLVMIR(kernels, context);
  if (!translated)
    return makeError("cannot translate the kernels to LLVM IR");
  translated->setTargetTriple(machine->getTargetTriple());
  translated->setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : *translated)
    if (!function.isDeclaration())
      function.addFnAttr("denormal-fp-math-f32", "preserve-sign"); // mul.ftz and so on
  if (Status linked = linkLibrary(*translated); !linked)
    return linked.takeError();
  if (Status optimised = optimise(*translated, *machine); !optimised)
    return optimised.takeError();
  replaceGuardedOrs(*translated);
  joinExclusiveOrs(*translated);
  LongKernels longKernels(*translated);
  context.setOptPassGate(longKernels);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return makeError("LLVM cannot write PTX");
  passes.run(*translated);
  return text.str().str() + listingOf(module);
}

} // namespace pe::jit
