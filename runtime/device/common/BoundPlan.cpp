//===- BoundPlan.cpp - A plan with its size expressions parsed ------------===//

#include "runtime/device/common/BoundPlan.h"

#include <algorithm>
#include <set>

namespace pe::device {

using plan::Buffer;
using plan::Role;
using plan::SizeExpression;
using plan::Stage;

Expected<int64_t> SizeTable::evaluate(const SizeExpression &expression) const {
  if (const int64_t *value = find(expression))
    return *value;
  for (const SizeExpression::Step &step : expression.getSteps())
    if (step.kind == SizeExpression::Kind::Name && !has(step.value))
      return makeError("size expression '", expression.text(), "': no tensor of the call gives '",
                       step.name, "'");
  return expression.evaluate(std::span<const int64_t>(values));
}

Status SizeTable::complete(const plan::FrameLayout &layout, const plan::Scalars &scalars) {
  const size_t count = layout.getWords().size();
  if (Status s = layout.fillSizes({values, count}, {known, count}); !s)
    return s;
  if (Status s = layout.fillParameters({values, count}, scalars); !s)
    return s;
  std::fill_n(known, count, true);
  return Status::success();
}

Expected<BoundPlan> BoundPlan::create(plan::Plan plan) {
  if (Status s = plan::validate(plan); !s)
    return s.takeError();
  if (plan.frame.size() > SizeTable::kMost)
    return makeError("frame: expected at most ", SizeTable::kMost, " words, found ",
                     plan.frame.size());
  BoundPlan bound;
  bound.layout = *plan::FrameLayout::create(plan.frame);
  // `validate` has parsed and resolved the expressions, so this cannot fail.
  const auto resolved = [&](const std::string &text) {
    SizeExpression expression = *SizeExpression::parse(text);
    (void)expression.resolve(bound.layout.getNames());
    return expression;
  };
  for (const Buffer &buffer : plan.buffers) {
    BoundBuffer &parsed = bound.boundBuffers.emplace_back();
    for (const std::string &dim : buffer.shape)
      parsed.shape.push_back(resolved(dim));
  }
  for (const Stage &stage : plan.stages)
    bound.boundStages.push_back(
        {resolved(stage.items),
         stage.when.empty() ? std::nullopt : std::optional(resolved(stage.when)),
         halfOf(stage.phase)});
  for (const plan::Requirement &requirement : plan.requirements)
    bound.requirements.push_back({resolved(requirement.size), resolved(requirement.least)});
  for (const plan::ValueRequirement &requirement : plan.valueRequirements)
    bound.valueRequirements.push_back({resolved(requirement.first), resolved(requirement.last)});
  for (size_t i = 0; i < plan.frame.size(); ++i)
    if (plan.frame[i].kind == plan::FrameWord::Kind::Stride)
      bound.boundBuffers[plan.findBuffer(plan.frame[i].name)].strideWords.push_back(
          static_cast<int>(i));
  bound.plan = std::move(plan);
  bound.machine = plan::findMachine(bound.plan.features);
  bound.identity = std::make_shared<const char>();
  bound.findUses();
  bound.findGroups();
  for (size_t i = 0; i < bound.boundBuffers.size(); ++i)
    if (bound.plan.buffers[i].role != Role::Temporary && bound.boundBuffers[i].group < 0)
      bound.callable.push_back(static_cast<int>(i));
  for (size_t g = 0; g < bound.preparedGroups.size(); ++g)
    bound.callable.push_back(static_cast<int>(bound.boundBuffers.size() + g));
  return bound;
}

void BoundPlan::findUses() {
  for (size_t i = 0; i < boundBuffers.size(); ++i)
    if (const std::string &absent = plan.buffers[i].parameter.absent; !absent.empty()) {
      boundBuffers[i].absent = plan.findBuffer(absent);
      boundBuffers[i].givenWord = layout.find("given_" + plan.buffers[i].name);
    }
  for (size_t i = 0; i < boundStages.size(); ++i) {
    for (int index : plan.stages[i].buffers)
      boundBuffers[index].usedBy |= boundStages[i].half;
    for (int index : plan.stages[i].writes)
      boundBuffers[index].writtenBy |= boundStages[i].half;
  }
}

void BoundPlan::addToGroup(int buffer, int group) {
  boundBuffers[buffer].group = group;
  preparedGroups[group].members.push_back(buffer);
  preparedGroups[group].readBy |= boundBuffers[buffer].usedBy & ~kPrepare;
}

void BoundPlan::findGroups() {
  // The arguments that each buffer depends on, through the prepare stages before it.
  std::vector<std::set<int>> of(boundBuffers.size());
  const auto isPrepared = [&](int index) {
    const BoundBuffer &buffer = boundBuffers[index];
    return buffer.writtenBy == kPrepare && (buffer.usedBy & ~kPrepare);
  };
  std::vector<int> leader(boundBuffers.size()); // union-find over the buffers of a group
  for (size_t i = 0; i < leader.size(); ++i)
    leader[i] = static_cast<int>(i);
  const auto leaderOf = [&](int index) {
    while (leader[index] != index)
      index = leader[index];
    return index;
  };
  for (size_t i = 0; i < boundStages.size(); ++i) {
    if (boundStages[i].half != kPrepare)
      continue;
    std::set<int> sources;
    for (int index : plan.stages[i].buffers) {
      if (plan.buffers[index].role == Role::Argument)
        sources.insert(index);
      sources.insert(of[index].begin(), of[index].end());
    }
    for (int index : plan.stages[i].writes)
      of[index].insert(sources.begin(), sources.end());
  }
  // Buffers may share a group if they depend on the same data; their parameters may differ.
  const auto dataOf = [&](int index) {
    std::set<int> data;
    for (int source : of[index])
      if (plan.buffers[source].parameter.init.empty())
        data.insert(source);
    return data;
  };
  for (size_t i = 0; i < boundStages.size(); ++i)
    if (boundStages[i].half == kPrepare)
      for (int a : plan.stages[i].buffers)
        for (int b : plan.stages[i].buffers)
          if (isPrepared(a) && isPrepared(b) && dataOf(a) == dataOf(b) &&
              mentions(a, kCapacity) == mentions(b, kCapacity))
            leader[std::max(leaderOf(a), leaderOf(b))] = std::min(leaderOf(a), leaderOf(b));
  for (size_t i = 0; i < boundBuffers.size(); ++i) {
    const int index = static_cast<int>(i), first = leaderOf(index);
    if (!isPrepared(index))
      continue;
    if (first == index)
      preparedGroups.push_back({plan.buffers[i].name, {}, {}});
    const int group =
        first == index ? static_cast<int>(preparedGroups.size()) - 1 : boundBuffers[first].group;
    addToGroup(index, group);
    std::vector<int> &sources = preparedGroups[group].of;
    for (int source : of[index])
      if (std::find(sources.begin(), sources.end(), source) == sources.end())
        sources.push_back(source);
    std::sort(sources.begin(), sources.end());
  }
  markTables();
}

/// Returns true if an extent of the buffer depends on the size.
bool BoundPlan::mentions(int buffer, std::string_view size) const {
  for (const SizeExpression &dim : boundBuffers[buffer].shape)
    for (const SizeExpression::Step &step : dim.getSteps())
      if (step.kind == SizeExpression::Kind::Name && step.name == size)
        return true;
  return false;
}

/// Finds the groups that hold for every number of keys up to the capacity.
void BoundPlan::markTables() {
  for (PreparedGroup &group : preparedGroups) {
    const auto isTable = [&](int member) {
      return mentions(member, kCapacity) && !mentions(member, "c") && !mentions(member, "b");
    };
    const auto isParameter = [&](int source) {
      return !mentions(source, "c") && !mentions(source, "r") && !mentions(source, "b");
    };
    group.isOfCapacity =
        std::ranges::all_of(group.members, isTable) && std::ranges::all_of(group.of, isParameter);
  }
}

std::string_view BoundPlan::nameOf(int index) const {
  const size_t buffers = boundBuffers.size();
  const size_t i = static_cast<size_t>(index);
  return i < buffers ? plan.buffers[i].name : preparedGroups[i - buffers].name;
}

int BoundPlan::find(std::string_view name, size_t &position) const {
  for (size_t tried = 0; tried < callable.size(); ++tried) {
    const int index = callable[position];
    position = position + 1 == callable.size() ? 0 : position + 1;
    if (nameOf(index) == name)
      return index;
  }
  return -1;
}

bool BoundPlan::canUse(size_t index, const void *data, std::span<const int64_t> shape,
                       std::span<const int64_t> strides) const {
  constexpr int64_t kMaxPitch = int64_t(1) << 24;
  const auto bytes = static_cast<int64_t>(sizeOf(plan.buffers[index].dtype));
  bool isPacked = true, isGood = !boundBuffers[index].strideWords.empty();
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
  const auto address = reinterpret_cast<uintptr_t>(data);
  return address % static_cast<uintptr_t>(addressMultiple(index)) == 0 && (isPacked || isGood);
}

void BoundPlan::setStrides(size_t index, std::span<const int64_t> strides, SizeTable &frame) const {
  const std::vector<int> &words = boundBuffers[index].strideWords;
  for (size_t axis = 0; axis < words.size(); ++axis)
    frame.set(words[axis], strides[axis]);
}

void BoundPlan::setPackedStrides(size_t index, std::span<const int64_t> shape,
                                 SizeTable &frame) const {
  const std::vector<int> &words = boundBuffers[index].strideWords;
  int64_t stride = 1;
  for (size_t axis = words.size(); axis-- > 0;) {
    stride *= shape[axis + 1];
    frame.set(words[axis], stride);
  }
}

Expected<plan::Frame> BoundPlan::frameOf(const plan::CallSizes &sizes) const {
  SizeTable frame;
  frame.set(layout.frameOf(sizes, plan.headDim, plan.valueDim));
  for (size_t i = 0; i < boundBuffers.size(); ++i) {
    Extents shape;
    if (boundBuffers[i].strideWords.empty())
      continue;
    if (Status s = shapeOf(i, frame, shape); !s)
      return s.takeError();
    setPackedStrides(i, shape.span(), frame);
  }
  return plan::Frame(frame.data(), frame.data() + layout.getWords().size());
}

Status BoundPlan::shapeOf(size_t index, const SizeTable &sizes, Extents &shape) const {
  shape.rank = 0;
  for (const SizeExpression &dim : boundBuffers[index].shape) {
    if (const int64_t *known = sizes.find(dim)) {
      shape.dims[shape.rank++] = *known;
      continue;
    }
    Expected<int64_t> value = sizes.evaluate(dim);
    if (!value)
      return value.takeError().within("tensor '" + plan.buffers[index].name + "'");
    shape.dims[shape.rank++] = *value;
  }
  return Status::success();
}

Status BoundPlan::bytesOf(size_t index, const SizeTable &sizes, int64_t &bytes) const {
  Extents shape;
  if (Status s = shapeOf(index, sizes, shape); !s)
    return s;
  const auto dims = shape.span();
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) {
    bytes = 0;
    return Status::success();
  }
  bytes = static_cast<int64_t>(sizeOf(plan.buffers[index].dtype));
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(bytes, dim, &bytes) || bytes > int64_t(1) << 60)
      return makeError(
          "tensor '", plan.buffers[index].name, "': expected at most 2^60 bytes, found shape ",
          toString(Shape(dims.begin(), dims.end())), " of ", pe::nameOf(plan.buffers[index].dtype));
  return Status::success();
}

