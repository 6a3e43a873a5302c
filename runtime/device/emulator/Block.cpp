//===- Block.cpp - One CTA, its threads as fibers ------------------------===//
#include "runtime/device/emulator/Block.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <numeric>
#include <sys/mman.h>
#include <thread>

//===- Switching stacks: System V x86-64 ------------------------------------------===//

extern "C" void pe_emu_switch(void **saveStack, void *loadStack);
asm(R"(
.text
.globl pe_emu_switch
.type pe_emu_switch,@function
pe_emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size pe_emu_switch, .-pe_emu_switch
)");

namespace pe::emulator {

namespace {

constexpr size_t kStackBytes = size_t(64) << 10;
/// A CTA that waits for others this long is assumed to wait forever.
constexpr std::chrono::seconds kPatience(60);

} // namespace

Shared &shared() {
  static Shared state;
  return state;
}

Block &blockOfThread() {
  // Freed with its thread: fibers left behind by an error run no more.
  static thread_local Block block;
  return block;
}

Block::~Block() {
  if (stacks)
    ::munmap(stacks, stackCount * kStackBytes);
}

//===- Scheduling -----------------------------------------------------------------===//

void Block::toScheduler() {
  ++switches;
  pe_emu_switch(&current->stack, scheduler);
}

void Block::enter() {
  Block &block = blockOfThread();
  block.body(block.buffers, block.sizes);
  for (std::vector<Copy> &group : block.current->groups)
    block.land(group);
  block.land(block.current->open);
  block.current->state = State::Done;
  --block.alive;
  block.toScheduler();
  __builtin_unreachable();
}

bool Block::hasStacks(size_t count) {
  if (stackCount >= count)
    return true;
  if (stacks)
    ::munmap(stacks, stackCount * kStackBytes);
  void *found = ::mmap(nullptr, count * kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool isMapped = found != MAP_FAILED;
  stacks = isMapped ? static_cast<char *>(found) : nullptr;
  stackCount = isMapped ? count : 0;
  return isMapped;
}

void Block::prepare(int count) {
  fibers.assign(count, Fiber());
  warps.assign((count + kWarp - 1) / kWarp, Warp());
  warpOrder.resize(warps.size());
  std::iota(warpOrder.begin(), warpOrder.end(), 0);
  laneOrder.resize(kWarp);
  std::iota(laneOrder.begin(), laneOrder.end(), 0);
  if (options.order == Order::Reverse) {
    std::reverse(warpOrder.begin(), warpOrder.end());
    std::reverse(laneOrder.begin(), laneOrder.end());
  }
  for (int thread = 0; thread < count; ++thread) {
    auto *top = reinterpret_cast<uint64_t *>(stacks + (thread + 1) * kStackBytes);
    *--top = 0; // a return address that is never used; keeps the stack aligned for a call
    *--top = reinterpret_cast<uint64_t>(&Block::enter);
    for (int i = 0; i < 6; ++i)
      *--top = 0;
    fibers[thread].stack = top;
    fibers[thread].thread = thread;
  }
}

/// Runs the runnable lanes until all wait; returns whether any ran.
bool Block::runWarp(int warp) {
  bool any = false;
  for (bool progress = true; progress && !hasFailed;) {
    progress = false;
    if (options.order == Order::Random)
      std::shuffle(laneOrder.begin(), laneOrder.end(), random);
    for (int lane : laneOrder) {
      const size_t thread = warp * kWarp + lane;
      if (thread >= fibers.size() || fibers[thread].state != State::Ready || hasFailed)
        continue;
      current = &fibers[thread];
      pe_emu_switch(&scheduler, current->stack);
      progress = any = true;
    }
  }
  return any;
}

std::string Block::whereTheyWait() const {
  std::map<std::string, int> places;
  for (const Fiber &fiber : fibers)
    if (fiber.state != State::Done)
      ++places[fiber.where];
  std::string text;
  for (const auto &[place, count] : places)
    text += (text.empty() ? "" : "; ") + std::to_string(count) + " threads at " + place;
  return text;
}

/// Ends the stage with this error, unless it already has one.
void Block::report(const std::string &message) {
  std::lock_guard lock(shared().mutex);
  if (shared().error.empty())
    shared().error = message;
  shared().failed = true;
}

void Block::begin(int64_t cta) {
  Shared &state = shared();
  std::lock_guard lock(state.mutex);
  options = state.options;
  item = cta < static_cast<int64_t>(state.places.size()) ? state.places[cta] : cta;
  ++state.started, ++state.running;
  ++state.epoch, state.waiting = 0;
  waitedAt = 0;
}

void Block::end() {
  Shared &state = shared();
  std::lock_guard lock(state.mutex);
  --state.running;
  ++state.epoch, state.waiting = 0;
}

/// This CTA has waited for others since the epoch `seen`. If
/// nothing has happened since then, all running CTAs have waited
/// too, and no other CTA can start, nothing will ever happen.
void Block::checkOthers(uint64_t seen) {
  bool isForEver;
  {
    Shared &state = shared();
    std::lock_guard lock(state.mutex);
    if (seen != state.epoch)
      return;
    if (waitedAt != seen)
      waitedAt = seen, ++state.waiting;
    const bool isFull = state.started >= state.ctas || state.running >= state.residents;
    isForEver = state.waiting >= state.running && isFull;
  }
  if (isForEver)
    report("deadlock: every CTA that runs waits for another, CTA " + std::to_string(item) +
           " with " + whereTheyWait());
}

/// Runs every runnable fiber once; returns whether all of them only polled what other CTAs
/// do.
bool Block::runFibers() {
  if (options.order == Order::Random)
    std::shuffle(warpOrder.begin(), warpOrder.end(), random);
  const uint64_t before = switches;
  bool progress = false;
  for (int warp : warpOrder)
    progress |= runWarp(warp);
  uint64_t spinning = 0;
  for (Fiber &fiber : fibers)
    if (fiber.state == State::Spinning)
      fiber.state = State::Ready, ++spinning;
  if (!progress && !hasFailed)
    report("deadlock: no thread of CTA " + std::to_string(item) + " can go on: " + whereTheyWait());
  return spinning > 0 && spinning == switches - before;
}

void Block::run(Body kernel, void *const *bufferList, const int64_t *sizeList, int64_t cta,
                int threads, int64_t sharedBytes) {
  if (shared().failed)
    return;
  begin(cta);
  body = kernel, buffers = bufferList, sizes = sizeList;
  random.seed(options.seed + static_cast<uint64_t>(item));
  if (!hasStacks(static_cast<size_t>(threads))) {
    report("expected memory for the stacks of " + std::to_string(threads) +
           " emulated threads, found none");
    return end();
  }
  prepare(threads);
  memory.assign(sharedBytes, static_cast<char>(0xFF));
  shadow.reset(sharedBytes);
  alive = threads, atBarrier = 0, barriers = 0, hasFailed = false;
  acquiredTurn = acquireBarriers = 0;
  auto lastWork = std::chrono::steady_clock::now();
  uint64_t lookedAt = 0; // the epoch of the previous pass, if it only polled
  while (alive && !hasFailed && !shared().failed) {
    const uint64_t seen = shared().epoch;
    if (!runFibers()) {
      lookedAt = 0;
      lastWork = std::chrono::steady_clock::now();
      continue;
    }
    // A fiber acts on what it has read in the next pass.
    if (std::exchange(lookedAt, seen) == seen)
      checkOthers(seen);
    std::this_thread::yield();
    if (std::chrono::steady_clock::now() - lastWork > kPatience)
      report("CTA " + std::to_string(item) + " waits for ever for another CTA: " + whereTheyWait());
  }
  end();
  shared().switches += switches, shared().collectives += collectives, shared().barriers += barriers;
  switches = collectives = 0;
}

void Block::fail(const std::string &message, const char *where) {
  {
    std::lock_guard lock(shared().mutex);
    if (shared().error.empty())
      shared().error = std::string(where) + ": " + message + " (CTA " + std::to_string(item) + ")";
    shared().failed = true;
  }
  hasFailed = true;
  current->state = State::Done;
  toScheduler();
  __builtin_unreachable();
}

//===- Synchronisation ------------------------------------------------------------------===//

void Block::collective(Collective what, int32_t detail, uint64_t *frame, const char *where) {
  Warp &warp = warps[current->thread / kWarp];
  const int lane = current->thread % kWarp;
  if (what == Collective::LoadMatrices)
    access(reinterpret_cast<const void *>(frame[0]), 16, /*isWrite=*/false, /*isShared=*/true,
           where);
  if (what == Collective::MultiplyAdd && detail == 2)
    for (int i = 0; i < 6; ++i)
      if (!isTf32(static_cast<uint32_t>(frame[i])))
        return fail("an operand is not rounded to tf32", where);
  if (warp.arrived == 0) {
    warp.what = what, warp.detail = detail;
  } else if (warp.what != what || warp.detail != detail) {
    return fail("lanes of a warp are at different collectives", where);
  }
  warp.frames[lane] = frame;
  warp.arrived |= 1u << lane;
  current->where = where;
  if (warp.arrived != ~0u) {
    current->state = State::AtCollective;
    return toScheduler();
  }
  ++collectives;
  if (what == Collective::SyncWarp)
    ++warp.syncs;
  evaluate(what, detail, warp.frames);
  warp.arrived = 0;
  const int first = current->thread - lane;
  for (int i = 0; i < kWarp; ++i)
    if (fibers[first + i].state == State::AtCollective)
      fibers[first + i].state = State::Ready;
}

void Block::barrier(const char *where) {
  current->where = where;
  if (++atBarrier != static_cast<int>(fibers.size())) {
    current->state = State::AtBarrier;
    return toScheduler();
  }
  atBarrier = 0;
  ++barriers;
  for (Fiber &fiber : fibers)
    if (fiber.state == State::AtBarrier)
      fiber.state = State::Ready;
}

void Block::spin(const char *where) {
  current->where = where;
  current->state = State::Spinning;
  toScheduler();
}

void Block::acquire() {
  acquiredTurn = current->fences + 1;
  acquireBarriers = barriers;
}

void Block::fence(const char *where) {
  const int64_t turn = ++current->fences;
  current->fenceBarriers = barriers;
  const bool isBehind = acquiredTurn > turn ||
                        (acquiredTurn == turn && acquireBarriers < static_cast<int64_t>(barriers));
  if (!isBehind && current->thread != 0)
    fail("thread " + std::to_string(current->thread) +
             " works before a barrier stands behind the wait for its CTA's turn",
         where);
}

void Block::checkRelease(const char *where) {
  for (const Fiber &fiber : fibers) {
    const bool isOrdered =
        &fiber == current || fiber.fences > current->fences ||
        (fiber.fences == current->fences && fiber.fenceBarriers < static_cast<int64_t>(barriers));
    if (!isOrdered)
      return fail("thread " + std::to_string(current->thread) +
                      " passes the turn on, but no barrier stands behind what thread " +
                      std::to_string(fiber.thread) + " does in it",
                  where);
  }
}

//===- Memory ------------------------------------------------------------------------------===//

void Block::access(const void *address, int64_t bytes, bool isWrite, bool isShared,
                   const char *where) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const char *verb = isWrite ? "writes" : "reads";
  if (isShared) {
    const int64_t offset = static_cast<int64_t>(at - reinterpret_cast<uintptr_t>(memory.data()));
    if (offset < 0 || offset + bytes > static_cast<int64_t>(memory.size()))
      return fail("thread " + std::to_string(current->thread) + " " + verb + " " +
                      std::to_string(bytes) + " bytes at " + std::to_string(offset) + " of " +
                      std::to_string(memory.size()) + " bytes of shared memory",
                  where);
    if (offset % bytes != 0)
      return fail("misaligned access of " + std::to_string(bytes) + " bytes to shared memory",
                  where);
    if (std::string race = shadow.access(offset, bytes, isWrite, now()); !race.empty())
      return fail(race, where);
    return;
  }
  if (at % bytes != 0)
    return fail("misaligned access of " + std::to_string(bytes) + " bytes to global memory", where);
  for (const Region &region : shared().regions)
    if (at >= region.begin && at + bytes <= region.begin + region.bytes)
      return;
  fail("thread " + std::to_string(current->thread) + " " + verb + " " + std::to_string(bytes) +
           " bytes of global memory outside every buffer of the stage",
       where);
}

void Block::copyAsync(const Copy &copy) {
  access(copy.to, copy.size, /*isWrite=*/true, /*isShared=*/true, copy.where);
  if (copy.bytes)
    access(copy.from, copy.bytes, /*isWrite=*/false, /*isShared=*/false, copy.where);
  shadow.setPending(copy.to - memory.data(), copy.size, true);
  current->open.push_back(copy);
}

void Block::land(std::vector<Copy> &copies) {
  for (const Copy &copy : copies) {
    std::memcpy(copy.to, copy.from, copy.bytes);
    std::memset(copy.to + copy.bytes, 0, copy.size - copy.bytes);
    shadow.setPending(copy.to - memory.data(), copy.size, false);
    access(copy.to, copy.size, /*isWrite=*/true, /*isShared=*/true, copy.where);
  }
  copies.clear();
}

void Block::waitForCopies(int32_t groupsLeft) {
  auto &groups = current->groups;
  while (static_cast<int32_t>(groups.size()) > groupsLeft) {
    land(groups.front());
    groups.erase(groups.begin());
  }
}

} // namespace pe::emulator
