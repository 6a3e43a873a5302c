//===- PlanRunner.cpp - compiles a source for a target and runs its stages ===//

#include "passes/Pipelines/PlanRunner.h"

#include "passes/Pipelines/Pipelines.h"
#include "runtime/device/cpu/ObjectLoader.h"
#include "runtime/device/emulator/Emulator.h"
#include "runtime/device/emulator/EmulatorGuard.h"
#include "runtime/jit/Compilation.h"
#include "runtime/jit/MachineCode.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/TargetSelect.h"

namespace pe::test {

PlanRunner::PlanRunner(const std::string &source, const std::string &target, bool isTile) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  const bool isEmulated = target == "gpu-emulator";
  jit::Compilation compilation(jit::getRegistry());
  const auto check = [](const Status &status) {
    EXPECT_TRUE(status) << (status ? "" : status.error().getMessage());
  };
  check(compilation.parse({source, "source.mlir", ""}));
  mlir::pe::CompileOptions compile;
  compile.lowering = isEmulated ? "gpu" : target;
  compile.headDim = compile.valueDim = 16;
  compile.grad = true;
  check(compilation.run([&](mlir::OpPassManager &pm) {
    if (!isTile) {
      mlir::pe::buildPEPipeline(pm, compile);
      mlir::pe::buildPEToTilePipeline(pm, compile);
    }
    mlir::pe::buildTileToFunctionsPipeline(pm, compile);
    if (isEmulated)
      mlir::pe::buildKernelsToEmulatorPipeline(pm);
    else
      mlir::pe::buildFunctionsToLLVMPipeline(pm);
  }));
  mlir::ModuleOp module = compilation.getModule();
  const auto text = module->getAttrOfType<mlir::StringAttr>(mlir::pe::kPlanAttr);
  bound = take(device::BoundPlan::create(take(plan::parsePlan(text.strref()))));
  module->removeAttr(mlir::pe::kPlanAttr);
  module->removeAttr("pe.emulated_syncs");
  const auto machine = take(jit::createTargetMachine("x86-64-v3"));
  llvm::LLVMContext context;
  const auto translated = take(jit::translate(module, context, *machine));
  const auto object =
      take(cpu::loadObject(take(jit::emitObject(*translated, *machine)), emulator::findSymbol));
  code = object;
  lookup = [=](const std::string &name) { return object->lookup(name); };
  if (isEmulated)
    options.guard = std::make_shared<emulator::EmulatorGuard>();
}

void PlanRunner::run(const std::vector<Tensor> &tensors, const device::SizeTable &frame) const {
  const std::vector<plan::Stage> &stages = getPlan().stages;
  for (size_t i = 0; i < stages.size(); ++i) {
    std::vector<void *> pointers;
    std::vector<cpu::Region> regions;
    for (int index : stages[i].buffers) {
      pointers.push_back(const_cast<void *>(tensors[index].rawData()));
      int64_t reach = tensors[index].numel() ? 1 : 0;
      for (int64_t axis = 0; axis < tensors[index].rank() && reach; ++axis)
        reach += (tensors[index].dim(axis) - 1) * tensors[index].strides()[axis];
      regions.push_back(
          {tensors[index].rawData(), reach * static_cast<int64_t>(sizeOf(tensors[index].dtype()))});
    }
    int64_t items = 0;
    ASSERT_TRUE(bound.itemsOf(i, frame, items));
    if (options.guard)
      options.guard->begin(stages[i], regions, items, 1);
    const auto function = reinterpret_cast<cpu::StageFunction>(lookup(stages[i].symbol));
    ASSERT_TRUE(function) << stages[i].symbol;
    for (int64_t item = 0; item < items; ++item)
      function(pointers.data(), frame.data(), item);
    if (options.guard) {
      const Status status = options.guard->end(stages[i]);
      EXPECT_TRUE(status) << (status ? "" : status.error().getMessage());
    }
  }
}

} // namespace pe::test
