//===- Executor.cpp - Runs a plan on the CPU ------------------------------===//

#include "runtime/device/cpu/Executor.h"

#include "runtime/device/common/ValueChecks.h"
#include "runtime/device/cpu/CpuInfo.h"
#include "runtime/device/cpu/FloatingPointMode.h"

#include <algorithm>

namespace pe::cpu {

using device::BoundCall;
using device::BoundEntries;
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

/// Sets the addresses of the buffers of a stage.
void Executor::findPointers(size_t index, const BoundCall &call, char *first,
                            void **pointers) const {
  for (const int buffer : getPlan().stages[index].buffers) {
    void *address = *pointers++ = call.address(static_cast<size_t>(buffer), first);
    if (options.beforeStage)
      options.beforeStage(getPlan().buffers[static_cast<size_t>(buffer)].name, address,
                          call.slot(static_cast<size_t>(buffer)).reach);
  }
}

Status Executor::runStage(size_t index, const BoundCall &call, char *first,
                          ParallelFor &pool) const {
  const Stage &stage = getPlan().stages[index];
  int64_t items = 0;
  if (Status s = plan.itemsOf(index, call.sizeValues(), items); !s)
    return s;
  InlineVector<void *, 48> pointers(stage.buffers.size());
  findPointers(index, call, first, pointers.data());
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

//===- Calls with lengths -------------------------------------------------===//

/// Runs the items of all entries as one list.
Status Executor::runStage(size_t index, const BoundEntries &entries, ParallelFor &pool) const {
  const size_t buffers = getPlan().stages[index].buffers.size();
  std::vector<void *> pointers(entries.size() * buffers);
  std::vector<int64_t> ends; // prefix sums of the items of the entries
  int64_t total = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    int64_t items = 0;
    if (entries[i].runs(index)) {
      if (Status s = plan.itemsOf(index, entries[i].sizeValues(), items); !s)
        return s;
      findPointers(index, entries[i], entries.firstByte(i), pointers.data() + i * buffers);
    }
    ends.push_back(total += items);
  }
  parallelFor(pool, total, [&, function = stages[index]](int64_t item) {
    const auto found = std::ranges::upper_bound(ends, item);
    const auto entry = static_cast<size_t>(found - ends.begin());
    FloatingPointMode mode;
    function(pointers.data() + entry * buffers, entries[entry].sizeValues().data(),
             item - (entry ? ends[entry - 1] : 0));
  });
  return Status::success();
}

/// Calls `function(entry, pool)` for every entry: in parallel if that gives every thread an entry,
/// otherwise one after the other with all threads.
template <typename Function>
static void forEachEntry(const BoundEntries &entries, ParallelFor &pool, Function &&function) {
  const auto count = static_cast<int64_t>(entries.size());
  OwnThread own;
  if (count < pool.threads()) {
    for (size_t entry = 0; entry < entries.size(); ++entry)
      function(entry, pool);
    return;
  }
  parallelFor(pool, count, [&](int64_t entry) { function(static_cast<size_t>(entry), own); });
}

Status Executor::run(const BoundEntries &entries, const CallContext &context) const {
  OwnThread own;
  ParallelFor &pool = entries.work() < kWorthSharing ? own : *context.pool;
  if (Status s = device::checkValues(entries); !s)
    return s;
  forEachEntry(entries, pool, [&](size_t entry, ParallelFor &threads) {
    if (options.poison)
      device::poisonOnHost(entries[entry], entries.firstByte(entry), threads);
    device::beginOnHost(entries[entry], entries.firstByte(entry), threads);
  });
  for (size_t i = 0; i < stages.size(); ++i)
    if (Status s = runStage(i, entries, pool); !s)
      return s;
  forEachEntry(entries, pool, [&](size_t entry, ParallelFor &threads) {
    device::endOnHost(entries[entry], entries.firstByte(entry), threads);
  });
  device::completeOnHost(entries, pool);
  return Status::success();
}

} // namespace pe::cpu
