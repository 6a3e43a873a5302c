//===- StepTrace.h - The events of step programs, and their wait counts -----------===//
//
// A trace is the list of the actions that every group of a role executes for a given number of
// blocks (StepProgram.h). It decides how many copies a take may leave in flight: cp.async counts
// groups in the order in which a thread commits them.
//
// Example: for `take k[n+1]  fill v[n]  fill k[n+2]  take v[n]`, the copy of k[n+2] is newer than
// the copy of v[n], so `take v[n]` may leave one copy in flight, and `take k[n+1]` no copy.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_STEPTRACE_H
#define PE_DIALECT_MATH_STEPTRACE_H

#include "dialect/Math/StepProgram.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace pe::math {

namespace steps {

/// Returns the largest number of blocks to replay. The program must be well-formed.
inline int mostBlocks(const StepProgram &program) {
  int slots = 0, ahead = 0;
  for (const Ring &ring : program.rings)
    slots = std::max(slots, ring.slots);
  for (const Role &role : program.roles) {
    ahead = std::max(ahead, -role.first);
    for (const auto *list : {&role.before, &role.trip})
      for (const Action &action : *list)
        ahead = std::max(ahead, std::abs(action.ahead));
  }
  for (const Phase &phase : program.phases) {
    for (const RingRead &read : phase.reads)
      ahead = std::max(ahead, std::abs(read.ahead));
    for (const Dependence &use : phase.after)
      ahead = std::max(ahead, use.distance);
  }
  return slots + ahead + 3;
}

//===- Traces -------------------------------------------------------------------===//

/// An action that a group executes for a block. A fill or take of a block that does not exist
/// (`exists`) is an event because of its empty group or its barrier.
struct Event {
  const Action *action;
  int block;
  bool exists;
  int index; // of the action in `before` and `trip`
};

/// Returns true if block `x` has no kept pairs. Blocks after 63 always have some.
inline bool isLeftOut(uint64_t leftOut, int x) { return x < 64 && (leftOut >> x & 1); }

/// Returns the last block at or before `x` that is not left out, or -1.
inline int lastKept(uint64_t leftOut, int x) {
  while (x >= 0 && isLeftOut(leftOut, x))
    --x;
  return std::max(x, -1);
}

/// Returns a text such as "k[2]".
inline std::string textAt(const std::string &name, int block) {
  return name + '[' + std::to_string(block) + ']';
}

/// Returns a text such as "take k[2]".
inline std::string textOf(const StepProgram &program, const Event &event) {
  Action action = *event.action;
  action.ahead = event.block;
  return toString(program, action, "");
}

/// Returns true if an action on a block is an event.
inline bool isEvent(const StepProgram &program, const Action &action, int block, bool exists,
                    uint64_t leftOut) {
  if (!action.hasBlock() || program.isOwnTake(action))
    return true;
  if (action.kind == Action::Run)
    return exists && !isLeftOut(leftOut, block);
  return exists || (program.isOwnFill(action) && block >= 0);
}

/// Sets `trace` to the events of every group of a role.
inline void traceRole(const StepProgram &program, const Role &role, int blocks, uint64_t leftOut,
                      std::vector<Event> &trace) {
  trace.clear();
  int index = 0;
  auto append = [&](const Action &action, int block) {
    const bool exists = action.hasBlock() && 0 <= block && block < blocks;
    if (isEvent(program, action, block, exists, leftOut))
      trace.push_back({&action, block, exists, index});
    ++index;
  };
  for (const Action &action : role.before)
    append(action, action.ahead);
  for (int n = role.first; n < blocks; ++n) {
    index = static_cast<int>(role.before.size());
    for (const Action &action : role.trip)
      append(action, n + action.ahead);
  }
}

/// Returns the number of a block of a ring, or of a phase, in a vector with `blocks` per subject.
inline size_t cellOf(int subject, int block, int blocks) {
  return static_cast<size_t>(subject) * blocks + block;
}

//===- Wait counts --------------------------------------------------------------===//

/// The fewest copies that are newer than the block of a take, for every take of one role by its
/// number in `before` and `trip`. Takes without copies have Action::kNoWait.
class WaitCounts {
public:
  WaitCounts(const StepProgram &program, const Role &role)
      : program(program), waits(role.before.size() + role.trip.size(), Action::kNoWait) {}

  /// Replays the trace of the role for one number of blocks.
  void replay(const std::vector<Event> &trace, int blocks) {
    const int none = -1;
    groups.assign(program.rings.size() * blocks, none);
    int commits = 0;
    for (const Event &event : trace) {
      const Action &action = *event.action;
      const bool isTake = program.isOwnTake(action);
      if (!isTake && !program.isOwnFill(action))
        continue;
      const size_t block = event.exists ? cellOf(action.subject, event.block, blocks) : 0;
      if (!isTake) {
        if (event.exists)
          groups[block] = commits;
        ++commits;
        continue;
      }
      if (event.exists && groups[block] != none)
        newest = std::max(newest.value_or(0), groups[block]);
      if (action.isJoined || !newest)
        continue;
      int &wait = waits[event.index];
      const int newer = commits - 1 - *newest;
      wait = wait == Action::kNoWait ? newer : std::min(wait, newer);
      newest.reset();
    }
  }

  const std::vector<int> &get() const { return waits; }

private:
  const StepProgram &program;
  std::vector<int> waits;
  std::vector<int> groups;   // by ring and block, the number of its group of copies
  std::optional<int> newest; // among the groups of joined takes
};

} // namespace steps

/// Sets `inFlight` of every take of a ring of one role to the largest legal number: the fewest
/// copies that are newer than the copy of its block, over all trips and numbers of blocks. A take
/// waits for no copies if its block is put, if it is joined or if the ring has two roles. A
/// malformed program is not changed.
inline void setWaits(StepProgram &program) {
  if (steps::faultOfShape(program))
    return;
  std::vector<steps::Event> trace;
  for (Role &role : program.roles) {
    steps::WaitCounts counts(program, role);
    for (int blocks = 0, most = steps::mostBlocks(program); blocks <= most; ++blocks) {
      steps::traceRole(program, role, blocks, /*leftOut=*/0, trace);
      counts.replay(trace, blocks);
    }
    const size_t before = role.before.size();
    for (size_t i = 0; i < counts.get().size(); ++i)
      (i < before ? role.before[i] : role.trip[i - before]).inFlight = counts.get()[i];
  }
}

} // namespace pe::math

#endif // PE_DIALECT_MATH_STEPTRACE_H
