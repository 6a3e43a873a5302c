//===- ReferenceRunner.h - The float64 reference as a device ----*- C++ -*-===//
//
// Implements the device interface with the reference: a plan of two stages whose buffers are the
// arguments and results of the function as declared in its source. Nothing is compiled, saved or
// prepared. Tensors are f32 or, for finite differences, f64.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_REFERENCERUNNER_H
#define PE_RUNTIME_API_REFERENCERUNNER_H

#include "runtime/device/common/Runner.h"
#include "runtime/jit/JitInterface.h"
#include "runtime/reference/ExportedProgram.h"

namespace pe::api {

class ReferenceRunner final : public device::Runner {
public:
  /// Creates a runner whose floating tensors have type `dtype`, F32 or F64.
  static Expected<std::shared_ptr<const ReferenceRunner>>
  create(const jit::Description &description, DType dtype, bool grad);

  const device::BoundPlan &bound() const override { return plan; }
  using Runner::run;
  Status run(const device::BoundCall &call, const device::CallContext &context) const override;

private:
  ReferenceRunner(device::BoundPlan plan, reference::Program program)
      : plan(std::move(plan)), program(std::move(program)) {}

  device::BoundPlan plan;
  reference::Program program;
};

} // namespace pe::api

#endif // PE_RUNTIME_API_REFERENCERUNNER_H
