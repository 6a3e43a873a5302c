//===- BoundCall.cpp - The memory layout and stages of a call -------------===//

#include "runtime/device/common/BoundCall.h"

#include "runtime/plan/ShapeBinder.h"

#include <algorithm>
#include <cstdlib>

namespace pe::device {

using plan::Buffer;
using plan::Role;
using plan::SizeExpression;
using Place = Slot::Place;

bool isContiguous(const View &view) {
  int64_t expected = 1;
  for (int k = view.rank; k-- > 0;) {
    if (view.shape[k] == 0)
      return true;
    if (view.shape[k] != 1 && view.strides[k] != expected)
      return false;
    expected *= view.shape[k];
  }
  return true;
}

/// Orders the axes by the strides of the view, so that its memory is accessed sequentially.
StridedCopy packingOf(const View &view, bool intoView) {
  int order[PE_MAX_RANK];
  int64_t packed[PE_MAX_RANK];
  int64_t step = 1;
  for (int k = view.rank; k-- > 0;) {
    order[k] = k;
    packed[k] = step;
    step *= view.shape[k];
  }
  std::stable_sort(order, order + view.rank, [&](int a, int b) {
    return std::abs(view.strides[a]) > std::abs(view.strides[b]);
  });
  StridedCopy copy(view.rank, static_cast<int64_t>(sizeOf(static_cast<DType>(view.dtype))));
  for (int k = 0; k < view.rank; ++k) {
    const int axis = order[k];
    copy.setAxis(k, view.shape[axis], intoView ? view.strides[axis] : packed[axis],
                 intoView ? packed[axis] : view.strides[axis]);
  }
  return copy;
}

Shape shapeOf(const View &view) { return Shape(view.shape, view.shape + view.rank); }

void BoundCall::reset() {
  slots.reset(plan.buffers().size());
  groupViews.reset(plan.groups().size());
  std::fill(groupViews.begin(), groupViews.end(), -1);
  active.reset(plan.stages().size());
  wanted.reset(plan.buffers().size());
  total = zeroed = 0;
  capacityView = -1;
}

Status BoundCall::findShapes(SizeTable &found) {
  reset();
  if (Status s = matchViews(); !s)
    return s;
  return collectSizes(found);
}

Status BoundCall::bind(const plan::Scalars &scalars) {
  if (Status s = matchSizes(scalars); !s)
    return s;
  if (Status s = plan.checkRequirements(values); !s)
    return s;
  return placeAll();
}

Status BoundCall::measure(const plan::Scalars &scalars) {
  if (Status s = matchSizes(scalars); !s)
    return s;
  return placeAll();
}

Status BoundCall::matchSizes(const plan::Scalars &scalars) {
  reset();
  if (halves <= 0 || halves > (kPrepare | kForward | kBackward))
    return makeError("expected one or more of PE_PREPARE, PE_FORWARD and PE_BACKWARD, found ",
                     halves);
  if ((halves & kBackward) && !plan.getPlan().hasBackward())
    return makeError("'", plan.getPlan().entry,
                     "' was compiled without gradients; compile it with them");
  if (Status s = matchViews(); !s)
    return s;
  if (Status s = findSizes(scalars); !s)
    return s;
  return checkAbsent();
}

Status BoundCall::placeAll() {
  if (Status s = checkShapes(); !s)
    return s;
  markWanted();
  chooseStages();
  if (Status s = checkWanted(); !s)
    return s;
  if (Status s = placeBuffers(); !s)
    return s;
  return layOut();
}

/// Returns the halves that accept tensor `index`.
static Halves halvesOf(const BoundPlan &plan, int index) {
  if (index >= static_cast<int>(plan.buffers().size()))
    return kPrepare | kForward | kBackward;
  switch (plan.getPlan().buffers[index].role) {
  case Role::Argument:
    return kPrepare | kForward | kBackward;
  case Role::Result:
  case Role::Residual:
    return kForward | kBackward;
  default:
    return kBackward;
  }
}

/// Checks that the element count and the extent of a view in memory do not overflow.
static Status checkExtents(const View &view) {
  __int128 reach = 0;
  int64_t elements = 1;
  bool isEmpty = false;
  for (int k = 0; k < view.rank; ++k) {
    if (view.shape[k] < 0)
      return makeError("tensor '", view.name, "': expected dimensions of at least 0, found shape ",
                       toString(shapeOf(view)));
    isEmpty |= view.shape[k] == 0;
  }
  for (int k = 0; k < view.rank && !isEmpty; ++k) {
    if (__builtin_mul_overflow(elements, view.shape[k], &elements) || elements > int64_t(1) << 57)
      return makeError("tensor '", view.name, "': expected at most 2^57 elements, found shape ",
                       toString(shapeOf(view)));
    if (view.shape[k] > 1)
      reach += __int128(view.shape[k] - 1) *
               (view.strides[k] < 0 ? -__int128(view.strides[k]) : __int128(view.strides[k]));
    if (reach > int64_t(1) << 57)
      return makeError("tensor '", view.name,
                       "': expected strides that stay within 2^57 elements, found strides ",
                       toString(Shape(view.strides, view.strides + view.rank)), " of shape ",
                       toString(shapeOf(view)));
  }
  return Status::success();
}

Status BoundCall::checkView(const View &view, int index, int position) const {
  if (index < 0 || !(halvesOf(plan, index) & halves)) {
    const char *what = halves & kBackward ? "" : index < 0 ? "" : " in a forward call";
    return makeError("tensor '", view.name, "': '", plan.getPlan().entry, "' has no such tensor",
                     what, "; expected only ",
                     plan.names([&](int known) { return (halvesOf(plan, known) & halves) != 0; }));
  }
  if (view.rank < 0 || view.rank > PE_MAX_RANK)
    return makeError("tensor '", view.name, "': expected a rank of 0 to ", int(PE_MAX_RANK),
                     ", found ", view.rank);
  const bool isGroup = index >= static_cast<int>(plan.buffers().size());
  const DType expected = isGroup ? DType::U8 : plan.getPlan().buffers[index].dtype;
  if (view.dtype != static_cast<pe_dtype>(expected)) {
    const auto found = static_cast<unsigned>(view.dtype);
    const bool isKnown = found < std::size(detail::kDTypes);
    return makeError("tensor '", view.name, "': expected element type ", nameOf(expected),
                     ", found ", isKnown ? nameOf(static_cast<DType>(found)) : "unknown type ",
                     isKnown ? "" : std::to_string(static_cast<int>(view.dtype)));
  }
  const int known = isGroup ? groupViews[index - plan.buffers().size()] : slots[index].view;
  if (known >= 0)
    return makeError("tensor '", view.name, "': expected it once, found it as tensors ", known,
                     " and ", position);
  return checkExtents(view);
}

/// Notes the view that gives the capacity.
Status BoundCall::matchCapacity(const View &view, int position) {
  if (capacityView >= 0)
    return makeError("tensor '", kCapacity, "': expected it once, found it as tensors ",
                     capacityView, " and ", position);
  if (view.rank != 1)
    return makeError(
        "tensor '", kCapacity,
        "': expected rank 1, because its shape is the number of keys that tables hold, "
        "found rank ",
        view.rank);
  capacityView = position;
  return Status::success();
}

Status BoundCall::matchViews() {
  size_t next = 0;
  for (size_t i = 0; i < views.size(); ++i) {
    const View &view = views[i];
    if (!view.name)
      return makeError("tensor ", i, ": expected a name, found none");
    const int index = plan.find(view.name, next);
    if (index < 0 && view.name == std::string_view(kCapacity) &&
        plan.getLayout().find(kCapacity) >= 0) {
      if (Status s = matchCapacity(view, static_cast<int>(i)); !s)
        return s;
      continue;
    }
    if (Status s = checkView(view, index, static_cast<int>(i)); !s)
      return s;
    if (index < static_cast<int>(slots.size()))
      slots[index].view = static_cast<int>(i);
    else
      groupViews[index - slots.size()] = static_cast<int>(i);
  }
  return Status::success();
}

/// Binds the sizes of the arguments one by one, with messages that name the tensors that define
/// them. Allocates, so it is used only on error paths.
Status BoundCall::bindSlowly(plan::ShapeBinder &binder) const {
  const plan::Plan &p = plan.getPlan();
  if (p.headDim)
    binder.set("d", p.headDim);
  if (p.valueDim)
    binder.set("e", p.valueDim);
  if (keys)
    binder.set("c", *keys);
  for (const plan::FrameWord &word : p.frame)
    if (word.name.starts_with("given_"))
      binder.set(word.name, 0);
  const auto each = [&](auto visit) {
    for (size_t i = 0; i < slots.size(); ++i)
      if (p.buffers[i].role == Role::Argument && slots[i].view >= 0)
        if (Status s =
                visit(p.buffers[i].name, plan.buffers()[i].shape, shapeOf(viewAt(slots[i].view)));
            !s)
          return s;
    return Status::success();
  };
  if (Status s = each([&](const auto &...tensor) { return binder.bind(tensor...); }); !s)
    return s;
  (void)each([&](const auto &...tensor) {
    binder.bindBlocks(tensor...);
    return Status::success();
  });
  return each([&](const auto &...tensor) { return binder.check(tensor...); });
}

/// Returns the error for inconsistent shapes, which names the tensors that define each size.
Error BoundCall::explainMismatch() const {
  plan::ShapeBinder binder(plan.getLayout());
  Status s = bindSlowly(binder);
  return s ? makeError("expected arguments with consistent shapes") : s.takeError();
}

/// Determines sizes from the numbers of their blocks (SizeExpression::asBlocks).
void BoundCall::collectBlocks(SizeTable &found) const {
  for (size_t i = 0; i < slots.size(); ++i) {
    if (plan.getPlan().buffers[i].role != Role::Argument || slots[i].view < 0)
      continue;
    const View &view = viewAt(slots[i].view);
    const plan::SymbolicShape &shape = plan.buffers()[i].shape;
    for (size_t k = 0; k < shape.size() && k < static_cast<size_t>(view.rank); ++k)
      if (const auto blocks = shape[k].asBlocks();
          blocks && !found.has(blocks->first) && found.has(blocks->second))
        found.set(blocks->first, plan::sizeOfBlocks(view.shape[k], found[blocks->second]));
  }
}

/// Reads the dimensions that are single names, then checks those that are expressions.
Status BoundCall::collectSizes(SizeTable &found) const {
  const plan::Plan &p = plan.getPlan();
  for (const auto &[name, depth] : {std::pair{"d", p.headDim}, {"e", p.valueDim}})
    if (const int word = plan.getLayout().find(name); depth && word >= 0)
      found.set(word, depth);
  if (const int word = plan.getLayout().find("c"); keys && word >= 0)
    found.set(word, *keys);
  for (bool isBound : {false, true}) {
    if (isBound)
      collectBlocks(found);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (p.buffers[i].role != Role::Argument || slots[i].view < 0)
        continue;
      const View &view = viewAt(slots[i].view);
      const plan::SymbolicShape &shape = plan.buffers()[i].shape;
      bool fits = static_cast<size_t>(view.rank) == shape.size();
      for (size_t k = 0; k < shape.size() && fits; ++k) {
        const bool isName = shape[k].asName();
        if (isBound && !isName) {
          Expected<int64_t> size = found.evaluate(shape[k]);
          fits = size && *size == view.shape[k];
        } else if (!isBound && isName) {
          const int64_t name = shape[k].getSteps()[0].value;
          fits = !found.has(name) || found[name] == view.shape[k];
          found.set(name, view.shape[k]);
        }
      }
      if (!fits)
        return explainMismatch();
    }
  }
  const int capacity = plan.getLayout().find(kCapacity), keys = plan.getLayout().find("c");
  if (capacityView >= 0)
    found.set(capacity, viewAt(capacityView).shape[0]);
  else if (capacity >= 0 && keys >= 0 && found.has(keys)) // for pe_shape, which needs no query
    found.set(capacity, found[keys]);
  return Status::success();
}

