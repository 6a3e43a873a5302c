//===- Emulator.cpp - GPU kernels on CPU threads --------------------------===//
#include "runtime/device/emulator/Emulator.h"

#include "runtime/device/emulator/Collectives.h"
#include "runtime/device/emulator/SharedShadow.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
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

using Body = void (*)(void *const *buffers, const int64_t *sizes);

constexpr size_t kStackBytes = size_t(64) << 10;
/// A CTA that only waits for others this long waits for ever.
constexpr std::chrono::seconds kPatience(60);

/// What all CTAs of the process share.
struct Shared {
  std::mutex mutex;
  Options options;
  std::vector<Region> regions;
  std::string error;
  std::atomic<bool> failed{false};
  std::atomic<uint64_t> switches{0}, collectives{0}, barriers{0};
};

Shared &shared() {
  static Shared state;
  return state;
}

enum class State : uint8_t { Ready, Spinning, AtCollective, AtBarrier, Done };

struct Copy {
  char *to;
  const char *from;
  int32_t bytes;
  const char *where;
};

struct Fiber {
  void *stack = nullptr;
  State state = State::Ready;
  int thread = 0;
  const char *where = "";
  /// Fences it has executed, and how many barriers it had passed at the last one.
  int64_t fences = 0, fenceBarriers = -1;
  std::vector<Copy> open;
  std::vector<std::vector<Copy>> groups;
};

struct Warp {
  Frames frames;
  uint32_t arrived = 0;
  Collective what = Collective::SyncWarp;
  int32_t detail = 0;
  uint32_t syncs = 0;
};

/// One CTA at a time, on one thread of the host.
class Block {
public:
  void run(Body body, void *const *buffers, const int64_t *sizes, int64_t item, int threads,
           int64_t sharedBytes);

  // Called by fibers.
  void collective(Collective what, int32_t detail, uint64_t *frame, const char *where);
  void barrier(const char *where);
  void access(const void *address, int64_t bytes, bool isWrite, bool isShared, const char *where);
  void copyAsync(char *to, const char *from, int32_t bytes, const char *where);
  void commitCopies() {
    current->groups.push_back(std::move(current->open));
    current->open.clear();
  }
  void waitForCopies(int32_t groupsLeft);
  void spin(const char *where);
  /// A turn at data that CTAs share: one thread acquires (atomic loads), a barrier, all threads
  /// work and fence, a barrier, one thread releases (atomic store). These check the barriers.
  void acquire();
  void fence(const char *where);
  void checkRelease(const char *where);
  [[noreturn]] void fail(const std::string &message, const char *where);

  Fiber *current = nullptr;
  int64_t item = 0;
  std::vector<char> memory; // shared memory of the CTA

private:
  ~Block() = default; // lives as long as its thread
  friend Block &blockOfThread();
  static void enter();
  void prepare(int count);
  void toScheduler() {
    ++switches;
    pe_emu_switch(&current->stack, scheduler);
  }
  bool runWarp(int warp);
  void land(std::vector<Copy> &copies);
  Moment now() const { return {current->thread, barriers, warps[current->thread / kWarp].syncs}; }
  std::string whereTheyWait() const;

  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  std::vector<int> warpOrder, laneOrder;
  SharedShadow shadow;
  std::mt19937_64 random;
  Options options;
  char *stacks = nullptr;
  size_t stackCount = 0;
  void *scheduler = nullptr;
  Body body = nullptr;
  void *const *buffers = nullptr;
  const int64_t *sizes = nullptr;
  int alive = 0, atBarrier = 0;
  int64_t acquiredTurn = 0, acquireBarriers = 0;
  uint32_t barriers = 0;
  bool hasFailed = false;
  uint64_t switches = 0, collectives = 0;
};

Block &blockOfThread() {
  // Never freed: fibers that an error left behind stand on its stacks.
  static thread_local Block *block = new Block;
  return *block;
}

//===- Scheduling -----------------------------------------------------------------===//

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

