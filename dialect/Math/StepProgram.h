//===- StepProgram.h - The loop of a stream for each role of a kernel's warps ---===//
//
// A GPU kernel runs a stream's loop in one or more roles: sets of warps that execute the same
// actions, in one or more groups. A trip is one iteration of a role's loop. Its actions concern
// blocks at a constant distance: `take k[n+1]` in trip n. Trips run for n = first ... N - 1, and
// actions on blocks outside 0 ... N - 1 are left out.
//
//   fill r[x]   starts the copy of block x from memory into slot x mod slots of ring r
//   put r[x]    stores results of the phase `source` of block x there
//   take r[x]   waits until block x is in shared memory for all threads of the role
//   free r[x]   lets the other role overwrite block x
//   sync        is a barrier of the role
//   enter       waits for the group's turn; leave passes the turn to the next group
//   run p[x]    executes the ops of phase p of block x
//
// A ring of one role (from == to) is filled by cp.async. Every fill commits one group of copies. A
// take waits until at most `inFlight` of the newest groups are in flight, and is then a barrier of
// the role. It keeps the wait and the barrier if its block does not exist. A fill of a block
// after the last commits an empty group; a fill of a block before 0 is left out.
//
// A ring between two roles has two barriers in shared memory per slot. A fill waits until all
// groups of `to` have freed the previous block of the slot, a take until all groups of `from` have
// filled it.
//
// A block without kept pairs makes the same trip without its runs.
//
// Example: `take k[n+1] (in flight 0)  fill v[n]  fill k[n+2]  run qk[n+1]  run soft[n]
// take v[n] (in flight 1)  run pv[n]` for n = -1 ... N - 1, with two slots of k and one of v.
//
// setWaits in StepTrace.h computes `inFlight`. findFault in StepFaults.h checks a program.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_STEPPROGRAM_H
#define PE_DIALECT_MATH_STEPPROGRAM_H

#include <optional>
#include <string>
#include <vector>

namespace pe::math {

/// A buffer in shared memory with one slot per block in flight.
struct Ring {
  std::string name;
  int slots = 1;
  int from = 0, to = 0; // the roles that write and read it
  int source = -1;      // the phase whose results are put into it, or -1: it is filled from memory

  /// Returns true if the threads that write the ring also read it.
  bool isOwn() const { return from == to; }
};

/// A read of block n + ahead of a ring by a phase of block n.
struct RingRead {
  int ring = 0, ahead = 0;
};

/// The use of a result of phase `phase` of block n - distance by a phase of block n. A positive
/// distance is through a carry, which a block without kept pairs leaves unchanged.
struct Dependence {
  int phase = 0, distance = 0;
};

/// A group of ops that every block executes once.
struct Phase {
  std::string name;
  int role = 0;
  std::vector<RingRead> reads;
  std::vector<Dependence> after;
};

struct Action {
  enum Kind { Fill, Put, Take, Free, Sync, Enter, Leave, Run };
  /// The value of `inFlight` of a take that waits for no copies of its role.
  static constexpr int kNoWait = -1;

  Kind kind = Sync;
  int subject = -1; // a phase if the kind is Run, a ring for Fill, Put, Take and Free
  int ahead = 0;    // the block in trip n is n + ahead, and `ahead` before the first trip
  int inFlight =
      0; // the newest groups of copies that a take of a ring of one role need not wait for
  /// The take shares the wait and the barrier of the take that follows it.
  bool isJoined = false;

  bool hasBlock() const { return kind != Sync && kind != Enter && kind != Leave; }
};

/// Warps that execute the same actions. `before` is executed once, before the first trip.
struct Role {
  std::string name;
  int groups = 1;
  int first = 0;
  std::vector<Action> before, trip;
};

struct StepProgram {
  std::vector<Ring> rings;
  std::vector<Phase> phases;
  std::vector<Role> roles;
  std::vector<int> alone; // the phases that only one group of a role runs at a time

