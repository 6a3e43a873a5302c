//===- BoundFunction.cpp - Repeated calls of a compiled function ----------===//
#include "runtime/train/api/BoundFunction.h"

#include <algorithm>

namespace pe::train {

BoundFunction::BoundFunction(std::shared_ptr<const api::CompiledFunction> given, ParallelFor &pool)
    : function(std::move(given)), pool(pool), runner(*function->runner) {
  const device::BoundPlan &plan = runner.bound();
  const std::vector<plan::Buffer> &buffers = plan.getPlan().buffers;
  for (size_t i = 0; i < plan.buffers().size(); ++i) {
    const bool isReadResult =
        buffers[i].role == plan::Role::Result && (plan.buffers()[i].usedBy & device::kBackward);
    if (plan.isSaved(i) || isReadResult)
      names.push_back(buffers[i].name);
  }
  for (const device::PreparedGroup &group : plan.groups())
    if (group.readBy & device::kBackward)
      names.push_back(group.name);
}

Status BoundFunction::forward(std::vector<View> views, TensorMap &kept) {
  const std::vector<View> given = views;
  for (const std::string &name : names) {
    if (std::any_of(given.begin(), given.end(),
                    [&](const View &view) { return view.name == name; }))
      continue;
    View view = {};
    view.name = name.c_str();
    if (Status s = runner.shapeOf(given, view); !s)
      return s;
    Tensor &tensor = kept[name];
    Shape shape(view.shape, view.shape + view.rank);
    if (!tensor.isDefined() || tensor.shape() != shape)
      tensor = Tensor::empty(static_cast<DType>(view.dtype), std::move(shape));
    views.push_back(viewOf(name.c_str(), tensor));
  }
  return run(device::kPrepare | device::kForward, views);
}

Status BoundFunction::backward(std::vector<View> views, const TensorMap &kept) {
  for (const auto &[name, tensor] : kept)
    views.push_back(viewOf(name.c_str(), tensor));
  return run(device::kBackward, views);
}

Status BoundFunction::run(device::Halves halves, const std::vector<View> &views) {
  device::BoundCall call(runner.bound(), halves, views);
  if (Status s = call.bind({}); !s)
    return s;
  if (!workspace.isDefined() || workspace.numel() < call.workspaceBytes())
    workspace = Tensor::empty(DType::U8, {call.workspaceBytes()});
  device::CallContext context;
  context.workspace = workspace.rawData();
  context.workspaceBytes = workspace.numel();
  context.pool = &pool;
  if (Status s = call.checkMemory(context.workspace, context.workspaceBytes); !s)
    return s;
  return runner.run(call, context);
}

} // namespace pe::train
