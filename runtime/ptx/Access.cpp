//===- Access.cpp - Addresses of the lanes of an instruction --------------===//

#include "runtime/ptx/Access.h"

#include <algorithm>

namespace pe::ptx {

namespace {

Space spaceOf(uint64_t address) {
  switch (address & kWindowMask) {
  case kSharedWindow:
    return Space::Shared;
  case kLocalWindow:
    return Space::Local;
  case kConstWindow:
    return Space::Const;
  case kParamWindow:
    return Space::Param;
  default:
    return Space::Global;
  }
}

} // namespace

Places::Places(Warp &warp, const Step &step, Lanes lanes, uint32_t bytes, Access access)
    : lanes(lanes), warp(warp), step(step) {
  access.places = this;
  if (step.width == 4) { // 32-bit addresses wrap
    const uint32_t *base = warp.lanes<uint32_t>(step.a);
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      addresses[lane] = uint32_t(base[lane] + uint32_t(step.imm));
  } else {
    const uint64_t *base = warp.lanes<uint64_t>(step.a);
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      addresses[lane] = base[lane] + uint64_t(step.imm);
  }
  std::ranges::fill(spaces, step.space);
  if (step.space == Space::Shared)
    resolveShared(lanes, bytes, access);
  else
    forEachLane(lanes, [&](unsigned lane) {
      if (step.space == Space::Generic) {
        spaces[lane] = spaceOf(addresses[lane]);
        addresses[lane] &= ~kWindowMask;
      }
      pointers[lane] = resolve(lane, bytes, access);
    });
  if (access.isWrite && !access.isAtomic)
    warp.cta.run.progress();
  if (warp.cta.run.launch.countsAccesses)
    count(lanes, bytes);
}

void Places::resolveShared(Lanes lanes, uint32_t bytes, Access access) {
  std::byte *memory = warp.cta.shared.data();
  const uint64_t size = warp.cta.shared.size();
  bool isRight = true;
  forEachLane(lanes, [&](unsigned lane) {
    const uint64_t address = addresses[lane];
    isRight &= address <= size && bytes <= size - address && address % bytes == 0;
    pointers[lane] = memory + address;
  });
  if (!isRight)
    forEachLane(lanes, [&](unsigned lane) { within(lane, memory, size, bytes, access); });
  warp.cta.shadow.access(warp, lanes, addresses, bytes, access);
}

std::byte *Places::resolve(unsigned lane, uint32_t bytes, Access access) {
  Run &run = warp.cta.run;
  switch (spaces[lane]) {
  case Space::Shared: {
    std::byte *at = pointers[lane] =
        within(lane, warp.cta.shared.data(), warp.cta.shared.size(), bytes, access);
    warp.cta.shadow.access(warp, Lanes(1) << lane, addresses, bytes, access);
    return at;
  }
  case Space::Local:
    return within(lane, warp.localMemory(lane), run.kernel.entry->deepestLocalBytes, bytes, access);
  case Space::Const:
    if (access.isWrite)
      throw Fault{warp.describe(lane) + " writes constant memory", 0};
    return within(lane, const_cast<std::byte *>(run.constants.data()), run.constants.size(), bytes,
                  access);
  case Space::Param:
    return within(lane, run.parameters.data(), run.parameters.size(), bytes, access);
  default:
    return global(lane, bytes, access);
  }
}

std::byte *Places::within(unsigned lane, std::byte *memory, uint64_t size, uint32_t bytes,
                          Access access) {
  const uint64_t address = addresses[lane];
  const char *verb = access.isWrite ? " writes " : " reads ";
  if (address > size || bytes > size - address)
    throw Fault{warp.describe(lane) + verb + std::to_string(bytes) + " bytes at byte " +
                    std::to_string(address) + " of " + std::string(nameOf(spaces[lane])) +
                    " memory, which has " + std::to_string(size),
                0};
  if (address % bytes)
    throw Fault{warp.describe(lane) + verb + std::to_string(bytes) + " bytes at byte " +
                    std::to_string(address) + " of " + std::string(nameOf(spaces[lane])) +
                    " memory, expected a multiple of " + std::to_string(bytes),
                0};
  return memory + address;
}

std::byte *Places::global(unsigned lane, uint32_t bytes, Access access) {
  Run &run = warp.cta.run;
  const uint64_t address = addresses[lane];
  Allocation *&last = run.lastAllocation;
  const char *verb = access.isWrite ? " writes " : " reads ";
  if (!last || !last->contains(address, bytes)) {
    last = run.memory.find(address);
    if (!last || !last->contains(address, bytes))
      throw Fault{warp.describe(lane) + verb + std::to_string(bytes) +
                      " bytes of global memory at " + run.memory.describe(address) +
                      "; expected memory that is allocated",
                  0};
  }
  if (address % bytes)
    throw Fault{warp.describe(lane) + verb + std::to_string(bytes) + " bytes of global memory at " +
                    run.memory.describe(address) + ", expected an address that is a multiple of " +
                    std::to_string(bytes),
                0};
  pointers[lane] = reinterpret_cast<std::byte *>(address);
  run.races.access(warp, lane, *last, address, bytes, access);
  return pointers[lane];
}

uint64_t keyOf(const Warp &warp, Space space, uint64_t address) {
  return space == Space::Shared ? kSharedWindow | warp.cta.number << 24 | address : address;
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

void Places::count(Lanes lanes, uint32_t bytes) {
  Lanes shared = 0, global = 0;
  forEachLane(lanes, [&](unsigned lane) {
    if (spaces[lane] == Space::Shared)
      shared |= Lanes(1) << lane;
    if (spaces[lane] == Space::Global)
      global |= Lanes(1) << lane;
  });
  LineCounts &counts = warp.cta.run.counts[step.line];
  uint64_t least = 0;
  if (shared) {
    counts.wavefronts += wavefronts(addresses, shared, bytes, least);
    counts.leastWavefronts += least;
  }
  if (global) {
    counts.sectors += sectors(addresses, global, bytes, least);
    counts.leastSectors += least;
  }
}

uint64_t wavefronts(const uint64_t *addresses, Lanes lanes, uint32_t bytes, uint64_t &least) {
  // 4 bytes a lane are served for 32 lanes together, 8 for 16, 16 for 8.
  const unsigned together = kWarpSize / std::max<uint32_t>(1, bytes / 4);
  uint64_t found = 0;
  least = 0;
  std::array<std::vector<uint64_t>, 32> words;
  for (unsigned begin = 0; begin < kWarpSize; begin += together) {
    for (auto &bank : words)
      bank.clear();
    size_t all = 0;
    for (unsigned lane = begin; lane < begin + together; ++lane)
      if (lanes >> lane & 1)
        for (uint64_t word = addresses[lane] / 4; word <= (addresses[lane] + bytes - 1) / 4;
             ++word) {
          std::vector<uint64_t> &bank = words[word % 32];
          if (std::ranges::find(bank, word) == bank.end()) {
            bank.push_back(word);
            ++all;
          }
        }
    size_t deepest = 0;
    for (const auto &bank : words)
      deepest = std::max(deepest, bank.size());
    found += deepest;
    least += (all + 31) / 32;
  }
  return found;
}

uint64_t sectors(const uint64_t *addresses, Lanes lanes, uint32_t bytes, uint64_t &least) {
  std::vector<uint64_t> touched;
  std::vector<uint64_t> begins;
  forEachLane(lanes, [&](unsigned lane) {
    touched.push_back(addresses[lane] / 32);
    begins.push_back(addresses[lane]);
  });
  auto countUnique = [](std::vector<uint64_t> &values) {
    std::ranges::sort(values);
    return uint64_t(std::unique(values.begin(), values.end()) - values.begin());
  };
  least = (countUnique(begins) * bytes + 31) / 32;
  return countUnique(touched);
}

} // namespace pe::ptx