  /// Return true if an action is a take, a fill, or a fill or put of a ring of one role.
  bool isOwnTake(const Action &action) const {
    return action.kind == Action::Take && rings[action.subject].isOwn();
  }
  bool isOwnFill(const Action &action) const {
    return action.kind == Action::Fill && rings[action.subject].isOwn();
  }
  bool isOwnWrite(const Action &action) const {
    return isOwnFill(action) || (action.kind == Action::Put && rings[action.subject].isOwn());
  }
  /// Returns true if an action is a barrier of its role.
  bool isBarrier(const Action &action) const {
    return action.kind == Action::Sync || (isOwnTake(action) && !action.isJoined);
  }
};

inline const char *nameOf(Action::Kind kind) {
  static constexpr const char *names[] = {"fill", "put",   "take",  "free",
                                          "sync", "enter", "leave", "run"};
  return names[kind];
}

/// Returns the text of an action in trip n, such as "take k[n+1]". Before the first trip, `place`
/// is empty instead of "n".
inline std::string toString(const StepProgram &program, const Action &action,
                            const std::string &place = "n") {
  std::string text = nameOf(action.kind);
  if (!action.hasBlock())
    return text;
  text += ' ';
  text += action.kind == Action::Run ? program.phases[action.subject].name
                                     : program.rings[action.subject].name;
  text += '[' + place;
  if (!place.empty() && action.ahead > 0)
    text += '+';
  if (place.empty() || action.ahead != 0)
    text += std::to_string(action.ahead);
  return text + ']';
}

/// Returns the text of a list of actions on one line. Joined takes are one: "take k[n+1], v[n]".
inline std::string toString(const StepProgram &program, const std::vector<Action> &actions,
                            const std::string &place) {
  std::string text;
  bool isJoined = false;
  for (const Action &action : actions) {
    const std::string one = toString(program, action, place);
    if (isJoined)
      text += ", " + one.substr(one.find(' ') + 1);
    else
      text += (text.empty() ? "" : "  ") + one;
    isJoined = action.isJoined;
    if (program.isOwnTake(action) && !isJoined && action.inFlight != Action::kNoWait)
      text += " (in flight " + std::to_string(action.inFlight) + ")";
  }
  return text;
}

/// Returns the text of a program, whose subjects must be in range.
inline std::string toString(const StepProgram &program) {
  std::string text = "rings:";
  const char *separator = " ";
  for (const Ring &ring : program.rings) {
    text += separator + ring.name + ' ' + std::to_string(ring.slots);
    if (!ring.isOwn())
      text += " from " + program.roles[ring.from].name + " to " + program.roles[ring.to].name;
    separator = ", ";
  }
  separator = "\nalone: ";
  for (const int phase : program.alone) {
    text += separator + program.phases[phase].name;
    separator = ", ";
  }
  for (const Role &role : program.roles) {
    text += '\n' + role.name;
    if (role.groups != 1)
      text += ", " + std::to_string(role.groups) + " groups";
    text += ", from trip " + std::to_string(role.first) + ":\n";
    if (!role.before.empty())
      text += "  before: " + toString(program, role.before, "") + '\n';
    text += "  trip: " + toString(program, role.trip, "n");
  }
  return text + '\n';
}

//===- Malformed programs -------------------------------------------------------===//

namespace steps {

using Fault = std::optional<std::string>;

/// The upper bound of slots, distances and groups. It bounds the time of findFault.
inline constexpr int kLargest = 64;

inline bool isIndex(int i, size_t size) { return 0 <= i && static_cast<size_t>(i) < size; }

inline Fault expected(const std::string &subject, const std::string &expectation, int found) {
  return "expected " + subject + " to be " + expectation + ", found " + std::to_string(found);
}

/// Returns a fault if `value` is outside [low, high].
inline Fault faultOfRange(const std::string &subject, int value, int low, int high) {
  if (low <= value && value <= high)
    return std::nullopt;
  return expected(subject, std::to_string(low) + " to " + std::to_string(high), value);
}

inline Fault faultOfRing(const StepProgram &program, const Ring &ring) {
  if (auto fault = faultOfRange("the number of slots of " + ring.name, ring.slots, 1, kLargest))
    return fault;
  for (const int role : {ring.from, ring.to})
    if (!isIndex(role, program.roles.size()))
      return expected("a role of " + ring.name, "the number of a role", role);
  if (ring.source == -1)
    return std::nullopt;
  if (!isIndex(ring.source, program.phases.size()))
    return expected("the source of " + ring.name, "the number of a phase, or -1", ring.source);
  if (program.phases[ring.source].role != ring.from)
    return expected("the role of the source of " + ring.name, std::to_string(ring.from),
                    program.phases[ring.source].role);
  return std::nullopt;
}

inline Fault faultOfPhase(const StepProgram &program, int number) {
  const Phase &phase = program.phases[number];
  if (!isIndex(phase.role, program.roles.size()))
    return expected("the role of " + phase.name, "the number of a role", phase.role);
  for (const RingRead &read : phase.reads) {
    if (!isIndex(read.ring, program.rings.size()))
      return expected("the ring that " + phase.name + " reads", "the number of a ring", read.ring);
    const std::string name = program.rings[read.ring].name;
    if (program.rings[read.ring].to != phase.role)
      return expected("the reader of " + name, "role " + std::to_string(phase.role),
                      program.rings[read.ring].to);
    if (auto fault = faultOfRange("the distance at which " + phase.name + " reads " + name,
                                  read.ahead, -kLargest, kLargest))
      return fault;
  }
  for (const Dependence &use : phase.after) {
    if (!isIndex(use.phase, program.phases.size()))
      return expected("the phase that " + phase.name + " uses", "the number of a phase", use.phase);
    if (auto fault = faultOfRange("the distance at which " + phase.name + " uses " +
                                      program.phases[use.phase].name,
                                  use.distance, use.phase == number ? 1 : 0, kLargest))
      return fault;
  }
  return std::nullopt;
}

/// Checks the subject of an action, and that its role may execute it.
inline Fault faultOfSubject(const StepProgram &program, int role, const Action &action) {
  if (!action.hasBlock())
    return std::nullopt;
  const bool isRun = action.kind == Action::Run;
  const std::string kind = nameOf(action.kind);
  if (!isIndex(action.subject, isRun ? program.phases.size() : program.rings.size()))
    return expected("the subject of " + kind + " in " + program.roles[role].name,
                    isRun ? "the number of a phase" : "the number of a ring", action.subject);
  const std::string text = toString(program, action);
  if (auto fault = faultOfRange("the distance of " + text, action.ahead, -kLargest, kLargest))
    return fault;
  const bool isWrite = action.kind == Action::Fill || action.kind == Action::Put;
  const Ring *ring = isRun ? nullptr : &program.rings[action.subject];
  const int allowed = isRun ? program.phases[action.subject].role : isWrite ? ring->from : ring->to;
  if (allowed != role)
    return text + " is an action of " + program.roles[allowed].name + ", found in " +
           program.roles[role].name;
  if (isWrite && (action.kind == Action::Put) != (ring->source != -1))
    return text + (ring->source == -1 ? " has no source; fill the ring"
                                      : " has a source; put its results into the ring");
  if (action.kind == Action::Free && ring->isOwn())
    return text + " has no effect: a barrier frees the rings of one role";
  return std::nullopt;
}

inline Fault faultOfActions(const StepProgram &program, int role, const std::vector<Action> &list) {
  for (const Action &action : list)
    if (auto fault = faultOfSubject(program, role, action))
      return fault;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].inFlight < Action::kNoWait)
      return expected("the copies in flight of " + toString(program, list[i]), "-1 or more",
                      list[i].inFlight);
    if (list[i].isJoined &&
        (i + 1 == list.size() || !program.isOwnTake(list[i]) || !program.isOwnTake(list[i + 1])))
      return toString(program, list[i]) +
             " is joined, but not followed by a take of a ring of one role";
  }
  return std::nullopt;
}

inline Fault faultOfShape(const StepProgram &program) {
  for (const Ring &ring : program.rings)
    if (auto fault = faultOfRing(program, ring))
      return fault;
  for (size_t i = 0; i < program.phases.size(); ++i)
    if (auto fault = faultOfPhase(program, static_cast<int>(i)))
      return fault;
  for (const int phase : program.alone)
    if (!isIndex(phase, program.phases.size()))
      return expected("an entry of alone", "the number of a phase", phase);
  for (size_t i = 0; i < program.roles.size(); ++i) {
    const Role &role = program.roles[i];
    if (auto fault = faultOfRange("the groups of " + role.name, role.groups, 1, kLargest))
      return fault;
    if (auto fault = faultOfRange("the first trip of " + role.name, role.first, -kLargest, 0))
      return fault;
    for (const auto *list : {&role.before, &role.trip})
      if (auto fault = faultOfActions(program, static_cast<int>(i), *list))
        return fault;
  }
  return std::nullopt;
}

} // namespace steps

} // namespace pe::math

#endif // PE_DIALECT_MATH_STEPPROGRAM_H
