//===- pe-emulator-mutations.cpp - detects missing synchronizations -------===//
//
//   pe-emulator-mutations FILE [QUERIES KEYS DEPTH [DTYPE [KIND]]]
//
// Compiles FILE forward and backward for the emulator without mutations and runs it under three
// orders of threads and of CTAs, one CTA at a time: the results must be bitwise equal. Then omits
// each synchronizing operation in turn (barriers, synchronizations of a warp, waits for copies, the
// counter from which CTAs take their items): in at least one order, the emulator must report an
// error or a result must differ. Prints a line per undetected mutant and a count; exits with 1 if
// there is an undetected mutant.
//
// KIND selects other mutations than `synchronisations`: `turns`, a turn that is not passed on;
// `states`, a wrong state of blocks, or the states of the previous block; `words`, a dropout
// counter for other keys.
//
//===----------------------------------------------------------------------===//

#include "dialect/Tile/Tile.h"
#include "passes/Pipelines/Pipelines.h"
#include "runtime/device/common/BoundPlan.h"
#include "runtime/device/cpu/Executor.h"
#include "runtime/device/cpu/ObjectLoader.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/emulator/Emulator.h"
#include "runtime/device/emulator/EmulatorGuard.h"
#include "runtime/jit/Compilation.h"
#include "runtime/jit/MachineCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
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

/// A compiled plan and the number of its mutation sites.
struct Mutant {
  plan::Plan plan;
  cpu::Executor executor;
  int64_t sites = 0;
};

//===- Kinds of mutants -----------------------------------------------------------===//

using Site = std::function<void()>;

/// Returns mutations of the stages that write states of blocks. A state that only causes an
/// unnecessary evaluation of the code changes nothing, so no state is replaced by 1.
std::vector<Site> sitesOfStates(mlir::ModuleOp module) {
  std::vector<Site> sites;
  module.walk([&](mlir::tile::StageOp stage) {
    if (!stage.getSymName().ends_with("_mask_states"))
      return;
    for (auto [from, to] : {std::pair(1, 0), {1, 2}, {0, 2}, {2, 0}})
      sites.push_back([=]() mutable {
        stage.walk([&](mlir::arith::ConstantIntOp constant) {
          if (constant.getType().isInteger(32) && constant.value() == from)
            constant.setValueAttr(mlir::IntegerAttr::get(constant.getType(), to));
        });
      });
    stage.walk([&](mlir::tile::WriteOp write) {
      sites.push_back([=]() mutable {
        mlir::OpBuilder b(write);
        mlir::Value block = write.getIndices().back();
        auto one = mlir::arith::ConstantIndexOp::create(b, write.getLoc(), 1);
        auto zero = mlir::arith::ConstantIndexOp::create(b, write.getLoc(), 0);
        mlir::Value before = mlir::arith::SubIOp::create(b, write.getLoc(), block, one);
        write->setOperand(write->getNumOperands() - 1,
                          mlir::arith::MaxSIOp::create(b, write.getLoc(), before, zero));
      });
    });
  });
  return sites;
}

/// Returns mutations of the kernels that omit passing on a ticket.
std::vector<Site> sitesOfTurns(mlir::ModuleOp module) {
  std::vector<Site> sites;
  module.walk([&](mlir::LLVM::StoreOp store) {
    if (store.getOrdering() == mlir::LLVM::AtomicOrdering::release)
      sites.push_back([=]() mutable { store->erase(); });
  });
  return sites;
}

/// Returns mutations, one per kernel with random factors, of the group of four keys of a counter.
std::vector<Site> sitesOfWords(mlir::ModuleOp module) {
  llvm::MapVector<mlir::Operation *, std::vector<mlir::arith::ShRSIOp>> groups;
  module.walk([&](mlir::arith::ShRSIOp shift) {
    if (llvm::APInt by; matchPattern(shift.getRhs(), mlir::m_ConstantInt(&by)) && by == 2)
      groups[shift->getParentOfType<mlir::FunctionOpInterface>()].push_back(shift);
  });
  std::vector<Site> sites;
  for (auto &[kernel, shifts] : groups)
    sites.push_back([shifts = shifts]() mutable {
      for (mlir::arith::ShRSIOp shift : shifts) {
        mlir::OpBuilder b(shift);
        mlir::Type type = shift.getType();
        shift->setOperand(
            1, mlir::arith::ConstantOp::create(b, shift.getLoc(), b.getIntegerAttr(type, 3)));
      }
    });
  return sites;
}

/// Applies mutation `chosen` of `sites`, or none if it is negative, and counts the sites.
void mutate(const std::vector<Site> &sites, int64_t chosen, int64_t &count) {
  count = static_cast<int64_t>(sites.size());
  if (chosen >= 0)
    sites[chosen]();
}

