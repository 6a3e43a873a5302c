//===- pe-emulator-mutations.cpp - Is a missing synchronisation noticed? --===//
//
//   pe-emulator-mutations FILE [QUERIES KEYS DEPTH [DTYPE]]
//
// Compiles FILE forward and backward for the emulator as it is, and runs it under three orders of
// threads and of CTAs, one CTA at a time: the results must be equal to the bit. Then once without
// each synchronising operation (barriers, synchronisations of a warp, waits for copies, the counter
// from which CTAs take their items): under one order at least the emulator must report an error or
// a result must differ. Prints a line per kind and a count; exit 1 where a mutant lives.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipelines/Pipelines.h"
#include "runtime/device/common/BoundPlan.h"
#include "runtime/device/cpu/Executor.h"
#include "runtime/device/cpu/ObjectLoader.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/emulator/Emulator.h"
#include "runtime/device/emulator/EmulatorGuard.h"
#include "runtime/jit/Compiler.h"
#include "runtime/jit/MachineCode.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

using namespace pe;

namespace {

[[noreturn]] void die(const std::string &message) {
  std::fprintf(stderr, "pe-emulator-mutations: %s\n", message.c_str());
  std::exit(1);
}

template <typename T> T take(Expected<T> value) {
  if (!value)
    die(value.error().getMessage());
  return *std::move(value);
}

struct Mutant {
  plan::Plan plan;
  cpu::Executor executor;
  int64_t syncs = 0;
};

Mutant compile(const jit::Source &source, int64_t depth, DType dtype, int64_t dropSync) {
  jit::Compilation compilation(jit::getRegistry());
  if (Status s = compilation.parse(source); !s)
    die(s.error().getMessage());
  mlir::pe::CompileOptions options;
  options.headDim = options.valueDim = depth;
  options.grad = true;
  options.dtype = nameOf(dtype);
  options.lowering = "gpu";
  Status done = compilation.run([&](mlir::OpPassManager &pm) {
    mlir::pe::buildPEPipeline(pm, options);
    mlir::pe::buildPEToTilePipeline(pm, options);
    mlir::pe::buildTileToFunctionsPipeline(pm, options);
    mlir::pe::buildKernelsToEmulatorPipeline(pm, dropSync);
  });
  if (!done)
    die(done.error().getMessage());
  mlir::ModuleOp module = compilation.getModule();
  auto text = module->getAttrOfType<mlir::StringAttr>(mlir::pe::kPlanAttr);
  plan::Plan plan = take(plan::parsePlan(text.strref()));
  const int64_t syncs = module->getAttrOfType<mlir::IntegerAttr>("pe.emulated_syncs").getInt();
  module->removeAttr(mlir::pe::kPlanAttr);
  module->removeAttr("pe.emulated_syncs");
  auto machine = take(jit::createTargetMachine("x86-64-v3"));
  llvm::LLVMContext context;
  auto translated = take(jit::translate(module, context, *machine));
  std::string object = take(jit::emitObject(*translated, *machine));
  auto code = take(cpu::loadObject(object, emulator::findSymbol));
  cpu::Executor::Options execution;
  execution.guard = std::make_shared<emulator::EmulatorGuard>();
  auto lookup = [=](const std::string &name) { return code->lookup(name); };
  return {plan, take(cpu::Executor::create(plan, lookup, code, execution)), syncs};
}

/// Standard normal tensors for the plan's buffers of a role; single numbers are positive.
TensorMap draw(const plan::Plan &plan, plan::Role role, const plan::CallSizes &sizes) {
  const auto bound = take(device::BoundPlan::create(plan));
  TensorMap tensors;
  for (size_t index = 0; index < plan.buffers.size(); ++index) {
    if (plan.buffers[index].role != role)
      continue;
    device::Extents shape;
    device::SizeTable table;
    table.set(take(bound.frameOf(sizes)));
    if (Status s = bound.shapeOf(index, table, shape); !s)
      die(s.error().getMessage());
    Tensor tensor = Tensor::zeros(DType::F32, Shape(shape.dims, shape.dims + shape.rank));
    std::mt19937 random(static_cast<unsigned>(index + 1));
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < tensor.numel(); ++i)
      tensor.data<float>()[i] = normal(random);
    if (tensor.rank() == 0)
      tensor.data<float>()[0] = 0.5f + std::fabs(tensor.data<float>()[0]);
    tensors[plan.buffers[index].name] = take(convert(tensor, plan.buffers[index].dtype));
  }
  return tensors;
}