void Block::prepare(int count) {
  if (stackCount < static_cast<size_t>(count)) {
    stackCount = count;
    stacks = static_cast<char *>(::mmap(nullptr, stackCount * kStackBytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
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

/// Runs the lanes that can run until all wait; whether any did.
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

void Block::run(Body kernel, void *const *bufferList, const int64_t *sizeList, int64_t cta,
                int threads, int64_t sharedBytes) {
  if (shared().failed)
    return;
  {
    std::lock_guard lock(shared().mutex);
    options = shared().options;
  }
  body = kernel, buffers = bufferList, sizes = sizeList, item = cta;
  random.seed(options.seed + static_cast<uint64_t>(cta));
  prepare(threads);
  memory.assign(sharedBytes, static_cast<char>(0xFF));
  shadow.reset(sharedBytes);
  alive = threads, atBarrier = 0, barriers = 0, hasFailed = false;
  acquiredTurn = acquireBarriers = 0;
  auto lastProgress = std::chrono::steady_clock::now();
  while (alive && !hasFailed && !shared().failed) {
    if (options.order == Order::Random)
      std::shuffle(warpOrder.begin(), warpOrder.end(), random);
    bool progress = false, isSpinning = false;
    for (int warp : warpOrder)
      progress |= runWarp(warp);
    for (Fiber &fiber : fibers)
      if (fiber.state == State::Spinning)
        fiber.state = State::Ready, isSpinning = true;
    if (!progress && !hasFailed) {
      current = &fibers.front();
      std::lock_guard lock(shared().mutex);
      shared().error =
          "deadlock: no thread of CTA " + std::to_string(item) + " can go on: " + whereTheyWait();
      shared().failed = true;
    }
    if (!isSpinning) {
      lastProgress = std::chrono::steady_clock::now();
    } else {
      std::this_thread::yield();
      if (std::chrono::steady_clock::now() - lastProgress > kPatience) {
        std::lock_guard lock(shared().mutex);
        shared().error =
            "CTA " + std::to_string(item) + " waits for ever for another CTA: " + whereTheyWait();
        shared().failed = true;
      }
    }
  }
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

void Block::copyAsync(char *to, const char *from, int32_t bytes, const char *where) {
  access(to, 16, /*isWrite=*/true, /*isShared=*/true, where);
  if (bytes)
    access(from, bytes, /*isWrite=*/false, /*isShared=*/false, where);
  shadow.setPending(to - memory.data(), 16, true);
  current->open.push_back({to, from, bytes, where});
}

void Block::land(std::vector<Copy> &copies) {
  for (const Copy &copy : copies) {
    std::memcpy(copy.to, copy.from, copy.bytes);
    std::memset(copy.to + copy.bytes, 0, 16 - copy.bytes);
    shadow.setPending(copy.to - memory.data(), 16, false);
    access(copy.to, 16, /*isWrite=*/true, /*isShared=*/true, copy.where);
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

//===- What kernels call ----------------------------------------------------------------------===//

extern "C" {

void peEmuLaunch(Body body, void *const *buffers, const int64_t *sizes, int64_t item,
                 int32_t threads, int64_t sharedBytes) {
  blockOfThread().run(body, buffers, sizes, item, threads, sharedBytes);
}
int32_t peEmuThread() { return blockOfThread().current->thread; }
int32_t peEmuBlock() { return static_cast<int32_t>(blockOfThread().item); }
void *peEmuShared() { return blockOfThread().memory.data(); }
void peEmuCollective(int32_t what, int32_t detail, uint64_t *frame, const char *where) {
  blockOfThread().collective(static_cast<Collective>(what), detail, frame, where);
}
void peEmuBarrier(const char *where) { blockOfThread().barrier(where); }
void peEmuAccess(const void *address, int64_t bytes, int32_t flags, const char *where) {
  blockOfThread().access(address, bytes, flags & 1, flags & 2, where);
}
void peEmuCopyAsync(char *to, const char *from, int32_t bytes, const char *where) {
  blockOfThread().copyAsync(to, from, bytes, where);
}
void peEmuCommitCopies() { blockOfThread().commitCopies(); }
void peEmuWaitForCopies(int32_t groupsLeft) { blockOfThread().waitForCopies(groupsLeft); }
int32_t peEmuAtomicLoad(const int32_t *address, const char *where) {
  Block &block = blockOfThread();
  block.access(address, 4, false, false, where);
  const int32_t value = __atomic_load_n(address, __ATOMIC_ACQUIRE);
  block.acquire();
  block.spin(where);
  return value;
}
void peEmuFence(const char *where) { blockOfThread().fence(where); }
void peEmuAtomicStore(int32_t value, int32_t *address, const char *where) {
  blockOfThread().checkRelease(where);
  blockOfThread().access(address, 4, true, false, where);
  __atomic_store_n(address, value, __ATOMIC_RELEASE);
}
float peEmuExp2(float x) { return std::exp2(x); }
float peEmuLog2(float x) { return std::log2(x); }
float peEmuReciprocal(float x) { return 1.0f / x; }

} // extern "C"

} // namespace

//===- The device's side --------------------------------------------------------------------===//

void setOptions(const Options &options) {
  std::lock_guard lock(shared().mutex);
  shared().options = options;
}

void beginStage(std::vector<Region> regions) {
  std::lock_guard lock(shared().mutex);
  shared().regions = std::move(regions);
  shared().error.clear();
  shared().failed = false;
}

Status endStage() {
  std::lock_guard lock(shared().mutex);
  shared().failed = false;
  if (shared().error.empty())
    return Status::success();
  return makeError("emulated kernel: ", std::exchange(shared().error, {}));
}

Statistics statistics() { return {shared().switches, shared().collectives, shared().barriers}; }

void *findSymbol(const std::string &name) {
  static const std::map<std::string, void *> table = {
      {"pe_emu_launch", reinterpret_cast<void *>(peEmuLaunch)},
      {"pe_emu_thread", reinterpret_cast<void *>(peEmuThread)},
      {"pe_emu_block", reinterpret_cast<void *>(peEmuBlock)},
      {"pe_emu_shared", reinterpret_cast<void *>(peEmuShared)},
      {"pe_emu_collective", reinterpret_cast<void *>(peEmuCollective)},
      {"pe_emu_barrier", reinterpret_cast<void *>(peEmuBarrier)},
      {"pe_emu_access", reinterpret_cast<void *>(peEmuAccess)},
      {"pe_emu_copy_async", reinterpret_cast<void *>(peEmuCopyAsync)},
      {"pe_emu_commit_copies", reinterpret_cast<void *>(peEmuCommitCopies)},
      {"pe_emu_wait_for_copies", reinterpret_cast<void *>(peEmuWaitForCopies)},
      {"pe_emu_atomic_load", reinterpret_cast<void *>(peEmuAtomicLoad)},
      {"pe_emu_atomic_store", reinterpret_cast<void *>(peEmuAtomicStore)},
      {"pe_emu_fence", reinterpret_cast<void *>(peEmuFence)},
      {"pe_emu_exp2", reinterpret_cast<void *>(peEmuExp2)},
      {"pe_emu_log2", reinterpret_cast<void *>(peEmuLog2)},
      {"pe_emu_reciprocal", reinterpret_cast<void *>(peEmuReciprocal)}};
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

} // namespace pe::emulator
