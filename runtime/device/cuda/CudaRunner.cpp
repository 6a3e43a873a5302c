//===- CudaRunner.cpp - Calls on a GPU ------------------------------------===//

#include "runtime/device/cuda/CudaRunner.h"

#include "runtime/device/common/ViewRuns.h"
#include "runtime/device/cuda/DeviceCopy.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace pe::cuda {

using device::BoundCall;
using device::BoundEntries;
using device::CallContext;
using device::Slot;
using device::ViewRuns;

Expected<std::shared_ptr<const CudaRunner>> CudaRunner::create(plan::Plan plan, std::string ptx) {
  auto bound = device::BoundPlan::create(std::move(plan));
  if (!bound)
    return bound.takeError();
  return std::shared_ptr<const CudaRunner>(new CudaRunner(*std::move(bound), std::move(ptx)));
}

/// Refuses to load modules while a graph is captured, which would invalidate the capture.
static Status checkNoCapture(const Device &device, Stream stream) {
  const Device::Current current(device);
  if (Status s = current.status(); !s)
    return s;
  int status = 0; // CU_STREAM_CAPTURE_STATUS_NONE
  if (Status s = device.driver.check(device.driver.streamCapture(stream, &status),
                                     "reading the state of a stream");
      !s || status == 0)
    return s;
  return makeError("the first call on a device loads its kernels, which is not allowed while a "
                   "graph is captured; call the function once before the capture")
      .of(ErrorKind::Device);
}

Expected<const LoadedModule *> CudaRunner::moduleOn(int device, Stream stream) const {
  std::lock_guard lock(mutex);
  if (auto found = modules.find(device); found != modules.end())
    return found->second.get();
  auto opened = Device::open(device, driver);
  if (!opened)
    return opened.takeError();
  if (Status s = checkNoCapture(**opened, stream); !s)
    return s.takeError();
  auto module = LoadedModule::load(*opened, ptx, getPlan());
  if (!module)
    return module.takeError();
  return (modules[device] = *std::move(module)).get();
}

/// Checks that the sizes fit the 32-bit indices of kernels, and the number of copies.
Status CudaRunner::check(const BoundCall &call) const {
  const plan::Plan &p = getPlan();
  const int64_t most = (int64_t(1) << 31) / (std::max({p.headDim, p.valueDim, int64_t(1)}) * 4) - 1;
  for (int64_t length : {call.getSizes().queries, call.getSizes().keys})
    if (length > most)
      return makeError("expected at most ", most,
                       " positions with this head dimension on GPUs, found ", length);
  for (size_t i = 0; i < p.stages.size(); ++i) {
    int64_t items = 0;
    if (!call.runs(i))
      continue;
    if (Status s = plan.itemsOf(i, call.sizeValues(), items); !s)
      return s;
    if (items > std::numeric_limits<int32_t>::max())
      return makeError("stage '", p.stages[i].symbol, "': expected at most 2^31 - 1 CTAs, found ",
                       items);
  }
  for (size_t i = 0; i < call.slotCount(); ++i)
    if (call.slot(i).isPacked)
      if (Status s = checkCopies(call.viewAt(call.slot(i).view)); !s)
        return s;
  return Status::success();
}

Status CudaRunner::clear(const BoundCall &call, char *first, const Driver &d, Stream stream) const {
  const auto fill = [&](void *memory, int64_t bytes, const std::string &what) -> Status {
    if (bytes == 0)
      return Status::success();
    const Result result =
        d.fill(reinterpret_cast<DevicePointer>(memory), 0, static_cast<size_t>(bytes), stream);
    return result ? d.check(result, "clearing " + what) : Status::success();
  };
  if (Status s = fill(first, call.zeroedBytes(), "the workspace"); !s)
    return s;
  for (size_t i = 0; i < call.slotCount(); ++i)
    if (call.slot(i).isCleared)
      if (Status s = fill(call.address(i, first), call.slot(i).bytes, getPlan().buffers[i].name);
          !s)
        return s;
  return Status::success();
}

Status CudaRunner::copyPacked(const BoundCall &call, char *first, bool isBefore, const Driver &d,
                              Stream stream) const {
  for (size_t i = 0; i < call.slotCount(); ++i) {
    const Slot &slot = call.slot(i);
    if (!slot.isPacked || slot.isWritten == isBefore)
      continue;
    const auto packed = reinterpret_cast<DevicePointer>(first + slot.offset);
    if (Status s = copyView(d, call.viewAt(slot.view), packed, !isBefore, stream); !s)
      return s;
  }
  return Status::success();
}

