//===- Warp.cpp - Control flow of a warp ----------------------------------===//

#include "runtime/ptx/Warp.h"

#include <algorithm>
#include <limits>

namespace pe::ptx {

namespace {

constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();
constexpr size_t kDeepestCall = 64;

std::string listed(const Extent &index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " +
         std::to_string(index.z) + ")";
}

Extent indexIn(const Extent &extent, uint64_t number) {
  return {uint32_t(number % extent.x), uint32_t(number / extent.x % extent.y),
          uint32_t(number / extent.x / extent.y)};
}

} // namespace

std::string Warp::describe(unsigned lane) const {
  if (lane >= kWarpSize)
    return "warp " + std::to_string(number);
  return "thread " + listed(indexIn(cta.run.launch.block, thread(lane))) + " of CTA " +
         listed(cta.index);
}

const ClockedWarp &Warp::ofCta(unsigned other) const { return *cta.warps[other]; }

std::string Warp::place() const {
  std::string text;
  for (const Group &group : frames.back().groups) {
    const std::vector<Step> &steps = code().steps;
    const uint32_t pc =
        std::min<uint32_t>(barrier >= 0 ? group.pc - 1 : group.pc, uint32_t(steps.size()) - 1);
    text += (text.empty() ? "line " : ", ") + std::to_string(steps[pc].line);
  }
  return text.empty() ? "its end" : text;
}

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

void Warp::push(const Code &code, Lanes lanes) {
  if (frames.size() >= kDeepestCall)
    throw Fault{"calls are nested more than " + std::to_string(kDeepestCall) + " deep", 0};
  const uint32_t base =
      frames.empty() ? 0 : frames.back().localBase + frames.back().code->ownLocalBytes;
  Frame next;
  next.code = &code;
  next.groups = {{0, lanes, false}};
  next.localBase = base;
  auto &pool = spare[&code];
  if (pool.empty()) {
    auto memory = std::unique_ptr<std::byte[]>(
        static_cast<std::byte *>(::operator new[](code.frameBytes + 64)));
    // Registers start as NaN.
    std::memset(memory.get(), 0xFF, code.frameBytes);
    pool.push_back(std::move(memory));
    next.data = pool.back().get();
    start(next);
  }
  storage.push_back(std::move(pool.back()));
  pool.pop_back();
  next.data = storage.back().get();
  for (const Code::Constant &variable : code.locals)
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      const uint64_t address = base + variable.bits;
      std::memcpy(next.data + variable.offset + lane * variable.bytes, &address, variable.bytes);
    }
  if (code.ownLocalBytes)
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      std::memset(localMemory(lane) + base, 0xFF, code.ownLocalBytes);
  frames.push_back(std::move(next));
  frame = frames.back().data;
}

void Warp::pop() {
  spare[frames.back().code].push_back(std::move(storage.back()));
  storage.pop_back();
  frames.pop_back();
  frame = frames.empty() ? nullptr : frames.back().data;
}

std::byte *Warp::localMemory(unsigned lane) {
  if (!local) {
    localBytes = cta.run.kernel.entry->deepestLocalBytes;
    local = std::make_unique<std::byte[]>(size_t(localBytes) * kWarpSize);
  }
  return local.get() + size_t(lane) * localBytes;
}

