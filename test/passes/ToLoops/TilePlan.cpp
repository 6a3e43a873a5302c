//===- TilePlan.cpp - compiles and runs hand-written tile plans -----------===//
#include "passes/ToLoops/TilePlan.h"

#include "dialect/Tile/Tile.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/ToLoops/ToLoops.h"
#include "runtime/device/cpu/Segments.h"
#include "llvm/Support/TargetSelect.h"

#include <cstring>

using namespace mlir;

namespace pe::test {

//===- Tensors ---------------------------------------------------------------===//

void *Tensors::require(const std::string &name, size_t bytes, bool zero) {
  std::vector<char> &block = memory[name];
  if (block.empty()) {
    block.assign(bytes + 2 * kGuard, zero ? 0 : '\xff'); // all ones is a NaN
    std::memset(block.data(), 'g', kGuard);
    std::memset(block.data() + kGuard + bytes, 'g', kGuard);
  }
  if (block.size() != bytes + 2 * kGuard)
    llvm::report_fatal_error(llvm::Twine("two sizes of tensor ") + name);
  return block.data() + kGuard;
}

void Tensors::set(const std::string &name, const std::vector<float> &numbers) {
  memory.erase(name);
  void *data = require(name, numbers.size() * sizeof(float), false);
  if (!numbers.empty())
    std::memcpy(data, numbers.data(), numbers.size() * sizeof(float));
}

bool Tensors::guardsStand() const {
  auto stands = [](const char *guard) {
    return std::all_of(guard, guard + kGuard, [](char c) { return c == 'g'; });
  };
  return std::all_of(memory.begin(), memory.end(), [&](const auto &entry) {
    const std::vector<char> &block = entry.second;
    return stands(block.data()) && stands(block.data() + block.size() - kGuard);
  });
}

//===- Compiling ---------------------------------------------------------------===//

struct TilePlan::Engine {
  std::unique_ptr<ExecutionEngine> jit;
};

static std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registry.insert<tile::TileDialect, arith::ArithDialect, math::MathDialect, func::FuncDialect,
                  memref::MemRefDialect, scf::SCFDialect, LLVM::LLVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

/// The module of `file` with `plan` alone, its masks replaced.
static OwningOpRef<ModuleOp> load(MLIRContext &context, const std::string &file,
                                  const std::string &plan, const std::string &mask) {
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(file, &context);
  if (!module)
    llvm::report_fatal_error(llvm::Twine("cannot parse ") + file);
  for (auto op : llvm::make_early_inc_range(module->getOps<tile::PlanOp>()))
    if (op.getSymName() != plan)
      op.erase();
  if (!mask.empty())
    module->walk([&](tile::StageOp stage) {
      if (stage.getStream())
        stage.setMaskAttr(cast<DictionaryAttr>(parseAttribute(mask, &context)));
    });
  return module;
}

TilePlan::TilePlan(const std::string &file, const std::string &plan, const LoopChoice &choice,
                   const std::string &mask)
    : engine(std::make_unique<Engine>()) {
  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> module = load(*context, file, plan, mask);
  PassManager pm(context.get());
  tile::PETileToLoopsPassOptions loops;
  loops.blockRows = choice.rows;
  loops.blockColumns = choice.columns;
  loops.owner = choice.owner == "rows"      ? tile::LoopOwner::Rows
                : choice.owner == "columns" ? tile::LoopOwner::Columns
                                            : tile::LoopOwner::Auto;
  pm.addPass(tile::createPETileToLoopsPass(loops));
  pm.addPass(mlir::pe::createPEExportPlanPass());
  mlir::pe::buildFunctionsToLLVMPipeline(pm);
  if (failed(pm.run(*module)))
    llvm::report_fatal_error(llvm::Twine("cannot lower ") + plan);
  auto json = (*module)->getAttrOfType<StringAttr>(mlir::pe::kPlanAttr);
  data = *plan::parsePlan(json.str());

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  ExecutionEngineOptions options;
  auto optimize = makeOptimizingTransformer(1, 0, nullptr);
  options.transformer = optimize;
  engine->jit = llvm::cantFail(ExecutionEngine::create(*module, options));
  engine->jit->registerSymbols([](llvm::orc::MangleAndInterner intern) {
    llvm::orc::SymbolMap symbols;
    symbols[intern("pe_find_segments")] = {llvm::orc::ExecutorAddr::fromPtr(&pe_find_segments),
                                           llvm::JITSymbolFlags::Exported};
    return symbols;
  });
}

TilePlan::~TilePlan() = default;

//===- Running -------------------------------------------------------------------===//

static int64_t evaluate(const std::string &text, const plan::SizeValues &values) {
  return *plan::SizeExpression::parse(text)->evaluate(values);
}

void TilePlan::run(Tensors &tensors, const plan::CallSizes &sizes) const {
  plan::SizeValues values = sizes.values(data.headDim, data.valueDim);
  std::vector<void *> memory;
  for (const plan::Buffer &buffer : data.buffers) {
    int64_t count = 1;
    for (const std::string &extent : buffer.shape)
      count *= evaluate(extent, values);
    memory.push_back(tensors.require(buffer.name, count * sizeOf(buffer.dtype), buffer.zero));
  }
  auto abi = sizes.abi();
  for (const plan::Stage &stage : data.stages) {
    auto *function = reinterpret_cast<void (*)(void *const *, const int64_t *, int64_t)>(
        llvm::cantFail(engine->jit->lookup(stage.symbol)));
    std::vector<void *> buffers;
    for (int index : stage.buffers)
      buffers.push_back(memory[index]);
    // Any order of the items is right; the last first is the least natural.
    for (int64_t item = evaluate(stage.items, values); item-- > 0;)
      function(buffers.data(), abi.data(), item);
  }
}

} // namespace pe::test