Status CudaRunner::launch(const BoundCall &call, char *first, const LoadedModule &module,
                          Stream stream) const {
  const Driver &d = module.device->driver;
  const int64_t *frame = call.sizeValues().data();
  for (size_t i = 0; i < getPlan().stages.size(); ++i) {
    const plan::Stage &stage = getPlan().stages[i];
    int64_t items = 0;
    if (!call.runs(i))
      continue;
    if (Status s = plan.itemsOf(i, call.sizeValues(), items); !s)
      return s;
    if (items == 0)
      continue;
    const size_t count = stage.buffers.size();
    InlineVector<DevicePointer, 48> pointers(count);
    InlineVector<void *, 96> arguments(count + stage.words.size());
    for (size_t k = 0; k < count; ++k) {
      pointers[k] = reinterpret_cast<DevicePointer>(
          call.address(static_cast<size_t>(stage.buffers[k]), first));
      arguments[k] = &pointers[k];
    }
    // For a 32-bit parameter the driver reads the first four bytes, which are the low half of the
    // word. It does not write, so the const_cast is safe.
    static_assert(std::endian::native == std::endian::little);
    for (size_t k = 0; k < stage.words.size(); ++k)
      arguments[count + k] = const_cast<int64_t *>(&frame[stage.words[k]]);
    if (Status s = beforeStage(call, i, first); !s)
      return s;
    const Result result = d.launch(module.kernels[i], static_cast<unsigned>(items), 1, 1,
                                   static_cast<unsigned>(stage.launch->threads), 1, 1,
                                   static_cast<unsigned>(stage.launch->sharedBytes), stream,
                                   arguments.data(), nullptr);
    if (result)
      return d.check(result, "starting kernel '" + stage.symbol + "'");
  }
  return Status::success();
}

Status CudaRunner::beforeStage(const BoundCall &, size_t, char *) const {
  return Status::success();
}
Status CudaRunner::beforeCopies(const BoundCall &, char *) const { return Status::success(); }

Status CudaRunner::run(const BoundCall &call, const CallContext &context) const {
  if (Status s = check(call); !s)
    return s;
  const auto stream = static_cast<Stream>(context.stream);
  auto module = moduleOn(context.device, stream);
  if (!module)
    return module.takeError();
  const Driver &d = (*module)->device->driver;
  const Device::Current current(*(*module)->device);
  if (Status s = current.status(); !s)
    return s;
  char *first = BoundCall::firstByte(context.workspace);
  if (Status s = beforeCopies(call, first); !s)
    return s;
  if (Status s = clear(call, first, d, stream); !s)
    return s;
  if (Status s = copyPacked(call, first, /*isBefore=*/true, d, stream); !s)
    return s;
  if (Status s = launch(call, first, **module, stream); !s)
    return s;
  if (Status s = beforeCopies(call, first); !s)
    return s;
  return copyPacked(call, first, /*isBefore=*/false, d, stream);
}

//===- Calls with lengths -------------------------------------------------===//

/// Performs the checks of all entries before any of them starts.
Status CudaRunner::check(const BoundEntries &entries) const {
  if (const auto sums = entries.sums(); !sums.empty())
    return makeError("tensor '", sums.front().result->name,
                     "': expected no gradient of a tensor "
                     "without a batch axis in a call with '",
                     device::kLengths,
                     "' on a GPU, which does not add up the gradients of batch "
                     "entries; call each batch entry alone");
  for (size_t i = 0; i < entries.size(); ++i) {
    if (Status s = check(entries[i]); !s)
      return s.takeError().within(entries.describe(i));
    Status tails = entries.forEachTail(i, [&](const View &tail) -> Status {
      const int64_t fills = ViewRuns(tail).size();
      if (fills <= kMostCopies)
        return Status::success();
      return makeError("tensor '", tail.name, "': its strides ",
                       toString(Shape(tail.strides, tail.strides + tail.rank)), " need ", fills,
                       " fills beyond the length of ", entries.describe(i),
                       " on a GPU, expected at most ", kMostCopies, "; make it contiguous");
    });
    if (!tails)
      return tails;
  }
  return Status::success();
}

