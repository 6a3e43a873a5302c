//===- StepFaults.h - Faults of step programs, found by replaying them ------------===//
//
// findFault replays the trips of a program (StepProgram.h) for 0 ... slots + ahead + 3 blocks, the
// largest of each, and for up to four blocks also with every subset of blocks left out. The first
// violation of a rule is reported, with the number of blocks:
//
//   runs      Every phase runs once per block that is not left out, in the order of blocks, after
//             the phases whose results it uses.
//   one role  A read follows the barrier of the take of its block. A fill or put follows a barrier
//             that follows all reads of the previous block of its slot. A take does not leave the
//             copy of its block in flight.
//   two roles A read is between take and free. No wait is circular. A phase that only one group
//             runs at a time runs between enter and leave.
//   the end   Every block that was filled is taken, and freed if the ring has two roles.
//
// All groups of a role execute the same actions and share their barriers, so one trace per role
// decides the rules for rings of one role. Across roles, every wait is for a fixed number of
// arrivals, so all interleavings reach the same state: one of them decides if a wait is circular. A
// clock per group counts the events of other groups that happened before, ordered by the rings in
// all interleavings.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_STEPFAULTS_H
#define PE_DIALECT_MATH_STEPFAULTS_H

#include "dialect/Math/StepTrace.h"

namespace pe::math {

namespace steps {

/// Replays a well-formed program for one number of blocks after another; its vectors are reused.
class Replay {
public:
  explicit Replay(const StepProgram &program);

  /// Returns the first fault with `blocks` blocks, of which bit x of `leftOut` leaves out block x.
  Fault find(int blocks, uint64_t leftOut);

private:
  /// A block in its ring. The numbers are positions in the trace of the ring's role, or -1.
  struct OwnBlock {
    int written = -1, taken = -1, lastRead = -1;
    int group = -1;    // the number of its group of copies
    int readsLeft = 0; // runs that have yet to read it
  };
  enum Hold : uint8_t { NotTaken, Taken, Freed };
  struct Group {
    int role, number;
    size_t next = 0;
    int barriers = 0;
    bool isAtBarrier = false, hasTurn = false;
  };

  Fault checkRuns();
  Fault checkDependences(int phase);
  Fault checkOwnRings(int role);
  Fault writeOwn(const Event &event, int position, int lastBarrier, int commits);
  Fault takeOwn(const Event &event, int position, int commits);
  Fault readOwn(const Event &event, int position);
  Fault checkSource(const Event &event, int position) const;
  Fault checkRoles();
  bool canPass(int group, const Event &event);
  Fault execute(int group, const Event &event);
  Fault exchange(int group, const Event &event);
  Fault runAcrossRoles(int group, const Event &event);
  Fault checkEnd() const;
  void resetRoles();

  size_t cell(int subject, int block) const { return cellOf(subject, block, blocks); }
  bool isBlock(int block) const { return 0 <= block && block < blocks; }
  std::string ringAt(int ring, int x) const { return textAt(program.rings[ring].name, x); }
  std::string phaseAt(int phase, int x) const { return textAt(program.phases[phase].name, x); }
  std::string nameOfGroup(const Group &group) const;
  Fault fault(const std::string &message) const;
  /// Sets the clock at `to` to the later of both clocks, per group.
  void advance(std::vector<int> &to, size_t toCell, const std::vector<int> &from,
               size_t fromCell) const {
    for (size_t g = 0, count = groups.size(); g < count; ++g)
      to[toCell * count + g] = std::max(to[toCell * count + g], from[fromCell * count + g]);
  }

