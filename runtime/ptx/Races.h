//===- Races.h - Order between accesses of memory ---------------*- C++ -*-===//
//
// Detects data races by happens-before, after FastTrack (Flanagan and Freund, PLDI 2009), with a
// warp as the unit: each warp has a clock, which advances when the warp synchronizes, and knows the
// latest clocks of other warps that are ordered before it. Barriers of a CTA exchange knowledge
// between its warps; releases and acquires in the scope of the device do so between CTAs. Two
// accesses of one word, one of them a write, race if neither is ordered before the other, unless
// both are strong (atomic, volatile, relaxed, release or acquire). Lanes of one warp are ordered by
// bar.warp.sync and by barriers. Of a word, the bytes of the last access are kept, and the bytes
// that several lanes have read.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_RACES_H
#define PE_RUNTIME_PTX_RACES_H

#include "runtime/ptx/DeviceMemory.h"
#include "runtime/ptx/Program.h"

#include <array>
#include <string>
#include <unordered_map>

namespace pe::ptx {

class Places;

/// A violation found while a kernel runs. Thrown by handlers; the launch adds the place.
struct Fault {
  std::string message; // "thread 37: read of 4 bytes ..., expected ..."
  int line = 0;        // 0: of the current step
};

/// The clocks of all warps of a launch, by number in the launch; missing ones are 0.
using Knowledge = std::shared_ptr<const std::vector<uint32_t>>;

/// The clock of a warp and what it knows about others.
struct WarpClock {
  uint64_t number = 0; // in the launch
  uint32_t now = 1;    // advances at each synchronization
  /// Clocks of the warps of its CTA, by number in the CTA; of itself, the one before `now`.
  std::array<uint32_t, 32> own{};
  Knowledge others;  // of warps of other CTAs
  Knowledge fenced;  // at the last fence; a later relaxed store publishes it
  Knowledge pending; // read by relaxed loads: known after the next fence
};

/// A warp as the detection of races sees it.
class ClockedWarp {
public:
  explicit ClockedWarp(unsigned number) : number(number) {}
  virtual ~ClockedWarp() = default;
  /// Describes a thread for messages.
  virtual std::string describe(unsigned lane) const = 0;
  /// Returns the warp `number` of its CTA.
  virtual const ClockedWarp &ofCta(unsigned number) const = 0;

  const unsigned number; // in the CTA
  WarpClock clock;
};

/// The kind of an access of memory.
struct Access {
  bool isWrite = false;
  bool isStrong = false;
  bool isAtomic = false; // a write that may leave the value as it is
  const Places *places = nullptr;
  /// Returns true if the lane's write leaves its bytes as they are. Such a write does not race.
  bool (*isSilent)(const Places &places, unsigned lane) = nullptr;

