//===- Session.h - Calls of one size on a GPU -------------------*- C++ -*-===//
//
// The memory that calls of one size need is allocated once; tensors of the caller are bound by
// their device addresses. After that a call is nothing but launches on the caller's stream: no
// allocation, no synchronisation, so a CUDA graph can capture it.
//
//   auto session = Session::create(plan, module, frame, grad);
//   session->bind("q", pointer); ... // every argument; results where the caller wants them
//   session->launch(Half::Forward, stream);
//   session->launch(Half::Backward, stream); // after a forward, on its memory
//
// A session serves one call at a time: calls that overlap in time need sessions of their own.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CUDA_SESSION_H
#define PE_RUNTIME_DEVICE_CUDA_SESSION_H

#include "runtime/device/common/BoundPlan.h"
#include "runtime/device/cuda/Device.h"

namespace pe::cuda {

class Session {
public:
  /// Allocates results, residuals and temporaries, and with `grad` what a backward call needs; that
  /// is all but the arguments. The frame was filled (plan/Frame.h); the plan and the module
  /// outlive the session.
  static Expected<std::unique_ptr<Session>> create(const device::BoundPlan &plan,
                                                   std::shared_ptr<const LoadedModule> module,
                                                   const plan::Frame &frame, bool grad);

  /// Uses memory of the caller for an argument, result, cotangent or gradient; 16-byte aligned.
  /// Results and gradients that are not bound have memory here, cotangents are zero then.
  Status bind(const std::string &name, DevicePointer pointer);
  /// Where a buffer is; 0 for arguments and cotangents that were not bound.
  Expected<DevicePointer> find(const std::string &name) const;
  /// Other parameters for the next launches; the sizes stay. What is refused changes nothing.
  Status setScalars(const plan::Scalars &scalars);

  /// Starts one half of a call on the stream. Errors, before anything was started: an argument that
  /// was not bound; a backward call without gradients or before a forward call.
  Status launch(device::Half half, Stream stream);

  /// Bytes that the session has allocated.
  size_t allocatedBytes() const { return allocated; }
  const plan::Frame &getFrame() const { return frame; }

private:
  struct Launch {
    Kernel kernel = nullptr;
    unsigned grid = 0;
    const plan::Stage *stage = nullptr;
  };

  Session(const device::BoundPlan &plan, std::shared_ptr<const LoadedModule> module,
          const plan::Frame &frame)
      : plan(plan), module(std::move(module)), frame(frame) {}
  Status prepare(bool grad);
  Status checkReady(device::Half half) const;

  const device::BoundPlan &plan;
  std::shared_ptr<const LoadedModule> module;
  plan::Frame frame;
  std::vector<DeviceMemory> memory;    // by buffer; empty where the caller's is used
  std::vector<DevicePointer> pointers; // by buffer
  std::vector<size_t> bytes;
  std::vector<Launch> halves[2];
  size_t allocated = 0;
  bool hasBackward = false;
  /// The last forward call was started without an error.
  bool hasForward = false;
};

} // namespace pe::cuda

#endif // PE_RUNTIME_DEVICE_CUDA_SESSION_H
