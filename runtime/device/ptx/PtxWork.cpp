//===- PtxWork.cpp - Launches, memory, streams and events -----------------===//

#include "runtime/device/ptx/PtxState.h"

#include <algorithm>
#include <cstring>

using namespace pe;
using namespace pe::cuda;
using namespace pe::cuda::host;

namespace {

/// Runs work in the current context now, or when the stream is synchronized.
Result submit(Stream stream, std::function<Result()> work) {
  const Lock lock(machine().mutex);
  if (!current())
    return kInvalidContext;
  if (current()->failure != kSuccess)
    return current()->failure;
  if (!stream)
    return work();
  StreamState &state = *stateOf<StreamState>(stream);
  if (state.device != current())
    return kInvalidContext;
  state.work.push_back(std::move(work));
  return kSuccess;
}

Result runKernel(const KernelState &kernel, const ptx::Launch &launch) {
  ptx::Limits limits;
  limits.sharedPerBlock = uint32_t(sharedPerBlock(kernel.device->chip));
  Status status = kernel.module->run(kernel.kernel->function->name, launch, limits);
  if (status)
    return kSuccess;
  machine().fault = status.error().render("ptx");
  // As on a device, nothing runs in this context after a fault.
  return kernel.device->failure = kLaunchFailed;
}

} // namespace

extern "C" {

Result cuLaunchKernel(Kernel kernel, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                      Stream stream, void **arguments, void **) {
  const Lock lock(machine().mutex);
  const KernelState &state = *stateOf<KernelState>(kernel);
  if (state.device != current())
    return kInvalidContext;
  // Above 48 KiB only what functionSetAttribute has allowed.
  if (sharedBytes > std::max(48u << 10, state.dynamicShared))
    return kInvalidValue;
  ptx::Launch call;
  call.grid = {gridX, gridY, gridZ};
  call.block = {blockX, blockY, blockZ};
  call.dynamicShared = sharedBytes;
  const auto &parameters = state.kernel->function->parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto *from = static_cast<const std::byte *>(arguments[i]);
    call.parameters.emplace_back(from, from + parameters[i].bytes);
  }
  call.schedule = ptx::Schedule::fromSeed(machine().settings.seed + machine().launches++);
  if (machine().settings.ctas)
    call.schedule.ctasInFlight = unsigned(machine().settings.ctas);
  call.limit = machine().settings.limit;
  call.countsAccesses = machine().isCounting;
  return submit(stream, [&state, call = std::move(call)] { return runKernel(state, call); });
}

Result cuMemAlloc_v2(DevicePointer *pointer, size_t bytes) {
  const Lock lock(machine().mutex);
  *pointer = machine().memory.allocate(bytes);
  return *pointer ? kSuccess : kOutOfMemory;
}
Result cuMemFree_v2(DevicePointer pointer) {
  const Lock lock(machine().mutex);
  return machine().memory.release(pointer) ? kSuccess : kInvalidValue;
}
Result cuMemHostRegister_v2(void *memory, size_t bytes, unsigned) {
  const Lock lock(machine().mutex);
  machine().memory.adopt(reinterpret_cast<uint64_t>(memory), bytes);
  return kSuccess;
}
Result cuMemHostUnregister(void *memory) {
  const Lock lock(machine().mutex);
  return machine().memory.release(reinterpret_cast<uint64_t>(memory)) ? kSuccess : kInvalidValue;
}
/// Returns true if the range is within an allocation.
static bool isAllocated(DevicePointer at, size_t bytes) {
  const ptx::Allocation *found = machine().memory.find(at);
  return found && found->contains(at, bytes);
}
Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void *from, size_t bytes, Stream stream) {
  return submit(stream, [=]() -> Result {
    if (!isAllocated(to, bytes))
      return kInvalidValue;
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return kSuccess;
  });
}
Result cuMemcpyDtoHAsync_v2(void *to, DevicePointer from, size_t bytes, Stream stream) {
  return submit(stream, [=]() -> Result {
    if (!isAllocated(from, bytes))
      return kInvalidValue;
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return kSuccess;
  });
}
Result cuMemcpy2DAsync_v2(const Copy2D *copy, Stream stream) {
  return submit(stream, [copy = *copy]() -> Result {
    for (size_t row = 0; row < copy.height; ++row) {
      auto at = [&](const Copy2D::Side &side) {
        return side.device + (side.y + row) * side.pitch + side.xInBytes;
      };
      if (!isAllocated(at(copy.to), copy.widthInBytes) ||
          !isAllocated(at(copy.from), copy.widthInBytes))
        return kInvalidValue;
      std::memcpy(reinterpret_cast<void *>(at(copy.to)),
                  reinterpret_cast<const void *>(at(copy.from)), copy.widthInBytes);
    }
    return kSuccess;
  });
}
Result cuMemsetD8Async(DevicePointer to, unsigned char value, size_t bytes, Stream stream) {
  return submit(stream, [=]() -> Result {
    if (!isAllocated(to, bytes))
      return kInvalidValue;
    std::memset(reinterpret_cast<void *>(to), value, bytes);
    return kSuccess;
  });
}

Result cuStreamCreate(Stream *stream, unsigned) {
  if (!current())
    return kInvalidContext;
  *stream = reinterpret_cast<Stream>(new StreamState{current(), {}});
  return kSuccess;
}
Result cuStreamSynchronize(Stream stream) {
  const Lock lock(machine().mutex);
  if (!stream)
    return current() ? current()->failure : kInvalidContext;
  StreamState &state = *stateOf<StreamState>(stream);
  std::vector<std::function<Result()>> work;
  std::swap(work, state.work);
  for (const auto &each : work) {
    if (state.device->failure != kSuccess)
      return state.device->failure;
    if (const Result result = each(); result != kSuccess)
      return result;
  }
  return kSuccess;
}
/// Graphs are not captured.
Result cuStreamIsCapturing(Stream, int *status) {
  *status = 0;
  return kSuccess;
}
Result cuStreamDestroy_v2(Stream stream) {
  delete stateOf<StreamState>(stream);
  return kSuccess;
}
Result cuEventCreate(Event *event, unsigned) {
  *event = reinterpret_cast<Event>(new EventState());
  return kSuccess;
}
Result cuEventDestroy_v2(Event event) {
  delete stateOf<EventState>(event);
  return kSuccess;
}
Result cuEventRecord(Event event, Stream stream) {
  return submit(stream, [event]() -> Result {
    stateOf<EventState>(event)->time = std::chrono::steady_clock::now();
    return kSuccess;
  });
}
Result cuEventSynchronize(Event) { return kSuccess; }
Result cuEventElapsedTime(float *milliseconds, Event begin, Event end) {
  *milliseconds = std::chrono::duration<float, std::milli>(stateOf<EventState>(end)->time -
                                                           stateOf<EventState>(begin)->time)
                      .count();
  return kSuccess;
}

} // extern "C"
