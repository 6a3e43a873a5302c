//===- BoundEntries.cpp - A call with lengths per batch entry -------------===//

#include "runtime/device/common/BoundEntries.h"

#include <algorithm>
#include <cassert>

namespace pe::device {

using plan::Buffer;
using plan::Role;
using plan::SizeExpression;

//===- Names and shapes ---------------------------------------------------===//

bool isLengths(const BoundPlan &plan, std::string_view name) {
  return name == kLengths && plan.find(name) < 0;
}

bool hasLengths(const BoundPlan &plan, std::span<const View> views) {
  return std::any_of(views.begin(), views.end(),
                     [&](const View &view) { return view.name && isLengths(plan, view.name); });
}

/// Returns true if the expression depends on the word.
static bool mentions(const SizeExpression &expression, int word) {
  return std::ranges::any_of(expression.getSteps(), [&](const SizeExpression::Step &step) {
    return step.kind == SizeExpression::Kind::Name && step.value == word;
  });
}

static int findBatchAxis(const BoundPlan &plan, size_t buffer) {
  const plan::SymbolicShape &shape = plan.buffers()[buffer].shape;
  const auto axis = std::ranges::find_if(
      shape, [](const SizeExpression &dim) { return dim.asName() && *dim.asName() == "b"; });
  return axis == shape.end() ? -1 : static_cast<int>(axis - shape.begin());
}

/// Returns true if each entry has its own tensor, along a leading axis of the caller's.
static bool isInstance(const BoundPlan &plan, size_t index) {
  if (index >= plan.buffers().size())
    return !plan.groups()[index - plan.buffers().size()].isOfCapacity;
  return plan.isSaved(index) && findBatchAxis(plan, index) < 0;
}

Status shapeWithLengths(const BoundPlan &plan, size_t index, const SizeTable &sizes,
                        Extents &shape) {
  const int batchWord = plan.getLayout().find("b");
  if (!isInstance(plan, index) || batchWord < 0)
    return plan.shapeOfTensor(index, sizes, shape);
  SizeTable single = sizes;
  single.set(batchWord, 1);
  Extents inner;
  if (Status s = plan.shapeOfTensor(index, single, inner); !s)
    return s;
  if (inner.rank == static_cast<int>(plan::kMaxRank))
    return makeError("tensor '", plan.nameOf(static_cast<int>(index)), "': expected a rank below ",
                     plan::kMaxRank, " in a call with '", kLengths, "'");
  shape.rank = inner.rank + 1;
  shape.dims[0] = sizes[batchWord];
  std::copy_n(inner.dims, inner.rank, shape.dims + 1);
  return Status::success();
}

//===- Binding ------------------------------------------------------------===//

BoundEntries::BoundEntries(const BoundPlan &plan, Halves halves, std::span<const View> views)
    : plan(plan), halves(halves) {
  for (const View &view : views)
    if (view.name && isLengths(plan, view.name)) {
      lengthsView = view;
      ++found;
    } else {
      given.push_back(view);
    }
}

/// Checks that the function has keys for the lengths to count.
Status BoundEntries::checkProgram() const {
  const std::vector<BoundBuffer> &buffers = plan.buffers();
  const int keys = plan.getLayout().find("c");
  for (size_t i = 0; i < buffers.size() && keys >= 0; ++i)
    if (plan.getPlan().buffers[i].role == Role::Argument && findBatchAxis(plan, i) >= 0 &&
        std::ranges::any_of(buffers[i].shape,
                            [&](const SizeExpression &dim) { return mentions(dim, keys); }))
      return Status::success();
  return makeError("tensor '", kLengths,
                   "': expected a function of attention, whose keys it "
                   "counts; '",
                   plan.getPlan().entry, "' has none");
}

/// Adds the layout of a view. Unknown names have none; the bound call reports them.
Status BoundEntries::describeView(const View &view) {
  Layout &layout = layouts.emplace_back();
  const int index = view.name ? plan.find(view.name) : -1;
  if (index < 0)
    return Status::success();
  layout.index = static_cast<size_t>(index);
  if (isInstance(plan, layout.index))
    layout.kind = Kind::Instance;
  if (layout.index >= plan.buffers().size())
    return Status::success();
  const plan::FrameLayout &words = plan.getLayout();
  const int batchWord = words.find("b"), keysWord = words.find("c");
  layout.batchAxis = findBatchAxis(plan, layout.index);
  const plan::SymbolicShape &shape = plan.buffers()[layout.index].shape;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    layout.keyAxes |= unsigned(mentions(shape[axis], keysWord)) << axis;
    if (static_cast<int>(axis) != layout.batchAxis && mentions(shape[axis], batchWord))
      return makeError("tensor '", view.name, "': expected a batch axis in a call with '", kLengths,
                       "', found the size ", shape[axis].text());
  }
  if (layout.batchAxis >= 0)
    layout.kind = Kind::Sliced;
  else if (plan.getPlan().buffers[layout.index].role == Role::Gradient)
    layout.kind = Kind::Summed;
  return Status::success();
}