/// Checks the capacity of tables over distances, whose entries have 32-bit numbers.
Status BoundCall::checkCapacity() const {
  if (capacityView < 0)
    return Status::success();
  const int64_t given = viewAt(capacityView).shape[0];
  if (given < sizes.keys)
    return makeError("tensor '", kCapacity, "': expected a shape [n] of at least ", sizes.keys,
                     ", the number of keys, found [", given, "]");
  if (given + sizes.queries > plan::kDistanceLimit)
    return makeError("tensor '", kCapacity, "': expected a shape [n] of at most ",
                     plan::kDistanceLimit - sizes.queries, ", found [", given, "]");
  return Status::success();
}

/// Records which optional arguments are given.
void BoundCall::noteGiven(SizeTable &found) const {
  for (size_t i = 0; i < slots.size(); ++i)
    if (const int word = plan.buffers()[i].givenWord; word >= 0)
      found.set(word, slots[i].view >= 0);
}

/// If an optional argument of the queries is absent, the argument of the keys is read instead, so
/// each query needs a key at its own position. Queries at negative positions attend to no key.
Status BoundCall::checkAbsent() const {
  const int64_t keyEnd = sizes.keyStart + sizes.keys;
  const int64_t firstQuery = std::max<int64_t>(sizes.queryStart, 0);
  const int64_t queryEnd = sizes.queryStart + sizes.queries;
  const bool haveKeys = firstQuery >= sizes.keyStart && queryEnd <= keyEnd;
  if (sizes.keys == 0 || firstQuery >= queryEnd || haveKeys)
    return Status::success();
  for (size_t i = 0; i < slots.size(); ++i) {
    const int absent = plan.buffers()[i].absent;
    if (absent < 0 || slots[i].view >= 0)
      continue;
    const std::vector<Buffer> &buffers = plan.getPlan().buffers;
    for (size_t k = 0; k < buffers[i].shape.size() && k < buffers[absent].shape.size(); ++k)
      if (buffers[i].shape[k] == "r" && buffers[absent].shape[k] == "c")
        return makeError("tensor '", buffers[i].name,
                         "': expected it because the call has queries at positions without a key, "
                         "found none; queries are at positions ",
                         firstQuery, " to ", queryEnd - 1, ", keys (and '", buffers[absent].name,
                         "') at ", sizes.keyStart, " to ", keyEnd - 1);
  }
  return Status::success();
}

