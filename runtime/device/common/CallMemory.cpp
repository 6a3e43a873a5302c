//===- CallMemory.cpp - The memory of a bound call ------------------------===//
//
// The second half of BoundCall: locations of buffers, the workspace, and checks of addresses and
// overlap.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/common/BoundCall.h"

#include "runtime/device/common/Overlap.h"

#include <algorithm>

namespace pe::device {

using plan::Buffer;
using plan::Role;
using Place = Slot::Place;

/// Returns the bytes from the first element of a view to one past the last. Strides must be
/// nonnegative (BoundPlan::canUse).
int64_t reachOf(const View &view) {
  int64_t last = 0;
  for (int k = 0; k < view.rank; ++k)
    last += (view.shape[k] - 1) * view.strides[k];
  return (last + 1) * static_cast<int64_t>(sizeOf(static_cast<DType>(view.dtype)));
}

/// Returns true if a CPU reads the view more slowly than a copy of it, including the copy itself.
/// Rows whose stride is a multiple of a quarter of a way (1 KiB on x86) share so few sets of the
/// first-level cache that data that is read repeatedly is evicted in between: in the forward half
/// the keys and values of a head, which every block of queries reads; in the backward half its
/// queries and cotangents, which every block of keys reads. Measured with `pe bench --views` ([B,
/// S, H, D] with 8, 12 and 16 heads of 64; decision 28).
bool BoundCall::areRowsColliding(size_t index) const {
  constexpr int64_t kManyReads = 512, kManyReadsOfOneSet = 192;
  const int64_t way = plan.getMachine() ? plan.getMachine()->l1WayBytes : 0;
  const Buffer &buffer = plan.getPlan().buffers[index];
  const View &view = viewAt(slots[index].view);
  const bool isInput = buffer.role == Role::Argument || buffer.role == Role::Cotangent;
  if (way == 0 || !isInput || view.rank < 2 || plan.buffers()[index].strideWords.empty())
    return false;
  // Rows without gaps use all sets, in a contiguous tensor and in the first keys of a cache.
  const size_t rows = static_cast<size_t>(view.rank) - 2;
  if (view.strides[rows] == view.shape[rows + 1])
    return false;
  const bool isReadAgain = (halves & (buffer.shape[rows] == "c" ? kForward : kBackward)) != 0;
  const int64_t bytes = view.strides[rows] * static_cast<int64_t>(sizeOf(buffer.dtype));
  const int64_t least = bytes % way == 0 ? kManyReadsOfOneSet : kManyReads;
  return isReadAgain && bytes % (way / 4) == 0 && std::min(sizes.queries, sizes.keys) >= least;
}

/// Uses the caller's view in place and writes its strides to the frame.
void BoundCall::useView(size_t index) {
  const View &view = viewAt(slots[index].view);
  slots[index].reach = reachOf(view);
  Extents strides; // axes of size 1 get the packed stride, because the caller's is arbitrary
  strides.rank = view.rank;
  int64_t packed = 1;
  for (int k = view.rank; k-- > 0;) {
    strides.dims[k] = view.shape[k] == 1 ? packed : view.strides[k];
    packed *= view.shape[k];
  }
  plan.setStrides(index, strides.span(), values);
}

/// Assigns a location to one buffer that a stage uses.
Status BoundCall::placeBuffer(size_t index) {
  Slot &slot = slots[index];
  const Buffer &buffer = plan.getPlan().buffers[index];
  const int group = plan.buffers()[index].group;
  Extents shape;
  Status measured = plan.shapeOf(index, values, shape);
  if (measured)
    measured = plan.bytesOf(index, values, slot.bytes);
  if (!measured) {
    // The shape of an absent optional argument may have unknown sizes.
    if (buffer.role == Role::Argument && buffer.optional && slot.view < 0)
      return Status::success();
    return measured;
  }
  // Kernels clamp indices into an axis, which an empty axis does not allow. A stage whose items do
  // not depend on that axis reads zeros instead, which do not affect its results.
  slot.isEmpty = slot.bytes == 0 && buffer.role == Role::Argument;
  if (slot.isEmpty)
    slot.bytes = kAlignment;
  slot.reach = slot.bytes;
  plan.setPackedStrides(index, shape.span(), values);
  if (group >= 0 && groupViews[group] >= 0) {
    slot.place = Place::View; // layOut sets the offset
    slot.view = groupViews[group];
    return Status::success();
  }
  if (slot.view >= 0 && !slot.isEmpty) {
    const View &view = viewAt(slot.view);
    const bool isCleared = buffer.zero && slot.isWritten;
    slot.isPacked =
        slot.bytes > 0 &&
        (!plan.canUse(index, view.data, shape.span(), {view.strides, shape.span().size()}) ||
         (isCleared && !isContiguous(view)) || areRowsColliding(index));
    slot.isCleared = isCleared && !slot.isPacked;
    slot.place = slot.isPacked || slot.bytes == 0 ? Place::Workspace : Place::View;
    if (slot.place == Place::View)
      useView(index);
    return Status::success();
  }
  slot.place = Place::Workspace;
  // An absent cotangent is read as zero.
  if ((slot.isEmpty && slot.view >= 0) || slot.isWritten || buffer.role == Role::Cotangent ||
      buffer.role == Role::Temporary)
    return Status::success();
  if (buffer.role == Role::Argument) {
    // Kernels read an absent optional argument and discard the values, so it needs memory.
    if (buffer.optional)
      return Status::success();
    slot.place = Place::Nowhere;
    return makeError("tensor '", buffer.name, "': expected as an argument of '",
                     plan.getPlan().entry, "', found none");
  }
  return makeError("tensor '", buffer.name,
                   "': expected the tensor that the forward call wrote, found none; pass it to "
                   "both calls");
}

Status BoundCall::placeBuffers() {
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i].isUsed)
      if (Status s = placeBuffer(i); !s)
        return s;
  return Status::success();
}