  const StepProgram &program;
  int blocks = 0;
  uint64_t leftOut = 0;
  std::vector<bool> isAlone;              // by phase
  std::vector<int> firstSlot;             // by ring, in `occupant`
  std::vector<std::vector<Event>> traces; // by role
  std::vector<int> runAt;                 // by phase and block, the position in the trace
  std::vector<OwnBlock> own;              // by ring and block
  std::vector<int> occupant;              // by ring and slot, the block
  std::vector<size_t> waiting;            // the blocks in `own` whose takes await a barrier
  std::vector<Group> groups;
  std::vector<int> turns;                     // by role, the group whose turn it is
  std::vector<int> full, freed;               // by ring and block, the arrivals
  std::vector<Hold> holds;                    // by group, ring and block
  std::vector<int> clocks, filledAt, freedAt; // by group, by block of a ring, by block of a ring
};

inline Replay::Replay(const StepProgram &program)
    : program(program), isAlone(program.phases.size()), traces(program.roles.size()) {
  int slots = 0;
  for (const Ring &ring : program.rings) {
    firstSlot.push_back(slots);
    slots += ring.slots;
  }
  occupant.resize(slots);
  for (const int phase : program.alone)
    isAlone[phase] = true;
  for (size_t role = 0; role < program.roles.size(); ++role)
    for (int group = 0; group < program.roles[role].groups; ++group)
      groups.push_back({static_cast<int>(role), group});
}

inline std::string Replay::nameOfGroup(const Group &group) const {
  const Role &role = program.roles[group.role];
  return role.groups == 1 ? role.name : role.name + ' ' + std::to_string(group.number);
}

inline Fault Replay::fault(const std::string &message) const {
  std::string text = "with " + std::to_string(blocks) + (blocks == 1 ? " block" : " blocks");
  const char *separator = " without ";
  for (int x = 0; x < blocks; ++x)
    if (isLeftOut(leftOut, x)) {
      text += separator + std::to_string(x);
      separator = ", ";
    }
  return text + ", " + message;
}

inline Fault Replay::find(int count, uint64_t mask) {
  blocks = count, leftOut = mask;
  for (size_t role = 0; role < traces.size(); ++role)
    traceRole(program, program.roles[role], blocks, leftOut, traces[role]);
  if (auto fault = checkRuns())
    return fault;
  own.assign(program.rings.size() * blocks, {});
  std::fill(occupant.begin(), occupant.end(), -1);
  for (size_t role = 0; role < traces.size(); ++role)
    if (auto fault = checkOwnRings(static_cast<int>(role)))
      return fault;
  return checkRoles();
}

//===- Runs ---------------------------------------------------------------------===//

/// Sets `runAt`, and checks that every phase runs once per block, in order, after the phases whose
/// results it uses.
inline Fault Replay::checkRuns() {
  runAt.assign(program.phases.size() * blocks, -1);
  for (const std::vector<Event> &trace : traces)
    for (size_t i = 0; i < trace.size(); ++i) {
      if (trace[i].action->kind != Action::Run)
        continue;
      int &at = runAt[cell(trace[i].action->subject, trace[i].block)];
      if (at != -1)
        return fault(phaseAt(trace[i].action->subject, trace[i].block) + " runs twice");
      at = static_cast<int>(i);
    }
  for (size_t p = 0; p < program.phases.size(); ++p) {
    const int phase = static_cast<int>(p);
    for (int x = 0, last = -1; x < blocks; ++x) {
      if (isLeftOut(leftOut, x))
        continue;
      if (runAt[cell(phase, x)] == -1)
        return fault(phaseAt(phase, x) + " never runs");
      if (last >= 0 && runAt[cell(phase, x)] < runAt[cell(phase, last)])
        return fault(phaseAt(phase, x) + " runs before " + phaseAt(phase, last));
      last = x;
    }
  }
  for (size_t phase = 0; phase < program.phases.size(); ++phase)
    if (auto fault = checkDependences(static_cast<int>(phase)))
      return fault;
  return std::nullopt;
}

/// Checks the order of a phase and the phases of its role whose results it uses.
inline Fault Replay::checkDependences(int phase) {
  for (const Dependence &use : program.phases[phase].after) {
    if (program.phases[use.phase].role != program.phases[phase].role)
      continue;
    for (int x = 0; x < blocks; ++x) {
      const int y = lastKept(leftOut, x - use.distance);
      if (!isLeftOut(leftOut, x) && y >= 0 && runAt[cell(use.phase, y)] >= runAt[cell(phase, x)])
        return fault(phaseAt(phase, x) + " runs before " + phaseAt(use.phase, y) +
                     ", but uses its result");
    }
  }
  return std::nullopt;
}

//===- Rings of one role --------------------------------------------------------===//

/// Checks the trace of a role against the rings that it both writes and reads.
inline Fault Replay::checkOwnRings(int role) {
  for (const Phase &phase : program.phases)
    for (const RingRead &read : phase.reads)
      for (int x = 0; phase.role == role && x < blocks; ++x)
        if (isBlock(x + read.ahead) && !isLeftOut(leftOut, x))
          ++own[cell(read.ring, x + read.ahead)].readsLeft;
  const std::vector<Event> &trace = traces[role];
  int lastBarrier = -1, commits = 0;
  waiting.clear();
  for (int i = 0, end = static_cast<int>(trace.size()); i < end; ++i) {
    const Event &event = trace[i];
    const Action &action = *event.action;
    Fault fault;
    if (action.kind == Action::Run)
      fault = readOwn(event, i);
    else if (program.isBarrier(action))
      lastBarrier = i;
    if (program.isOwnTake(action))
      fault = takeOwn(event, i, commits);
    else if (program.isOwnWrite(action)) {
      if (event.exists)
        fault = writeOwn(event, i, lastBarrier, commits);
      commits += action.kind == Action::Fill;
    }
    if (fault)
      return fault;
  }
  for (size_t ring = 0; ring < program.rings.size(); ++ring)
    for (int x = 0; x < blocks && program.rings[ring].to == role; ++x)
      if (own[cell(ring, x)].written != -1 && own[cell(ring, x)].taken == -1)
        return fault(ringAt(ring, x) + " is never taken");
  return std::nullopt;
}

/// Checks a write of a block into a ring, and records it.
inline Fault Replay::writeOwn(const Event &event, int position, int lastBarrier, int commits) {
  const int ring = event.action->subject;
  OwnBlock &written = own[cell(ring, event.block)];
  if (written.written != -1)
    return fault(ringAt(ring, event.block) + " is written twice");
  int &slot = occupant[firstSlot[ring] + event.block % program.rings[ring].slots];
  if (slot != -1) {
    const OwnBlock &old = own[cell(ring, slot)];
    if (old.taken == -1 || old.readsLeft || old.lastRead > lastBarrier)
      return fault(textOf(program, event) + " overwrites " + ringAt(ring, slot) + " before " +
                   (old.taken == -1 ? "it is taken" : "all threads have read it"));
  }
  slot = event.block;
  written.written = position;
  if (event.action->kind == Action::Fill)
    written.group = commits;
  return checkSource(event, position);
}

/// Checks that the phase whose results are put has run.
inline Fault Replay::checkSource(const Event &event, int position) const {
  const int source = program.rings[event.action->subject].source;
  if (source == -1 || isLeftOut(leftOut, event.block) ||
      runAt[cell(source, event.block)] < position)
    return std::nullopt;
  return fault(textOf(program, event) + " precedes " + phaseAt(source, event.block) +
               ", but stores its results");
}

/// Collects the block of a take. The last of joined takes completes them.
inline Fault Replay::takeOwn(const Event &event, int position, int commits) {
  const Action &action = *event.action;
  if (event.exists) {
    const size_t block = cell(action.subject, event.block);
    if (own[block].written == -1)
      return fault(textOf(program, event) + " precedes the write of its block");
    if (own[block].taken != -1 || std::count(waiting.begin(), waiting.end(), block))
      return fault(ringAt(action.subject, event.block) + " is taken twice");
    waiting.push_back(block);
  }
  if (action.isJoined)
    return std::nullopt;
  for (const size_t block : waiting) {
    OwnBlock &taken = own[block];
    const int newer = commits - 1 - taken.group;
    if (taken.group != -1 && (action.inFlight == Action::kNoWait || action.inFlight > newer)) {
      const std::string missed =
          ringAt(static_cast<int>(block) / blocks, static_cast<int>(block) % blocks);
      if (action.inFlight == Action::kNoWait)
        return fault(textOf(program, event) + " waits for no copies, but " + missed + " is filled");
      return fault(textOf(program, event) + " (in flight " + std::to_string(action.inFlight) +
                   ") does not wait for " + missed + ", because the number of newer copies is " +
                   std::to_string(newer));
    }
    taken.taken = position;
  }
  waiting.clear();
  return std::nullopt;
}

/// Checks the reads of a run from the rings of its role, and records them.
inline Fault Replay::readOwn(const Event &event, int position) {
  for (const RingRead &read : program.phases[event.action->subject].reads) {
    const int x = event.block + read.ahead;
    if (!program.rings[read.ring].isOwn() || !isBlock(x))
      continue;
    OwnBlock &block = own[cell(read.ring, x)];
    if (block.taken == -1)
      return fault(phaseAt(event.action->subject, event.block) + " reads " + ringAt(read.ring, x) +
                   " before it is taken");
    block.lastRead = position;
    --block.readsLeft;
  }
  return std::nullopt;
}

//===- Rings of two roles, barriers and turns -----------------------------------===//

inline void Replay::resetRoles() {
  const size_t cells = program.rings.size() * blocks, count = groups.size();
  for (Group &group : groups)
    group = {group.role, group.number};
  turns.assign(program.roles.size(), 0);
  full.assign(cells, 0);
  freed.assign(cells, 0);
  holds.assign(cells * count, NotTaken);
  clocks.assign(count * count, 0);
  filledAt.assign(cells * count, 0);
  freedAt.assign(cells * count, 0);
}

/// Executes the traces of all groups together, as far as their waits allow.
inline Fault Replay::checkRoles() {
  resetRoles();
  const int count = static_cast<int>(groups.size());
  for (bool moves = true; moves;) {
    moves = false;
    for (int g = 0; g < count; ++g) {
      const std::vector<Event> &trace = traces[groups[g].role];
      for (size_t &next = groups[g].next; next < trace.size(); moves = true) {
        if (!canPass(g, trace[next]))
          break;
        if (auto fault = execute(g, trace[next]))
          return fault;
        clocks[g * count + g] = static_cast<int>(++next);
      }
    }
  }
  return checkEnd();
}

/// Returns true if a group need not wait before an event, and counts its arrival at barriers.
inline bool Replay::canPass(int g, const Event &event) {
  Group &group = groups[g];
  const Action &action = *event.action;
  if (action.kind == Action::Enter)
    return turns[group.role] == group.number;
  if (program.isBarrier(action)) {
    group.barriers += !group.isAtBarrier;
    group.isAtBarrier = true;
    return std::all_of(groups.begin(), groups.end(), [&](const Group &other) {
      return other.role != group.role || other.barriers >= group.barriers;
    });
  }
  if (!action.hasBlock() || action.kind == Action::Run || program.rings[action.subject].isOwn())
    return true;
  const Ring &ring = program.rings[action.subject];
  if (action.kind == Action::Take)
    return full[cell(action.subject, event.block)] == program.roles[ring.from].groups;
  return action.kind == Action::Free || event.block < ring.slots ||
         freed[cell(action.subject, event.block - ring.slots)] == program.roles[ring.to].groups;
}

inline Fault Replay::execute(int g, const Event &event) {
  Group &group = groups[g];
  const Action &action = *event.action;
  group.isAtBarrier = false;
  switch (action.kind) {
  case Action::Sync:
    return std::nullopt;
  case Action::Enter:
  case Action::Leave:
    if (group.hasTurn == (action.kind == Action::Enter))
      return fault(nameOfGroup(group) +
                   (group.hasTurn ? " enters twice" : " leaves without its turn"));
    group.hasTurn = !group.hasTurn;
    if (!group.hasTurn)
      turns[group.role] = (group.number + 1) % program.roles[group.role].groups;
    return std::nullopt;
  case Action::Run:
    return runAcrossRoles(g, event);
  default:
    return program.rings[action.subject].isOwn() ? std::nullopt : exchange(g, event);
  }
}

/// Executes a fill, put, take or free of a ring between two roles.
inline Fault Replay::exchange(int g, const Event &event) {
  const int number = event.action->subject;
  const Ring &ring = program.rings[number];
  const size_t block = cell(number, event.block);
  Hold &hold = holds[g * program.rings.size() * blocks + block];
  switch (event.action->kind) {
  case Action::Take:
    if (hold != NotTaken)
      return fault(ringAt(number, event.block) + " is taken twice");
    hold = Taken;
    advance(clocks, g, filledAt, block);
    return std::nullopt;
  case Action::Free:
    if (hold != Taken)
      return fault(textOf(program, event) + " does not follow a take of its block");
    hold = Freed;
    ++freed[block];
    advance(freedAt, block, clocks, g);
    return std::nullopt;
  default:
    if (full[block]++ == program.roles[ring.from].groups)
      return fault(ringAt(number, event.block) + " is written twice");
    if (event.block >= ring.slots)
      advance(clocks, g, freedAt, block - ring.slots);
    advance(filledAt, block, clocks, g);
    return checkSource(event, static_cast<int>(groups[g].next));
  }
}

/// Checks the turn of a run, the blocks that it holds, and the results of other roles that it uses.
inline Fault Replay::runAcrossRoles(int g, const Event &event) {
  const Group &group = groups[g];
  const int number = event.action->subject;
  const Phase &phase = program.phases[number];
  if (isAlone[number] && program.roles[group.role].groups > 1 && !group.hasTurn)
    return fault(phaseAt(number, event.block) + " runs outside of enter and leave");
  for (const RingRead &read : phase.reads) {
    const int x = event.block + read.ahead;
    if (program.rings[read.ring].isOwn() || !isBlock(x))
      continue;
    if (holds[(g * program.rings.size() + read.ring) * blocks + x] != Taken)
      return fault(phaseAt(number, event.block) + " reads " + ringAt(read.ring, x) +
                   " outside of take and free");
  }
  for (const Dependence &use : phase.after) {
    const int role = program.phases[use.phase].role;
    const int y = lastKept(leftOut, event.block - use.distance);
    if (role == group.role || y < 0)
      continue;
    for (size_t other = 0; other < groups.size(); ++other)
      if (groups[other].role == role &&
          clocks[g * groups.size() + other] <= runAt[cell(use.phase, y)])
        return fault(phaseAt(number, event.block) + " does not wait for " + phaseAt(use.phase, y) +
                     ", but uses its result");
  }
  return std::nullopt;
}

/// Checks that every group has executed its trace, and that no block is under way.
inline Fault Replay::checkEnd() const {
  std::string waits;
  for (const Group &group : groups)
    if (group.next < traces[group.role].size())
      waits += (waits.empty() ? "" : ", ") + nameOfGroup(group) + " waits at " +
               textOf(program, traces[group.role][group.next]);
  if (!waits.empty())
    return fault("the rest cannot run: " + waits);
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].hasTurn)
      return fault(nameOfGroup(groups[g]) + " never leaves");
    for (size_t r = 0; r < program.rings.size(); ++r) {
      const int ring = static_cast<int>(r);
      for (int x = 0; x < blocks && program.rings[r].to == groups[g].role; ++x) {
        const Hold hold = holds[(g * program.rings.size() + r) * blocks + x];
        if (hold == Taken || (hold == NotTaken && full[cell(ring, x)]))
          return fault(ringAt(ring, x) + (hold == Taken ? " is never freed" : " is never taken"));
      }
    }
  }
  return std::nullopt;
}

} // namespace steps

//===- The interface ------------------------------------------------------------===//

/// Returns the first fault of a program with `blocks` blocks, or null. Block x has no kept pairs if
/// bit x of `leftOut` is set.
inline std::optional<std::string> findFault(const StepProgram &program, int blocks,
                                            uint64_t leftOut = 0) {
  if (auto fault = steps::faultOfShape(program))
    return fault;
  if (auto fault = steps::faultOfRange("the number of blocks", blocks, 0, 1 << 16))
    return fault;
  return steps::Replay(program).find(blocks, leftOut);
}

/// Returns the first fault of a program with any number of blocks, or null.
inline std::optional<std::string> findFault(const StepProgram &program) {
  if (auto fault = steps::faultOfShape(program))
    return fault;
  constexpr int mostLeftOut = 4;
  steps::Replay replay(program);
  for (int blocks = 0, most = steps::mostBlocks(program); blocks <= most; ++blocks)
    for (uint64_t leftOut = 0; leftOut < (blocks <= mostLeftOut ? 1u << blocks : 1u); ++leftOut)
      if (auto fault = replay.find(blocks, leftOut))
        return fault;
  return std::nullopt;
}

} // namespace pe::math

#endif // PE_DIALECT_MATH_STEPFAULTS_H
