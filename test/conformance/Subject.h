//===- Subject.h - Subjects of the conformance suite ------------*- C++ -*-===//
//
// A subject compiles a source file to a function and runs it; the suite compares the results with
// the float64 reference. There is one subject per target, so that every device runs the same table.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_CONFORMANCE_SUBJECT_H
#define PE_TEST_CONFORMANCE_SUBJECT_H

#include "pe/LoopOptions.h"
#include "pe/Positions.h"
#include "runtime/core/Tensor.h"
#include "runtime/jit/JitInterface.h"

#include <functional>
#include <memory>

namespace pe::conformance {

/// A function specialized to head dims, with gradients.
class Function {
public:
  virtual ~Function() = default;
  /// Returns results and, if they were compiled, "d_NAME" gradients. `inputs` contains arguments
  /// and cotangents.
  virtual Expected<TensorMap> run(const TensorMap &inputs, const Positions &positions,
                                  int threads) = 0;
  /// Returns the compiler's explanation, as pe::Function::explainJson.
  virtual std::string explainJson() const { return "{}"; }
};

class Subject {
public:
  virtual ~Subject() = default;
  virtual Expected<jit::Description> describe(const jit::Source &source) = 0;
  /// Compiles the function and, by default, the gradients of all floating-point arguments.
  virtual Expected<std::unique_ptr<Function>> compile(const jit::Source &source, int64_t headDim,
                                                      int64_t valueDim) = 0;
};

/// The target and its configuration.
struct SubjectOptions {
  /// "cpu" and "loops" use the public API with that lowering. "reference" returns the reference's
  /// own results in f32, like a perfect device.
  std::string target = "cpu";
  /// The machine to compile for; empty for the host.
  std::string features;
  /// The GPU to compile for; empty for the target's default.
  std::string chip;
  /// Fields of schedules that replace chosen values.
  std::string schedule = "";
  /// The type of activations. "cpu" only stores F16, and BF16 on processors without
  /// products of it; GPUs and "loops" multiply both.
  DType dtype = DType::F32;
  /// Compiles gradients. Otherwise a run returns results only.
  bool grad = true;
  /// Fills every fresh buffer with NaN, so that elements that no stage writes cannot look correct.
  /// Bypasses the public API; for cpu and loops.
  bool poison = false;
  /// With `poison`: called with every buffer of a stage before the stage begins. It can corrupt the
  /// buffer, so that a test can show that it detects wrong results.
  std::function<void(const std::string &name, void *data, int64_t bytes)> spoil = nullptr;
  /// Options of target "loops".
  LoopOptions loops = {};
};

/// Returns the type of the operands of products.
DType productsOf(const SubjectOptions &options);

Expected<std::unique_ptr<Subject>> makeSubject(const SubjectOptions &options);

} // namespace pe::conformance

#endif // PE_TEST_CONFORMANCE_SUBJECT_H
