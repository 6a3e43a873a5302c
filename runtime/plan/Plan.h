//===- Plan.h - The runtime behaviour of a compiled function ----*- C++ -*-===//
//
// A Plan describes a compiled function as data: the buffers it needs, the stages (symbols of the
// compiled object) that run on them, their order and their numbers of independent work items. A
// runtime needs nothing else to run a function without the compiler; the disk cache and packages
// store it as JSON.
//
// A stage is
//   extern "C" void SYMBOL(void *const *buffers, const int64_t *frame, int64_t item);
// with `item` in [0, items), `frame` the words of the call as the plan declares them (Frame.h), and
// `buffers` the stage's buffers in the order of Stage::buffers: row-major, 64-byte aligned and
// contiguous, except for buffers whose strides are words of the frame. Items run in any order on
// any thread. A GPU kernel takes its buffers, then the words it lists: strides as 64-bit values and
// the others as 32-bit values, which suffice because of the limits checked before.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_PLAN_H
#define PE_RUNTIME_PLAN_PLAN_H

#include "pe/DType.h"
#include "pe/Error.h"
#include "pe/Signature.h"
#include "runtime/plan/Frame.h"
#include "runtime/plan/Target.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pe::plan {

/// Incremented whenever the meaning of the JSON changes.
inline constexpr int kPlanVersion = 3;

/// The bytes of parameters that every GPU and driver accepts for a kernel.
inline constexpr size_t kMaxKernelParameters = 4096;

/// The maximum rank of a tensor in the C API (pe-c.h).
inline constexpr size_t kMaxRank = 8;

/// Argument and Cotangent are passed by the caller, Result and Gradient are returned to it. A
/// Residual is written by the forward call and read by the backward call. A Temporary exists during
/// one call.
enum class Role { Argument, Result, Residual, Temporary, Cotangent, Gradient };
std::string_view nameOf(Role role);

/// A forward call runs the prepare and forward stages, a backward call the backward and finish
/// stages.
enum class Phase { Prepare, Forward, Backward, Finish };
std::string_view nameOf(Phase phase);

using pe::ParameterInfo;
using pe::Requirement;
using pe::ValueRequirement;

/// A tensor that stages use.
struct Buffer {
  /// The `pe.name` of an argument or result; "d_o" for the cotangent of o, "d_q" for the gradient
  /// of q.
  std::string name;
  Role role = Role::Temporary;
  DType dtype = DType::F32;
  /// One size expression per dimension.
  std::vector<std::string> shape;
  /// Filled with zeros before the phase that first uses it.
  bool zero = false;
  /// An argument that a call may omit, or a result that may be dropped.
  bool optional = false;
  ParameterInfo parameter;
};

/// The launch of a work item of a GPU kernel, which is one CTA.
struct Launch {
  /// 32 to 1024, a multiple of 32.
  int threads = 0;
  /// Bytes of dynamic shared memory.
  int sharedBytes = 0;
};

/// A symbol of the compiled object, with the buffers and work items it runs on.
struct Stage {
  std::string symbol;
  Phase phase = Phase::Forward;
  /// Size expression: the number of independent work items.
  std::string items;
  /// Size expression: a call runs the stage only if it is positive. Empty: always.
  std::string when;
  /// Indices into Plan::buffers, in the order of the stage's arguments.
  std::vector<int> buffers;
  /// The subset of `buffers` that the stage writes; it only reads the others.
  std::vector<int> writes;
  /// GPU kernels only: the launch, and the indices in the frame of the words they take.
  std::optional<Launch> launch;
  std::vector<int> words;
};

/// The unmasked pairs, for counting useful work: those with low <= i - j <= high.
struct PairWindow {
  std::optional<int64_t> low;
  std::optional<int64_t> high;
};

/// A compiled function.
struct Plan {
  int version = kPlanVersion;
  std::string entry;
  Target target = Target::None;
  /// The machine that the code requires: "x86-64-v3", "x86-64-v4"; for cuda the chip, "sm_80".
  std::string features;
  int64_t headDim = 0;
  int64_t valueDim = 0;
  DType dtype = DType::F32; ///< of queries, keys, values and outputs
  /// The type in which kernels multiply: `dtype`, or f32 where 16-bit tensors are only stored.
  DType products = DType::F32;
  /// The words of a call, in order.
  std::vector<FrameWord> frame;
  /// Requirements on sizes and parameters of the frame, checked before any work.
  std::vector<Requirement> requirements;
  std::vector<ValueRequirement> valueRequirements;
  std::vector<Buffer> buffers;
  std::vector<Stage> stages;
  /// Absent if the function has no attention or its mask depends on data.
  std::optional<PairWindow> window;
  /// One readable line that describes the structure the compiler found.
  std::string structure;
  std::vector<std::string> diagnostics;

  bool hasBackward() const;
  /// Returns the index of the buffer called `name`, or -1.
  int findBuffer(std::string_view name) const;
};

/// Checks everything that can be checked in a plan alone: version, target, depths, names, roles,
/// phases, expressions and indices. It cannot check how the code uses a buffer; code and plan are
/// checked to belong together where both are read (digestOf in runtime/api/Compiler.h).
Status validate(const Plan &plan);

std::string toJson(const Plan &plan);
/// Parses and validates a plan.
Expected<Plan> parsePlan(std::string_view json);

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_PLAN_H
