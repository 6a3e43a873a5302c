//===- Subject.h - What the conformance suite judges ------------*- C++ -*-===//
//
// A subject turns a source file into a function and runs it; the suite compares what it returns
// with the float64 reference. One subject per target, so that every device meets the same table.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_CONFORMANCE_SUBJECT_H
#define PE_TEST_CONFORMANCE_SUBJECT_H

#include "pe/Positions.h"
#include "runtime/core/Tensor.h"
#include "runtime/jit/JitInterface.h"

#include <memory>

namespace pe::conformance {

/// A function specialised to head dims, with gradients.
class Function {
public:
  virtual ~Function() = default;
  /// Results and "d_NAME" gradients in one map. `inputs` holds arguments and cotangents.
  virtual Expected<TensorMap> run(const TensorMap &inputs, const Positions &positions,
                                  int threads) = 0;
};

class Subject {
public:
  virtual ~Subject() = default;
  virtual Expected<jit::Description> describe(const jit::Source &source) = 0;
  virtual Expected<std::unique_ptr<Function>> compile(const jit::Source &source, int64_t headDim,
                                                      int64_t valueDim) = 0;
};

/// Subjects by target: "cpu", "loops" (the compiler and the CPU device, with that lowering) and
/// "reference" (the reference itself in fp32: what a perfect device would return).
Expected<std::unique_ptr<Subject>> makeSubject(const std::string &target,
                                               const std::string &features);

/// The compiler, loaded on first use; it lives as long as the program.
Expected<jit::Jit *> loadCompiler();

} // namespace pe::conformance

#endif // PE_TEST_CONFORMANCE_SUBJECT_H
