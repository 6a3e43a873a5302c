//===- Executor.cpp - Runs a plan on the CPU ------------------------------===//

#include "runtime/device/cpu/Executor.h"

#include "runtime/device/common/ValueChecks.h"
#include "runtime/device/cpu/CpuInfo.h"
#include "runtime/device/cpu/FloatingPointMode.h"

namespace pe::cpu {

using device::BoundCall;
using device::BoundPlan;
using device::CallContext;
using plan::Stage;

Expected<Executor> Executor::create(plan::Plan plan, const SymbolLookup &lookup,
                                    std::shared_ptr<void> code, device::HostOptions options) {
  Expected<BoundPlan> bound = BoundPlan::create(std::move(plan));
  if (!bound)
    return bound.takeError();
  const plan::Plan &checked = bound->getPlan();
  if (const plan::Machine *machine = machineOf(checked.features);
      machine && !hostCpu().runs(*machine))
    return makeError("the code was compiled for ", checked.features,
                     ", but this processor has only ", hostCpu().level(),
                     "; compile it for this machine");
  Executor executor;
  for (const Stage &stage : checked.stages) {
    void *address = lookup(stage.symbol);
    if (!address)
      return makeError("expected the compiled object to define stage '", stage.symbol,
                       "', found no such symbol");
    executor.stages.push_back(reinterpret_cast<StageFunction>(address));
  }
  executor.plan = *std::move(bound);
  executor.code = std::move(code);
  executor.options = std::move(options);
  return executor;
}

namespace {

/// Runs everything on the calling thread.
class OwnThread final : public ParallelFor {
public:
  int threads() const override { return 1; }
  void run(int64_t items, Body body, void *context) override {
    for (int64_t item = 0; item < items; ++item)
      body(context, item);
  }
};

/// Calls with less work (BoundCall::work) end before another thread has woken up.
constexpr double kWorthSharing = 1 << 17;

} // namespace

Status Executor::runStage(size_t index, const BoundCall &call, char *first,
                          ParallelFor &pool) const {
  const Stage &stage = getPlan().stages[index];
  int64_t items = 0;
  if (Status s = plan.itemsOf(index, call.sizeValues(), items); !s)
    return s;
  InlineVector<void *, 48> pointers(stage.buffers.size());
  for (size_t i = 0; i < pointers.size(); ++i) {
    const auto buffer = static_cast<size_t>(stage.buffers[i]);
    pointers[i] = call.address(buffer, first);
    if (options.beforeStage)
      options.beforeStage(getPlan().buffers[buffer].name, pointers[i], call.slot(buffer).reach);
  }
  parallelFor(pool, items, [&, function = stages[index]](int64_t item) {
    FloatingPointMode mode;
    function(pointers.data(), call.sizeValues().data(), item);
  });
  return Status::success();
}

Status Executor::runStages(const BoundCall &call, char *first, ParallelFor &pool) const {
  for (size_t i = 0; i < stages.size(); ++i)
    if (call.runs(i))
      if (Status s = runStage(i, call, first, pool); !s)
        return s;
  return Status::success();
}

Status Executor::run(const BoundCall &call, const CallContext &context) const {
  OwnThread own;
  ParallelFor &pool = call.work() < kWorthSharing ? own : *context.pool;
  char *first = BoundCall::firstByte(context.workspace);
  if (Status s = device::checkValues(call); !s)
    return s;
  if (options.poison)
    device::poisonOnHost(call, first, pool);
  device::beginOnHost(call, first, pool);
  if (Status s = runStages(call, first, pool); !s)
    return s;
  device::endOnHost(call, first, pool);
  return Status::success();
}

} // namespace pe::cpu
