//===- Emulator.cpp - What kernels and the device call --------------------===//
#include "runtime/device/emulator/Emulator.h"

#include "runtime/core/DType.h"
#include "runtime/device/emulator/Block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

namespace pe::emulator {

namespace {

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
void peEmuCopyAsync(char *to, const char *from, int32_t size, int32_t bytes, const char *where) {
  blockOfThread().copyAsync({to, from, size, bytes, where});
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
int32_t peEmuAtomicAdd(int32_t value, int32_t *address, const char *where) {
  blockOfThread().access(address, 4, true, false, where);
  const int32_t before = __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
  shared().progress();
  return before;
}
void peEmuFence(const char *where) { blockOfThread().fence(where); }
void peEmuAtomicStore(int32_t value, int32_t *address, const char *where) {
  blockOfThread().checkRelease(where);
  blockOfThread().access(address, 4, true, false, where);
  __atomic_store_n(address, value, __ATOMIC_RELEASE);
  shared().progress();
}
float peEmuExp2(float x) { return std::exp2(x); }
float peEmuLog2(float x) { return std::log2(x); }
float peEmuReciprocal(float x) { return 1.0f / x; }
uint32_t peEmuRoundToTf32(float x) { return std::bit_cast<uint32_t>(roundToTf32(x)); }

} // extern "C"

} // namespace

// The device library calls the emulator by these names.
extern "C" int32_t pe_emu_thread() { return peEmuThread(); }
extern "C" void pe_emu_barrier(const char *where) { peEmuBarrier(where); }

//===- The device's side --------------------------------------------------------------------===//

void setOptions(const Options &options) {
  std::lock_guard lock(shared().mutex);
  shared().options = options;
}

void beginStage(std::vector<Region> regions, int64_t ctas, int residents) {
  Shared &state = shared();
  std::lock_guard lock(state.mutex);
  state.regions = std::move(regions);
  state.error.clear();
  state.failed = false;
  state.ctas = ctas, state.residents = residents;
  state.started = state.running = state.waiting = 0;
  state.places.resize(ctas);
  std::iota(state.places.begin(), state.places.end(), 0);
  if (state.options.dispatch == Dispatch::Descending)
    std::reverse(state.places.begin(), state.places.end());
  if (state.options.dispatch == Dispatch::Random)
    std::shuffle(state.places.begin(), state.places.end(), std::mt19937_64(state.options.seed));
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
      {"pe_emu_atomic_add", reinterpret_cast<void *>(peEmuAtomicAdd)},
      {"pe_emu_fence", reinterpret_cast<void *>(peEmuFence)},
      {"pe_emu_exp2", reinterpret_cast<void *>(peEmuExp2)},
      {"pe_emu_log2", reinterpret_cast<void *>(peEmuLog2)},
      {"pe_emu_reciprocal", reinterpret_cast<void *>(peEmuReciprocal)},
      {"pe_emu_round_to_tf32", reinterpret_cast<void *>(peEmuRoundToTf32)}};
  auto found = table.find(name);
  return found == table.end() ? findLibrarySymbol(name) : found->second;
}

} // namespace pe::emulator