/// Removes the leading axis of a view of instances.
Status BoundEntries::removeInstances(View &view, const Layout &layout) const {
  if (layout.kind != Kind::Instance)
    return Status::success();
  const auto rank = static_cast<int>(
      layout.index < plan.buffers().size() ? plan.buffers()[layout.index].shape.size() + 1 : 2);
  if (view.rank != rank)
    return makeError("tensor '", view.name, "': expected rank ", rank, " in a call with '",
                     kLengths, "', with a leading axis of batch entries, found rank ", view.rank);
  view.rank -= 1;
  std::copy_n(view.shape + 1, view.rank, view.shape);
  std::copy_n(view.strides + 1, view.rank, view.strides);
  return Status::success();
}

/// Checks the shapes of instances, and the types of sums.
Status BoundEntries::checkInstances() const {
  for (size_t i = 0; i < given.size(); ++i) {
    const View &view = given[i];
    if (layouts[i].kind == Kind::Summed && view.dtype != PE_F32 && view.dtype != PE_F64)
      return makeError("tensor '", view.name,
                       "': expected element type f32 or f64 for a sum over "
                       "batch entries, found ",
                       nameOf(static_cast<DType>(view.dtype)));
    const bool isGroup = layouts[i].index >= plan.buffers().size();
    if (layouts[i].kind != Kind::Instance && !isGroup)
      continue;
    Extents shape;
    if (Status s = shapeWithLengths(plan, layouts[i].index, whole->sizeValues(), shape); !s)
      return s;
    if (!std::ranges::equal(shape.span(), shapeOf(view)))
      return makeError("tensor '", view.name, "': expected shape ",
                       toString(Shape(shape.dims, shape.dims + shape.rank)), " in a call with '",
                       kLengths, "', found ", toString(shapeOf(view)));
    if (isGroup && !isContiguous(view))
      return makeError("tensor '", view.name, "': expected contiguous bytes, found strides ",
                       toString(Shape(view.strides, view.strides + view.rank)));
  }
  return Status::success();
}

