//===- DeviceMemory.cpp - Memory of the machine ---------------------------------===//

#include "runtime/ptx/DeviceMemory.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace pe::ptx {

namespace {

constexpr uint64_t kAlignment = 256;

uint64_t shadowBytes(uint64_t bytes) { return (bytes / 4 + 2) * sizeof(GlobalWord); }

} // namespace

Memory::~Memory() {
  while (!allocations.empty())
    release(allocations.begin()->first);
}

uint64_t Memory::allocate(uint64_t bytes) {
  const uint64_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (whole < bytes)
    return 0;
  void *memory = std::aligned_alloc(kAlignment, whole ? whole : kAlignment);
  if (!memory)
    return 0;
  std::memset(memory, 0xFF, whole);
  const uint64_t address = reinterpret_cast<uint64_t>(memory);
  adopt(address, bytes);
  allocations.find(address)->second.isOwned = true;
  return address;
}

void Memory::adopt(uint64_t address, uint64_t bytes) {
  Allocation allocation;
  allocation.begin = address;
  allocation.bytes = bytes;
  allocations.insert_or_assign(address, std::move(allocation));
}

bool Memory::release(uint64_t address) {
  auto it = allocations.find(address);
  if (it == allocations.end())
    return false;
  if (it->second.isOwned)
    std::free(reinterpret_cast<void *>(address));
  allocations.erase(it);
  return true;
}

Allocation *Memory::find(uint64_t address) {
  auto it = allocations.upper_bound(address);
  if (it == allocations.begin())
    return nullptr;
  --it;
  return address - it->first < it->second.bytes ? &it->second : nullptr;
}

std::string Memory::describe(uint64_t address) const {
  auto it = allocations.upper_bound(address);
  if (it == allocations.begin())
    return "address " + std::to_string(address) + ", before all allocations";
  --it;
  const uint64_t offset = address - it->first;
  const std::string of = "an allocation of " + std::to_string(it->second.bytes) + " bytes";
  if (offset < it->second.bytes)
    return "byte " + std::to_string(offset) + " of " + of;
  return std::to_string(offset - it->second.bytes) + " bytes after the end of " + of;
}

void Allocation::makeShadow() {
  // Zero pages are provided when they are touched.
  shadowSize = shadowBytes(bytes);
  void *pages = mmap(nullptr, shadowSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED)
    throw std::bad_alloc();
  shadow = static_cast<GlobalWord *>(pages);
}

Allocation::~Allocation() {
  if (shadow)
    munmap(shadow, shadowSize);
}

} // namespace pe::ptx
