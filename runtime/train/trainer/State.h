//===- State.h - What a run must remember to go on --------------*- C++ -*-===//
//
// Optimizers, the trainer and events list their state as named views of their own memory. A
// checkpoint writes what is listed, and reads it back into the same memory when the run goes on; it
// knows nothing about the owners.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_STATE_H
#define PE_RUNTIME_TRAIN_TRAINER_STATE_H

#include "runtime/core/Tensor.h"

#include <limits>
#include <string>

namespace pe::train {

struct StatePart {
  /// Unique in a run.
  std::string name;
  /// A view, f32, f64 or i64. Floating numbers are finite and at least `least`; whole numbers are
  /// counts, from 0 to the steps of the checkpoint.
  Tensor view;
  double least = std::numeric_limits<double>::lowest();
  /// False: checkpoints of versions that did not save it go on with its value in a new run.
  bool required = true;
};

/// The part that bounds counts from above, together with the steps of the checkpoint.
inline constexpr const char *kStepsBefore = "steps.before";

/// A view of `value` alone, or of `values`.
inline Tensor viewOf(int64_t &value) { return Tensor::borrow(&value, DType::I64, {}); }
inline Tensor viewOf(std::vector<int64_t> &values) {
  return Tensor::borrow(values.data(), DType::I64, {static_cast<int64_t>(values.size())});
}
inline Tensor viewOf(std::vector<double> &values) {
  return Tensor::borrow(values.data(), DType::F64, {static_cast<int64_t>(values.size())});
}

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_STATE_H
