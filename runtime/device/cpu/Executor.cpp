//===- Executor.cpp - Runs a plan on the CPU ------------------------------===//

#include "runtime/device/cpu/Executor.h"

#include "runtime/device/cpu/CpuInfo.h"
#include "runtime/device/cpu/FloatingPointMode.h"

#include <algorithm>
#include <cstring>

namespace pe::cpu {

using device::BoundPlan;
using device::Half;
using plan::Buffer;
using plan::Frame;
using plan::Role;
using plan::Stage;

Expected<Executor> Executor::create(plan::Plan plan, const SymbolLookup &lookup,
                                    std::shared_ptr<void> code, Options options) {
  Expected<BoundPlan> bound = BoundPlan::create(std::move(plan));
  if (!bound)
    return bound.takeError();
  const plan::Plan &checked = bound->getPlan();
  if (levelOf(checked.features) > hostCpu().level)
    return makeError("the code was compiled for ", checked.features,
                     ", but this processor has only ", nameOf(hostCpu().level),
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
  executor.options = options;
  return executor;
}

/// Sets all bytes of a packed tensor, on all threads when it is large.
static void fillBytes(Tensor &tensor, int byte, ParallelFor &pool) {
  constexpr size_t kPiece = size_t(1) << 20;
  const size_t bytes = tensor.byteSize();
  char *first = static_cast<char *>(tensor.rawData());
  parallelFor(pool, static_cast<int64_t>((bytes + kPiece - 1) / kPiece), [&](int64_t piece) {
    const size_t begin = static_cast<size_t>(piece) * kPiece;
    std::memset(first + begin, byte, std::min(kPiece, bytes - begin));
  });
}

/// The tensor itself where stages can use it, else a packed copy.
Tensor Executor::adopt(size_t index, const Tensor &tensor, Frame &frame) const {
  const bool isUsed = plan.canUse(index, tensor.rawData(), tensor.shape(), tensor.strides());
  Tensor used = isUsed ? tensor : tensor.contiguous();
  plan.setStrides(index, used.strides(), frame);
  return used;
}

Expected<Tensor> Executor::allocate(size_t index, const Frame &frame, bool zero,
                                    ParallelFor &pool) const {
  const Buffer &buffer = getPlan().buffers[index];
  Expected<Shape> shape = shapeOf(index, frame);
  if (!shape)
    return shape.takeError();
  Expected<Tensor> tensor = Tensor::allocate(buffer.dtype, *std::move(shape));
  if (!tensor)
    return tensor.takeError().within("buffer '" + buffer.name + "'");
  if (zero)
    fillBytes(*tensor, 0, pool);
  else if (options.poison)
    fillBytes(*tensor, 0xFF, pool);
  return tensor;
}

Status Executor::runStages(Half half, const Frame &frame, std::vector<Tensor> &buffers,
                           ParallelFor &pool) const {
  std::vector<void *> pointers;
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage &stage = getPlan().stages[i];
    if (BoundPlan::halfOf(stage.phase) != half)
      continue;
    Expected<int64_t> items = plan.itemsOf(i, frame);
    if (!items)
      return items.takeError();
    pointers.clear();
    for (int index : stage.buffers)
      pointers.push_back(buffers[index].rawData());
    if (options.guard) {
      std::vector<const Tensor *> used;
      for (int index : stage.buffers)
        used.push_back(&buffers[index]);
      options.guard->begin(stage, used, *items, pool.threads());
    }
    parallelFor(pool, *items, [&, function = stages[i]](int64_t item) {
      FloatingPointMode mode;
      function(pointers.data(), frame.data(), item);
    });
    if (options.guard)
      if (Status s = options.guard->end(stage); !s)
        return s.takeError().within("stage '" + stage.symbol + "'");
  }
  return Status::success();
}

Expected<ForwardCall> Executor::forward(const TensorMap &arguments, const plan::Scalars &scalars,
                                        ParallelFor &pool) const {
  Expected<Frame> frame = bind(arguments, scalars);
  if (!frame)
    return frame.takeError();
  const std::vector<Buffer> &buffers = getPlan().buffers;
  ForwardCall call;
  call.function = plan.getIdentity();
  call.frame = *std::move(frame);
  call.buffers.resize(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (auto found = arguments.find(buffers[i].name); found != arguments.end())
      call.buffers[i] = adopt(i, found->second, call.frame);
    if (!plan.isAllocatedFor(i, Half::Forward))
      continue;
    Expected<Tensor> tensor = allocate(i, call.frame, buffers[i].zero, pool);
    if (!tensor)
      return tensor.takeError();
    call.buffers[i] = *std::move(tensor);
    if (buffers[i].role == Role::Result)
      call.outputs[buffers[i].name] = call.buffers[i];
  }
  if (Status s = runStages(Half::Forward, call.frame, call.buffers, pool); !s)
    return s.takeError();
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].role == Role::Temporary || !plan.isUsedBy(i, Half::Backward))
      call.buffers[i] = Tensor();
  return call;
}

Expected<TensorMap> Executor::backward(const ForwardCall &call, const TensorMap &cotangents,
                                       ParallelFor &pool) const {
  if (Status s = checkCall(call); !s)
    return s.takeError();
  if (Status s = plan.checkCotangents(cotangents, call.frame); !s)
    return s.takeError();
  std::vector<Tensor> buffers = call.buffers;
  Frame frame = call.frame;
  TensorMap gradients;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer &buffer = getPlan().buffers[i];
    if (!plan.isAllocatedFor(i, Half::Backward))
      continue;
    if (auto found = cotangents.find(buffer.name); found != cotangents.end()) {
      buffers[i] = adopt(i, found->second, frame);
      continue;
    }
    const bool zero = buffer.zero || buffer.role == Role::Cotangent;
    Expected<Tensor> tensor = allocate(i, frame, zero, pool);
    if (!tensor)
      return tensor.takeError();
    buffers[i] = *std::move(tensor);
    if (buffer.role == Role::Gradient)
      gradients[buffer.name] = buffers[i];
  }
  if (Status s = runStages(Half::Backward, frame, buffers, pool); !s)
    return s.takeError();
  return gradients;
}

Expected<std::shared_ptr<const device::Call>> CpuRunner::forward(const TensorMap &arguments,
                                                                 const plan::Scalars &scalars,
                                                                 ParallelFor &pool) const {
  Expected<ForwardCall> call = executor.forward(arguments, scalars, pool);
  if (!call)
    return call.takeError();
  return std::make_shared<const ForwardCall>(*std::move(call));
}

Expected<TensorMap> CpuRunner::backward(const device::Call &call, const TensorMap &cotangents,
                                        ParallelFor &pool) const {
  // Before the cast: another device's calls are of another class.
  if (Status s = executor.checkCall(call); !s)
    return s.takeError();
  return executor.backward(static_cast<const ForwardCall &>(call), cotangents, pool);
}

} // namespace pe::cpu
