//===- ViewTiming.cpp - Timing of calls on views ---===//
#include "tools/pe/ViewTiming.h"

#include "pe/View.h"
#include "tools/pe/Timing.h"

#include <chrono>
#include <cstring>

namespace pe::cli {
namespace {

using device::Halves;
using plan::Role;

/// Both halves of a call in one layout, with separate memory.
class PlacedCall {
public:
  PlacedCall(const device::Runner &runner, bool isByPosition)
      : runner(runner), isByPosition(isByPosition) {}

  Status place(const TensorMap &inputs);
  Expected<device::CallTimes> time(ParallelFor &pool);
  /// Returns results and gradients.
  const TensorMap &outputs() const { return written; }

private:
  Expected<Tensor> allocate(std::vector<int64_t> shape, DType dtype) const;
  Status add(const std::string &name, std::span<const View> arguments, bool isOutput);
  Expected<double> timeHalf(Halves half, std::span<const View> views, ParallelFor &pool);

  const device::Runner &runner;
  const bool isByPosition; // memory is [B, S, H, D] instead of [B, H, S, D]
  std::map<std::string, Tensor> tensors;
  TensorMap written;
  std::vector<View> forward, backward;
  Tensor workspace;
};

Expected<Tensor> PlacedCall::allocate(std::vector<int64_t> shape, DType dtype) const {
  const bool isSwapped = isByPosition && shape.size() == 4;
  if (isSwapped)
    std::swap(shape[1], shape[2]);
  auto tensor = Tensor::allocateZeros(dtype, shape);
  return tensor && isSwapped ? tensor->transpose(1, 2) : std::move(tensor);
}

/// Adds a tensor that the call writes, or that one half stores for the other.
Status PlacedCall::add(const std::string &name, std::span<const View> arguments, bool isOutput) {
  View view = {};
  view.name = name.c_str();
  if (Status s = runner.shapeOf(arguments, view); !s)
    return s;
  auto tensor = allocate({view.shape, view.shape + view.rank}, static_cast<DType>(view.dtype));
  if (!tensor)
    return tensor.takeError().within("tensor '" + name + "'");
  if (isOutput)
    written[name] = *tensor;
  tensors[name] = *std::move(tensor);
  return Status::success();
}

Status PlacedCall::place(const TensorMap &inputs) {
  for (const auto &[name, tensor] : inputs) {
    auto placed = allocate(tensor.shape(), tensor.dtype());
    if (!placed)
      return placed.takeError().within("tensor '" + name + "'");
    placed->copyFrom(tensor);
    tensors[name] = *std::move(placed);
  }
  std::vector<View> arguments;
  const device::BoundPlan &plan = runner.bound();
  const auto &buffers = runner.getPlan().buffers;
  for (const plan::Buffer &buffer : buffers)
    if (auto found = tensors.find(buffer.name);
        buffer.role == Role::Argument && found != tensors.end())
      arguments.push_back(viewOf(buffer.name.c_str(), found->second));
  for (size_t i = 0; i < buffers.size(); ++i) {
    const bool isOutput = buffers[i].role == Role::Result || buffers[i].role == Role::Gradient;
    if (isOutput || plan.isSaved(i))
      if (Status s = add(buffers[i].name, arguments, isOutput); !s)
        return s;
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    auto found = tensors.find(buffers[i].name);
    if (found == tensors.end())
      continue;
    const View view = viewOf(found->first.c_str(), found->second);
    if (buffers[i].role != Role::Cotangent && buffers[i].role != Role::Gradient)
      forward.push_back(view);
    backward.push_back(view);
  }
  return Status::success();
}

Expected<double> PlacedCall::timeHalf(Halves half, std::span<const View> views, ParallelFor &pool) {
  device::BoundCall sizing(runner.bound(), half, views);
  if (Status s = sizing.bind({}); !s)
    return s.takeError();
  if (!workspace.isDefined() ||
      static_cast<int64_t>(workspace.byteSize()) < sizing.workspaceBytes()) {
    auto larger = Tensor::allocate(DType::U8, {sizing.workspaceBytes()});
    if (!larger)
      return larger.takeError().within("workspace");
    workspace = *std::move(larger);
  }
  device::CallContext context;
  context.workspace = workspace.rawData();
  context.workspaceBytes = static_cast<int64_t>(workspace.byteSize());
  context.pool = &pool;
  const auto begin = std::chrono::steady_clock::now();
  Status status = runner.run(half, views, {}, context);
  const auto end = std::chrono::steady_clock::now();
  if (!status)
    return status.takeError();
  return std::chrono::duration<double>(end - begin).count();
}

Expected<device::CallTimes> PlacedCall::time(ParallelFor &pool) {
  auto first = timeHalf(device::kForward, forward, pool);
  if (!first)
    return first.takeError();
  auto second = timeHalf(device::kBackward, backward, pool);
  if (!second)
    return second.takeError();
  return device::CallTimes{*first, *second};
}

bool haveEqualBits(const TensorMap &left, const TensorMap &right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const auto &a, const auto &b) {
                      const Tensor x = a.second.contiguous(), y = b.second.contiguous();
                      return x.byteSize() == y.byteSize() &&
                             std::memcmp(x.rawData(), y.rawData(), x.byteSize()) == 0;
                    });
}

} // namespace

Expected<ViewTiming> timeViews(const device::Runner &runner, const TensorMap &inputs,
                               ParallelFor &pool, int repeats) {
  PlacedCall calls[2] = {{runner, false}, {runner, true}};
  std::vector<double> forward[2], backward[2];
  for (PlacedCall &call : calls)
    if (Status s = call.place(inputs); !s)
      return s.takeError();
  for (int repeat = -1; repeat < repeats; ++repeat)
    for (int layout : {0, 1}) {
      auto times = calls[layout].time(pool);
      if (!times)
        return times.takeError();
      if (repeat < 0)
        continue;
      forward[layout].push_back(times->forward);
      backward[layout].push_back(times->backward);
    }
  ViewTiming timing;
  timing.contiguous = {medianOf(forward[0]), medianOf(backward[0])};
  timing.views = {medianOf(forward[1]), medianOf(backward[1])};
  timing.isEqual = haveEqualBits(calls[0].outputs(), calls[1].outputs());
  return timing;
}

} // namespace pe::cli
