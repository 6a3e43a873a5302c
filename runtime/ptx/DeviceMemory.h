//===- DeviceMemory.h - Memory of the machine -------------------------*- C++ -*-===//
//
// Global memory is host memory, so an address of the device is a pointer of the host. Each
// allocation has a shadow, made when a launch first touches it, that records who accessed each word
// last (Races.h).
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_DEVICEMEMORY_H
#define PE_RUNTIME_PTX_DEVICEMEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace pe::ptx {

/// Windows of generic addresses. Addresses of the host are below all of them.
inline constexpr uint64_t kSharedWindow = uint64_t(1) << 56;
inline constexpr uint64_t kLocalWindow = uint64_t(2) << 56;
inline constexpr uint64_t kConstWindow = uint64_t(3) << 56;
inline constexpr uint64_t kParamWindow = uint64_t(4) << 56;
inline constexpr uint64_t kWindowMask = ~((uint64_t(1) << 56) - 1);

/// The last write and the last read of a word of global memory, as Races.cpp encodes them; 0: none.
struct GlobalWord {
  uint64_t writer = 0, reader = 0;
};

/// A range of global memory and its shadow.
struct Allocation {
  uint64_t begin = 0, bytes = 0;
  bool isOwned = false; // released by Memory

  Allocation() = default;
  Allocation(Allocation &&other) noexcept { *this = std::move(other); }
  Allocation &operator=(Allocation &&other) noexcept {
    std::swap(begin, other.begin);
    std::swap(bytes, other.bytes);
    std::swap(isOwned, other.isOwned);
    std::swap(shadow, other.shadow);
    std::swap(shadowSize, other.shadowSize);
    return *this;
  }
  ~Allocation();

  bool contains(uint64_t address, uint64_t count) const {
    return address - begin <= bytes && count <= bytes - (address - begin);
  }
  /// Returns the shadow of the word at `address`.
  GlobalWord &word(uint64_t address) {
    if (!shadow)
      makeShadow();
    return shadow[(address - (begin & ~uint64_t(3))) / 4];
  }

private:
  void makeShadow();
  GlobalWord *shadow = nullptr;
  uint64_t shadowSize = 0;
};

/// Allocations of a device. Not synchronized.
class Memory {
public:
  Memory() = default;
  Memory(const Memory &) = delete;
  ~Memory();

  /// Returns the address of new memory, aligned to 256 bytes and filled with 0xFF; 0 if there is
  /// none.
  uint64_t allocate(uint64_t bytes);
  /// Registers memory of the caller.
  void adopt(uint64_t address, uint64_t bytes);
  /// Releases or forgets the allocation at `address`. Returns false if there is none.
  bool release(uint64_t address);
  /// Returns the allocation that contains `address`, or null. Valid until the next change.
  Allocation *find(uint64_t address);
  /// Describes `address` for messages: "12 bytes after the end of the allocation of 4096 bytes".
  std::string describe(uint64_t address) const;

private:
  std::map<uint64_t, Allocation> allocations; // by begin
};

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_DEVICEMEMORY_H
