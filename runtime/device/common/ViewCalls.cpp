//===- ViewCalls.cpp - Calls on the caller's views ------------------------===//
//
// The calls of Runner on the caller's memory, with and without lengths per batch entry. Runner.cpp
// implements calls on host tensors.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/common/HostMemory.h"
#include "runtime/device/common/Runner.h"
#include "runtime/device/common/ValueChecks.h"

#include <algorithm>

namespace pe::device {

Status Runner::run(Halves halves, std::span<const View> views, const plan::Scalars &scalars,
                   const CallContext &context) const {
  if (hasLengths(bound(), views)) {
    BoundEntries entries(bound(), halves, views);
    if (Status s = entries.bind(scalars); !s)
      return s;
    if (Status s = entries.place(context.workspace, context.workspaceBytes); !s)
      return s;
    return run(entries, context);
  }
  BoundCall call(bound(), halves, views);
  if (Status s = call.bind(scalars); !s)
    return s;
  if (Status s = call.checkMemory(context.workspace, context.workspaceBytes); !s)
    return s;
  return run(call, context);
}

Status Runner::runEntries(const BoundEntries &entries, const CallContext &context) const {
  for (size_t i = 0; i < entries.size(); ++i) {
    CallContext own = context;
    own.workspace = entries.firstByte(i);
    own.workspaceBytes = entries[i].usedBytes();
    if (Status s = run(entries[i], own); !s)
      return s.takeError().within(entries.describe(i));
  }
  return Status::success();
}

Status Runner::run(const BoundEntries &entries, const CallContext &context) const {
  if (Status s = checkValues(entries); !s)
    return s;
  if (Status s = runEntries(entries, context); !s)
    return s;
  completeOnHost(entries, *context.pool);
  return Status::success();
}

Expected<int64_t> Runner::workspace(Halves halves, std::span<const View> views) const {
  if (hasLengths(bound(), views)) {
    BoundEntries entries(bound(), halves, views);
    Status measured = entries.measure();
    return measured ? Expected<int64_t>(entries.workspaceBytes()) : measured.takeError();
  }
  BoundCall call(bound(), halves, views);
  Status measured = call.measure();
  return measured ? Expected<int64_t>(call.workspaceBytes()) : measured.takeError();
}

Status Runner::shapeOf(std::span<const View> arguments, View &tensor) const {
  const BoundPlan &plan = bound();
  const int index = plan.find(tensor.name);
  if (index < 0)
    return makeError("tensor '", tensor.name, "': '", getPlan().entry,
                     "' has no such tensor; expected one of ",
                     plan.names([](int) { return true; }));
  const bool withLengths = hasLengths(plan, arguments);
  std::vector<View> others;
  if (withLengths)
    std::copy_if(arguments.begin(), arguments.end(), std::back_inserter(others),
                 [&](const View &view) { return !view.name || !isLengths(plan, view.name); });
  SizeTable sizes;
  BoundCall call(plan, kForward, withLengths ? std::span<const View>(others) : arguments);
  if (Status s = call.findShapes(sizes); !s)
    return s;
  const bool isGroup = index >= static_cast<int>(plan.buffers().size());
  Extents shape;
  if (Status s = withLengths ? shapeWithLengths(plan, static_cast<size_t>(index), sizes, shape)
                             : plan.shapeOfTensor(static_cast<size_t>(index), sizes, shape);
      !s)
    return s;
  tensor.dtype = static_cast<pe_dtype>(isGroup ? DType::U8 : getPlan().buffers[index].dtype);
  tensor.rank = shape.rank;
  int64_t step = 1;
  for (int k = shape.rank; k-- > 0;) {
    tensor.shape[k] = shape.dims[k];
    tensor.strides[k] = step;
    if (__builtin_mul_overflow(step, std::max<int64_t>(shape.dims[k], 1), &step))
      return makeError("tensor '", tensor.name, "': expected fewer than 2^63 elements");
  }
  return Status::success();
}

} // namespace pe::device
