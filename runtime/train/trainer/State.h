//===- State.h - The state that a run must save -----------------*- C++ -*-===//
//
// Optimizers, the trainer and events list their state as named views of their memory. A checkpoint
// writes the listed parts, and reads them back into the same memory when the run resumes. It does
// not depend on the owners.
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
  /// An f32, f64 or i64 view. Floating-point values are finite and at least `least`; integers are
  /// counts from 0 to the steps of the checkpoint.
  Tensor view;
  double least = std::numeric_limits<double>::lowest();
  /// If false, a checkpoint of a version that did not save the part resumes with its initial value.
  bool required = true;
};

/// The name of the part that, together with the steps of the checkpoint, bounds counts from above.
inline constexpr const char *kStepsBefore = "steps.before";

/// Returns a view of `value` or `values`.
inline Tensor viewOf(int64_t &value) { return Tensor::borrow(&value, DType::I64, {}); }
inline Tensor viewOf(std::vector<int64_t> &values) {
  return Tensor::borrow(values.data(), DType::I64, {static_cast<int64_t>(values.size())});
}
inline Tensor viewOf(std::vector<double> &values) {
  return Tensor::borrow(values.data(), DType::F64, {static_cast<int64_t>(values.size())});
}

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_STATE_H
