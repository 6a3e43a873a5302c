//===- TilePlan.cpp - compiles and runs tile plans ------------------------===//
#include "passes/ToLoops/TilePlan.h"

#include "dialect/PE/ExportProgram.h"
#include "dialect/PE/PE.h"
#include "dialect/Step/StepAttributes.h"
#include "dialect/Tile/Tile.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Schedule/Schedule.h"
#include "passes/ToGPU/ToGPU.h"
#include "passes/Transforms/Passes.h"
#include "passes/Transforms/Prepare.h"
#include "runtime/device/common/BoundPlan.h"
#include "runtime/device/cpu/Segments.h"
#include "llvm/Support/TargetSelect.h"

#include <cstring>
#include <random>

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

void Tensors::setBytes(const std::string &name, const void *data, size_t bytes) {
  memory.erase(name);
  void *copy = require(name, bytes, false);
  if (bytes)
    std::memcpy(copy, data, bytes);
}
void Tensors::set(const std::string &name, std::span<const float> numbers) {
  setBytes(name, numbers.data(), numbers.size_bytes());
}
void Tensors::set(const std::string &name, std::span<const uint16_t> bits) {
  setBytes(name, bits.data(), bits.size_bytes());
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

std::vector<float> normals(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &x : values)
    x = normal(random);
  return values;
}

//===- Compiling ---------------------------------------------------------------===//

struct TilePlan::Engine {
  std::unique_ptr<ExecutionEngine> jit;
};

static std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registry.insert<mlir::pe::PEDialect, tile::TileDialect, step::StepDialect, arith::ArithDialect,
                  mlir::math::MathDialect, func::FuncDialect, memref::MemRefDialect,
                  scf::SCFDialect, tensor::TensorDialect, LLVM::LLVMDialect>();
  func::registerInlinerExtension(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

static void runPasses(ModuleOp module, llvm::function_ref<void(PassManager &)> add) {
  PassManager pm(module.getContext());
  add(pm);
  if (failed(pm.run(module)))
    llvm::report_fatal_error("cannot compile a test's module");
}

Source compileToTile(const std::string &file, int64_t headDim, int64_t valueDim) {
  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(file, context.get());
  if (!module)
    llvm::report_fatal_error(llvm::Twine("cannot parse ") + file);
  Source source;
  runPasses(*module, [](PassManager &pm) {
    mlir::pe::populatePreparePipeline(pm, mlir::pe::PrepareOptions());
  });
  source.program = mlir::pe::exportProgram(*module->getOps<func::FuncOp>().begin());
  mlir::pe::CompileOptions options;
  options.headDim = headDim;
  options.valueDim = valueDim;
  options.grad = true;
  runPasses(*module, [&](PassManager &pm) {
    mlir::pe::buildPEPipeline(pm, options);
    mlir::pe::buildPEToTilePipeline(pm, options);
  });
  llvm::raw_string_ostream(source.tile) << *module;
  return source;
}

std::string rewriteForGpu(const std::string &tile) {
  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(tile, context.get());
  runPasses(*module, [](PassManager &pm) {
    tile::PEScheduleGpuPassOptions schedule;
    schedule.set = {"warps=1", "owner_tiles=1"};
    tile::PESpillPairsPassOptions spill;
    spill.depth = 0, spill.bits = 32, spill.memory = 1;
    pm.addPass(tile::createPESpillPairsPass(spill));
    pm.addPass(tile::createPEScheduleGpuPass(schedule));
    pm.addPass(tile::createPEHoistRowValuesPass());
    pm.addPass(tile::createPESplitSumsPass());
    pm.addPass(tile::createPELayOutTablesPass());
    pm.addPass(tile::createPEDivideLoopsPass());
    pm.addPass(tile::createPEFuseLoopsPass());
  });
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

TilePlan::TilePlan(const std::string &text, const LoopOptions &loops)
    : engine(std::make_unique<Engine>()) {
  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  if (!module)
    llvm::report_fatal_error("cannot parse a test's plan");
  runPasses(*module, [&](PassManager &pm) {
    pm.addPass(tile::createPETileToLoopsPass(loops));
    pm.addPass(mlir::pe::createPEExportPlanPass());
    mlir::pe::buildFunctionsToLLVMPipeline(pm);
  });
  auto json = (*module)->getAttrOfType<StringAttr>(mlir::pe::kPlanAttr);
  data = *plan::parsePlan(json.str());

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  ExecutionEngineOptions options;
  auto optimize = makeOptimizingTransformer(0, 0, nullptr);
  options.transformer = optimize;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::None;
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

static int64_t countElements(const plan::Buffer &buffer, const plan::SizeValues &values) {
  int64_t count = 1;
  for (const std::string &extent : buffer.shape)
    count *= evaluate(extent, values);
  return count;
}

void TilePlan::draw(Tensors &tensors, const plan::CallSizes &sizes) const {
  std::mt19937 random(9);
  std::uniform_real_distribution<float> around(0.5f, 1.5f);
  for (const plan::Buffer &buffer : data.buffers) {
    const bool isCallers =
        buffer.role == plan::Role::Argument || buffer.role == plan::Role::Cotangent;
    if (!isCallers || tensors.contains(buffer.name))
      continue;
    std::vector<float> numbers(countElements(buffer, sizes.values(data.headDim, data.valueDim)));
    std::ranges::generate(numbers, [&] { return around(random); });
    tensors.set(buffer.name, std::span<const float>(numbers));
  }
}

void TilePlan::run(Tensors &tensors, const plan::CallSizes &sizes) const {
  plan::SizeValues values = sizes.values(data.headDim, data.valueDim);
  std::vector<void *> memory;
  for (const plan::Buffer &buffer : data.buffers)
    memory.push_back(tensors.require(
        buffer.name, countElements(buffer, values) * sizeOf(buffer.dtype), buffer.zero));
  const plan::Frame frame = *device::BoundPlan::create(data)->frameOf(sizes);
  for (const plan::Stage &stage : data.stages) {
    if (!stage.when.empty() && evaluate("max(0," + stage.when + ")", values) == 0)
      continue;
    auto *function = reinterpret_cast<void (*)(void *const *, const int64_t *, int64_t)>(
        llvm::cantFail(engine->jit->lookup(stage.symbol)));
    std::vector<void *> buffers;
    for (int index : stage.buffers)
      buffers.push_back(memory[index]);
    // Any order of the items is correct; the reverse order is the least likely to work by accident.
    for (int64_t item = evaluate(stage.items, values); item-- > 0;)
      function(buffers.data(), frame.data(), item);
  }
}

} // namespace pe::test