Status BoundCall::findSizes(const plan::Scalars &scalars) {
  const plan::Plan &p = plan.getPlan();
  SizeTable found;
  if (Status s = collectSizes(found); !s)
    return s;
  for (size_t i = 0; i < slots.size(); ++i)
    if (p.buffers[i].role == Role::Argument && slots[i].view < 0)
      for (const SizeExpression &dim : plan.buffers()[i].shape)
        if (dim.asName() && !found.has(dim.getSteps()[0].value))
          return makeError("tensor '", p.buffers[i].name, "': expected as an argument of '",
                           p.entry, "', found none; its shape defines ", dim.text());
  for (const auto &[name, depth] : {std::pair{"d", p.headDim}, {"e", p.valueDim}})
    if (const int word = plan.getLayout().find(name); word >= 0 && !found.has(word))
      found.set(word, depth);
  noteGiven(found);
  values = found;
  Status placed = values.complete(plan.getLayout(), scalars);
  sizes = values.sizesOf(plan.getLayout());
  if (!placed && !plan::headsAreGrouped(sizes)) { // repeat, for a message that names the tensors
    plan::ShapeBinder binder(plan.getLayout());
    if (Status s = bindSlowly(binder); !s)
      return s;
    return binder.finish(scalars).takeError();
  }
  return placed ? checkCapacity() : std::move(placed);
}