Status BoundPlan::groupBytes(size_t group, const SizeTable &sizes, int64_t &bytes) const {
  bytes = 0;
  for (int member : preparedGroups[group].members) {
    int64_t own = 0;
    if (Status s = bytesOf(member, sizes, own); !s)
      return s;
    if (__builtin_add_overflow(bytes, aligned(own), &bytes))
      return makeError("tensor '", preparedGroups[group].name,
                       "': expected a size below 2^63 bytes");
  }
  return Status::success();
}

Status BoundPlan::shapeOfTensor(size_t index, const SizeTable &sizes, Extents &shape) const {
  if (index < boundBuffers.size())
    return shapeOf(index, sizes, shape);
  shape.rank = 1;
  return groupBytes(index - boundBuffers.size(), sizes, shape.dims[0]);
}

std::string BoundPlan::groupExpression(size_t group) const {
  std::string text;
  for (int member : preparedGroups[group].members) {
    const Buffer &buffer = plan.buffers[member];
    std::string bytes = std::to_string(sizeOf(buffer.dtype));
    for (const std::string &dim : buffer.shape)
      bytes += "*(" + dim + ")";
    text += (text.empty() ? "" : "+") + std::to_string(kAlignment) + "*ceildiv(" + bytes + "," +
            std::to_string(kAlignment) + ")";
  }
  return text;
}

