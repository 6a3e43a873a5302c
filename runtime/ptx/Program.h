//===- Program.h - PTX decoded for execution --------------------*- C++ -*-===//
//
// A kernel as a warp executes it. All operands are frame offsets: a frame holds an array of 32 lane
// values for each register, each distinct immediate (broadcast) and each special register, so that
// a handler is a loop over arrays. Predicates are masks of 32 bits.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_PROGRAM_H
#define PE_RUNTIME_PTX_PROGRAM_H

#include "runtime/ptx/Syntax.h"

#include <bit>
#include <cstddef>
#include <memory>

namespace pe::ptx {

/// A set of lanes of a warp, one bit each.
using Lanes = uint32_t;
inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kWarpsOfCta = 32; // at most
inline constexpr Lanes kAllLanes = ~Lanes(0);
/// The frame offset of an operand that is absent.
inline constexpr uint32_t kAbsent = ~uint32_t(0);

class Warp;
struct Step;
/// Executes an instruction for a nonempty set of lanes. Throws Fault.
using Handler = void (*)(Warp &, const Step &, Lanes);

/// The continuation of an instruction.
enum class Flow : uint8_t {
  Plain,      // with the next instruction
  Branch,     // at `target`, for the lanes of the guard
  Table,      // at the entry of Code::tables[target] that the 32-bit operand `a` selects
  Call,       // in the function of Code::calls[target]
  Return,     // after the call
  Exit,       // nowhere: the lanes are done
  Collective, // as Plain, once all lanes of `members` are here
  Barrier     // as Collective, once the barrier of the CTA is complete
};

/// One decoded instruction.
struct Step {
  Handler run = nullptr;
  uint32_t guard = kAbsent; // frame offset of a predicate
  bool isGuardNegated = false;
  Flow flow = Flow::Plain;
  /// Collectives: the lanes that must be present: the 32-bit operand at this offset, or, if
  /// kAbsent, all lanes of the warp that have not exited.
  uint32_t members = kAbsent;
  uint32_t target = 0;
  int line = 0;

  // The meaning of these is up to the handler. Offsets are frame offsets.
  uint32_t d = kAbsent, d2 = kAbsent, a = kAbsent, b = kAbsent, c = kAbsent, e = kAbsent;
  uint32_t list = 0; // first entry in Code::offsets of operands in braces
  int64_t imm = 0;   // address offset, table of lop3, ...
  Type type = Type::None, type2 = Type::None;
  Space space = Space::Generic;
  uint8_t count = 1;  // elements of a vector access, fragments, ...
  uint8_t width = 0;  // bytes of one element of the destination register
  uint16_t flags = 0; // of the family
};

struct Code;

/// A call site. Parameters live in the frames, `bytes` per lane.
struct Call {
  const Code *callee = nullptr;
  struct Copy {
    uint32_t from, to; // in the frames of caller and callee, or of callee and caller
    uint32_t bytes;
  };
  std::vector<Copy> arguments, results;
};

/// Read-only registers. Those from Clock on have a new value at each read.
enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NumWarps,
  SmId,
  NumSms,
  GridId,
  MaskEq,
  MaskLe,
  MaskLt,
  MaskGe,
  MaskGt,
  TotalShared,
  DynamicShared,
  Clock,
  ClockHigh,
  Clock64,
  GlobalTimer,
  GlobalTimerLow,
  GlobalTimerHigh
};

/// A function decoded for one kernel.
struct Code {
  const Function *function = nullptr;
  std::vector<Step> steps;
  std::vector<std::vector<uint32_t>> tables; // targets of brx.idx
  std::vector<Call> calls;
  std::vector<uint32_t> offsets; // operands in braces; Step::list points here
  /// Frame offsets of the parameters and results of a function.
  std::unordered_map<std::string, uint32_t> parameterOffsets;
  uint32_t frameBytes = 0;
  struct Constant {
    uint32_t offset;
    uint8_t bytes;
    uint64_t bits;
  };
  std::vector<Constant> constants;
  struct SpecialSlot {
    uint32_t offset;
    uint8_t bytes;
    Special which;
  };
  std::vector<SpecialSlot> specials;
  /// Addresses of local variables, relative to the local memory of the frame: 64-bit slots unless
  /// `bytes` is 4.
  std::vector<Constant> locals;
  uint32_t ownLocalBytes = 0;     // of the variables of this function
  uint32_t deepestLocalBytes = 0; // and of the functions that it calls
  /// By warp of a CTA and step, since the last reset.
  mutable std::vector<uint64_t> executions;

  uint64_t *executionsOf(unsigned warp) const { return executions.data() + warp * steps.size(); }
};

/// A kernel with the functions that it calls. Refers to the Module, which must outlive it.
struct Kernel {
  const Module *module = nullptr;
  const Function *function = nullptr;
  const Code *entry = nullptr;
  std::vector<std::unique_ptr<Code>> codes;
  uint32_t parameterBytes = 0;
  uint32_t staticShared = 0;  // bytes of shared variables with a size
  uint32_t dynamicShared = 0; // where dynamic shared memory begins
};

/// Calls function(lane) for each lane of `lanes`.
template <typename Function> inline void forEachLane(Lanes lanes, Function function) {
  if (lanes == kAllLanes)
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      function(lane);
  else
    for (; lanes; lanes &= lanes - 1)
      function(unsigned(std::countr_zero(lanes)));
}

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_PROGRAM_H
