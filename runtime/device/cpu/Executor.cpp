//===- Executor.cpp - Runs a plan on the CPU ------------------------------===//

#include "runtime/device/cpu/Executor.h"

#include "runtime/device/cpu/CpuInfo.h"
#include "runtime/device/cpu/FloatingPointMode.h"
#include "runtime/plan/ShapeBinder.h"

#include <algorithm>
#include <cstring>

namespace pe::cpu {

using plan::Buffer;
using plan::CallSizes;
using plan::Phase;
using plan::Plan;
using plan::Role;
using plan::SizeExpression;
using plan::Stage;

static bool isBackward(Phase phase) { return phase == Phase::Backward || phase == Phase::Finish; }

Expected<Executor> Executor::create(Plan plan, const SymbolLookup &lookup,
                                    std::shared_ptr<void> code, Options options) {
  if (Status s = plan::validate(plan); !s)
    return s.takeError();
  if (levelOf(plan.features) > hostCpu().level)
    return makeError("the code was compiled for ", plan.features, ", but this processor has only ",
                     nameOf(hostCpu().level), "; compile it for this machine");
  Executor executor;
  for (const Buffer &buffer : plan.buffers) {
    std::vector<SizeExpression> &shape = executor.shapes.emplace_back();
    for (const std::string &dim : buffer.shape)
      shape.push_back(*SizeExpression::parse(dim));
  }
  for (const Stage &stage : plan.stages) {
    void *address = lookup(stage.symbol);
    if (!address)
      return makeError("expected the compiled object to define stage '", stage.symbol,
                       "', found no such symbol");
    executor.stages.push_back(
        {reinterpret_cast<StageFunction>(address), *SizeExpression::parse(stage.items)});
  }
  executor.plan = std::move(plan);
  executor.code = std::move(code);
  executor.options = options;
  return executor;
}

/// Every tensor given must be one of the plan's buffers of this role and have its type.
Status Executor::checkNames(const TensorMap &tensors, Role role, const char *what) const {
  for (const auto &[name, tensor] : tensors) {
    const int index = plan.findBuffer(name);
    if (index < 0 || plan.buffers[index].role != role) {
      std::string known;
      for (const Buffer &buffer : plan.buffers)
        if (buffer.role == role)
          known += (known.empty() ? "" : ", ") + buffer.name;
      return makeError("tensor '", name, "': '", plan.entry, "' has no such ", what,
                       "; expected only ", known.empty() ? "none" : known);
    }
    if (!tensor.isDefined())
      return makeError("tensor '", name, "': expected elements, found an undefined tensor");
    if (tensor.dtype() != plan.buffers[index].dtype)
      return makeError("tensor '", name, "': expected element type ",
                       nameOf(plan.buffers[index].dtype), ", found ", nameOf(tensor.dtype()));
  }
  return Status::success();
}

Expected<CallSizes> Executor::bind(const TensorMap &arguments, const Positions &positions) const {
  for (const Buffer &buffer : plan.buffers)
    if (buffer.role == Role::Argument && !buffer.optional && !arguments.contains(buffer.name))
      return makeError("tensor '", buffer.name, "': expected as argument of '", plan.entry,
                       "', found none");
  if (Status s = checkNames(arguments, Role::Argument, "argument"); !s)
    return s.takeError();
  plan::ShapeBinder binder(plan.headDim, plan.valueDim);
  for (const Buffer &buffer : plan.buffers)
    if (auto found = arguments.find(buffer.name); found != arguments.end())
      if (Status s = binder.bind(buffer.name, buffer.shape, found->second.shape()); !s)
        return s.takeError();
  for (const Buffer &buffer : plan.buffers)
    if (auto found = arguments.find(buffer.name); found != arguments.end())
      if (Status s = binder.check(buffer.name, buffer.shape, found->second.shape()); !s)
        return s.takeError();
  return binder.finish(positions);
}

Expected<Shape> Executor::shapeOf(size_t index, const CallSizes &sizes) const {
  Shape shape;
  for (const SizeExpression &dim : shapes[index]) {
    Expected<int64_t> value = dim.evaluate(sizes.values(plan.headDim, plan.valueDim));
    if (!value)
      return value.takeError().within("buffer '" + plan.buffers[index].name + "'");
    shape.push_back(*value);
  }
  return shape;
}

bool Executor::isUsedBy(size_t index, bool backward) const {
  for (const Stage &stage : plan.stages)
    if (isBackward(stage.phase) == backward &&
        std::find(stage.buffers.begin(), stage.buffers.end(), static_cast<int>(index)) !=
            stage.buffers.end())
      return true;
  return false;
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

Expected<Tensor> Executor::allocate(size_t index, const CallSizes &sizes, bool zero,
                                    ParallelFor &pool) const {
  Expected<Shape> shape = shapeOf(index, sizes);
  if (!shape)
    return shape.takeError();
  Expected<Tensor> tensor = Tensor::allocate(plan.buffers[index].dtype, *std::move(shape));
  if (!tensor)
    return tensor.takeError().within("buffer '" + plan.buffers[index].name + "'");
  if (zero)
    fillBytes(*tensor, 0, pool);
  else if (options.poison)
    fillBytes(*tensor, 0xFF, pool);
  return tensor;
}

Status Executor::runStages(bool backward, const CallSizes &sizes, std::vector<Tensor> &buffers,
                           ParallelFor &pool) const {
  const std::array<int64_t, 9> abi = sizes.abi();
  std::vector<void *> pointers;
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage &stage = plan.stages[i];
    if (isBackward(stage.phase) != backward)
      continue;
    Expected<int64_t> items = stages[i].items.evaluate(sizes.values(plan.headDim, plan.valueDim));
    if (!items)
      return items.takeError().within("stage '" + stage.symbol + "'");
    pointers.clear();
    for (int index : stage.buffers)
      pointers.push_back(buffers[index].rawData());
    if (options.guard) {
      std::vector<const Tensor *> used;
      for (int index : stage.buffers)
        used.push_back(&buffers[index]);
      options.guard->begin(stage, used);
    }
    parallelFor(pool, *items, [&, function = stages[i].function](int64_t item) {
      FloatingPointMode mode;
      function(pointers.data(), abi.data(), item);
    });
    if (options.guard)
      if (Status s = options.guard->end(stage); !s)
        return s.takeError().within("stage '" + stage.symbol + "'");
  }
  return Status::success();
}

Expected<ForwardCall> Executor::forward(const TensorMap &arguments, const Positions &positions,
                                        ParallelFor &pool) const {
  Expected<CallSizes> sizes = bind(arguments, positions);
  if (!sizes)
    return sizes.takeError();
  ForwardCall call;
  call.callSizes = *sizes;
  call.buffers.resize(plan.buffers.size());
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer &buffer = plan.buffers[i];
    if (buffer.role == Role::Argument) {
      if (auto found = arguments.find(buffer.name); found != arguments.end())
        call.buffers[i] = found->second.contiguous();
      continue;
    }
    if (buffer.role != Role::Result && buffer.role != Role::Residual &&
        !(buffer.role == Role::Temporary && isUsedBy(i, /*backward=*/false)))
      continue;
    Expected<Tensor> tensor = allocate(i, *sizes, buffer.zero, pool);
    if (!tensor)
      return tensor.takeError();
    call.buffers[i] = *std::move(tensor);
    if (buffer.role == Role::Result)
      call.outputs[buffer.name] = call.buffers[i];
  }
  if (Status s = runStages(/*backward=*/false, *sizes, call.buffers, pool); !s)
    return s.takeError();
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].role == Role::Temporary || !isUsedBy(i, /*backward=*/true))
      call.buffers[i] = Tensor();
  return call;
}

