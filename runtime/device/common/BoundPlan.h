//===- BoundPlan.h - A plan with its size expressions parsed ----*- C++ -*-===//
//
// Holds everything about a plan that does not depend on a call: the parsed size expressions, the
// halves of a call that read and write each buffer, and the prepared tensors. Calls are bound to it
// (BoundCall.h).
//
// A prepared tensor is a group of buffers that prepare stages write and other stages read: the
// tables of one bias term or one rotation, or rotated queries or keys. Buffers belong to one group
// if the same stages use them and they are computed from the same data, and if tables with an entry
// per distance are not mixed with others. The caller sees a group as one tensor of bytes with the
// name of its first member.
//
// A table over distances has entries for `capacity` keys (kCapacity), a size of the call that is at
// least the number of keys and is that number by default. Its entries do not depend on the number
// of keys (passes/ToTile/DistanceEntries.h), so that one tensor serves calls with more and more
// keys.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_BOUNDPLAN_H
#define PE_RUNTIME_DEVICE_COMMON_BOUNDPLAN_H

#include "runtime/core/Tensor.h"
#include "runtime/plan/Machine.h"
#include "runtime/plan/Plan.h"
#include "runtime/plan/ShapeBinder.h"

#include <memory>
#include <span>

namespace pe::device {

/// A bit set of the halves of a call (PE_PREPARE, PE_FORWARD and PE_BACKWARD of pe-c.h).
using Halves = int;
inline constexpr Halves kPrepare = 1, kForward = 2, kBackward = 4;

/// Returns the half that runs a phase. Every call also runs the prepare stages that it needs.
constexpr Halves halfOf(plan::Phase phase) {
  return phase == plan::Phase::Prepare   ? kPrepare
         : phase == plan::Phase::Forward ? kForward
                                         : kBackward;
}

/// The name of the size for which tables over distances are prepared, and of the view, without data
/// and of the shape [capacity], by which a call gives it.
inline constexpr const char *kCapacity = "capacity";

/// The alignment, in bytes, of buffers in the workspace and of members in prepared tensors.
inline constexpr int64_t kAlignment = 64;
constexpr int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// A partially known frame of a call (plan::Frame), in a fixed array to avoid allocation.
class SizeTable {
public:
  /// The largest number of words of a frame.
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
  /// Sets unknown words to the defaults of the layout, and parameters to the caller's scalars.
  Status complete(const plan::FrameLayout &layout, const plan::Scalars &scalars);
  plan::CallSizes sizesOf(const plan::FrameLayout &layout) const {
    return layout.sizesOf({values, layout.getWords().size()});
  }
  /// Returns the value of an expression that is a number or a known name, at least 0, or null. Most
  /// sizes are such expressions, and a small call evaluates dozens of them.
  const int64_t *find(const plan::SizeExpression &expression) const {
    const std::span<const plan::SizeExpression::Step> steps = expression.getSteps();
    if (steps.size() != 1)
      return nullptr;
    if (steps[0].kind == plan::SizeExpression::Kind::Constant)
      return &steps[0].value;
    const int64_t word = steps[0].value;
    return has(word) && values[word] >= 0 ? &values[word] : nullptr;
  }
  /// Evaluates an expression whose names were resolved; an unknown word is an error.
  Expected<int64_t> evaluate(const plan::SizeExpression &expression) const;
  /// Evaluates an expression that may be negative. Every word must be known.
  Expected<int64_t> evaluateSigned(const plan::SizeExpression &expression) const {
    return expression.evaluateSigned(std::span<const int64_t>(values));
  }

private:
  int64_t values[kMost] = {};
  uint8_t known[kMost] = {};
};

struct BoundBuffer {
  plan::SymbolicShape shape;
  /// Frame indices of its strides, first axis first; empty if the buffer has no strides.
  std::vector<int> strideWords;
  /// Halves whose stages use, and write, the buffer.
  Halves usedBy = 0, writtenBy = 0;
  /// The prepared tensor that contains it, or -1.
  int group = -1;
  /// For an optional argument: the buffer that is read if it is absent, and the frame index of the
  /// word that is nonzero if it is given; otherwise -1.
  int absent = -1, givenWord = -1;
};

struct BoundStage {
  plan::SizeExpression items;
  std::optional<plan::SizeExpression> when;
  Halves half = kForward;
};

/// A requirement of the plan on a call: size >= least.
struct BoundRequirement {
  plan::SizeExpression size, least;
};

/// The bounds, inclusive, on the elements of an argument.
struct BoundValues {
  plan::SizeExpression first, last;
};

struct PreparedGroup {
  std::string name;
  /// Buffers in the order of their offsets in the tensor, each at a multiple of kAlignment.
  std::vector<int> members;
  /// The arguments that it is computed from, and the halves that read it.
  std::vector<int> of;
  Halves readBy = 0;
  /// True if the contents depend on parameters and on `capacity`, but not on the number of keys.
  bool isOfCapacity = false;
};

/// A shape in a fixed array, to avoid allocation.
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
  /// Returns the machine that the code is for, or null if the plan does not name one.
  const plan::Machine *getMachine() const { return machine; }
  /// A token that identifies this function and its copies while a reference to it exists.
  const std::shared_ptr<const void> &getIdentity() const { return identity; }

