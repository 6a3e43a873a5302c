//===- Subject.h - What the conformance suite judges ------------*- C++ -*-===//
//
// A subject turns a source file into a function and runs it; the suite compares what it returns
// with the float64 reference. One subject per target, so that every device runs the same table.
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

/// A function specialised to head dims, with gradients.
class Function {
public:
  virtual ~Function() = default;
  /// Results and "d_NAME" gradients in one map. `inputs` holds arguments and cotangents.
  virtual Expected<TensorMap> run(const TensorMap &inputs, const Positions &positions,
                                  int threads) = 0;
  /// What the compiler says about it, as pe::Function::explainJson.
  virtual std::string explainJson() const { return "{}"; }
};

class Subject {
public:
  virtual ~Subject() = default;
  virtual Expected<jit::Description> describe(const jit::Source &source) = 0;
  /// Gradients of every floating argument are compiled too.
  virtual Expected<std::unique_ptr<Function>> compile(const jit::Source &source, int64_t headDim,
                                                      int64_t valueDim) = 0;
};

/// What to test.
struct SubjectOptions {
  /// "cpu" and "loops": the public API with that lowering. "reference": the reference itself in
  /// f32, as a perfect device would return it.
  std::string target = "cpu";
  /// The machine to compile for; empty: this one.
  std::string features;
  /// Of activations; on GPU targets also BF16 and F16.
  DType dtype = DType::F32;
  /// For cpu and loops, below the public API: every fresh buffer is filled with NaN first, so that
  /// elements no stage writes cannot look correct.
  bool poison = false;
  /// With `poison`: sees every buffer of a stage, by name, before the stage begins, and may spoil
  /// it, so that a test can show that it would notice.
  std::function<void(const std::string &name, void *data, int64_t bytes)> spoil = nullptr;
  /// For loops.
  LoopOptions loops = {};
};

Expected<std::unique_ptr<Subject>> makeSubject(const SubjectOptions &options);

} // namespace pe::conformance

#endif // PE_TEST_CONFORMANCE_SUBJECT_H