/// Adds the views by which all entries share the tables over distances: that of the capacity, and
/// each table that the call needs and the caller does not pass.
Status BoundEntries::addTables() {
  const int word = plan.getLayout().find(kCapacity);
  const size_t groups = plan.groups().size();
  [[maybe_unused]] const size_t passed = given.size();
  noTables.assign(groups, 0);
  writtenTables.assign(groups, (halves & kPrepare) != 0);
  tableOffsets.clear();
  tableBytes = 0;
  if (word < 0)
    return Status::success();
  const auto isPassed = [&](std::string_view name) {
    return std::any_of(given.begin(), given.end(), [&](const View &v) { return name == v.name; });
  };
  const auto add = [&](const char *name, int64_t size, size_t index) {
    single.push_back({name, nullptr, PE_U8, 1, {size}, {1}});
    layouts.push_back({Kind::Shared, index});
  };
  if (!isPassed(kCapacity))
    add(kCapacity, whole->sizeValues()[word], 0);
  for (size_t g = 0; g < groups; ++g) {
    const PreparedGroup &group = plan.groups()[g];
    int64_t bytes = 0;
    if (!group.isOfCapacity || !(group.readBy & halves) || isPassed(group.name))
      continue;
    if (Status s = plan.groupBytes(g, whole->sizeValues(), bytes); !s)
      return s;
    writtenTables[g] = 1;
    tableOffsets.emplace_back(single.size(), tableBytes);
    add(group.name.c_str(), bytes, plan.buffers().size() + g);
    if (__builtin_add_overflow(tableBytes, aligned(bytes), &tableBytes))
      return makeError("expected a workspace of at most 2^61 bytes; make the call smaller");
  }
  assert(single.size() <= passed + 1 + groups && "the views of `whole` did not move");
  return Status::success();
}

/// Binds the entire call, and checks the tensors that only calls with lengths have.
Status BoundEntries::start(const plan::Scalars &scalars) {
  if (found > 1)
    return makeError("tensor '", kLengths, "': expected it once, found it ", found, " times");
  if (Status s = checkProgram(); !s)
    return s;
  layouts.clear();
  single = given;
  single.reserve(given.size() + 1 + plan.groups().size()); // for addTables
  for (View &view : single) {
    if (Status s = describeView(view); !s)
      return s;
    if (Status s = removeInstances(view, layouts.back()); !s)
      return s;
  }
  // The requirements of the plan apply to the entries, not to the capacity.
  whole.emplace(plan, halves, single).skipGroupShapes();
  if (Status s = whole->measure(scalars); !s)
    return s;
  if (Status s = checkInstances(); !s)
    return s;
  return addTables();
}

Status BoundEntries::readLengths() {
  const View &view = lengthsView;
  if (view.dtype != PE_I32)
    return makeError("tensor '", kLengths, "': expected element type i32, found ",
                     static_cast<unsigned>(view.dtype) < std::size(detail::kDTypes)
                         ? nameOf(static_cast<DType>(view.dtype))
                         : "an unknown type");
  if (view.rank != 1 || view.shape[0] != batch())
    return makeError("tensor '", kLengths, "': expected shape [", batch(),
                     "], a length for each batch entry, found ",
                     view.rank < 0 || view.rank > PE_MAX_RANK ? "rank " + std::to_string(view.rank)
                                                              : toString(shapeOf(view)));
  if (!view.data)
    return batch() ? makeError("tensor '", kLengths, "': expected an address, found none")
                   : Status::success();
  lengths.clear();
  const int64_t capacity = whole->getSizes().keys;
  for (int64_t entry = 0; entry < batch(); ++entry) {
    const int64_t length = static_cast<const int32_t *>(view.data)[entry * view.strides[0]];
    if (length < 0 || length > capacity)
      return makeError("tensor '", kLengths, "': expected lengths from 0 to ", capacity,
                       ", the number of keys, found ", length, " at index ", entry);
    lengths.push_back(length);
  }
  return Status::success();
}

Status BoundEntries::bind(const plan::Scalars &scalars) {
  if (scalars.find("q_start"))
    return makeError("q_start: expected none in a call with '", kLengths,
                     "', which places the last query of each batch entry at its last key, found ",
                     *scalars.find("q_start"), "; omit it");
  if (Status s = start(scalars); !s)
    return s;
  if (Status s = readLengths(); !s)
    return s;
  reserve(lengths.size());
  for (size_t entry = 0; entry < lengths.size(); ++entry)
    if (Status s = addEntry(static_cast<int64_t>(entry), lengths[entry], &scalars); !s)
      return s;
  return Status::success();
}