  const std::vector<BoundBuffer> &buffers() const { return boundBuffers; }
  const std::vector<BoundStage> &stages() const { return boundStages; }
  const std::vector<PreparedGroup> &groups() const { return preparedGroups; }
  /// Returns true if the forward half saves the buffer for the backward half. Results and prepared
  /// tensors do not count.
  bool isSaved(size_t index) const {
    return plan.buffers[index].role == plan::Role::Residual && boundBuffers[index].group < 0;
  }
  /// The alignment that kernels require of a view's address; other views are copied.
  int64_t addressMultiple(size_t index) const {
    return plan.target == plan::Target::Cpu && boundBuffers[index].strideWords.empty()
               ? static_cast<int64_t>(sizeOf(plan.buffers[index].dtype))
               : 16;
  }

  /// Returns true if stages can use the caller's tensor for buffer `index` in place. Its address
  /// must be a multiple of addressMultiple. Its layout must be packed or, if the buffer has
  /// strides, have unit stride along the last axis, strides of nonnegative multiples of 16 bytes
  /// along the others, and a row stride below 16 MiB. Any other tensor needs a packed copy.
  /// `strides` are in elements.
  bool canUse(size_t index, const void *data, std::span<const int64_t> shape,
              std::span<const int64_t> strides) const;
  /// Writes the strides of a tensor that passes `canUse`, or the strides of a contiguous tensor, to
  /// the frame.
  void setStrides(size_t index, std::span<const int64_t> strides, SizeTable &frame) const;
  void setPackedStrides(size_t index, std::span<const int64_t> shape, SizeTable &frame) const;

  /// Builds the frame of a call with these validated sizes and contiguous tensors.
  Expected<plan::Frame> frameOf(const plan::CallSizes &sizes) const;

  /// Returns the index of the tensor that a caller may pass by this name, or -1 if there is none.
  /// Indices from `buffers().size()` on are groups. The search starts at `position`, which is set
  /// to the entry after the result, because tensors usually come in order.
  int find(std::string_view name, size_t &position) const;
  int find(std::string_view name) const {
    size_t position = 0;
    return find(name, position);
  }
  /// Lists the names of the tensors that a caller may pass and whose index (as returned by `find`)
  /// satisfies `isWanted`.
  template <typename Predicate> std::string names(Predicate isWanted) const {
    std::string known;
    for (int index : callable)
      if (isWanted(index))
        known += (known.empty() ? "" : ", ") + std::string(nameOf(index));
    return known.empty() ? "none" : known;
  }
  std::string_view nameOf(int index) const;

  /// Returns an error if a call of these sizes violates a requirement of the plan.
  Status checkRequirements(const SizeTable &sizes) const;
  /// Evaluates the bounds of value requirement `index`.
  Status valuesOf(size_t index, const SizeTable &sizes, int64_t &first, int64_t &last) const;
  /// Computes the shape, and the bytes, of buffer `index` in a call of these sizes.
  Status shapeOf(size_t index, const SizeTable &sizes, Extents &shape) const;
  Status bytesOf(size_t index, const SizeTable &sizes, int64_t &bytes) const;
  /// Computes the bytes of a prepared tensor.
  Status groupBytes(size_t group, const SizeTable &sizes, int64_t &bytes) const;
  /// Computes the shape of a buffer or of a prepared tensor (`find`).
  Status shapeOfTensor(size_t index, const SizeTable &sizes, Extents &shape) const;
  /// Returns the size of a prepared tensor as an expression, for users and language bindings.
  std::string groupExpression(size_t group) const;
  /// Returns true if a call of these sizes runs stage `index`, provided that its outputs are
  /// needed.
  bool doesRun(size_t index, const SizeTable &sizes) const;
  /// Computes the number of work items of stage `index`.
  Status itemsOf(size_t index, const SizeTable &sizes, int64_t &items) const;

private:
  void findUses();
  void findGroups();
  void addToGroup(int buffer, int group);
  bool mentions(int buffer, std::string_view size) const;
  void markTables();

  plan::Plan plan;
  plan::FrameLayout layout;
  const plan::Machine *machine = nullptr;
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