/// Checks the shapes of all tensors except arguments, which defined the sizes.
Status BoundCall::checkShapes() const {
  const auto mismatch = [](const View &view, std::span<const int64_t> expected) {
    return makeError("tensor '", view.name, "': expected shape ",
                     toString(Shape(expected.begin(), expected.end())), ", found ",
                     toString(shapeOf(view)));
  };
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].view < 0 || plan.getPlan().buffers[i].role == Role::Argument)
      continue;
    const View &view = viewAt(slots[i].view);
    Extents shape;
    if (Status s = plan.shapeOf(i, values, shape); !s)
      return s;
    if (shape.rank != view.rank || !std::equal(shape.dims, shape.dims + shape.rank, view.shape))
      return mismatch(view, shape.span());
  }
  for (size_t g = 0; g < groupViews.size(); ++g) {
    if (groupViews[g] < 0 || !checksGroups)
      continue;
    const View &view = viewAt(groupViews[g]);
    int64_t bytes = 0;
    if (Status s = plan.groupBytes(g, values, bytes); !s)
      return s;
    if (view.rank != 1 || view.shape[0] != bytes)
      return mismatch(view, {&bytes, 1});
    if (!isContiguous(view))
      return makeError("tensor '", view.name, "': expected contiguous bytes, found a stride of ",
                       view.strides[0]);
  }
  return Status::success();
}