/// Returns the value of a read-only register that does not change.
static uint64_t valueOf(Special which, const Warp &warp, unsigned lane) {
  const Run &run = warp.cta.run;
  const Extent &block = run.launch.block, &grid = run.launch.grid, &cta = warp.cta.index;
  const Extent thread = indexIn(block, warp.thread(lane));
  const Lanes bit = Lanes(1) << lane;
  switch (which) {
  case Special::TidX:
    return thread.x;
  case Special::TidY:
    return thread.y;
  case Special::TidZ:
    return thread.z;
  case Special::NtidX:
    return block.x;
  case Special::NtidY:
    return block.y;
  case Special::NtidZ:
    return block.z;
  case Special::CtaidX:
    return cta.x;
  case Special::CtaidY:
    return cta.y;
  case Special::CtaidZ:
    return cta.z;
  case Special::NctaidX:
    return grid.x;
  case Special::NctaidY:
    return grid.y;
  case Special::NctaidZ:
    return grid.z;
  case Special::LaneId:
    return lane;
  case Special::WarpId:
    return warp.number;
  case Special::NumWarps:
    return warp.cta.warps.size();
  case Special::SmId:
    return warp.cta.number % run.limits.multiprocessors;
  case Special::NumSms:
    return run.limits.multiprocessors;
  case Special::GridId:
    return 1;
  case Special::MaskEq:
    return bit;
  case Special::MaskLe:
    return bit | (bit - 1);
  case Special::MaskLt:
    return bit - 1;
  case Special::MaskGe:
    return Lanes(0) - bit;
  case Special::MaskGt:
    return Lanes(0) - bit - bit;
  case Special::TotalShared:
    return run.sharedBytes;
  case Special::DynamicShared:
    return run.launch.dynamicShared;
  default:
    return 0; // Moves.cpp reads those that change
  }
}

void Warp::start(Frame &next) {
  for (const Code::Constant &constant : next.code->constants)
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      std::memcpy(next.data + constant.offset + lane * constant.bytes, &constant.bits,
                  constant.bytes);
  for (const Code::SpecialSlot &slot : next.code->specials)
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      const uint64_t value = valueOf(slot.which, *this, lane);
      std::memcpy(next.data + slot.offset + lane * slot.bytes, &value, slot.bytes);
    }
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Merges groups that have met, and makes the group to execute current: the one with the least
/// program counter of those that do not wait. Returns false if all wait.
bool Warp::select(Frame &f) {
  std::vector<Group> &groups = f.groups;
  for (size_t i = 0; i < groups.size(); ++i)
    for (size_t j = i + 1; j < groups.size();) {
      if (groups[j].pc != groups[i].pc) {
        ++j;
        continue;
      }
      groups[i].lanes |= groups[j].lanes;
      groups[i].waits = false; // the collective may be complete now
      groups.erase(groups.begin() + j);
    }
  uint32_t least = kNever;
  for (size_t i = 0; i < groups.size(); ++i)
    if (!groups[i].waits && groups[i].pc < least) {
      least = groups[i].pc;
      f.current = unsigned(i);
    }
  return least != kNever;
}

void Warp::split(Frame &f, uint32_t pc, Lanes lanes) {
  f.groups[f.current].lanes &= ~lanes;
  f.groups.push_back({pc, lanes, false});
}

/// Returns the lanes that must be at a collective for the lanes of `mask` to execute it.
Lanes Warp::needed(const Step &step, Lanes mask) const {
  if (step.members == kAbsent)
    return live();
  Lanes members = 0;
  forEachLane(mask, [&](unsigned lane) { members |= lanes<uint32_t>(step.members)[lane]; });
  return members & live();
}

/// Continues groups whose collectives need no more lanes, because the others have exited.
bool Warp::wake(Frame &f) {
  for (Group &group : f.groups)
    if (!(needed(f.code->steps[group.pc], group.lanes) & ~group.lanes))
      group.waits = false;
  return select(f);
}

/// Removes lanes of the current group from the frame.
void Warp::remove(Frame &f, Lanes lanes) {
  Group &group = f.groups[f.current];
  group.lanes &= ~lanes;
  if (!group.lanes)
    f.groups.erase(f.groups.begin() + f.current);
}

/// Returns true if all lanes of a collective are here. Otherwise the group waits.
bool Warp::collect(Frame &f, const Step &step, Lanes mask) {
  if (!(needed(step, mask) & ~mask))
    return true;
  f.groups[f.current].waits = true;
  return false;
}

