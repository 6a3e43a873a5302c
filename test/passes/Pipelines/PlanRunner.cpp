//===- PlanRunner.cpp - compiles a source for a target and runs its stages ===//

#include "passes/Pipelines/PlanRunner.h"

#include "passes/Pipelines/Pipelines.h"
#include "runtime/device/cpu/Executor.h"
#include "runtime/device/cuda/EmulatedRunner.h"
#include "runtime/jit/Compilation.h"
#include "runtime/jit/MachineCode.h"
#include "runtime/jit/Ptx.h"

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
  compile.lowering = isEmulated ? plan::Lowering::Gpu : *plan::findCpuLowering(target);
  compile.headDim = compile.valueDim = 16;
  compile.grad = true;
  check(compilation.run([&](mlir::OpPassManager &pm) {
    if (!isTile) {
      mlir::pe::buildPEPipeline(pm, compile);
      mlir::pe::buildPEToTilePipeline(pm, compile);
    }
    mlir::pe::buildTileToFunctionsPipeline(pm, compile);
    if (isEmulated)
      mlir::pe::buildKernelsToLLVMPipeline(pm, {});
    else
      mlir::pe::buildFunctionsToLLVMPipeline(pm);
  }));
  mlir::ModuleOp module = compilation.getModule();
  const auto text = module->getAttrOfType<mlir::StringAttr>(mlir::pe::kPlanAttr);
  bound = take(device::BoundPlan::create(take(plan::parsePlan(text.strref()))));
  module->removeAttr(mlir::pe::kPlanAttr);
  if (isEmulated) {
    ptx = take(jit::emitPtx(module, take(jit::parseChip("sm_80"))));
    kernels = take(ptx::LoadedModule::load(ptx, "kernels.ptx", memory));
    return;
  }
  const auto machine = take(jit::createTargetMachine("x86-64-v3"));
  llvm::LLVMContext context;
  const auto translated = take(jit::translate(module, context, *machine));
  code = take(cpu::loadObject(take(jit::emitObject(*translated, *machine))));
}

std::shared_ptr<const device::Runner> PlanRunner::makeRunner() const {
  plan::Plan plan = getPlan();
  if (kernels) {
    plan.features = "sm_80";
    return take(cuda::EmulatedRunner::create(std::move(plan), ptx));
  }
  const auto lookup = [this](const std::string &name) { return code->lookup(name); };
  return std::make_shared<const cpu::Executor>(
      take(cpu::Executor::create(std::move(plan), lookup, code)));
}

void PlanRunner::runOnCpu(size_t index, const std::vector<Tensor> &tensors,
                          const device::SizeTable &frame) const {
  const plan::Stage &stage = getPlan().stages[index];
  std::vector<void *> pointers;
  for (int buffer : stage.buffers)
    pointers.push_back(const_cast<void *>(tensors[buffer].rawData()));
  int64_t items = 0;
  ASSERT_TRUE(bound.itemsOf(index, frame, items));
  const auto function = reinterpret_cast<cpu::StageFunction>(code->lookup(stage.symbol));
  ASSERT_TRUE(function) << stage.symbol;
  for (int64_t item = 0; item < items; ++item)
    function(pointers.data(), frame.data(), item);
}

void PlanRunner::runOnGpu(size_t index, const std::vector<Tensor> &tensors,
                          const device::SizeTable &frame) const {
  const plan::Stage &stage = getPlan().stages[index];
  ptx::Launch launch;
  std::vector<uint64_t> adopted;
  for (int buffer : stage.buffers) {
    const Tensor &tensor = tensors[buffer];
    int64_t reach = tensor.numel() ? 1 : 0;
    for (int64_t axis = 0; axis < tensor.rank() && reach; ++axis)
      reach += (tensor.dim(axis) - 1) * tensor.strides()[axis];
    const auto address = reinterpret_cast<uint64_t>(tensor.rawData());
    if (reach > 0) {
      memory.adopt(address, uint64_t(reach) * sizeOf(tensor.dtype()));
      adopted.push_back(address);
    }
    launch.setParameter(launch.parameters.size(), address);
  }
  for (int word : stage.words)
    if (getPlan().frame[word].kind == plan::FrameWord::Kind::Stride)
      launch.setParameter(launch.parameters.size(), frame.data()[word]);
    else
      launch.setParameter(launch.parameters.size(), static_cast<int32_t>(frame.data()[word]));
  int64_t items = 0;
  ASSERT_TRUE(bound.itemsOf(index, frame, items));
  launch.grid.x = static_cast<uint32_t>(items);
  launch.block.x = static_cast<uint32_t>(stage.launch->threads);
  launch.dynamicShared = static_cast<uint32_t>(stage.launch->sharedBytes);
  if (items > 0) {
    const Status status = kernels->run(stage.symbol, launch);
    EXPECT_TRUE(status) << (status ? "" : status.error().getMessage());
  }
  for (uint64_t address : adopted)
    memory.release(address);
}

void PlanRunner::run(const std::vector<Tensor> &tensors, const device::SizeTable &frame) const {
  for (size_t i = 0; i < getPlan().stages.size(); ++i)
    if (kernels)
      runOnGpu(i, tensors, frame);
    else
      runOnCpu(i, tensors, frame);
}

} // namespace pe::test