  bool changesNothing(unsigned lane) const { return isSilent && isSilent(*places, lane); }
};

/// The last accesses of each word of shared memory.
class SharedShadow {
public:
  void reset(uint32_t bytes, unsigned warpCount);
  /// Records the accesses of one instruction by `lanes` at addresses[lane], and throws Fault if one
  /// races, or touches bytes to which an asynchronous copy is in flight.
  void access(ClockedWarp &warp, Lanes lanes, const uint64_t *addresses, uint32_t bytes,
              Access kind);
  /// An asynchronous copy by a lane to these bytes has been issued, or has landed.
  void issue(ClockedWarp &warp, unsigned lane, uint32_t address, uint32_t bytes);
  void land(ClockedWarp &warp, unsigned lane, uint32_t address, uint32_t bytes);

private:
  struct Word {
    uint32_t clock = 0; // of the last write; 0: none
    uint8_t warp = 0, lane = 0;
    uint8_t touched : 4 = 0; // bytes, one bit each
    bool isStrong : 1 = false;
    uint8_t pending = 0; // copies in flight
  };
  /// The last read of a word by one warp, except for its clock.
  struct Read {
    uint8_t lane = 0; // kSeveral: several lanes have read all bytes of `touched`
    uint8_t touched : 4 = 0;
    bool isStrong : 1 = false;
  };
  static constexpr uint8_t kSeveral = kWarpSize;
  /// A weak read of a whole word by a lane, or kSeveral. Clocks have 26 bits here: races with such
  /// reads may be missed if the warp synchronizes more often.
  struct WholeRead {
    uint32_t bits = 0; // 0: none
    static WholeRead at(uint32_t clock, uint32_t lane) { return {clock << 6 | lane}; }
    uint32_t clock() const { return bits >> 6; }
    uint8_t lane() const { return bits & 63; }
  };
  void access(ClockedWarp &warp, unsigned lane, uint32_t address, uint32_t bytes, Access kind);
  void readWords(ClockedWarp &warp, Lanes lanes, const uint64_t *addresses, uint32_t count);
  void readWord(ClockedWarp &warp, unsigned lane, uint32_t word, uint8_t touched, Access kind);
  void writeWord(ClockedWarp &warp, unsigned lane, uint32_t word, uint8_t touched, Access kind);
  /// Throws Fault for a race, unless the access changes nothing; then returns false.
  bool checkWrite(ClockedWarp &warp, unsigned lane, uint32_t word, uint8_t touched, Access kind);
  bool checkReads(ClockedWarp &warp, unsigned lane, uint32_t word, uint8_t touched, Access kind);
  void expectLanded(ClockedWarp &warp, unsigned lane, uint32_t word, Access kind) const;
  [[noreturn]] void fail(ClockedWarp &warp, unsigned lane, uint32_t word, const char *verb,
                         unsigned otherWarp, unsigned otherLane) const;
  std::vector<Word> words;
  // By warp and word: a warp reads neighbouring words.
  std::vector<WholeRead> wholeReads;
  std::vector<Read> reads; // all others; their clocks are separate to keep entries small
  std::vector<uint32_t> readClocks;
  unsigned warpCount = 0;
};

/// Sectors of global memory that a CTA has read and may read again although they have changed.
class StaleSectors {
public:
  static constexpr uint64_t kBytes = 32;
  void clear() { sectors.clear(); }
  /// Returns the sector of `address` as first read, at the byte of `address`.
  const std::byte *read(uint64_t address);
  /// Changes the sector if it has been read.
  void write(uint64_t address, const void *from, uint32_t bytes);
  void forget(uint64_t address) { sectors.erase(address / kBytes); }

private:
  std::unordered_map<uint64_t, std::array<std::byte, kBytes>> sectors;
};

/// The values that the latest strong stores replaced. A CTA other than that of the store may read
/// the old one a few times, as if the store took time to arrive.
class StrongValues {
public:
  /// Before a strong store or atomic operation by CTA `cta`.
  void replace(uint64_t cta, uint64_t address, uint32_t bytes);
  /// Returns the old value of `bytes` bytes at `address` if CTA `cta` does not see the store yet,
  /// else null.
  const std::byte *late(uint64_t cta, uint64_t address, uint32_t bytes, unsigned times);

private:
  struct Old {
    std::array<std::byte, 16> value{};
    uint32_t bytes = 0;
    uint64_t cta = 0;
    std::unordered_map<uint64_t, unsigned> seen; // by CTA
  };
  std::unordered_map<uint64_t, Old> replaced;
};

/// Order between the CTAs of a launch.
class GlobalRaces {
public:
  /// Starts a launch of `warps` warps, each ordered after all launches before.
  void start(const Memory &memory, uint64_t warps, unsigned warpsPerCta);
  /// Records an access of global memory, and throws Fault if it races.
  void access(ClockedWarp &warp, unsigned lane, Allocation &allocation, uint64_t address,
              uint32_t bytes, Access kind);

  /// A barrier orders all accesses of these warps before it ahead of those after it.
  void barrier(const std::vector<ClockedWarp *> &arrivals,
               const std::vector<ClockedWarp *> &leaving);
  /// Orders the lanes of a warp.
  static void syncWarp(ClockedWarp &warp) { advance(warp); }

  /// A fence of device scope: a later strong store publishes what precedes the fence, and what
  /// strong loads have read before it is ordered before later accesses.
  void fence(ClockedWarp &warp);
  /// A strong store or atomic operation at `key`: an address, or a shared address made unique.
  void publish(ClockedWarp &warp, uint64_t key, bool isRelease, bool isAtomic);
  /// A strong load or atomic operation at `key`.
  void observe(ClockedWarp &warp, uint64_t key, bool isAcquire);

private:
  struct Mark;
  static void advance(ClockedWarp &warp);
  bool isOrdered(const ClockedWarp &warp, unsigned lane, const Mark &before) const;
  [[noreturn]] void fail(ClockedWarp &warp, unsigned lane, uint64_t address, const char *verb,
                         const Mark &before) const;
  Knowledge all(const ClockedWarp &warp) const;
  void learn(ClockedWarp &warp, const Knowledge &knowledge);
  const Memory *memory = nullptr;
  uint64_t first = 1, count = 0; // numbers of warps of this launch, unique in the process
  unsigned warpsPerCta = 1;
  std::unordered_map<uint64_t, Knowledge> published;
};

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_RACES_H