Status CudaRunner::run(const BoundEntries &entries, const CallContext &context) const {
  if (Status s = check(entries); !s)
    return s;
  if (Status s = runEntries(entries, context); !s)
    return s;
  const auto stream = static_cast<Stream>(context.stream);
  auto module = moduleOn(context.device, stream);
  if (!module)
    return module.takeError();
  const Driver &d = (*module)->device->driver;
  const Device::Current current(*(*module)->device);
  if (Status s = current.status(); !s)
    return s;
  for (size_t i = 0; i < entries.size(); ++i) {
    Status cleared = entries.forEachTail(i, [&](const View &tail) -> Status {
      const ViewRuns runs(tail);
      for (int64_t run = 0; run < runs.size(); ++run)
        if (const Result result = d.fill(reinterpret_cast<DevicePointer>(runs[run]), 0,
                                         static_cast<size_t>(runs.bytes()), stream))
          return d.check(result, std::string("clearing '") + tail.name + "'");
      return Status::success();
    });
    if (!cleared)
      return cleared;
  }
  return Status::success();
}

//===- Calls on host tensors ----------------------------------------------===//

namespace {

/// A stream, the events recorded on it, and the host tensors that pending copies read.
class DeviceQueue final : public device::Runner::Queue {
public:
  explicit DeviceQueue(std::shared_ptr<const Device> given)
      : device(std::move(given)), driver(device->driver), current(*device) {}
  ~DeviceQueue() override {
    if (cudaStream) {
      driver.streamSynchronize(cudaStream); // pending work uses memory that is about to be freed
      driver.streamDestroy(cudaStream);
    }
    for (Event event : events)
      driver.eventDestroy(event);
  }
  Status start() {
    if (Status s = current.status(); !s)
      return s;
    return driver.check(driver.streamCreate(&cudaStream, /*non-blocking*/ 1), "creating a stream");
  }

  void *stream() override { return cudaStream; }
  Expected<Tensor> allocate(DType dtype, Shape shape) override {
    Expected<int64_t> count = elementCount(shape);
    if (!count)
      return count.takeError();
    auto memory = DeviceMemory::allocate(device, static_cast<size_t>(*count) * sizeOf(dtype));
    if (!memory)
      return memory.takeError();
    auto owner = std::make_shared<DeviceMemory>(*std::move(memory));
    void *address = reinterpret_cast<void *>(owner->pointer());
    return Tensor::borrow(address, dtype, std::move(shape), {}, std::move(owner));
  }
  Expected<Tensor> upload(const Tensor &tensor) override {
    Expected<Tensor> there = allocate(tensor.dtype(), tensor.shape());
    if (!there || tensor.byteSize() == 0)
      return there;
    const Tensor &packed = kept.emplace_back(tensor.contiguous());
    if (Status s = driver.check(
            driver.copyToDevice(pointerOf(*there), packed.rawData(), packed.byteSize(), cudaStream),
            "copying to the device");
        !s)
      return s.takeError();
    return there;
  }
  Expected<Tensor> download(const Tensor &tensor) override {
    Expected<Tensor> here = Tensor::allocate(tensor.dtype(), tensor.shape());
    if (!here || tensor.byteSize() == 0)
      return here;
    if (Status s = driver.check(
            driver.copyToHost(here->rawData(), pointerOf(tensor), tensor.byteSize(), cudaStream),
            "copying to the host");
        !s)
      return s.takeError();
    return here;
  }
  Status synchronize() override {
    return driver.check(driver.streamSynchronize(cudaStream), "running the kernels");
  }
  Status mark() override {
    Event event = nullptr;
    if (Status s = driver.check(driver.eventCreate(&event, 0), "creating an event"); !s)
      return s;
    events.push_back(event);
    return driver.check(driver.eventRecord(event, cudaStream), "recording an event");
  }
  Expected<double> seconds(size_t begin, size_t end) override {
    float milliseconds = 0;
    if (Status s = driver.check(driver.eventElapsed(&milliseconds, events[begin], events[end]),
                                "reading the time between events");
        !s)
      return s.takeError();
    return milliseconds * 1e-3;
  }

private:
  static DevicePointer pointerOf(const Tensor &tensor) {
    return reinterpret_cast<DevicePointer>(tensor.rawData());
  }

  const std::shared_ptr<const Device> device;
  const Driver &driver;
  Device::Current current;
  Stream cudaStream = nullptr;
  std::vector<Event> events;
  std::vector<Tensor> kept;
};

} // namespace

Expected<std::unique_ptr<device::Runner::Queue>> CudaRunner::openQueue() const {
  auto module = moduleOn(0, nullptr);
  if (!module)
    return module.takeError();
  auto queue = std::make_unique<DeviceQueue>((*module)->device);
  if (Status s = queue->start(); !s)
    return s.takeError();
  return std::unique_ptr<Queue>(std::move(queue));
}

} // namespace pe::cuda