Mutant compile(const jit::Source &source, int64_t depth, DType dtype, const std::string &kind,
               int64_t chosen) {
  jit::Compilation compilation(jit::getRegistry());
  if (Status s = compilation.parse(source); !s)
    die(s.error().getMessage());
  mlir::pe::CompileOptions options;
  options.headDim = options.valueDim = depth;
  options.grad = true;
  options.dtype = nameOf(dtype);
  options.lowering = "gpu";
  auto run = [&](llvm::function_ref<void(mlir::OpPassManager &)> build) {
    if (Status done = compilation.run(build); !done)
      die(done.error().getMessage());
  };
  mlir::ModuleOp module = compilation.getModule();
  int64_t count = 0;
  run([&](mlir::OpPassManager &pm) {
    mlir::pe::buildPEPipeline(pm, options);
    mlir::pe::buildPEToTilePipeline(pm, options);
  });
  if (kind == "states")
    mutate(sitesOfStates(module), chosen, count);
  run([&](mlir::OpPassManager &pm) { mlir::pe::buildTileToFunctionsPipeline(pm, options); });
  if (kind == "turns")
    mutate(sitesOfTurns(module), chosen, count);
  if (kind == "words")
    mutate(sitesOfWords(module), chosen, count);
  const bool dropsSync = kind == "synchronisations";
  run([&](mlir::OpPassManager &pm) {
    mlir::pe::buildKernelsToEmulatorPipeline(pm, dropsSync ? chosen : -1);
  });
  auto text = module->getAttrOfType<mlir::StringAttr>(mlir::pe::kPlanAttr);
  plan::Plan plan = take(plan::parsePlan(text.strref()));
  if (dropsSync)
    count = module->getAttrOfType<mlir::IntegerAttr>("pe.emulated_syncs").getInt();
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
  return {plan, take(cpu::Executor::create(plan, lookup, code, execution)), count};
}

/// Draws standard normal tensors for the plan's buffers of a role. Scalars are positive, integers
/// 0.
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
    const DType dtype = plan.buffers[index].dtype;
    if (dtype == DType::I32 || dtype == DType::I64) {
      tensors[plan.buffers[index].name] =
          Tensor::zeros(dtype, Shape(shape.dims, shape.dims + shape.rank));
      continue;
    }
    Tensor tensor = Tensor::zeros(DType::F32, Shape(shape.dims, shape.dims + shape.rank));
    std::mt19937 random(static_cast<unsigned>(index + 1));
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < tensor.numel(); ++i)
      tensor.data<float>()[i] = normal(random);
    if (tensor.rank() == 0)
      tensor.data<float>()[0] = 0.5f + std::fabs(tensor.data<float>()[0]);
    tensors[plan.buffers[index].name] = take(convert(tensor, dtype));
  }
  return tensors;
}

/// The results and gradients of a call as bytes, or the emulator's report.
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

  const std::string kind = argc > 6 ? argv[6] : "synchronisations";
  Mutant whole = compile(source, depth, dtype, kind, -1);
  plan::CallSizes sizes;
  sizes.batch = sizes.queryHeads = sizes.keyHeads = sizes.headsTotal = 1;
  sizes.queries = queries, sizes.keys = keys, sizes.queryStart = keys - queries;
  const TensorMap inputs = draw(whole.plan, plan::Role::Argument, sizes);
  const TensorMap cotangents = draw(whole.plan, plan::Role::Cotangent, sizes);
  const Outcome expected = run(whole.executor, inputs, cotangents, kOrders[0]);
  for (const emulator::Options &order : kOrders) {
    const Outcome outcome = run(whole.executor, inputs, cotangents, order);
    if (!outcome.error.empty())
      die("without mutations: " + outcome.error);
    if (outcome != expected)
      die("without mutations, the results depend on the order of threads or CTAs");
  }
  int64_t noticed = 0;
  for (int64_t site = 0; site < whole.sites; ++site) {
    Mutant mutant = compile(source, depth, dtype, kind, site);
    bool isNoticed = false;
    for (const emulator::Options &order : kOrders)
      isNoticed = isNoticed || run(mutant.executor, inputs, cotangents, order) != expected;
    noticed += isNoticed;
    if (!isNoticed)
      std::printf("not noticed: %s %lld\n",
                  kind == "synchronisations" ? "synchronisation" : kind.c_str(),
                  static_cast<long long>(site));
  }
  std::printf("%lld of %lld %s noticed\n", static_cast<long long>(noticed),
              static_cast<long long>(whole.sites),
              kind == "synchronisations" ? "missing synchronisations"
                                         : ("mutants of " + kind).c_str());
  return noticed == whole.sites && whole.sites > 0 ? 0 : 1;
}
