//===- BoundFunction.h - Repeated calls of a compiled function --*- C++ -*-===//
#ifndef PE_RUNTIME_TRAIN_API_BOUNDFUNCTION_H
#define PE_RUNTIME_TRAIN_API_BOUNDFUNCTION_H

#include "runtime/api/Compiler.h"

namespace pe::train {

inline View viewOn(const char *name, const float *data, const Shape &shape) {
  return viewOf(name, Tensor::borrow(const_cast<float *>(data), DType::F32, shape));
}

/// A compiled function with its workspace. Records which tensors of a forward call its backward
/// call reads.
class BoundFunction {
public:
  BoundFunction(std::shared_ptr<const api::CompiledFunction> function, ParallelFor &pool);

  /// Runs the forward half. Stores the tensors that the backward half needs, except the arguments
  /// and the results among `views`, in `kept`, whose memory is reused.
  Status forward(std::vector<View> views, TensorMap &kept);
  Status backward(std::vector<View> views, const TensorMap &kept);

private:
  Status run(device::Halves halves, const std::vector<View> &views);

  std::shared_ptr<const api::CompiledFunction> function;
  ParallelFor &pool;
  const device::Runner &runner;
  std::vector<std::string> names;
  Tensor workspace;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_API_BOUNDFUNCTION_H