bool BoundCall::isGiven(size_t buffer) const {
  const int group = plan.buffers()[buffer].group;
  return group >= 0 ? groupViews[group] >= 0 : slots[buffer].view >= 0;
}

/// Returns true if the call writes the group, provided that it is passed.
bool BoundCall::writesGroup(size_t group) const {
  if (plan.groups()[group].isOfCapacity && !writtenTables.empty())
    return writtenTables[group] != 0;
  return (halves & kPrepare) != 0;
}

void BoundCall::markWanted() {
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!isGiven(i))
      continue;
    const Role role = plan.getPlan().buffers[i].role;
    if (plan.buffers()[i].group >= 0)
      wanted[i] = writesGroup(static_cast<size_t>(plan.buffers()[i].group));
    else if (role == Role::Result || role == Role::Residual)
      wanted[i] = halves & kForward;
    else
      wanted[i] = role == Role::Gradient;
  }
}

/// Visits the stages from last to first. A stage runs if one of its outputs is needed; its inputs
/// are then needed. Prepared tensors that the caller passes are not computed again.
void BoundCall::chooseStages() {
  for (size_t i = 0; i < slots.size(); ++i)
    slots[i].isUsed = slots[i].isWritten = wanted[i] && plan.buffers()[i].writtenBy == 0;
  const auto isThere = [&](int index) {
    const int group = plan.buffers()[index].group;
    return group >= 0 && isGiven(index) && !writesGroup(static_cast<size_t>(group));
  };
  for (size_t i = active.size(); i-- > 0;) {
    const plan::Stage &stage = plan.getPlan().stages[i];
    const Halves half = plan.stages()[i].half;
    if ((half != kPrepare && !(halves & half)) || !plan.doesRun(i, values))
      continue;
    for (int index : stage.writes)
      active[i] |= wanted[index] && !isThere(index);
    if (!active[i])
      continue;
    for (int index : stage.buffers)
      wanted[index] = slots[index].isUsed = true;
    for (int index : stage.writes)
      slots[index].isWritten = true;
  }
}

/// Reports a call that would not write anything as an error of the caller.
Status BoundCall::checkWanted() const {
  const std::vector<Buffer> &buffers = plan.getPlan().buffers;
  const auto isAnyGiven = [&](auto isOfKind) {
    for (size_t i = 0; i < slots.size(); ++i)
      if (isOfKind(i) && isGiven(i))
        return true;
    return false;
  };
  const auto isOutput = [&](size_t i) {
    return buffers[i].role == Role::Result || plan.isSaved(i);
  };
  const auto namesOf = [&](auto isOfKind) {
    return plan.names([&](int index) {
      return index < static_cast<int>(slots.size()) && isOfKind(static_cast<size_t>(index));
    });
  };
  if ((halves & kForward) && !(halves & kBackward) && !isAnyGiven(isOutput))
    return makeError("expected at least one tensor for the forward call to write (",
                     namesOf(isOutput), "), found none");
  if (!(halves & kBackward))
    return Status::success();
  const auto isOfRole = [&](Role role) {
    return [&buffers, role](size_t i) { return buffers[i].role == role; };
  };
  if (!isAnyGiven(isOfRole(Role::Cotangent)))
    return makeError("expected at least one cotangent (", namesOf(isOfRole(Role::Cotangent)),
                     "), found none");
  if (!isAnyGiven(isOfRole(Role::Gradient)))
    return makeError("expected at least one gradient for the backward call to write (",
                     namesOf(isOfRole(Role::Gradient)), "), found none");
  return Status::success();
}

} // namespace pe::device