Status BoundEntries::measure() {
  if (Status s = start({}); !s)
    return s;
  if (lengthsView.data) {
    if (Status s = readLengths(); !s)
      return s;
    reserve(lengths.size());
    for (size_t entry = 0; entry < lengths.size(); ++entry)
      if (Status s = addEntry(static_cast<int64_t>(entry), lengths[entry], nullptr); !s)
        return s;
    return Status::success();
  }
  // Sizes grow with the length, except that the views of all keys may be contiguous and need no
  // copy, and that an entry without keys needs memory to read zeros from.
  int64_t largest = 0;
  const int64_t most = whole->getSizes().keys;
  for (int64_t length : {most, std::max<int64_t>(most - 1, 0), int64_t(0)}) {
    reserve(1);
    if (batch() == 0)
      return Status::success();
    if (Status s = addEntry(0, length, nullptr); !s)
      return s;
    largest = std::max(largest, total);
  }
  largest -= tableBytes; // shared
  if (__builtin_mul_overflow(largest, batch(), &total) ||
      __builtin_add_overflow(total, tableBytes, &total) || total > int64_t(1) << 61)
    return makeError("expected a workspace of at most 2^61 bytes; make the call smaller");
  return Status::success();
}

//===- Entries ------------------------------------------------------------===//

std::string BoundEntries::describe(size_t entry) const {
  return "batch entry " + std::to_string(entry) + " of length " +
         std::to_string(lengths.empty() ? 0 : lengths[entry]);
}

/// Prepares for `count` entries.
void BoundEntries::reserve(size_t count) {
  calls.clear();
  parts.assign(count * layouts.size(), View{});
  partOffsets.assign(parts.size(), -1);
  offsets.clear();
  total = tableBytes;
}

/// Computes the view of an entry. `sizes` are the sizes of its call.
Status BoundEntries::cut(size_t index, int64_t entry, const SizeTable &sizes, View &part) const {
  const Layout &layout = layouts[index];
  part = single[index];
  const auto element = static_cast<int64_t>(sizeOf(static_cast<DType>(part.dtype)));
  const int64_t step = layout.kind == Kind::Instance ? given[index].strides[0]
                       : layout.kind == Kind::Sliced ? part.strides[layout.batchAxis]
                                                     : 0;
  if (part.data)
    part.data = static_cast<char *>(part.data) + entry * step * element;
  if (layout.kind == Kind::Sliced)
    part.shape[layout.batchAxis] = 1;
  const size_t buffers = plan.buffers().size();
  if (layout.index >= buffers)
    return plan.groupBytes(layout.index - buffers, sizes, part.shape[0]);
  for (int axis = 0; axis < part.rank; ++axis) {
    if (!(layout.keyAxes >> axis & 1))
      continue;
    Expected<int64_t> extent = sizes.evaluate(plan.buffers()[layout.index].shape[axis]);
    if (!extent)
      return extent.takeError();
    part.shape[axis] = *extent;
  }
  if (layout.kind == Kind::Summed) { // `place` sets the address
    part.data = nullptr;
    int64_t packed = 1;
    for (int axis = part.rank; axis-- > 0; packed *= part.shape[axis])
      part.strides[axis] = packed;
  }
  return Status::success();
}

/// Adds an entry; without scalars it is only measured.
Status BoundEntries::addEntry(int64_t entry, int64_t length, const plan::Scalars *scalars) {
  const size_t position = calls.size();
  SizeTable sizes = whole->sizeValues();
  sizes.set(plan.getLayout().find("b"), 1);
  sizes.set(plan.getLayout().find("c"), length);
  View *views = viewsOf(position);
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (Status s = cut(i, entry, sizes, views[i]); !s)
      return s;
    for (int axis = 0; axis < views[i].rank; ++axis)
      if (views[i].shape[axis] > single[i].shape[axis])
        return makeError("tensor '", views[i].name, "': expected a size of at least ",
                         views[i].shape[axis], " for a batch entry of length ", length, ", found ",
                         single[i].shape[axis]);
  }
  BoundCall &call = calls.emplace_back(plan, halves, std::span<const View>(views, layouts.size()));
  call.setKeys(length);
  call.setWrittenTables(position == 0 ? writtenTables : noTables);
  Status bound = scalars ? call.bind(*scalars) : call.measure();
  if (!bound)
    return bound.takeError().within(describe(position));
  return addToWorkspace(position);
}

