//===- BoundPlan.cpp - A plan with its size expressions parsed ------------===//

#include "runtime/device/common/BoundPlan.h"

#include "runtime/device/common/Runner.h"

#include <algorithm>

namespace pe::device {

using plan::Buffer;
using plan::Frame;
using plan::Role;
using plan::SizeExpression;
using plan::Stage;

Expected<BoundPlan> BoundPlan::create(plan::Plan plan) {
  if (Status s = plan::validate(plan); !s)
    return s.takeError();
  BoundPlan bound;
  bound.layout = *plan::FrameLayout::create(plan.frame);
  // They were validated.
  const auto resolved = [&](const std::string &text) {
    SizeExpression expression = *SizeExpression::parse(text);
    (void)expression.resolve(bound.layout.getNames());
    return expression;
  };
  for (const Buffer &buffer : plan.buffers) {
    plan::SymbolicShape &shape = bound.shapes.emplace_back();
    for (const std::string &dim : buffer.shape)
      shape.push_back(resolved(dim));
  }
  for (const Stage &stage : plan.stages)
    bound.items.push_back(resolved(stage.items));
  bound.words.resize(plan.buffers.size());
  for (size_t i = 0; i < plan.frame.size(); ++i)
    if (plan.frame[i].kind == plan::FrameWord::Kind::Stride)
      bound.words[plan.findBuffer(plan.frame[i].name)].push_back(static_cast<int>(i));
  bound.plan = std::move(plan);
  bound.identity = std::make_shared<const char>();
  return bound;
}

Status BoundPlan::checkCall(const Call &call) const {
  if (call.function == identity)
    return Status::success();
  return makeError("expected a forward call of this function, '", plan.entry,
                   "', found one that another function made");
}

/// Every tensor given must be one of the plan's buffers of this role and have its type.
Status BoundPlan::checkNames(const TensorMap &tensors, Role role, const char *what) const {
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

Expected<Frame> BoundPlan::bind(const TensorMap &arguments, const plan::Scalars &scalars) const {
  for (const Buffer &buffer : plan.buffers)
    if (buffer.role == Role::Argument && !buffer.optional && !arguments.contains(buffer.name))
      return makeError("tensor '", buffer.name, "': expected as argument of '", plan.entry,
                       "', found none");
  if (Status s = checkNames(arguments, Role::Argument, "argument"); !s)
    return s.takeError();
  plan::ShapeBinder binder(layout);
  binder.set("d", plan.headDim);
  binder.set("e", plan.valueDim);
  for (size_t i = 0; i < shapes.size(); ++i)
    if (auto found = arguments.find(plan.buffers[i].name); found != arguments.end())
      if (Status s = binder.bind(plan.buffers[i].name, shapes[i], found->second.shape()); !s)
        return s.takeError();
  for (size_t i = 0; i < shapes.size(); ++i)
    if (auto found = arguments.find(plan.buffers[i].name); found != arguments.end())
      if (Status s = binder.check(plan.buffers[i].name, shapes[i], found->second.shape()); !s)
        return s.takeError();
  Expected<Frame> frame = binder.finish(scalars);
  if (frame)
    if (Status s = fillStrides(*frame); !s)
      return s.takeError();
  return frame;
}

Expected<Frame> BoundPlan::frameOf(const plan::CallSizes &sizes) const {
  Frame frame = layout.frameOf(sizes, plan.headDim, plan.valueDim);
  if (Status s = fillStrides(frame); !s)
    return s.takeError();
  return frame;
}

bool BoundPlan::canUse(size_t index, const void *data, std::span<const int64_t> shape,
                       std::span<const int64_t> strides) const {
  constexpr int64_t kMaxPitch = int64_t(1) << 24;
  const auto bytes = static_cast<int64_t>(sizeOf(plan.buffers[index].dtype));
  bool isPacked = true, isGood = !words[index].empty();
  const uintptr_t alignment = isGood ? 16 : Tensor::kAlignment;
  int64_t packed = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 0)
      return true;
    const int64_t stride = strides[axis];
    const bool isLast = axis + 1 == shape.size(), isRow = axis + 2 == shape.size();
    if (shape[axis] > 1) {
      isPacked &= stride == packed;
      isGood &= isLast ? stride == 1 : stride >= 0 && stride % (16 / bytes) == 0;
      isGood &= !isRow || stride < kMaxPitch / bytes;
    }
    packed *= shape[axis];
  }
  return reinterpret_cast<uintptr_t>(data) % alignment == 0 && (isPacked || isGood);
}

void BoundPlan::setStrides(size_t index, std::span<const int64_t> strides, Frame &frame) const {
  for (size_t axis = 0; axis < words[index].size(); ++axis)
    frame[words[index][axis]] = strides[axis];
}

Status BoundPlan::fillStrides(Frame &frame) const {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].empty())
      continue;
    Expected<Shape> shape = shapeOf(i, frame);
    if (!shape)
      return shape.takeError();
    int64_t stride = 1;
    for (size_t axis = shape->size() - 1; axis-- > 0;) {
      if (__builtin_mul_overflow(stride, (*shape)[axis + 1], &stride))
        return makeError("buffer '", plan.buffers[i].name,
                         "': expected fewer than 2^63 elements, found shape ", toString(*shape));
      frame[words[i][axis]] = stride;
    }
  }
  return Status::success();
}

Status BoundPlan::checkCotangents(const TensorMap &cotangents, const Frame &frame) const {
  if (!plan.hasBackward())
    return makeError("'", plan.entry, "' was compiled without gradients; compile it with them");
  if (Status s = checkNames(cotangents, Role::Cotangent, "cotangent"); !s)
    return s;
  if (cotangents.empty())
    return makeError("expected at least one cotangent (d_RESULT), found none");
  for (const auto &[name, tensor] : cotangents) {
    Expected<Shape> shape = shapeOf(plan.findBuffer(name), frame);
    if (!shape)
      return shape.takeError();
    if (*shape != tensor.shape())
      return makeError("tensor '", name, "': expected shape ", toString(*shape), ", found ",
                       toString(tensor.shape()));
  }
  return Status::success();
}

Expected<Shape> BoundPlan::shapeOf(size_t index, const Frame &frame) const {
  Shape shape;
  for (const SizeExpression &dim : shapes[index]) {
    Expected<int64_t> value = dim.evaluate(frame);
    if (!value)
      return value.takeError().within("buffer '" + plan.buffers[index].name + "'");
    shape.push_back(*value);
  }
  return shape;
}

Expected<int64_t> BoundPlan::itemsOf(size_t index, const Frame &frame) const {
  Expected<int64_t> count = items[index].evaluate(frame);
  if (!count)
    return count.takeError().within("stage '" + plan.stages[index].symbol + "'");
  return count;
}

bool BoundPlan::isUsedBy(size_t index, Half half) const {
  return std::any_of(plan.stages.begin(), plan.stages.end(), [&](const Stage &stage) {
    return halfOf(stage.phase) == half && std::find(stage.buffers.begin(), stage.buffers.end(),
                                                    static_cast<int>(index)) != stage.buffers.end();
  });
}

bool BoundPlan::isAllocatedFor(size_t index, Half half) const {
  const Role role = plan.buffers[index].role;
  if (role == Role::Temporary)
    return isUsedBy(index, half);
  if (half == Half::Forward)
    return role == Role::Result || role == Role::Residual;
  return role == Role::Cotangent || role == Role::Gradient;
}

} // namespace pe::device
