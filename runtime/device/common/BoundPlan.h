//===- BoundPlan.h - A plan with its size expressions parsed ----*- C++ -*-===//
//
// What every device does with a plan before it runs anything: check the tensors of a call against
// the plan's names, types and symbolic shapes, find the call's sizes, evaluate shapes and numbers
// of work items, and say which buffers a forward or a backward call needs.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_BOUNDPLAN_H
#define PE_RUNTIME_DEVICE_COMMON_BOUNDPLAN_H

#include "runtime/core/Tensor.h"
#include "runtime/plan/Plan.h"
#include "runtime/plan/ShapeBinder.h"

#include <memory>

namespace pe::device {

class Call;

/// The two halves of a call.
enum class Half { Forward, Backward };

class BoundPlan {
public:
  /// Validates the plan and parses its expressions.
  static Expected<BoundPlan> create(plan::Plan plan);

  const plan::Plan &getPlan() const { return plan; }

  const plan::FrameLayout &getLayout() const { return layout; }

  /// Checks the arguments (missing, extra, mis-typed, mis-shaped) and fills the call's frame.
  Expected<plan::Frame> bind(const TensorMap &arguments, const plan::Scalars &scalars) const;
  /// The frame of these sizes, which were placed.
  Expected<plan::Frame> frameOf(const plan::CallSizes &sizes) const;
  /// The places of buffer `index`'s strides in the frame, first axis first; empty where the buffer
  /// has none.
  std::span<const int> strideWords(size_t index) const { return words[index]; }
  /// Whether stages can use a tensor of the caller's for buffer `index` where it lies: packed and
  /// at a multiple of 64 bytes, or, where the buffer has strides, with neighbours along the last
  /// axis, every row at a multiple of 16 bytes and rows less than 16 MiB apart. Any other needs a
  /// packed copy. Strides are in elements.
  bool canUse(size_t index, const void *data, std::span<const int64_t> shape,
              std::span<const int64_t> strides) const;
  /// Writes the strides of a tensor that stages can use.
  void setStrides(size_t index, std::span<const int64_t> strides, plan::Frame &frame) const;

  /// Stands for this function, and for its copies, as long as anything holds it.
  const std::shared_ptr<const void> &getIdentity() const { return identity; }
  /// Checks that this function made the call: another one keeps other tensors.
  Status checkCall(const Call &call) const;
  /// Checks that there are gradients, at least one cotangent, and names, types and shapes.
  Status checkCotangents(const TensorMap &cotangents, const plan::Frame &frame) const;

  /// The shape of buffer `index` in a call.
  Expected<Shape> shapeOf(size_t index, const plan::Frame &frame) const;
  /// The number of work items of stage `index`.
  Expected<int64_t> itemsOf(size_t index, const plan::Frame &frame) const;

  static Half halfOf(plan::Phase phase) {
    return phase == plan::Phase::Backward || phase == plan::Phase::Finish ? Half::Backward
                                                                          : Half::Forward;
  }
  /// Whether a stage of that half has the buffer.
  bool isUsedBy(size_t index, Half half) const;
  /// Whether a call allocates the buffer for that half: results, residuals and temporaries, or
  /// gradients and temporaries; a cotangent that the caller leaves out is allocated as zeros.
  bool isAllocatedFor(size_t index, Half half) const;

private:
  /// The strides of tensors without gaps.
  Status fillStrides(plan::Frame &frame) const;
  Status checkNames(const TensorMap &tensors, plan::Role role, const char *what) const;

  plan::Plan plan;
  plan::FrameLayout layout;
  std::shared_ptr<const void> identity;
  std::vector<plan::SymbolicShape> shapes;
  std::vector<plan::SizeExpression> items;
  std::vector<std::vector<int>> words; // of strides, by buffer
};

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_BOUNDPLAN_H
