//===- EmulatedRunner.cpp - Calls of the gpu-emulator target --------------===//

#include "runtime/device/cuda/EmulatedRunner.h"

#include "runtime/device/common/ValueChecks.h"
#include "runtime/plan/Machine.h"

#include <algorithm>

namespace pe::cuda {

using device::BoundCall;
using device::CallContext;
using device::Slot;

//===- The memory that the device may access ------------------------------===//

/// Host memory that is registered with the driver.
class EmulatedRunner::Registration {
public:
  struct Range {
    char *begin;
    int64_t bytes;
    char *end() const { return begin + bytes; }
  };

  /// Replaces the registered memory. Ranges that overlap become one.
  Status replace(const Driver &driver, std::vector<Range> ranges) {
    clear(driver);
    std::erase_if(ranges, [](const Range &range) { return range.bytes == 0; });
    std::ranges::sort(ranges, {}, &Range::begin);
    for (const Range &range : ranges)
      if (!registered.empty() && range.begin < registered.back().end())
        registered.back().bytes =
            std::max(registered.back().end(), range.end()) - registered.back().begin;
      else
        registered.push_back(range);
    for (size_t i = 0; i < registered.size(); ++i)
      if (const Result result = driver.hostRegister(registered[i].begin,
                                                    static_cast<size_t>(registered[i].bytes), 0)) {
        registered.resize(i);
        return driver.check(result, "registering memory");
      }
    return Status::success();
  }

  void clear(const Driver &driver) {
    for (const Range &range : registered)
      driver.hostUnregister(range.begin);
    registered.clear();
  }

  /// The registration of the call that runs. Calls take turns, which holding `turn` ensures.
  static Registration &current() {
    static auto *current = new Registration; // calls may come from static destructors
    return *current;
  }
  std::mutex turn;

private:
  std::vector<Range> registered;
};

//===- EmulatedRunner -----------------------------------------------------===//

EmulatedRunner::EmulatedRunner(device::BoundPlan plan, std::string ptx, const Driver &driver,
                               device::HostOptions options)
    : CudaRunner(std::move(plan), std::move(ptx), &driver), driver(driver),
      options(std::move(options)) {}

Expected<std::shared_ptr<const EmulatedRunner>>
EmulatedRunner::create(plan::Plan plan, const std::string &ptx, device::HostOptions options) {
  auto bound = device::BoundPlan::create(std::move(plan));
  if (!bound)
    return bound.takeError();
  auto driver = Driver::openEmulator();
  if (!driver)
    return driver.takeError();
  std::shared_ptr<EmulatedRunner> runner(
      new EmulatedRunner(*std::move(bound), ptx, **driver, std::move(options)));
  // The driver numbers devices by chip.
  if (const plan::Machine *chip = plan::findMachine(runner->getPlan().features))
    runner->chip = chip->capability;
  if (auto module = runner->moduleOn(runner->chip, nullptr); !module)
    return module.takeError();
  return std::shared_ptr<const EmulatedRunner>(std::move(runner));
}

Expected<std::unique_ptr<device::Runner::Queue>> EmulatedRunner::openQueue() const {
  return std::make_unique<Queue>();
}

Status EmulatedRunner::beforeStage(const BoundCall &call, size_t stage, char *first) const {
  std::vector<Registration::Range> ranges;
  for (const int index : getPlan().stages[stage].buffers) {
    const auto buffer = static_cast<size_t>(index);
    auto *begin = static_cast<char *>(call.address(buffer, first));
    ranges.push_back({begin, call.slot(buffer).reach});
    if (options.beforeStage)
      options.beforeStage(getPlan().buffers[buffer].name, begin, call.slot(buffer).reach);
  }
  return Registration::current().replace(driver, std::move(ranges));
}

Status EmulatedRunner::beforeCopies(const BoundCall &call, char *first) const {
  std::vector<Registration::Range> ranges = {{first, call.usedBytes()}};
  for (size_t i = 0; i < call.slotCount(); ++i)
    if (call.slot(i).view >= 0 && call.slot(i).place != Slot::Place::Nowhere) {
      const View &view = call.viewAt(call.slot(i).view);
      ranges.push_back({static_cast<char *>(view.data), device::reachOf(view)});
    }
  return Registration::current().replace(driver, std::move(ranges));
}

Status EmulatedRunner::run(const BoundCall &call, const CallContext &context) const {
  if (Status s = device::checkValues(call); !s)
    return s;
  char *first = BoundCall::firstByte(context.workspace);
  Registration &memory = Registration::current();
  std::lock_guard lock(memory.turn);
  if (options.poison)
    device::poisonOnHost(call, first, *context.pool);
  CallContext onDevice = context;
  onDevice.stream = nullptr;
  onDevice.device = chip;
  Status status = CudaRunner::run(call, onDevice);
  if (!status)
    driver.contextReset(chip);
  memory.clear(driver);
  return status;
}

Status EmulatedRunner::run(const device::BoundEntries &entries, const CallContext &context) const {
  return Runner::run(entries, context);
}

} // namespace pe::cuda