Expected<TensorMap> Executor::backward(const ForwardCall &call, const TensorMap &cotangents,
                                       ParallelFor &pool) const {
  if (!plan.hasBackward())
    return makeError("'", plan.entry, "' was compiled without gradients; compile it with them");
  if (Status s = checkNames(cotangents, Role::Cotangent, "cotangent"); !s)
    return s.takeError();
  if (cotangents.empty())
    return makeError("expected at least one cotangent (d_RESULT), found none");
  std::vector<Tensor> buffers = call.buffers;
  TensorMap gradients;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer &buffer = plan.buffers[i];
    if (auto found = cotangents.find(buffer.name);
        buffer.role == Role::Cotangent && found != cotangents.end()) {
      Expected<Shape> shape = shapeOf(i, call.callSizes);
      if (!shape)
        return shape.takeError();
      if (*shape != found->second.shape())
        return makeError("tensor '", buffer.name, "': expected shape ", toString(*shape),
                         ", found ", toString(found->second.shape()));
      buffers[i] = found->second.contiguous();
      continue;
    }
    if (buffer.role != Role::Cotangent && buffer.role != Role::Gradient &&
        !(buffer.role == Role::Temporary && isUsedBy(i, /*backward=*/true)))
      continue;
    const bool zero = buffer.zero || buffer.role == Role::Cotangent;
    Expected<Tensor> tensor = allocate(i, call.callSizes, zero, pool);
    if (!tensor)
      return tensor.takeError();
    buffers[i] = *std::move(tensor);
    if (buffer.role == Role::Gradient)
      gradients[buffer.name] = buffers[i];
  }
  if (Status s = runStages(/*backward=*/true, call.callSizes, buffers, pool); !s)
    return s.takeError();
  return gradients;
}

} // namespace pe::cpu
