//===- BoundCall.h - The memory layout and stages of a call -----*- C++ -*-===//
//
// Binds a caller's views to a plan: determines the sizes of the call, checks every name, type,
// shape and address, selects the stages to run, and assigns each buffer they use a location:
//
//   in a view     the caller's memory, used in place, with its strides in the frame;
//   packed        a contiguous copy in the workspace of a view whose layout kernels cannot use, or
//                 that a CPU reads faster from a copy. Inputs are copied before the stages run,
//                 outputs are written back after them;
//   workspace     temporaries, and everything else that the caller did not pass.
//
// A stage runs if it writes a result, saved tensor or gradient that the caller passed, a prepared
// tensor that is requested or missing, or an input of another stage that runs. The workspace begins
// with the buffers that must be zero, so that a single clear suffices:
//
//   | zeroed temporaries, absent cotangents | packed views | other temporaries |
//
// Devices (Runner.h) run bound calls. Binding a plan of the usual size does not allocate.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_BOUNDCALL_H
#define PE_RUNTIME_DEVICE_COMMON_BOUNDCALL_H

#include "pe/View.h"
#include "runtime/core/InlineVector.h"
#include "runtime/core/StridedCopy.h"
#include "runtime/device/common/BoundPlan.h"

namespace pe::device {

/// The location of a buffer in a call.
struct Slot {
  enum class Place : uint8_t { Nowhere, View, Workspace };
  Place place = Place::Nowhere;
  /// True if a stage that runs uses, or writes, the buffer.
  bool isUsed = false, isWritten = false;
  /// The buffer is a copy of the view in the workspace.
  bool isPacked = false;
  /// An argument without elements. Zeros in the workspace replace it.
  bool isEmpty = false;
  /// The memory belongs to the caller and is zeroed before the stages run.
  bool isCleared = false;
  /// Index of the view, or -1.
  int view = -1;
  /// Offset in the workspace, or in the view of a prepared tensor.
  int64_t offset = 0;
  int64_t bytes = 0;
  /// Bytes from the first byte to one past the last; exceeds `bytes` if a view has gaps.
  int64_t reach = 0;
};

class BoundCall {
public:
  /// The plan and the views must outlive the call.
  BoundCall(const BoundPlan &plan, Halves halves, std::span<const View> views)
      : plan(plan), halves(halves), views(views) {}
  BoundCall(const BoundCall &) = delete;

  /// Performs every check that does not access memory. Errors name the tensor, the expected and
  /// the found property.
  Status bind(const plan::Scalars &scalars);
  /// Computes the workspace size for these views. It does not depend on scalars, so the
  /// requirements of the plan on them are checked only by `bind`.
  Status measure(const plan::Scalars &scalars = {});
  /// Sets the number of keys, which no tensor determines if keys are in pages.
  void setKeys(int64_t count) { keys = count; }
  /// Sets by group whether the call writes tables that are passed and hold for every number of keys
  /// (PreparedGroup::isOfCapacity); by default it does with PE_PREPARE. The span outlives the call.
  void setWrittenTables(std::span<const uint8_t> written) { writtenTables = written; }
  /// Accepts prepared tensors of any size.
  void skipGroupShapes() { checksGroups = false; }
  /// Sets only the sizes that the arguments among the views define; others stay absent.
  Status findShapes(SizeTable &found);
  /// Checks addresses, overlapping memory and the size of the workspace.
  Status checkMemory(const void *workspace, int64_t workspaceBytes) const;
  /// Performs these checks for `bytes` of workspace and for `memory`, views that may have other
  /// extents than those of the call.
  Status checkMemory(std::span<const View> memory, const void *workspace, int64_t bytes) const;

  const BoundPlan &getPlan() const { return plan; }
  const plan::CallSizes &getSizes() const { return sizes; }
  /// The frame of the call.
  const SizeTable &sizeValues() const { return values; }
  const View &viewAt(int index) const { return views[static_cast<size_t>(index)]; }
  size_t slotCount() const { return slots.size(); }
  const Slot &slot(size_t buffer) const { return slots[buffer]; }
  bool runs(size_t stage) const { return active[stage]; }

  /// Bytes of a workspace at any address, including alignment.
  int64_t workspaceBytes() const { return total ? total + kAlignment - 1 : 0; }
  /// The number of bytes from `firstByte` on that are zeroed.
  int64_t zeroedBytes() const { return zeroed; }
  int64_t usedBytes() const { return total; }
  static char *firstByte(void *workspace) {
    const auto address = reinterpret_cast<uintptr_t>(workspace);
    return reinterpret_cast<char *>((address + kAlignment - 1) & ~uintptr_t(kAlignment - 1));
  }
  /// Returns the address of buffer `index`, given the first byte of the workspace, or null if the
  /// call does not use the buffer.
  void *address(size_t index, char *first) const {
    const Slot &s = slots[index];
    if (s.place == Slot::Place::Workspace)
      return first + s.offset;
    if (s.place == Slot::Place::Nowhere)
      return nullptr;
    return static_cast<char *>(viewAt(s.view).data) + s.offset;
  }
  /// Estimates the multiply-adds of all pairs, to decide if waking other threads pays off.
  double work() const;

private:
  void reset();
  Status matchSizes(const plan::Scalars &scalars);
  Status placeAll();
  Status matchViews();
  Status matchCapacity(const View &view, int position);
  Status collectSizes(SizeTable &found) const;
  void collectBlocks(SizeTable &found) const;
  Status checkView(const View &view, int index, int position) const;
  Status findSizes(const plan::Scalars &scalars);
  Status checkCapacity() const;
  void noteGiven(SizeTable &found) const;
  Status checkAbsent() const;
  Status bindSlowly(plan::ShapeBinder &binder) const;
  Error explainMismatch() const;
  Status checkShapes() const;
  void markWanted();
  void chooseStages();
  Status checkWanted() const;
  Status placeBuffers();
  bool areRowsColliding(size_t index) const;
  Status placeBuffer(size_t index);
  void useView(size_t index);
  Status layOut();
  Status checkAddresses(std::span<const View> memory) const;
  Status checkOverlap(std::span<const View> memory, const void *workspace, int64_t bytes) const;
  bool isGiven(size_t buffer) const;
  bool writesGroup(size_t group) const;

  const BoundPlan &plan;
  const Halves halves;
  const std::span<const View> views;
  std::optional<int64_t> keys;
  bool checksGroups = true;
  std::span<const uint8_t> writtenTables;
  /// The position of the view that gives the capacity, or -1.
  int capacityView = -1;
  plan::CallSizes sizes;
  SizeTable values;
  int64_t total = 0, zeroed = 0;
  InlineVector<Slot, 48> slots;
  /// The view of each group, or -1.
  InlineVector<int, 8> groupViews;
  InlineVector<bool, 32> active;
  InlineVector<bool, 48> wanted;
};

Shape shapeOf(const View &view);

/// Returns the bytes from the first byte of the view to one past its last.
int64_t reachOf(const View &view);

/// Returns true if the view is in row-major order without gaps.
bool isContiguous(const View &view);

/// Describes the copy between a view and its packed form.
StridedCopy packingOf(const View &view, bool intoView);

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_BOUNDCALL_H