Status BoundPlan::checkRequirements(const SizeTable &sizes) const {
  for (size_t i = 0; i < requirements.size(); ++i) {
    Expected<int64_t> size = sizes.evaluateSigned(requirements[i].size);
    Expected<int64_t> least = sizes.evaluateSigned(requirements[i].least);
    if (!size || !least)
      return size ? least.takeError() : size.takeError();
    if (*size >= *least)
      continue;
    if (requirements[i].size.asConstant()) // a constant is an upper bound on `least`
      return makeError(plan.requirements[i].what, ": expected at most ", *size, ", found ", *least);
    return makeError(plan.requirements[i].what, ": expected at least ", *least, ", found ", *size);
  }
  return Status::success();
}

Status BoundPlan::valuesOf(size_t index, const SizeTable &sizes, int64_t &first,
                           int64_t &last) const {
  for (auto [expression, value] : {std::pair(&valueRequirements[index].first, &first),
                                   {&valueRequirements[index].last, &last}}) {
    Expected<int64_t> found = sizes.evaluateSigned(*expression);
    if (!found)
      return found.takeError();
    *value = *found;
  }
  return Status::success();
}

bool BoundPlan::doesRun(size_t index, const SizeTable &sizes) const {
  const std::optional<SizeExpression> &when = boundStages[index].when;
  if (!when)
    return true;
  const Expected<int64_t> value = sizes.evaluateSigned(*when);
  return value && *value > 0;
}

Status BoundPlan::itemsOf(size_t index, const SizeTable &sizes, int64_t &items) const {
  Expected<int64_t> count = sizes.evaluate(boundStages[index].items);
  if (!count)
    return count.takeError().within("stage '" + plan.stages[index].symbol + "'");
  items = *count;
  return Status::success();
}

} // namespace pe::device