/// Appends the workspace of an entry and its parts of sums.
Status BoundEntries::addToWorkspace(size_t entry) {
  const auto add = [&](int64_t bytes, int64_t &offset) -> Status {
    offset = total;
    if (__builtin_add_overflow(total, aligned(bytes), &total) || total > int64_t(1) << 61)
      return makeError("expected a workspace of at most 2^61 bytes; make the call smaller");
    return Status::success();
  };
  if (Status s = add(calls[entry].usedBytes(), offsets.emplace_back()); !s)
    return s;
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (layouts[i].kind != Kind::Summed)
      continue;
    int64_t bytes = 0;
    if (Status s = plan.bytesOf(layouts[i].index, calls[entry].sizeValues(), bytes); !s)
      return s;
    if (Status s = add(bytes, partOffsets[entry * layouts.size() + i]); !s)
      return s;
  }
  return Status::success();
}

Status BoundEntries::place(void *workspace, int64_t bytes) {
  if (bytes < workspaceBytes() || (!workspace && workspaceBytes()))
    return makeError("expected a workspace of ", workspaceBytes(), " bytes (pe_workspace), found ",
                     workspace ? "" : "no address and ", bytes);
  if (Status s = whole->checkMemory(given, workspace, workspaceBytes()); !s)
    return s;
  first = BoundCall::firstByte(workspace);
  for (size_t i = 0; i < parts.size(); ++i)
    if (partOffsets[i] >= 0)
      parts[i].data = first + partOffsets[i];
  for (const auto &[view, offset] : tableOffsets)
    for (size_t entry = 0; entry < calls.size(); ++entry)
      viewsOf(entry)[view].data = first + offset;
  return Status::success();
}

double BoundEntries::work() const {
  double sum = 0;
  for (const BoundCall &call : calls)
    sum += call.work();
  return sum;
}

//===- Gradients ----------------------------------------------------------===//

std::vector<BoundEntries::Sum> BoundEntries::sums() const {
  std::vector<Sum> all;
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (layouts[i].kind != Kind::Summed)
      continue;
    Sum &sum = all.emplace_back();
    sum.result = &given[i];
    for (size_t entry = 0; entry < calls.size(); ++entry)
      sum.parts.push_back(&viewsOf(entry)[i]);
  }
  return all;
}

Status BoundEntries::forEachTail(size_t entry,
                                 const std::function<Status(const View &)> &function) const {
  for (size_t i = 0; i < layouts.size(); ++i) {
    const Layout &layout = layouts[i];
    const bool isGradient = layout.index < plan.buffers().size() &&
                            plan.getPlan().buffers[layout.index].role == Role::Gradient;
    if (!isGradient || layout.kind != Kind::Sliced || !layout.keyAxes)
      continue;
    for (int axis = 0; axis < given[i].rank; ++axis) {
      if (!(layout.keyAxes >> axis & 1))
        continue;
      const View &part = viewsOf(entry)[i];
      View tail = given[i];
      tail.shape[layout.batchAxis] = 1;
      tail.shape[axis] -= part.shape[axis];
      tail.data = static_cast<char *>(part.data) +
                  part.shape[axis] * part.strides[axis] *
                      static_cast<int64_t>(sizeOf(static_cast<DType>(part.dtype)));
      if (Status s = function(tail); !s)
        return s;
    }
  }
  return Status::success();
}

} // namespace pe::device
