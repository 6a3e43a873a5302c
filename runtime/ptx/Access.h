//===- Access.h - Addresses of the lanes of an instruction ------*- C++ -*-===//

#ifndef PE_RUNTIME_PTX_ACCESS_H
#define PE_RUNTIME_PTX_ACCESS_H

#include "runtime/ptx/StepDecoder.h"
#include "runtime/ptx/Warp.h"

namespace pe::ptx {

/// The semantics and scope of ld, st, atom, red and fence, in Step::flags.
enum AccessFlags : uint16_t {
  kStrong = 1, // volatile, relaxed, acquire, release, mmio, atomic
  kAcquire = 2,
  kRelease = 4,
  kSignedLoad = 8, // sign-extend to the register
  kReadOnly = 16,  // ld.global.nc
  kCtaScope = 32,  // .cta: not between CTAs
  kUncached = 64   // .cg, .cv, ...: not in the cache of the CTA
};

/// The places that the lanes of one instruction access, after checks of bounds, alignment and
/// races.
class Places {
public:
  /// Resolves `bytes` bytes per lane at the address of `step`. Throws Fault.
  Places(Warp &warp, const Step &step, Lanes lanes, uint32_t bytes, Access access);

  std::byte *operator[](unsigned lane) const { return pointers[lane]; }
  uint64_t address(unsigned lane) const { return addresses[lane]; }
  const Warp &ofWarp() const { return warp; }
  const Step &ofStep() const { return step; }
  const Lanes lanes;
  /// The space of a lane's address, which is never Generic.
  Space space(unsigned lane) const { return spaces[lane]; }

private:
  void resolveShared(Lanes lanes, uint32_t bytes, Access access);
  std::byte *resolve(unsigned lane, uint32_t bytes, Access access);
  std::byte *within(unsigned lane, std::byte *memory, uint64_t size, uint32_t bytes, Access access);
  std::byte *global(unsigned lane, uint32_t bytes, Access access);
  void count(Lanes lanes, uint32_t bytes);
  Warp &warp;
  const Step &step;
  uint64_t addresses[kWarpSize];
  Space spaces[kWarpSize];
  std::byte *pointers[kWarpSize];
};

/// Returns the key of an address for releases and acquires: shared addresses are those of a CTA.
uint64_t keyOf(const Warp &warp, Space space, uint64_t address);

/// Sets the flags of an access and its space from the modifiers of ld, st, atom or red, and returns
/// the modifiers left, types included.
std::vector<std::string> readQualifiers(Decoder &decoder, const Statement &statement, Step &step);

/// Counts wavefronts of shared memory: the greatest number of different words in one bank, for each
/// part of the warp that is served together. `least` is the number without conflicts.
uint64_t wavefronts(const uint64_t *addresses, Lanes lanes, uint32_t bytes, uint64_t &least);
/// Counts 32-byte sectors of global memory. `least` is the number if they were dense.
uint64_t sectors(const uint64_t *addresses, Lanes lanes, uint32_t bytes, uint64_t &least);

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_ACCESS_H
