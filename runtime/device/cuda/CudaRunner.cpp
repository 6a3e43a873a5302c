//===- CudaRunner.cpp - Host tensors through a GPU ------------------------===//

#include "runtime/device/cuda/CudaRunner.h"

#include <map>

namespace pe::cuda {
namespace {

using device::Half;
using plan::Role;

/// A stream and the events recorded on it, destroyed at the end.
class Queue {
public:
  explicit Queue(const Device &device) : device(device), current(device) {}
  ~Queue() {
    if (stream) {
      device.driver.streamSynchronize(stream); // nothing may outlive the memory it uses
      device.driver.streamDestroy(stream);
    }
    for (Event event : events)
      device.driver.eventDestroy(event);
  }
  Status start() {
    const Driver &d = device.driver;
    return d.check(d.streamCreate(&stream, /*non-blocking*/ 1), "creating a stream");
  }
  Status synchronize() {
    return device.driver.check(device.driver.streamSynchronize(stream), "running the kernels");
  }
  Expected<Event> mark() {
    const Driver &d = device.driver;
    Event event = nullptr;
    if (Status s = d.check(d.eventCreate(&event, 0), "creating an event"); !s)
      return s.takeError();
    events.push_back(event);
    if (Status s = d.check(d.eventRecord(event, stream), "recording an event"); !s)
      return s.takeError();
    return event;
  }

  const Device &device;
  Device::Current current;
  Stream stream = nullptr;

private:
  std::vector<Event> events;
};

/// A session and the device's copies of what the caller gave.
struct CudaCall : device::Call {
  const TensorMap &results() const override { return outputs; }