/// Results and gradients as bytes, or the emulator's report.
struct Outcome {
  std::string error;
  std::string bytes;
  bool operator==(const Outcome &) const = default;
};

Outcome run(const cpu::Executor &executor, const TensorMap &inputs, const TensorMap &cotangents,
            const emulator::Options &options) {
  emulator::setOptions(options);
  cpu::ThreadPool pool({.threads = 1});
  Outcome outcome;
  auto call = executor.forward(inputs, {}, pool);
  if (!call) {
    outcome.error = call.error().getMessage();
    return outcome;
  }
  auto gradients = executor.backward(**call, cotangents, pool);
  if (!gradients) {
    outcome.error = gradients.error().getMessage();
    return outcome;
  }
  for (const TensorMap *tensors :
       {&(*call)->results(), static_cast<const TensorMap *>(&*gradients)})
    for (const auto &[name, tensor] : *tensors)
      outcome.bytes.append(static_cast<const char *>(tensor.rawData()), tensor.byteSize());
  return outcome;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    die("expected a file");
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto buffer = llvm::MemoryBuffer::getFile(argv[1]);
  if (!buffer)
    die(std::string("cannot read ") + argv[1]);
  const jit::Source source{(*buffer)->getBuffer().str(), argv[1], ""};
  auto number = [&](int index, int64_t otherwise) {
    return index < argc ? std::atoll(argv[index]) : otherwise;
  };
  const int64_t queries = number(2, 70), keys = number(3, 130), depth = number(4, 16);
  const DType dtype = argc > 5 ? take(parseDType(argv[5])) : DType::F32;
  using emulator::Dispatch, emulator::Order;
  constexpr emulator::Options kOrders[] = {{Order::Forward, 3, Dispatch::Ascending},
                                           {Order::Reverse, 3, Dispatch::Descending},
                                           {Order::Random, 3, Dispatch::Random}};

  Mutant whole = compile(source, depth, dtype, -1);
  plan::CallSizes sizes;
  sizes.batch = sizes.queryHeads = sizes.keyHeads = sizes.headsTotal = 1;
  sizes.queries = queries, sizes.keys = keys, sizes.queryStart = keys - queries;
  const TensorMap inputs = draw(whole.plan, plan::Role::Argument, sizes);
  const TensorMap cotangents = draw(whole.plan, plan::Role::Cotangent, sizes);
  const Outcome expected = run(whole.executor, inputs, cotangents, kOrders[0]);
  for (const emulator::Options &order : kOrders) {
    const Outcome outcome = run(whole.executor, inputs, cotangents, order);
    if (!outcome.error.empty())
      die("the program itself: " + outcome.error);
    if (outcome != expected)
      die("the program's results depend on the order of threads or CTAs");
  }
  int64_t noticed = 0;
  for (int64_t sync = 0; sync < whole.syncs; ++sync) {
    Mutant mutant = compile(source, depth, dtype, sync);
    bool isNoticed = false;
    for (const emulator::Options &order : kOrders)
      isNoticed = isNoticed || run(mutant.executor, inputs, cotangents, order) != expected;
    noticed += isNoticed;
    if (!isNoticed)
      std::printf("not noticed: synchronisation %lld\n", static_cast<long long>(sync));
  }
  std::printf("%lld of %lld missing synchronisations noticed\n", static_cast<long long>(noticed),
              static_cast<long long>(whole.syncs));
  return noticed == whole.syncs ? 0 : 1;
}