Status BoundCall::layOut() {
  const auto add = [](int64_t &sum, int64_t bytes) -> Status {
    if (__builtin_add_overflow(sum, aligned(bytes), &sum) || sum > int64_t(1) << 61)
      return makeError("expected a workspace of at most 2^61 bytes; make the call smaller");
    return Status::success();
  };
  const auto isZeroed = [&](size_t i) {
    const Buffer &buffer = plan.getPlan().buffers[i];
    return slots[i].isEmpty ||
           (buffer.zero && (slots[i].isWritten || buffer.role == Role::Temporary)) ||
           (buffer.role == Role::Cotangent && slots[i].view < 0);
  };
  for (bool isFirst : {true, false}) {
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].place != Place::Workspace || isZeroed(i) != isFirst)
        continue;
      slots[i].offset = total;
      if (Status s = add(total, slots[i].bytes); !s)
        return s;
    }
    if (isFirst)
      zeroed = total;
  }
  for (const PreparedGroup &group : plan.groups()) {
    int64_t offset = 0;
    for (int member : group.members) {
      int64_t bytes = slots[member].bytes;
      if (!slots[member].isUsed)
        if (Status s = plan.bytesOf(member, values, bytes); !s)
          return s;
      if (slots[member].place == Place::View)
        slots[member].offset = offset;
      offset += aligned(bytes);
    }
  }
  return Status::success();
}

double BoundCall::work() const {
  const plan::Plan &p = plan.getPlan();
  return double(sizes.batch) * double(sizes.queryHeads) * double(sizes.queries) *
         double(sizes.keys) * double(p.headDim + p.valueDim);
}

Status BoundCall::checkMemory(const void *workspace, int64_t bytes) const {
  if (bytes < workspaceBytes() || (!workspace && workspaceBytes()))
    return makeError("expected a workspace of ", workspaceBytes(), " bytes (pe_workspace), found ",
                     workspace ? "" : "no address and ", bytes);
  return checkMemory(views, workspace, workspaceBytes());
}

Status BoundCall::checkMemory(std::span<const View> memory, const void *workspace,
                              int64_t bytes) const {
  if (Status s = checkAddresses(memory); !s)
    return s;
  return checkOverlap(memory, workspace, bytes);
}

Status BoundCall::checkAddresses(std::span<const View> memory) const {
  for (const Slot &slot : slots) {
    if (slot.view < 0 || !slot.isUsed || slot.isEmpty || slot.bytes == 0)
      continue;
    const View &view = memory[static_cast<size_t>(slot.view)];
    const auto address = reinterpret_cast<uintptr_t>(view.data);
    if (!address)
      return makeError("tensor '", view.name, "': expected an address, found none");
    if (view.dtype == PE_U8 && address % 16)
      return makeError("tensor '", view.name,
                       "': expected an address that is a multiple of 16, found remainder ",
                       address % 16);
    if (slot.isWritten && overlapsItself(view))
      return makeError("tensor '", view.name,
                       "': expected an output whose elements do not overlap, found strides ",
                       toString(Shape(view.strides, view.strides + view.rank)), " of shape ",
                       toString(shapeOf(view)));
  }
  return Status::success();
}

namespace {
/// The address range of a view, from its first byte to one past its last.
struct Range {
  intptr_t begin = 0, end = 0;
  bool isWritten = false;
  bool meets(const Range &other) const { return begin < other.end && other.begin < end; }
};
} // namespace

static Range rangeOf(const View &view) {
  const auto element = static_cast<int64_t>(sizeOf(static_cast<DType>(view.dtype)));
  Range range;
  range.begin = reinterpret_cast<intptr_t>(view.data);
  range.end = range.begin + element;
  for (int k = 0; k < view.rank; ++k)
    (view.strides[k] < 0 ? range.begin : range.end) +=
        (view.shape[k] - 1) * view.strides[k] * element;
  return range;
}

Status BoundCall::checkOverlap(std::span<const View> memory, const void *workspace,
                               int64_t bytes) const {
  InlineVector<Range, 32> ranges(memory.size());
  for (const Slot &slot : slots) {
    if (slot.view < 0 || !slot.isUsed || slot.isEmpty || slot.bytes == 0)
      continue;
    Range &range = ranges[slot.view];
    const bool isWritten = range.isWritten || slot.isWritten;
    range = rangeOf(memory[static_cast<size_t>(slot.view)]);
    range.isWritten = isWritten;
  }
  Range own;
  own.begin = reinterpret_cast<intptr_t>(workspace);
  own.end = own.begin + bytes;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (own.meets(ranges[i]))
      return makeError("tensor '", memory[i].name,
                       "': expected memory outside the workspace, found an overlap with it");
    for (size_t j = 0; j < ranges.size() && ranges[i].isWritten; ++j)
      if (j != i && ranges[i].meets(ranges[j]) && doOverlap(memory[i], memory[j]))
        return makeError("tensor '", memory[i].name,
                         "': expected an output that overlaps no other tensor, found an overlap "
                         "with tensor '",
                         memory[j].name, "'");
  }
  return Status::success();
}

} // namespace pe::device
