//===- Races.cpp - Order between accesses of memory -----------------------===//

#include "runtime/ptx/Races.h"

#include <algorithm>
#include <atomic>

namespace pe::ptx {

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

void SharedShadow::reset(uint32_t bytes, unsigned warps) {
  warpCount = warps;
  words.assign((bytes + 3) / 4, Word());
  reads.assign(words.size() * warps, Read());
  readClocks.assign(words.size() * warps, 0);
  wholeReads.assign(words.size() * warps, WholeRead());
}

void SharedShadow::fail(ClockedWarp &warp, unsigned lane, uint32_t word, const char *verb,
                        unsigned otherWarp, unsigned otherLane) const {
  const ClockedWarp &other = warp.ofCta(otherWarp);
  throw Fault{"race in shared memory at byte " + std::to_string(word * 4) + ": " +
                  warp.describe(lane) + " " + verb + " " +
                  (otherLane == kSeveral ? "several threads of warp " + std::to_string(otherWarp)
                                         : other.describe(otherLane)) +
                  "; expected a barrier between them",
              0};
}

/// Returns the bytes of `word` that an access touches, one bit each.
static uint8_t touchedBytes(uint64_t word, uint64_t address, uint32_t bytes) {
  const uint64_t begin = std::max(address, word * 4), end = std::min(address + bytes, word * 4 + 4);
  return uint8_t(((1u << (end - begin)) - 1) << (begin - word * 4));
}

bool SharedShadow::checkWrite(ClockedWarp &warp, unsigned lane, uint32_t word, uint8_t touched,
                              Access kind) {
  const Word &last = words[word];
  if (!(last.touched & touched) || (last.isStrong && kind.isStrong))
    return true;
  const bool isOrdered =
      (last.warp == warp.number && last.lane == lane) || last.clock <= warp.clock.own[last.warp];
  if (isOrdered || kind.changesNothing(lane))
    return isOrdered;
  fail(warp, lane, word,
       kind.isWrite ? "overwrites what was written by" : "reads what was written by", last.warp,
       last.lane);
}

bool SharedShadow::checkReads(ClockedWarp &warp, unsigned lane, uint32_t word, uint8_t touched,
                              Access kind) {
  for (unsigned other = 0; other < warpCount; ++other) {
    const size_t at = other * words.size() + word;
    // Returns true if a read of the other warp is not ordered before.
    auto races = [&](uint32_t clock, uint8_t reader) {
      return clock > warp.clock.own[other] && !(other == warp.number && reader == lane);
    };
    const WholeRead whole = wholeReads[at];
    const Read &read = reads[at];
    const bool isConcern = (read.touched & touched) && !(read.isStrong && kind.isStrong);
    const bool racesWhole = races(whole.clock(), whole.lane());
    if (!racesWhole && !(isConcern && races(readClocks[at], read.lane)))
      continue;
    if (kind.changesNothing(lane))
      return false;
    fail(warp, lane, word, "overwrites what is read by", other,
         racesWhole ? whole.lane() : read.lane);
  }
  return true;
}

void SharedShadow::readWord(ClockedWarp &warp, unsigned lane, uint32_t word, uint8_t touched,
                            Access kind) {
  checkWrite(warp, lane, word, touched, kind);
  const size_t at = warp.number * words.size() + word;
  const Read &mine = reads[at];
  Read now = {uint8_t(lane), touched, kind.isStrong};
  if (std::exchange(readClocks[at], warp.clock.now) == warp.clock.now) {
    if (mine.lane == lane) {
      now.touched |= mine.touched;
    } else if (mine.touched & touched) {
      now.touched &= mine.touched;
      now.lane = kSeveral;
    }
  }
  reads[at] = now;
}

void SharedShadow::writeWord(ClockedWarp &warp, unsigned lane, uint32_t word, uint8_t touched,
                             Access kind) {
  if (!checkWrite(warp, lane, word, touched, kind) || !checkReads(warp, lane, word, touched, kind))
    return;
  Word &last = words[word];
  const bool isSame = last.clock == warp.clock.now && last.warp == warp.number &&
                      last.lane == lane && last.isStrong == kind.isStrong;
  last.clock = warp.clock.now, last.warp = uint8_t(warp.number), last.lane = uint8_t(lane);
  last.touched = isSame ? last.touched | touched : touched;
  last.isStrong = kind.isStrong;
}

void SharedShadow::expectLanded(ClockedWarp &warp, unsigned lane, uint32_t word,
                                Access kind) const {
  if (words[word].pending)
    throw Fault{warp.describe(lane) + (kind.isWrite ? " writes" : " reads") +
                    " shared memory at byte " + std::to_string(word * 4) +
                    ", to which an asynchronous copy is in flight; expected cp.async.wait_group, "
                    "and a barrier, before",
                0};
}

[[gnu::always_inline]] inline void SharedShadow::access(ClockedWarp &warp, unsigned lane,
                                                        uint32_t address, uint32_t bytes,
                                                        Access kind) {
  const uint32_t first = address / 4, end = (address + bytes + 3) / 4;
  for (uint32_t word = first; word < end; ++word) {
    expectLanded(warp, lane, word, kind);
    // Accesses of 4 bytes and more are aligned.
    const uint8_t touched = bytes >= 4 ? 15 : touchedBytes(word, address, bytes);
    if (kind.isWrite)
      writeWord(warp, lane, word, touched, kind);
    else
      readWord(warp, lane, word, touched, kind);
  }
}

/// Records weak reads of whole words.
void SharedShadow::readWords(ClockedWarp &warp, Lanes lanes, const uint64_t *addresses,
                             uint32_t count) {
  const Word *const written = words.data();
  WholeRead *const read = wholeReads.data() + warp.number * words.size();
  const uint32_t *const own = warp.clock.own.data();
  const uint32_t now = warp.clock.now, several = WholeRead::at(now, kSeveral).bits;
  uint32_t isUnordered = 0; // a write or a copy in flight
  forEachLane(lanes, [&](unsigned lane) {
    const uint32_t mine = WholeRead::at(now, lane).bits;
    const auto first = uint32_t(addresses[lane] / 4);
    for (uint32_t word = first; word < first + count; ++word) {
      const Word last = written[word];
      isUnordered |= uint32_t(last.clock > own[last.warp]) | last.pending;
      const uint32_t others = (read[word].bits ^ mine) - 1; // < 63: by others, in this clock
      read[word].bits = others < 63 ? several : mine;
    }
  });
  if (!isUnordered)
    return;
  forEachLane(lanes, [&](unsigned lane) {
    const auto first = uint32_t(addresses[lane] / 4);
    for (uint32_t word = first; word < first + count; ++word) {
      expectLanded(warp, lane, word, Access());
      checkWrite(warp, lane, word, 15, Access());
    }
  });
}

void SharedShadow::access(ClockedWarp &warp, Lanes lanes, const uint64_t *addresses, uint32_t bytes,
                          Access kind) {
  if (!kind.isWrite && !kind.isStrong && bytes % 4 == 0)
    return readWords(warp, lanes, addresses, bytes / 4);
  forEachLane(lanes,
              [&](unsigned lane) { access(warp, lane, uint32_t(addresses[lane]), bytes, kind); });
}

void SharedShadow::issue(ClockedWarp &warp, unsigned lane, uint32_t address, uint32_t bytes) {
  access(warp, lane, address, bytes, {.isWrite = true});
  for (uint32_t word = address / 4; word <= (address + bytes - 1) / 4; ++word)
    ++words[word].pending;
}

void SharedShadow::land(ClockedWarp &warp, unsigned lane, uint32_t address, uint32_t bytes) {
  for (uint32_t word = address / 4; word <= (address + bytes - 1) / 4; ++word)
    --words[word].pending;
  access(warp, lane, address, bytes, {.isWrite = true});
}

//===----------------------------------------------------------------------===//
// Sectors that may be stale
//===----------------------------------------------------------------------===//

const std::byte *StaleSectors::read(uint64_t address) {
  auto [it, isNew] = sectors.try_emplace(address / kBytes);
  if (isNew) // The sector lies within one allocation, because allocations are multiples of it.
    std::memcpy(it->second.data(), reinterpret_cast<const void *>(address / kBytes * kBytes),
                kBytes);
  return it->second.data() + address % kBytes;
}

void StaleSectors::write(uint64_t address, const void *from, uint32_t bytes) {
  if (auto it = sectors.find(address / kBytes); it != sectors.end())
    std::memcpy(it->second.data() + address % kBytes, from, bytes);
}

void StrongValues::replace(uint64_t cta, uint64_t address, uint32_t bytes) {
  Old &old = replaced[address];
  bytes = std::min<uint32_t>(bytes, sizeof(old.value));
  std::memcpy(old.value.data(), reinterpret_cast<const void *>(address), bytes);
  old.bytes = bytes;
  old.cta = cta;
  old.seen.clear();
}

const std::byte *StrongValues::late(uint64_t cta, uint64_t address, uint32_t bytes,
                                    unsigned times) {
  auto it = replaced.find(address);
  if (it == replaced.end() || it->second.cta == cta || it->second.bytes != bytes)
    return nullptr;
  return it->second.seen[cta]++ < times ? it->second.value.data() : nullptr;
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

namespace {

/// Numbers of warps are unique in the process, so that shadows need no reset between launches.
std::atomic<uint64_t> nextWarp = 1;
constexpr uint64_t kMostWarps = uint64_t(1) << 30;

} // namespace

void GlobalRaces::start(const Memory &ofLaunch, uint64_t warps, unsigned perCta) {
  memory = &ofLaunch;
  // A mark has 30 bits for the number of a warp.
  if (warps >= kMostWarps - nextWarp)
    throw Fault{"the launch has " + std::to_string(warps) + " warps, expected at most " +
                    std::to_string(kMostWarps - nextWarp) + " in the rest of this process",
                0};
  first = nextWarp.fetch_add(warps);
  count = warps;
  warpsPerCta = perCta;
  published.clear();
}

/// The last access of a word by a lane, as GlobalWord stores it.
struct GlobalRaces::Mark {
  static constexpr uint8_t kSeveralLanes = 32;
  static constexpr uint32_t kClockMask = 0x7FFFFF;
  uint64_t warp;
  uint32_t clock;
  uint8_t lane;
  uint8_t touched;
  bool isStrong;

  static Mark from(uint64_t bits) {
    return {bits >> 34, uint32_t(bits >> 11 & kClockMask), uint8_t(bits >> 5 & 63),
            uint8_t(bits >> 1 & 15), bool(bits & 1)};
  }
  uint64_t bits() const {
    return warp << 34 | uint64_t(clock & kClockMask) << 11 | uint64_t(lane) << 5 |
           uint64_t(touched) << 1 | isStrong;
  }
};

bool GlobalRaces::isOrdered(const ClockedWarp &warp, unsigned lane, const Mark &before) const {
  const WarpClock &clock = warp.clock;
  const uint64_t other = before.warp - first, ctaFirst = clock.number - warp.number;
  if (other == clock.number)
    return before.lane == lane || before.clock != (clock.now & Mark::kClockMask);
  if (other >= ctaFirst && other < ctaFirst + warpsPerCta)
    return before.clock <= clock.own[other - ctaFirst];
  return clock.others && other < clock.others->size() && before.clock <= (*clock.others)[other];
}

void GlobalRaces::fail(ClockedWarp &warp, unsigned lane, uint64_t address, const char *verb,
                       const Mark &before) const {
  const uint64_t other = before.warp - first;
  std::string who = "warp " + std::to_string(other % warpsPerCta) + " of CTA " +
                    std::to_string(other / warpsPerCta);
  if (other == warp.clock.number)
    who = before.lane == Mark::kSeveralLanes ? "several threads of its warp"
                                             : warp.describe(before.lane);
  throw Fault{"race in global memory at " + memory->describe(address) + ": " + warp.describe(lane) +
                  " " + verb + " " + who +
                  "; expected a barrier, or a release and an acquire, between them",
              0};
}

void GlobalRaces::access(ClockedWarp &warp, unsigned lane, Allocation &allocation, uint64_t address,
                         uint32_t bytes, Access kind) {
  Mark now{first + warp.clock.number, warp.clock.now & Mark::kClockMask, uint8_t(lane), 0,
           kind.isStrong};
  // Returns false if the access is not ordered but changes nothing.
  auto check = [&](uint64_t bits, const char *verb) {
    const Mark before = Mark::from(bits);
    const bool isConcern = before.warp >= first && (before.touched & now.touched) &&
                           !(kind.isStrong && before.isStrong);
    if (!isConcern || isOrdered(warp, lane, before))
      return true;
    if (!kind.changesNothing(lane))
      fail(warp, lane, address, verb, before);
    return false;
  };
  for (uint64_t at = address & ~uint64_t(3); at < address + bytes; at += 4) {
    GlobalWord &word = allocation.word(at);
    const uint8_t touched = touchedBytes(at / 4, address, bytes);
    now.touched = touched, now.lane = uint8_t(lane);
    if (!check(word.writer,
               kind.isWrite ? "overwrites what was written by" : "reads what was written by"))
      continue;
    // A converged warp has completed its loads when it stores.
    const bool isOfWarp = Mark::from(word.reader).warp == now.warp;
    if (kind.isWrite && !isOfWarp && !check(word.reader, "overwrites what is read by"))
      continue;
    uint64_t &last = kind.isWrite ? word.writer : word.reader;
    const Mark before = Mark::from(last);
    if (before.warp == now.warp && before.clock == now.clock && before.isStrong == now.isStrong) {
      if (before.lane == lane) {
        now.touched |= before.touched;
      } else if (!kind.isWrite && (before.touched & touched)) {
        now.touched &= before.touched;
        now.lane = Mark::kSeveralLanes;
      }
    }
    last = now.bits();
  }
}

void GlobalRaces::advance(ClockedWarp &warp) { warp.clock.own[warp.number] = warp.clock.now++; }

namespace {

/// Returns the greater clock of each warp.
Knowledge join(const Knowledge &a, const Knowledge &b) {
  if (!a || a == b)
    return b;
  if (!b)
    return a;
  auto result = std::make_shared<std::vector<uint32_t>>(*a);
  result->resize(std::max(a->size(), b->size()));
  for (size_t i = 0; i < b->size(); ++i)
    (*result)[i] = std::max((*result)[i], (*b)[i]);
  return result;
}

} // namespace

void GlobalRaces::barrier(const std::vector<ClockedWarp *> &arrivals,
                          const std::vector<ClockedWarp *> &leaving) {
  std::array<uint32_t, 32> own{};
  Knowledge others, pending;
  for (const ClockedWarp *warp : arrivals) {
    for (size_t i = 0; i < own.size(); ++i)
      own[i] = std::max(own[i], warp->clock.own[i]);
    own[warp->number] = std::max(own[warp->number], warp->clock.now);
    others = join(others, warp->clock.others);
  }
  for (ClockedWarp *warp : leaving) {
    for (size_t i = 0; i < own.size(); ++i)
      warp->clock.own[i] = std::max(warp->clock.own[i], own[i]);
    warp->clock.others = join(warp->clock.others, others);
  }
  for (ClockedWarp *warp : arrivals)
    advance(*warp);
}

Knowledge GlobalRaces::all(const ClockedWarp &warp) const {
  const WarpClock &clock = warp.clock;
  auto result = clock.others ? std::make_shared<std::vector<uint32_t>>(*clock.others)
                             : std::make_shared<std::vector<uint32_t>>();
  const uint64_t ctaFirst = clock.number - warp.number;
  result->resize(std::max<size_t>(result->size(), ctaFirst + warpsPerCta));
  for (unsigned i = 0; i < warpsPerCta; ++i)
    (*result)[ctaFirst + i] = std::max((*result)[ctaFirst + i], clock.own[i]);
  (*result)[clock.number] = clock.now;
  return result;
}

void GlobalRaces::learn(ClockedWarp &warp, const Knowledge &knowledge) {
  if (!knowledge)
    return;
  warp.clock.others = join(warp.clock.others, knowledge);
  const uint64_t ctaFirst = warp.clock.number - warp.number;
  for (unsigned i = 0; i < warpsPerCta && ctaFirst + i < knowledge->size(); ++i)
    if (i != warp.number)
      warp.clock.own[i] = std::max(warp.clock.own[i], (*knowledge)[ctaFirst + i]);
}

void GlobalRaces::fence(ClockedWarp &warp) {
  learn(warp, std::exchange(warp.clock.pending, nullptr));
  warp.clock.fenced = all(warp);
  advance(warp);
}

void GlobalRaces::publish(ClockedWarp &warp, uint64_t key, bool isRelease, bool isAtomic) {
  Knowledge news = warp.clock.fenced;
  if (isRelease) {
    news = all(warp);
    advance(warp);
  }
  // An atomic operation continues the release sequence of the value that it replaces.
  Knowledge &at = published[key];
  at = isAtomic ? join(at, news) : news;
}

void GlobalRaces::observe(ClockedWarp &warp, uint64_t key, bool isAcquire) {
  auto it = published.find(key);
  if (it == published.end() || !it->second)
    return;
  if (isAcquire)
    learn(warp, it->second);
  else
    warp.clock.pending = join(warp.clock.pending, it->second);
}

} // namespace pe::ptx
