//===- Copies.h - Asynchronous copies in flight -----------------*- C++ -*-===//

#ifndef PE_RUNTIME_PTX_COPIES_H
#define PE_RUNTIME_PTX_COPIES_H

#include "runtime/ptx/StepDecoder.h"
#include "runtime/ptx/Warp.h"

namespace pe::ptx {

/// The asynchronous copies of the lanes of a warp, which land at the latest moment: when the lane
/// waits for their group.
class Copies {
public:
  struct Copy {
    uint32_t to; // in shared memory
    uint64_t from;
    uint32_t bytes, given; // the rest is zeros
    uint64_t group;
    int line;
  };
  void issue(Warp &warp, unsigned lane, const Copy &copy);
  void commit(unsigned lane) { ++committed[lane]; }
  /// Lands all groups of a lane but the `kept` latest ones. Open copies are not in a group yet.
  void wait(Warp &warp, unsigned lane, uint64_t kept);
  void waitAll(Warp &warp, unsigned lane);
  /// Throws Fault if a copy is in flight at the end of the warp.
  void checkAllLanded(Warp &warp) const;
  uint64_t openGroup(unsigned lane) const { return committed[lane]; }

private:
  void land(Warp &warp, unsigned lane, uint64_t groups);
  std::array<std::deque<Copy>, kWarpSize> pending;
  std::array<uint64_t, kWarpSize> committed{};
};

/// Refuses an instruction that asynchronous units execute, by its name.
void refuseAsynchronous(Decoder &decoder, const Statement &statement, Step &step);

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_COPIES_H
