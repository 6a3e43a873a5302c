//===- BoundPlan.h - A plan with its size expressions parsed ----*- C++ -*-===//
//
// What is known of a plan before any call: its size expressions parsed, which half of a call reads
// and writes which buffer, and the prepared tensors. Calls are bound to it (BoundCall.h).
//
// A prepared tensor is a group of buffers that prepare stages write and other stages read: the
// tables of one bias term, or of one rotation, or turned queries or keys. Buffers of one group were
// made by stages that they have in common and of the same data; a caller sees one tensor of bytes,
// named as its first member.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_BOUNDPLAN_H
#define PE_RUNTIME_DEVICE_COMMON_BOUNDPLAN_H

#include "runtime/core/Tensor.h"
#include "runtime/plan/Plan.h"
#include "runtime/plan/ShapeBinder.h"

#include <memory>
#include <span>

namespace pe::device {

/// The halves of a call, as bits of a number (PE_PREPARE ... of pe-c.h).
using Halves = int;
inline constexpr Halves kPrepare = 1, kForward = 2, kBackward = 4;

/// A call runs the prepare stages that it needs, whatever its halves are.
constexpr Halves halfOf(plan::Phase phase) {
  return phase == plan::Phase::Prepare   ? kPrepare
         : phase == plan::Phase::Forward ? kForward
                                         : kBackward;
}

/// Buffers and prepared tensors begin at multiples of this in the memory they share.
inline constexpr int64_t kAlignment = 64;
constexpr int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// The frame of a call (plan::Frame) as far as its words are known; without allocation.
class SizeTable {
public:
  /// Words of the largest frame.
  static constexpr size_t kMost = 256;

  bool has(int64_t index) const { return known[index]; }
  int64_t operator[](int64_t index) const { return values[index]; }
  void set(int64_t index, int64_t value) {
    values[index] = value;
    known[index] = true;
  }
  void set(std::span<const int64_t> all) {
    for (size_t i = 0; i < all.size(); ++i)
      set(static_cast<int64_t>(i), all[i]);
  }
  const int64_t *data() const { return values; }
  /// Gives the words that are not known the layout's defaults, and parameters what the caller gave.
  Status complete(const plan::FrameLayout &layout, const plan::Scalars &scalars);
  plan::CallSizes sizesOf(const plan::FrameLayout &layout) const {
    return layout.sizesOf({values, layout.getWords().size()});
  }
  /// The value of an expression whose names were resolved; one that is not known is an error.
  Expected<int64_t> evaluate(const plan::SizeExpression &expression) const;
  /// The same where all are known and the value may be negative.
  Expected<int64_t> evaluateSigned(const plan::SizeExpression &expression) const {
    return expression.evaluateSigned(std::span<const int64_t>(values));
  }

private:
  int64_t values[kMost] = {};
  uint8_t known[kMost] = {};
};

struct BoundBuffer {
  plan::SymbolicShape shape;
  /// The places of its strides in the frame, first axis first; empty where it has none.
  std::vector<int> strideWords;
  /// Halves whose stages have the buffer, and whose stages write it.
  Halves usedBy = 0, writtenBy = 0;
  /// The prepared tensor that it is part of, or -1.
  int group = -1;
  /// Of an argument that may be left out: the buffer that is read then, and the place in the frame
  /// of the word that says whether it is given; or -1.
  int absent = -1, givenWord = -1;
};

struct BoundStage {
  plan::SizeExpression items;
  Halves half = kForward;
};

/// What a call must fulfil.
struct BoundRequirement {
  plan::SizeExpression size, least;
};

/// What the numbers of an argument must be.
struct BoundValues {
  plan::SizeExpression first, last;
};

struct PreparedGroup {
  std::string name;
  /// Buffers, in the order in which they lie in the tensor, each at a multiple of kAlignment.
  std::vector<int> members;
  /// The arguments that it is made of, and the halves that read it.
  std::vector<int> of;
  Halves readBy = 0;
};

/// A shape without allocation.
struct Extents {
  int64_t dims[plan::kMaxRank] = {};
  int rank = 0;
  std::span<const int64_t> span() const { return {dims, static_cast<size_t>(rank)}; }
};

class BoundPlan {
public:
  /// Validates the plan and parses its expressions.
  static Expected<BoundPlan> create(plan::Plan plan);

