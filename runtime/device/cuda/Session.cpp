//===- Session.cpp - Calls of one size on a GPU ---------------------------===//

#include "runtime/device/cuda/Session.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace pe::cuda {

using device::BoundPlan;
using device::Half;
using plan::Buffer;
using plan::Role;

Expected<std::unique_ptr<Session>> Session::create(const BoundPlan &plan,
                                                   std::shared_ptr<const LoadedModule> module,
                                                   const plan::Frame &frame, bool grad) {
  if (grad && !plan.getPlan().hasBackward())
    return makeError("'", plan.getPlan().entry,
                     "' was compiled without gradients; compile it with them");
  std::unique_ptr<Session> session(new Session(plan, std::move(module), frame));
  if (Status s = session->prepare(grad); !s)
    return s.takeError();
  return session;
}

Status Session::prepare(bool grad) {
  hasBackward = grad;
  // Offsets inside a head count bytes in 32 bits.
  const plan::Plan &p = plan.getPlan();
  const int64_t most = (int64_t(1) << 31) / (std::max({p.headDim, p.valueDim, int64_t(1)}) * 4) - 1;
  const plan::CallSizes sizes = plan.getLayout().sizesOf(frame);
  for (int64_t length : {sizes.queries, sizes.keys})
    if (length > most)
      return makeError("expected at most ", most, " positions of this depth on GPUs, found ",
                       length);
  const std::vector<Buffer> &buffers = plan.getPlan().buffers;
  memory.resize(buffers.size());
  pointers.assign(buffers.size(), 0);
  for (size_t i = 0; i < buffers.size(); ++i) {
    Expected<Shape> shape = plan.shapeOf(i, frame);
    if (!shape)
      return shape.takeError();
    Expected<int64_t> count = elementCount(*shape);
    if (!count)
      return count.takeError().within("buffer '" + buffers[i].name + "'");
    size_t size;
    if (__builtin_mul_overflow(static_cast<size_t>(*count), sizeOf(buffers[i].dtype), &size))
      return makeError("buffer '", buffers[i].name,
                       "': expected fewer than 2^64 bytes, found shape ", toString(*shape), " of ",
                       nameOf(buffers[i].dtype));
    bytes.push_back(size);
    const bool isNeeded =
        plan.isAllocatedFor(i, Half::Forward) || (grad && plan.isAllocatedFor(i, Half::Backward));
    if (!isNeeded)
      continue;
    Expected<DeviceMemory> fresh = DeviceMemory::allocate(module->device, bytes[i]);
    if (!fresh)
      return fresh.takeError().within("buffer '" + buffers[i].name + "'");
    allocated += bytes[i];
    pointers[i] = fresh->pointer();
    memory[i] = *std::move(fresh);
  }
  const std::vector<plan::Stage> &stages = plan.getPlan().stages;
  for (size_t i = 0; i < stages.size(); ++i) {
    Expected<int64_t> items = plan.itemsOf(i, frame);
    if (!items)
      return items.takeError();
    if (*items > std::numeric_limits<int32_t>::max())
      return makeError("stage '", stages[i].symbol, "': expected at most 2^31 - 1 CTAs, found ",
                       *items);
    halves[static_cast<int>(BoundPlan::halfOf(stages[i].phase))].push_back(
        {module->kernels[i], static_cast<unsigned>(std::max<int64_t>(*items, 0)), &stages[i]});
  }
  return Status::success();
}

Status Session::bind(const std::string &name, DevicePointer pointer) {
  const int index = plan.getPlan().findBuffer(name);
  const bool isTheirs = index >= 0 && plan.getPlan().buffers[index].role != Role::Temporary &&
                        plan.getPlan().buffers[index].role != Role::Residual;
  if (!isTheirs)
    return makeError("'", plan.getPlan().entry, "' has no argument, result or gradient '", name,
                     "'");
  if (!pointer)
    return makeError("tensor '", name, "': expected an address, found none");
  if (pointer % 16)
    return makeError("tensor '", name, "': expected an address that is a multiple of 16");
  pointers[index] = pointer;
  if (memory[index].pointer()) {
    allocated -= bytes[index];
    memory[index] = DeviceMemory();
  }
  return Status::success();
}

Expected<DevicePointer> Session::find(const std::string &name) const {
  const int index = plan.getPlan().findBuffer(name);
  if (index < 0)
    return makeError("'", plan.getPlan().entry, "' has no tensor '", name, "'");
  // What a caller would write to an absent cotangent, a launch would clear.
  const bool isAbsent =
      plan.getPlan().buffers[index].role == Role::Cotangent && memory[index].pointer();
  return isAbsent ? 0 : pointers[index];
}

Status Session::setScalars(const plan::Scalars &scalars) {
  plan::Frame placed = frame;
  if (Status s = plan.getLayout().fillParameters(placed, scalars); !s)
    return s;
  frame = std::move(placed);
  return Status::success();
}

Status Session::checkReady(Half half) const {
  if (half == Half::Backward && !hasBackward)
    return makeError("expected a session with gradients for a backward call");
  if (half == Half::Backward && !hasForward)
    return makeError(
        "expected a forward call of this session before its backward call, found none");
  const std::vector<Buffer> &buffers = plan.getPlan().buffers;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].role == Role::Argument && !buffers[i].optional && !pointers[i])
      return makeError("tensor '", buffers[i].name, "': expected an address, found none");
  return Status::success();
}

Status Session::launch(Half half, Stream stream) {
  if (Status s = checkReady(half); !s)
    return s;
  if (half == Half::Forward)
    hasForward = false;
  const Driver &d = module->device->driver;
  Device::Current current(*module->device);
  const std::vector<Buffer> &buffers = plan.getPlan().buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const bool isAbsent = buffers[i].role == Role::Cotangent && memory[i].pointer();
    if (!(buffers[i].zero || isAbsent) || !plan.isAllocatedFor(i, half) || bytes[i] == 0)
      continue;
    if (Status s = d.check(d.fill(pointers[i], 0, bytes[i], stream),
                           "clearing buffer '" + buffers[i].name + "'");
        !s)
      return s;
  }
  std::vector<void *> arguments;
  for (const Launch &launch : halves[static_cast<int>(half)]) {
    if (launch.grid == 0)
      continue;
    arguments.clear();
    for (int index : launch.stage->buffers)
      arguments.push_back(&pointers[index]);
    // Of a word, which fits in 32 bits, the driver reads these: the low half stands first.
    static_assert(std::endian::native == std::endian::little);
    for (int word : launch.stage->words)
      arguments.push_back(&frame[word]);
    const plan::Launch &shape = *launch.stage->launch;
    if (Status s = d.check(d.launch(launch.kernel, launch.grid, 1, 1, shape.threads, 1, 1,
                                    shape.sharedBytes, stream, arguments.data(), nullptr),
                           "starting kernel '" + launch.stage->symbol + "'");
        !s)
      return s;
  }
  hasForward |= half == Half::Forward;
  return Status::success();
}

} // namespace pe::cuda
