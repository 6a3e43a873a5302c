//===- Plan.h - What a compiled function does, as plain data ----*- C++ -*-===//
//
// A Plan says which buffers a compiled function needs, and which stages (symbols of the compiled
// object) run on them, in which order and over how many independent work items. It is all a
// runtime without a compiler needs; the disk cache and packages store it as JSON.
//
// A stage is
//   extern "C" void SYMBOL(void *const *buffers, const int64_t *frame, int64_t item);
// with `item` in [0, items), `frame` the words of the call as the plan declares them (Frame.h), and
// `buffers` the stage's buffers in its own order: row-major, 64-byte aligned and without gaps but
// for those whose strides are words of the frame. Items run in any order on any thread. A kernel
// for GPUs takes its buffers, then the words it lists: strides in 64 bits, the others in 32, which
// hold them by the limits that were checked before.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_PLAN_H
#define PE_RUNTIME_PLAN_PLAN_H

#include "pe/DType.h"
#include "pe/Error.h"
#include "pe/Signature.h"
#include "runtime/plan/Frame.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pe::plan {

/// Raised whenever the JSON form changes its meaning.
inline constexpr int kPlanVersion = 2;

/// Bytes of parameters that a kernel may take (of every GPU and driver).
inline constexpr size_t kMaxKernelParameters = 4096;

/// As many dimensions as a tensor of the C API has (pe-c.h).
inline constexpr size_t kMaxRank = 8;

/// Argument and Cotangent are given by the caller, Result and Gradient returned to it. A Residual
/// is written by the forward call and read by the backward call; a Temporary lives for one call.
enum class Role { Argument, Result, Residual, Temporary, Cotangent, Gradient };
std::string_view nameOf(Role role);

/// A forward call runs the prepare and forward stages; a backward call the backward and finish
/// stages.
enum class Phase { Prepare, Forward, Backward, Finish };
std::string_view nameOf(Phase phase);

using pe::ParameterInfo;
using pe::Requirement;
using pe::ValueRequirement;

struct Buffer {
  /// Arguments and results by their `pe.name`; the cotangent of o is "d_o", the gradient of q
  /// "d_q".
  std::string name;
  Role role = Role::Temporary;
  DType dtype = DType::F32;
  /// One size expression per dimension.
  std::vector<std::string> shape;
  /// Filled with zeros before the phase that first uses it.
  bool zero = false;
  /// An argument the call may leave out, or a result that may be dropped.
  bool optional = false;
  ParameterInfo parameter;
};

/// How a work item of a GPU kernel is launched: one CTA.
struct Launch {
  /// 32 to 1024, a multiple of 32.
  int threads = 0;
  /// Dynamic shared memory.
  int sharedBytes = 0;
};

struct Stage {
  std::string symbol;
  Phase phase = Phase::Forward;
  /// Size expression: the number of independent work items.
  std::string items;
  /// Indices into Plan::buffers, in the order of the stage's arguments.
  std::vector<int> buffers;
  /// Those of them that the stage writes; the others it only reads.
  std::vector<int> writes;
  /// Of kernels for GPUs only, and the places in the frame of the words they take.
  std::optional<Launch> launch;
  std::vector<int> words;
};

/// The unmasked pairs, for counting useful work: those with low <= i - j <= high.
struct PairWindow {
  std::optional<int64_t> low;
  std::optional<int64_t> high;
};

struct Plan {
  int version = kPlanVersion;
  std::string entry;
  /// "cpu", "cuda" or "gpu-emulator"
  std::string target;
  /// What the code needs of the machine: "x86-64-v3", "x86-64-v4"; for cuda the chip, "sm_80".
  std::string features;
  int64_t headDim = 0;
  int64_t valueDim = 0;
  DType dtype = DType::F32;
  /// The words of a call and their order.
  std::vector<FrameWord> frame;
  /// Checked before any work, over the words of the frame that are sizes or parameters.
  std::vector<Requirement> requirements;
  std::vector<ValueRequirement> valueRequirements;
  std::vector<Buffer> buffers;
  std::vector<Stage> stages;
  /// Absent when the function is no attention or its mask depends on data.
  std::optional<PairWindow> window;
  /// One line for people: which structure the compiler found.
  std::string structure;
  std::vector<std::string> diagnostics;

  bool hasBackward() const;
  /// Index of the buffer called `name`, or -1.
  int findBuffer(std::string_view name) const;
};

/// Everything that can be wrong in a plan on its own: version, target, depths, names, roles,
/// phases, expressions, indices. What the code does with a buffer cannot be seen here: that plan
/// and code belong together is checked where both are read (runtime/api/Compiler.h, digestOf).
Status validate(const Plan &plan);

std::string toJson(const Plan &plan);
/// Parses and validates.
Expected<Plan> parsePlan(std::string_view json);

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_PLAN_H