  const plan::Plan &getPlan() const { return plan; }
  const plan::FrameLayout &getLayout() const { return layout; }
  /// Stands for this function, and for its copies, as long as anything holds it.
  const std::shared_ptr<const void> &getIdentity() const { return identity; }

  const std::vector<BoundBuffer> &buffers() const { return boundBuffers; }
  const std::vector<BoundStage> &stages() const { return boundStages; }
  const std::vector<PreparedGroup> &groups() const { return preparedGroups; }
  /// Whether the forward half writes it for the backward half, and it is no result.
  bool isSaved(size_t index) const {
    return plan.buffers[index].role == plan::Role::Residual && boundBuffers[index].group < 0;
  }
  /// Addresses of views are multiples of this, or the view is copied.
  int64_t addressMultiple(size_t index) const {
    return plan.target == "cpu" && boundBuffers[index].strideWords.empty()
               ? static_cast<int64_t>(sizeOf(plan.buffers[index].dtype))
               : 16;
  }

  /// Whether stages can use a tensor of the caller's for buffer `index` where it lies: packed or,
  /// where the buffer has strides, with neighbours along the last axis, every row at a multiple of
  /// 16 bytes and rows less than 16 MiB apart; and at a multiple of addressMultiple. Any other
  /// needs a packed copy. Strides are in elements.
  bool canUse(size_t index, const void *data, std::span<const int64_t> shape,
              std::span<const int64_t> strides) const;
  /// Writes the strides of a tensor that stages can use, or those of one without gaps, to the
  /// frame.
  void setStrides(size_t index, std::span<const int64_t> strides, SizeTable &frame) const;
  void setPackedStrides(size_t index, std::span<const int64_t> shape, SizeTable &frame) const;

  /// The frame of these sizes, which were placed, with tensors without gaps.
  Expected<plan::Frame> frameOf(const plan::CallSizes &sizes) const;

  /// The tensor a caller may pass by this name: a buffer, or behind them a group; -1 if there is
  /// none. `position` is where to look first and becomes the next place: tensors often come in
  /// order.
  int find(std::string_view name, size_t &position) const;
  int find(std::string_view name) const {
    size_t position = 0;
    return find(name, position);
  }
  /// The names it may pass, of those that `isWanted` (an index as find's).
  template <typename Predicate> std::string names(Predicate isWanted) const {
    std::string known;
    for (int index : callable)
      if (isWanted(index))
        known += (known.empty() ? "" : ", ") + std::string(nameOf(index));
    return known.empty() ? "none" : known;
  }
  std::string_view nameOf(int index) const;

  /// What a call of these sizes does not fulfil, as an error.
  Status checkRequirements(const SizeTable &sizes) const;
  /// The numbers that requirement `index` of values speaks of.
  Status valuesOf(size_t index, const SizeTable &sizes, int64_t &first, int64_t &last) const;
  /// Shape and bytes of buffer `index` in a call of these sizes.
  Status shapeOf(size_t index, const SizeTable &sizes, Extents &shape) const;
  Status bytesOf(size_t index, const SizeTable &sizes, int64_t &bytes) const;
  /// The bytes of a prepared tensor.
  Status groupBytes(size_t group, const SizeTable &sizes, int64_t &bytes) const;
  /// The same as an expression, for people and other languages.
  std::string groupExpression(size_t group) const;
  /// The number of work items of stage `index`.
  Status itemsOf(size_t index, const SizeTable &sizes, int64_t &items) const;

private:
  void findUses();
  void findGroups();
  void addToGroup(int buffer, int group);

  plan::Plan plan;
  plan::FrameLayout layout;
  std::shared_ptr<const void> identity;
  std::vector<BoundBuffer> boundBuffers;
  std::vector<BoundStage> boundStages;
  std::vector<BoundRequirement> requirements;
  std::vector<BoundValues> valueRequirements;
  std::vector<PreparedGroup> preparedGroups;
  std::vector<int> callable;
};

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_BOUNDPLAN_H
