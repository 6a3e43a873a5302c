//===- AsyncCopies.cpp - cp.async -----------------------------------------===//

#include "runtime/ptx/Access.h"
#include "runtime/ptx/Copies.h"

namespace pe::ptx {

static void deliver(Warp &warp, const Copies::Copy &copy) {
  std::byte *to = warp.cta.shared.data() + copy.to;
  if (copy.given)
    std::memcpy(to, reinterpret_cast<const void *>(copy.from), copy.given);
  std::memset(to + copy.given, 0, copy.bytes - copy.given);
}

void Copies::issue(Warp &warp, unsigned lane, const Copy &copy) {
  if (warp.cta.run.launch.schedule.copiesLandAtOnce) {
    warp.cta.shadow.issue(warp, lane, copy.to, copy.bytes);
    deliver(warp, copy);
    pending[lane].push_back(copy);
    return;
  }
  warp.cta.shadow.issue(warp, lane, copy.to, copy.bytes);
  std::memset(warp.cta.shared.data() + copy.to, 0xFF, copy.bytes);
  pending[lane].push_back(copy);
}

void Copies::land(Warp &warp, unsigned lane, uint64_t groups) {
  std::deque<Copy> &copies = pending[lane];
  for (; !copies.empty() && copies.front().group < groups; copies.pop_front()) {
    const Copy &copy = copies.front();
    if (!warp.cta.run.launch.schedule.copiesLandAtOnce)
      deliver(warp, copy);
    warp.cta.shadow.land(warp, lane, copy.to, copy.bytes);
    warp.cta.run.progress();
  }
}

void Copies::wait(Warp &warp, unsigned lane, uint64_t kept) {
  land(warp, lane, committed[lane] > kept ? committed[lane] - kept : 0);
}

void Copies::waitAll(Warp &warp, unsigned lane) { land(warp, lane, ~uint64_t(0)); }

void Copies::checkAllLanded(Warp &warp) const {
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    if (!pending[lane].empty())
      throw Fault{warp.describe(lane) + " ends while an asynchronous copy is in flight; expected " +
                      "cp.async.wait_group or cp.async.wait_all before the end",
                  pending[lane].front().line};
}

namespace {

Copies &copiesOf(Warp &warp) {
  if (!warp.copies)
    warp.copies = std::make_unique<Copies>();
  return *warp.copies;
}

/// Returns the bytes that a lane reads; the rest of the copy is zeros.
uint32_t bytesToRead(Warp &warp, const Step &step, unsigned lane) {
  const uint32_t bytes = step.c == kAbsent ? step.count : warp.lanes<uint32_t>(step.c)[lane];
  if (bytes > step.count)
    throw Fault{warp.describe(lane) + " copies " + std::to_string(bytes) +
                    " bytes, expected at most " + std::to_string(step.count),
                0};
  return bytes;
}

/// Checks and records a read of global memory.
void readSource(Warp &warp, const Step &step, unsigned lane, uint64_t address, uint32_t bytes) {
  Run &run = warp.cta.run;
  if (address % step.count)
    throw Fault{warp.describe(lane) + " copies from " + run.memory.describe(address) +
                    ", expected an address that is a multiple of " + std::to_string(step.count),
                0};
  Allocation *memory = run.memory.find(address);
  if (!memory || !memory->contains(address, bytes))
    throw Fault{warp.describe(lane) + " copies " + std::to_string(bytes) + " bytes from " +
                    run.memory.describe(address) + "; expected memory that is allocated",
                0};
  run.races.access(warp, lane, *memory, address, bytes, {});
}

/// Returns the checked place in shared memory.
uint32_t targetOf(Warp &warp, const Step &step, unsigned lane) {
  uint64_t to = step.width == 4 ? uint32_t(warp.lanes<uint32_t>(step.a)[lane] + uint32_t(step.imm))
                                : warp.lanes<uint64_t>(step.a)[lane] + uint64_t(step.imm);
  if ((to & kWindowMask) == kSharedWindow)
    to &= ~kWindowMask;
  const uint64_t size = warp.cta.shared.size();
  if (to > size || step.count > size - to || to % step.count)
    throw Fault{warp.describe(lane) + " copies " + std::to_string(step.count) + " bytes to byte " +
                    std::to_string(to) + " of shared memory, which has " + std::to_string(size) +
                    "; expected a multiple of " + std::to_string(step.count) + " inside",
                0};
  return uint32_t(to);
}

/// `a`, `imm`, `width`: the place in shared memory; `b`, `list`: the address in global memory and
/// its offset; `count`: bytes; `c`: the bytes to read.
void copy(Warp &warp, const Step &step, Lanes lanes) {
  const uint32_t bytes = step.count;
  Run &run = warp.cta.run;
  const uint64_t offset = uint64_t(warp.list(step)[0]) | uint64_t(warp.list(step)[1]) << 32;
  uint64_t from[kWarpSize], to[kWarpSize];
  Lanes reading = 0;
  forEachLane(lanes, [&](unsigned lane) {
    from[lane] = warp.lanes<uint64_t>(step.b)[lane] + offset;
    const uint32_t given = bytesToRead(warp, step, lane);
    if (given) {
      reading |= Lanes(1) << lane;
      readSource(warp, step, lane, from[lane], given);
    }
    to[lane] = targetOf(warp, step, lane);
    Copies &copies = copiesOf(warp);
    copies.issue(warp, lane,
                 {uint32_t(to[lane]), from[lane], bytes, given, copies.openGroup(lane), step.line});
  });
  run.progress();
  if (run.launch.countsAccesses) {
    LineCounts &counts = run.counts[step.line];
    uint64_t least = 0;
    counts.sectors += sectors(from, reading, bytes, least);
    counts.leastSectors += least;
    counts.wavefronts += wavefronts(to, lanes, bytes, least);
    counts.leastWavefronts += least;
  }
}

void commit(Warp &warp, const Step &, Lanes lanes) {
  forEachLane(lanes, [&](unsigned lane) { copiesOf(warp).commit(lane); });
}

void waitGroup(Warp &warp, const Step &step, Lanes lanes) {
  forEachLane(lanes, [&](unsigned lane) { copiesOf(warp).wait(warp, lane, uint64_t(step.imm)); });
}

void waitAll(Warp &warp, const Step &, Lanes lanes) {
  forEachLane(lanes, [&](unsigned lane) { copiesOf(warp).waitAll(warp, lane); });
}

void decodeCopy(Decoder &decoder, const Statement &statement, Step &step) {
  if (statement.has("bulk") || statement.has("mbarrier") || statement.has("reduce"))
    refuseAsynchronous(decoder, statement, step);
  if (statement.has("commit_group")) {
    decoder.expectOperands(statement, 0, 0);
    step.run = commit;
    return;
  }
  if (statement.has("wait_group")) {
    decoder.expectOperands(statement, 1, 1);
    step.imm = decoder.immediate(statement.operands[0]);
    step.run = waitGroup;
    return;
  }
  if (statement.has("wait_all")) {
    decoder.expectOperands(statement, 0, 0);
    step.run = waitAll;
    return;
  }
  // cp.async.ca.shared.global [to], [from], bytes{, given}
  for (const std::string &word : statement.modifiers)
    if (word != "async" && word != "ca" && word != "cg" && word != "shared" &&
        word != "shared::cta" && word != "global" && !word.starts_with("L2::"))
      decoder.refuseForm(statement);
  if (!statement.has("async"))
    decoder.refuseForm(statement);
  decoder.expectOperands(statement, 3, 5);
  Step from;
  decoder.address(statement.operands[1], from);
  if (from.width != 8)
    decoder.refuse("expected a 64-bit global address");
  decoder.address(statement.operands[0], step);
  step.b = from.a;
  step.list = decoder.append({uint32_t(from.imm), uint32_t(uint64_t(from.imm) >> 32)});
  const int64_t bytes = decoder.immediate(statement.operands[2]);
  const bool isGrouped = statement.has("cg");
  if (isGrouped ? bytes != 16 : bytes != 4 && bytes != 8 && bytes != 16)
    decoder.refuse("cp.async of ", bytes, " bytes, expected ", isGrouped ? "16" : "4, 8 or 16");
  step.count = uint8_t(bytes);
  const bool hasPolicy = statement.has("L2::cache_hint");
  if (statement.operands.size() > 3 + size_t(hasPolicy))
    step.c = decoder.source(statement.operands[3], Type::U32);
  step.run = copy;
}

} // namespace

void refuseAsynchronous(Decoder &decoder, const Statement &statement, Step &) {
  decoder.refuse("'", statement.mnemonic(),
                 "' is not supported: the asynchronous instructions of Hopper and later chips are "
                 "not executed yet");
}

void addCopies(Opcodes &opcodes) { opcodes["cp"] = decodeCopy; }

} // namespace pe::ptx
