//===- BoundCall.h - One call: what lies where ------------------*- C++ -*-===//
//
// Binds the views of a caller to a plan: finds the call's sizes, checks every name, type, shape and
// address, finds the stages to run, and gives every buffer they use a place:
//
//   in a view     the caller's memory, as it lies, its strides in the frame;
//   packed        a view that kernels cannot take as it lies, or that a CPU reads faster from a
//                 copy: a copy in the workspace, filled before the stages run or written back
//                 behind them;
//   workspace     temporaries, and whatever else the caller did not pass.
//
// A stage runs if it writes something that is wanted: a result, saved tensor or gradient that the
// caller passed, a prepared tensor that is asked for or missing, or what another stage that runs
// needs. The workspace begins with all that has to be zero, so that one clear does it:
//
//   | zeroed temporaries, absent cotangents | packed views | other temporaries |
//
// Devices (Runner.h) run what is bound here; nothing is allocated for plans of usual size.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_BOUNDCALL_H
#define PE_RUNTIME_DEVICE_COMMON_BOUNDCALL_H

#include "pe/View.h"
#include "runtime/core/InlineVector.h"
#include "runtime/core/StridedCopy.h"
#include "runtime/device/common/BoundPlan.h"

namespace pe::device {

/// Where a buffer of a call lies.
struct Slot {
  enum class Place : uint8_t { Nowhere, View, Workspace };
  Place place = Place::Nowhere;
  /// Whether a stage that runs has the buffer, and whether one writes it.
  bool isUsed = false, isWritten = false;
  /// The view is copied: the buffer itself is in the workspace.
  bool isPacked = false;
  /// An argument without elements, for which zeros in the workspace stand.
  bool isEmpty = false;
  /// The memory is the caller's and is filled with zeros first.
  bool isCleared = false;
  /// Index of the view, or -1.
  int view = -1;
  /// In the workspace, or in the view (members of a prepared tensor).
  int64_t offset = 0;
  int64_t bytes = 0;
  /// From the first byte to behind the last: more than `bytes` where a view has gaps.
  int64_t reach = 0;
};

class BoundCall {
public:
  /// The plan and the views outlive the call.
  BoundCall(const BoundPlan &plan, Halves halves, std::span<const View> views)
      : plan(plan), halves(halves), views(views) {}
  BoundCall(const BoundCall &) = delete;

  /// Everything that can be checked without looking at memory. Errors name the tensor, what was
  /// expected and what was found.
  Status bind(const plan::Scalars &scalars);
  /// Finds the workspace of these views, which is the same for all scalars: what the plan requires
  /// of starts and distances is for `bind` to check.
  Status measure();
  /// Only the sizes that the arguments among the views give; others stay absent.
  Status findShapes(SizeTable &found);
  /// What is left: addresses, overlapping memory, the size of the workspace.
  Status checkMemory(const void *workspace, int64_t workspaceBytes) const;

  const BoundPlan &getPlan() const { return plan; }
  const plan::CallSizes &getSizes() const { return sizes; }
  /// The frame of the call.
  const SizeTable &sizeValues() const { return values; }
  const View &viewAt(int index) const { return views[static_cast<size_t>(index)]; }
  size_t slotCount() const { return slots.size(); }
  const Slot &slot(size_t buffer) const { return slots[buffer]; }
  bool runs(size_t stage) const { return active[stage]; }

  /// Bytes of workspace at any address, and how many of them are zeroed from `firstByte` on.
  int64_t workspaceBytes() const { return total ? total + kAlignment - 1 : 0; }
  int64_t zeroedBytes() const { return zeroed; }
  int64_t usedBytes() const { return total; }
  static char *firstByte(void *workspace) {
    const auto address = reinterpret_cast<uintptr_t>(workspace);
    return reinterpret_cast<char *>((address + kAlignment - 1) & ~uintptr_t(kAlignment - 1));
  }
  /// Where buffer `index` is, with the workspace's first byte; null if the call does not have it.
  void *address(size_t index, char *first) const {
    const Slot &s = slots[index];
    if (s.place == Slot::Place::Workspace)
      return first + s.offset;
    if (s.place == Slot::Place::Nowhere)
      return nullptr;
    return static_cast<char *>(viewAt(s.view).data) + s.offset;
  }
  /// Multiplications and additions of all pairs, roughly: whether other threads are worth waking.
  double work() const;

private:
  void reset();
  Status matchSizes(const plan::Scalars &scalars);
  Status placeAll();
  Status matchViews();
  Status collectSizes(SizeTable &found) const;
  Status checkView(const View &view, int index, int position) const;
  Status findSizes(const plan::Scalars &scalars);
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
  Status checkAddresses() const;
  Status checkOverlap(const void *workspace) const;
  bool isGiven(size_t buffer) const;

  const BoundPlan &plan;
  const Halves halves;
  const std::span<const View> views;
  plan::CallSizes sizes;
  SizeTable values;
  int64_t total = 0, zeroed = 0;
  InlineVector<Slot, 48> slots;
  /// By group: its view, or -1.
  InlineVector<int, 8> groupViews;
  InlineVector<bool, 32> active;
  InlineVector<bool, 48> wanted;
};

Shape shapeOf(const View &view);

/// The view's elements lie in row-major order without gaps.
bool isContiguous(const View &view);

/// The copy between a view and its packed form.
StridedCopy packingOf(const View &view, bool intoView);

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_BOUNDCALL_H