/// Executes a collective, once for each set of lanes that name the same members.
void Warp::runCollective(const Step &step, Lanes mask) {
  if (step.members == kAbsent)
    return step.run(*this, step, mask);
  const uint32_t *members = lanes<uint32_t>(step.members);
  uint32_t named[kWarpSize]; // the operand may be a result too
  std::copy_n(members, kWarpSize, named);
  while (mask) {
    const uint32_t first = named[std::countr_zero(mask)];
    Lanes same = 0;
    forEachLane(mask, [&](unsigned lane) { same |= Lanes(named[lane] == first) << lane; });
    if (same & ~first)
      throw Fault{describe(std::countr_zero(same & ~first)) +
                      " executes a collective whose member mask does not contain it",
                  0};
    if (first & live() & ~same)
      throw Fault{describe(std::countr_zero(first & live() & ~same)) +
                      " executes a collective with another member mask than lanes that name it",
                  0};
    step.run(*this, step, same);
    mask &= ~same;
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static void copyParameters(const std::vector<Call::Copy> &copies, const std::byte *from,
                           std::byte *to, Lanes lanes) {
  for (const Call::Copy &copy : copies)
    forEachLane(lanes, [&](unsigned lane) {
      std::memcpy(to + copy.to + lane * copy.bytes, from + copy.from + lane * copy.bytes,
                  copy.bytes);
    });
}

void Warp::call(const Step &step, Lanes mask) {
  const Call &site = code().calls[step.target];
  const std::byte *caller = frame;
  push(*site.callee, mask);
  copyParameters(site.arguments, caller, frame, mask);
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// Makes the group of the favored lane current, if a lane has a turn.
void Warp::chooseFavored(Frame &f) {
  if (fair == 0) {
    fair = kFairTurn;
    favor = kFavoredTurn;
    const Group &group = f.groups[cta.run.random() % f.groups.size()];
    favored = unsigned(std::countr_zero(group.lanes));
  }
  if (favor == 0)
    return;
  for (size_t i = 0; i < f.groups.size(); ++i)
    if (f.groups[i].lanes >> favored & 1 && !f.groups[i].waits) {
      f.current = unsigned(i);
      return;
    }
  favor = 0;
}

Warp::Turn Warp::run(uint64_t most) {
  for (uint64_t left = most; left > 0;) {
    Frame &f = frames.back();
    if (f.groups.empty()) { // all lanes have returned
      if (frames.size() == 1)
        return Turn::Done;
      Frame &caller = frames[frames.size() - 2];
      Group &group = caller.groups[caller.current];
      const Call &site = caller.code->calls[caller.code->steps[group.pc].target];
      copyParameters(site.results, f.data, caller.data, group.lanes & ~exited);
      group.lanes &= ~exited;
      ++group.pc;
      if (!group.lanes)
        caller.groups.erase(caller.groups.begin() + caller.current);
      pop();
      continue;
    }
    if (!select(f) && !wake(f))
      reportMissingLanes(f);
    if (f.groups.size() > 1)
      chooseFavored(f);
    const Turn turn = runGroup(f, left);
    if (turn != Turn::Used)
      return turn;
  }
  return Turn::Used;
}

/// Executes the current group until it meets, leaves or waits for another one, or calls or returns.
Warp::Turn Warp::runGroup(Frame &f, uint64_t &left) {
  Run &grid = cta.run;
  const Step *const steps = f.code->steps.data();
  uint64_t *const executions = f.code->executionsOf(number);
  const bool isAlone = f.groups.size() == 1;
  Group *group = &f.groups[f.current];
  // Where the group may meet another one: the least program counter of the others.
  uint32_t meeting = kNever;
  for (const Group &other : f.groups)
    if (&other != group && (!other.waits || other.pc > group->pc))
      meeting = std::min(meeting, other.pc);
  if (meeting < group->pc) // chosen although it is not the least
    meeting = kNever;
  uint64_t alone = kNever, &turn = isAlone ? alone : favor ? favor : fair;

  uint32_t pc = group->pc;
  auto stop = [&](uint32_t at) {
    group->pc = at;
    return Turn::Used;
  };
  while (left > 0) {
    if (pc >= meeting || turn == 0)
      return stop(pc);
    const Step &step = steps[pc];
    Lanes mask = group->lanes;
    if (step.guard != kAbsent)
      mask &= step.isGuardNegated ? ~predicate(step.guard) : predicate(step.guard);
    grid.current = &step;
    ++executions[pc];
    ++grid.executed;
    --left;
    --turn;
    if (step.flow == Flow::Plain) {
      if (mask)
        step.run(*this, step, mask);
      ++pc;
      continue;
    }
    group->pc = pc;
    const Next next = follow(f, step, mask);
    if (next != Next::Continue)
      return next == Next::Stop ? Turn::Used : Turn::Waits;
    pc = group->pc;
  }
  return stop(pc);
}

/// Executes an instruction other than a plain one, and moves the current group to its successor.
Warp::Next Warp::follow(Frame &f, const Step &step, Lanes mask) {
  Group &group = f.groups[f.current];
  switch (step.flow) {
  case Flow::Branch:
    return branch(f, step, mask);
  case Flow::Table:
    ++group.pc;
    branchByTable(f, step, mask);
    return Next::Stop;
  case Flow::Call:
    if (!mask) {
      ++group.pc;
      return Next::Continue;
    }
    if (mask != group.lanes)
      split(f, group.pc + 1, group.lanes & ~mask);
    call(step, mask);
    return Next::Stop;
  case Flow::Return:
  case Flow::Exit:
    ++group.pc;
    if (step.flow == Flow::Exit || frames.size() == 1)
      exited |= mask;
    remove(f, mask);
    return Next::Stop;
  case Flow::Collective:
  case Flow::Barrier:
    return runTogether(f, step, mask);
  case Flow::Plain:
    break;
  }
  return Next::Continue;
}

Warp::Next Warp::branch(Frame &f, const Step &step, Lanes mask) {
  Group &group = f.groups[f.current];
  if (mask != group.lanes) {
    ++group.pc;
    if (!mask)
      return Next::Continue;
    split(f, step.target, mask);
    return Next::Stop;
  }
  const bool isBack = step.target <= group.pc;
  group.pc = step.target;
  // After a branch back, the group may meet others at a different place.
  return isBack && f.groups.size() > 1 ? Next::Stop : Next::Continue;
}

/// Executes a collective once all its lanes are here.
Warp::Next Warp::runTogether(Frame &f, const Step &step, Lanes mask) {
  Group &group = f.groups[f.current];
  if (!mask) {
    ++group.pc;
    return Next::Continue;
  }
  if (mask != group.lanes) {
    split(f, group.pc + 1, group.lanes & ~mask);
    return Next::Stop;
  }
  if (!collect(f, step, mask)) {
    --f.code->executionsOf(number)[group.pc];
    return Next::Stop;
  }
  runCollective(step, mask);
  ++group.pc;
  return step.flow == Flow::Barrier && barrier >= 0 ? Next::Wait : Next::Continue;
}

void Warp::branchByTable(Frame &f, const Step &step, Lanes mask) {
  const std::vector<uint32_t> &table = f.code->tables[step.target];
  const uint32_t *index = lanes<uint32_t>(step.a);
  while (mask) {
    const unsigned lane = std::countr_zero(mask);
    if (index[lane] >= table.size())
      throw Fault{describe(lane) + " branches to entry " + std::to_string(index[lane]) +
                      " of a table of " + std::to_string(table.size()),
                  0};
    Lanes same = 0;
    forEachLane(mask, [&](unsigned other) {
      if (index[other] == index[lane])
        same |= Lanes(1) << other;
    });
    mask &= ~same;
    if (same == f.groups[f.current].lanes)
      f.groups[f.current].pc = table[index[lane]];
    else
      split(f, table[index[lane]], same);
  }
}

void Warp::reportMissingLanes(Frame &f) {
  const Group &group = f.groups.front();
  const Step &step = f.code->steps[group.pc];
  const Lanes missing = needed(step, group.lanes) & ~group.lanes;
  std::string where = "in a caller of this function";
  for (const Group &other : f.groups)
    if (other.lanes & missing)
      where = "at line " + std::to_string(f.code->steps[other.pc].line);
  throw Fault{
      "a collective waits for lanes that do not come: " + describe(std::countr_zero(missing)) +
          " is " + where + "; expected all lanes of the warp, or of the member mask",
      step.line};
}

} // namespace pe::ptx