  std::map<std::string, DeviceMemory> given; // by tensor
  std::unique_ptr<Session> session;
  TensorMap outputs;
};

Status upload(CudaCall &call, const TensorMap &tensors, Queue &queue,
              const std::shared_ptr<const Device> &device, std::vector<Tensor> &kept) {
  for (const auto &[name, tensor] : tensors) {
    Tensor packed = tensor.contiguous();
    Expected<DeviceMemory> memory = DeviceMemory::allocate(device, packed.byteSize());
    if (!memory)
      return memory.takeError().within("tensor '" + name + "'");
    if (packed.byteSize())
      if (Status s =
              device->driver.check(device->driver.copyToDevice(memory->pointer(), packed.rawData(),
                                                               packed.byteSize(), queue.stream),
                                   "copying tensor '" + name + "' to the device");
          !s)
        return s;
    if (Status s = call.session->bind(name, memory->pointer()); !s)
      return s;
    call.given[name] = *std::move(memory);
    kept.push_back(packed); // until the copy has been made
  }
  return Status::success();
}

Expected<TensorMap> download(const CudaCall &call, const device::BoundPlan &plan, Role role,
                             Queue &queue) {
  TensorMap tensors;
  for (size_t i = 0; i < plan.getPlan().buffers.size(); ++i) {
    const plan::Buffer &buffer = plan.getPlan().buffers[i];
    if (buffer.role != role)
      continue;
    Expected<Shape> shape = plan.shapeOf(i, call.session->getFrame());
    if (!shape)
      return shape.takeError();
    Expected<Tensor> tensor = Tensor::allocate(buffer.dtype, *shape);
    if (!tensor)
      return tensor.takeError();
    Expected<DevicePointer> from = call.session->find(buffer.name);
    if (!from)
      return from.takeError();
    const Driver &d = queue.device.driver;
    if (tensor->byteSize())
      if (Status s =
              d.check(d.copyToHost(tensor->rawData(), *from, tensor->byteSize(), queue.stream),
                      "copying tensor '" + buffer.name + "' to the host");
          !s)
        return s.takeError();
    tensors[buffer.name] = *std::move(tensor);
  }
  if (Status s = queue.synchronize(); !s)
    return s.takeError();
  return tensors;
}

} // namespace

Expected<std::shared_ptr<const CudaRunner>> CudaRunner::create(plan::Plan plan,
                                                               const std::string &ptx, int device) {
  auto bound = device::BoundPlan::create(std::move(plan));
  if (!bound)
    return bound.takeError();
  auto opened = Device::open(device);
  if (!opened)
    return opened.takeError();
  auto module = LoadedModule::load(*opened, ptx, bound->getPlan());
  if (!module)
    return module.takeError();
  return std::shared_ptr<const CudaRunner>(new CudaRunner(*std::move(bound), *std::move(module)));
}

Expected<std::shared_ptr<const device::Call>>
CudaRunner::forward(const TensorMap &arguments, const plan::Scalars &scalars, ParallelFor &) const {
  auto frame = plan.bind(arguments, scalars);
  if (!frame)
    return frame.takeError();
  auto call = std::make_shared<CudaCall>();
  call->function = plan.getIdentity();
  auto session = createSession(*frame, plan.getPlan().hasBackward());
  if (!session)
    return session.takeError();
  call->session = *std::move(session);
  std::vector<Tensor> kept;
  Queue queue(*module->device);
  Status status = queue.start();
  if (status)
    status = upload(*call, arguments, queue, module->device, kept);
  if (status)
    status = call->session->launch(Half::Forward, queue.stream);
  if (!status)
    return status.takeError();
  auto outputs = download(*call, plan, Role::Result, queue);
  if (!outputs)
    return outputs.takeError();
  call->outputs = *std::move(outputs);
  return std::shared_ptr<const device::Call>(std::move(call));
}

Expected<TensorMap> CudaRunner::backward(const device::Call &call, const TensorMap &cotangents,
                                         ParallelFor &) const {
  if (Status s = plan.checkCall(call); !s)
    return s.takeError();
  // The caller sees a finished forward call; its session is ours to go on with.
  auto &mine = const_cast<CudaCall &>(static_cast<const CudaCall &>(call));
  if (Status s = plan.checkCotangents(cotangents, mine.session->getFrame()); !s)
    return s.takeError();
  // Absent ones are zero, also those of an earlier backward call.
  TensorMap all = cotangents;
  for (size_t i = 0; i < plan.getPlan().buffers.size(); ++i) {
    const plan::Buffer &buffer = plan.getPlan().buffers[i];
    if (buffer.role != Role::Cotangent || all.contains(buffer.name))
      continue;
    Expected<Shape> shape = plan.shapeOf(i, mine.session->getFrame());
    if (!shape)
      return shape.takeError();
    Expected<Tensor> zeros = Tensor::allocateZeros(buffer.dtype, *shape);
    if (!zeros)
      return zeros.takeError();
    all[buffer.name] = *std::move(zeros);
  }
  std::vector<Tensor> kept;
  Queue queue(*module->device);
  Status status = queue.start();
  if (status)
    status = upload(mine, all, queue, module->device, kept);
  if (status)
    status = mine.session->launch(Half::Backward, queue.stream);
  if (!status)
    return status.takeError();
  return download(mine, plan, Role::Gradient, queue);
}

Expected<device::CallTimes> CudaRunner::time(const TensorMap &arguments,
                                             const plan::Scalars &scalars,
                                             const TensorMap &cotangents, ParallelFor &pool) const {
  auto call = forward(arguments, scalars, pool);
  if (!call)
    return call.takeError();
  if (!cotangents.empty())
    if (auto gradients = backward(**call, cotangents, pool); !gradients)
      return gradients.takeError();
  // The same memory again: now only launches are between the events.
  Session &session = *const_cast<CudaCall &>(static_cast<const CudaCall &>(**call)).session;
  Queue queue(*module->device);
  if (Status s = queue.start(); !s)
    return s.takeError();
  std::vector<Event> events;
  auto mark = [&]() -> Status {
    auto event = queue.mark();
    if (!event)
      return event.takeError();
    events.push_back(*event);
    return Status::success();
  };
  Status status = mark();
  if (status)
    status = session.launch(Half::Forward, queue.stream);
  if (status)
    status = mark();
  if (status && !cotangents.empty())
    status = session.launch(Half::Backward, queue.stream);
  if (status)
    status = mark();
  if (status)
    status = queue.synchronize();
  if (!status)
    return status.takeError();
  const Driver &d = module->device->driver;
  float forwardMs = 0, backwardMs = 0;
  for (auto [target, begin] : {std::pair{&forwardMs, 0}, {&backwardMs, 1}})
    if (Status s = d.check(d.eventElapsed(target, events[begin], events[begin + 1]),
                           "reading the time between events");
        !s)
      return s.takeError();
  return device::CallTimes{forwardMs * 1e-3, cotangents.empty() ? 0 : backwardMs * 1e-3};
}

} // namespace pe::cuda
