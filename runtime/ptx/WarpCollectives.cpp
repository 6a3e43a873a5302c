//===- WarpCollectives.cpp - shfl, vote, match, redux, elect, barriers --------===//
//
// Collectives of lanes are executed once for each set of lanes that name the same members, so that
// a handler gets the participants as its lanes.
//
//===----------------------------------------------------------------------===//

#include "runtime/ptx/StepDecoder.h"
#include "runtime/ptx/Warp.h"

#include <algorithm>

namespace pe::ptx {

namespace {

/// The bits of an operand that name a lane.
constexpr uint32_t kLaneBits = kWarpSize - 1;

void setPredicate(Warp &warp, uint32_t offset, Lanes lanes, Lanes value) {
  if (offset == kAbsent)
    return;
  Lanes &d = warp.predicate(offset);
  d = (d & ~lanes) | (value & lanes);
}

/// Makes a collective of the lanes that the operand `mask` names.
void setMembers(Decoder &decoder, const Operand &mask, Step &step) {
  step.flow = Flow::Collective;
  step.members = decoder.source(mask, Type::B32);
}

/// Returns the one modifier that is not a type and not in `fixed`.
std::string_view modeOf(Decoder &decoder, const Statement &statement,
                        std::initializer_list<std::string_view> fixed) {
  std::string_view mode;
  for (const std::string &word : statement.modifiers) {
    if (typeNamed(word) || std::ranges::find(fixed, word) != fixed.end())
      continue;
    if (!mode.empty())
      decoder.refuseForm(statement);
    mode = word;
  }
  return mode;
}

/// Refuses the forms of old chips, in which lanes that have diverged do not take part.
void expectSync(Decoder &decoder, const Statement &statement) {
  if (!statement.has("sync"))
    decoder.refuse("'", statement.mnemonic(), "' is not supported; expected '", statement.opcode,
                   ".sync' with a member mask");
}

//===----------------------------------------------------------------------===//
// shfl
//===----------------------------------------------------------------------===//

enum class Shuffle : uint16_t { Up, Down, Butterfly, Index };

/// Returns the lane that `lane` reads, and sets `isInside` to false if it is out of the segment, in
/// which case it is the lane itself. As the pseudocode of the PTX ISA.
unsigned shuffleFrom(Shuffle mode, unsigned lane, uint32_t b, uint32_t c, bool &isInside) {
  const int offset = int(b & kLaneBits), clamp = int(c & kLaneBits);
  const int segment = int(c >> 8 & kLaneBits);
  const int own = int(lane);
  const int greatest = (own & segment) | (clamp & ~segment), least = own & segment;
  int from = own;
  switch (mode) {
  case Shuffle::Up:
    from = own - offset;
    break;
  case Shuffle::Down:
    from = own + offset;
    break;
  case Shuffle::Butterfly:
    from = own ^ offset;
    break;
  case Shuffle::Index:
    from = least | (offset & ~segment);
    break;
  }
  isInside = mode == Shuffle::Up ? from >= greatest : from <= greatest;
  return isInside ? unsigned(from) : lane;
}

void shuffle(Warp &warp, const Step &step, Lanes lanes) {
  uint32_t values[kWarpSize];
  std::memcpy(values, warp.lanes<uint32_t>(step.a), sizeof(values));
  uint32_t results[kWarpSize];
  const uint32_t *b = warp.lanes<uint32_t>(step.b), *c = warp.lanes<uint32_t>(step.c);
  Lanes inside = 0;
  forEachLane(lanes, [&](unsigned lane) {
    bool isInside = false;
    const unsigned from = shuffleFrom(Shuffle(step.flags), lane, b[lane], c[lane], isInside);
    if (!(lanes >> from & 1))
      throw Fault{warp.describe(lane) + " reads lane " + std::to_string(from) +
                      ", which does not take part in the shuffle",
                  0};
    inside |= Lanes(isInside) << lane;
    results[lane] = values[from];
  });
  if (step.d != kAbsent)
    forEachLane(lanes, [&](unsigned lane) { warp.lanes<uint32_t>(step.d)[lane] = results[lane]; });
  setPredicate(warp, step.d2, lanes, inside);
}

void decodeShuffle(Decoder &decoder, const Statement &statement, Step &step) {
  expectSync(decoder, statement);
  decoder.expectOperands(statement, 5, 5);
  const std::string_view mode = modeOf(decoder, statement, {"sync"});
  if (decoder.type(statement) != Type::B32)
    decoder.refuseForm(statement);
  if (mode == "up")
    step.flags = uint16_t(Shuffle::Up);
  else if (mode == "down")
    step.flags = uint16_t(Shuffle::Down);
  else if (mode == "bfly")
    step.flags = uint16_t(Shuffle::Butterfly);
  else if (mode == "idx")
    step.flags = uint16_t(Shuffle::Index);
  else
    decoder.refuseForm(statement);
  step.d = decoder.firstOfPair(statement.operands[0], 4);
  step.d2 = decoder.secondPredicate(statement.operands[0]);
  step.a = decoder.source(statement.operands[1], Type::B32);
  step.b = decoder.source(statement.operands[2], Type::B32);
  step.c = decoder.source(statement.operands[3], Type::B32);
  setMembers(decoder, statement.operands[4], step);
  step.run = shuffle;
}

//===----------------------------------------------------------------------===//
// vote, activemask, match, elect
//===----------------------------------------------------------------------===//

enum class Vote : uint8_t { All, Any, Uniform, Ballot };

/// `a`: the predicate, or `e`: a constant in its place; `flags`: 1 if negated; `count`: the Vote.
void vote(Warp &warp, const Step &step, Lanes lanes) {
  const Lanes holds = (warp.predicate(step.a) ^ (step.flags ? kAllLanes : 0)) & lanes;
  bool result = false;
  switch (Vote(step.count)) {
  case Vote::All:
    result = holds == lanes;
    break;
  case Vote::Any:
    result = holds != 0;
    break;
  case Vote::Uniform:
    result = holds == lanes || holds == 0;
    break;
  case Vote::Ballot:
    forEachLane(lanes, [&](unsigned lane) { warp.lanes<uint32_t>(step.d)[lane] = holds; });
    return;
  }
  setPredicate(warp, step.d, lanes, result ? kAllLanes : 0);
}

void decodeVote(Decoder &decoder, const Statement &statement, Step &step) {
  expectSync(decoder, statement);
  decoder.expectOperands(statement, 3, 3);
  const std::string_view mode = modeOf(decoder, statement, {"sync"});
  const bool isBallot = mode == "ballot";
  if (isBallot)
    step.count = uint8_t(Vote::Ballot);
  else if (mode == "all")
    step.count = uint8_t(Vote::All);
  else if (mode == "any")
    step.count = uint8_t(Vote::Any);
  else if (mode == "uni")
    step.count = uint8_t(Vote::Uniform);
  else
    decoder.refuseForm(statement);
  if (decoder.type(statement) != (isBallot ? Type::B32 : Type::Pred))
    decoder.refuseForm(statement);
  step.d = decoder.firstOfPair(statement.operands[0], isBallot ? 4 : 0);
  bool isNegated = false;
  step.a = decoder.predicate(statement.operands[1], isNegated);
  step.flags = isNegated;
  setMembers(decoder, statement.operands[2], step);
  step.run = vote;
}

void activeMask(Warp &warp, const Step &step, Lanes lanes) {
  forEachLane(lanes, [&](unsigned lane) { warp.lanes<uint32_t>(step.d)[lane] = lanes; });
}

void decodeActiveMask(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectOperands(statement, 1, 1);
  decoder.expectModifiers(statement, {});
  if (decoder.type(statement) != Type::B32)
    decoder.refuseForm(statement);
  step.d = decoder.destination(statement.operands[0], 4);
  step.run = activeMask;
}

template <typename T> void matchAny(Warp &warp, const Step &step, Lanes lanes) {
  const T *a = warp.lanes<T>(step.a);
  uint32_t results[kWarpSize];
  forEachLane(lanes, [&](unsigned lane) {
    results[lane] = 0;
    forEachLane(lanes,
                [&](unsigned other) { results[lane] |= uint32_t(a[other] == a[lane]) << other; });
  });
  forEachLane(lanes, [&](unsigned lane) { warp.lanes<uint32_t>(step.d)[lane] = results[lane]; });
}

template <typename T> void matchAll(Warp &warp, const Step &step, Lanes lanes) {
  const T *a = warp.lanes<T>(step.a);
  const T first = a[std::countr_zero(lanes)];
  bool isSame = true;
  forEachLane(lanes, [&](unsigned lane) { isSame &= a[lane] == first; });
  if (step.d != kAbsent)
    forEachLane(lanes,
                [&](unsigned lane) { warp.lanes<uint32_t>(step.d)[lane] = isSame ? lanes : 0; });
  setPredicate(warp, step.d2, lanes, isSame ? kAllLanes : 0);
}

void decodeMatch(Decoder &decoder, const Statement &statement, Step &step) {
  expectSync(decoder, statement);
  decoder.expectOperands(statement, 3, 3);
  const std::string_view mode = modeOf(decoder, statement, {"sync"});
  const Type type = decoder.type(statement);
  if ((type != Type::B32 && type != Type::B64) || (mode != "any" && mode != "all"))
    decoder.refuseForm(statement);
  const bool isAll = mode == "all", isWide = type == Type::B64;
  if (isAll)
    step.run = isWide ? matchAll<uint64_t> : matchAll<uint32_t>;
  else
    step.run = isWide ? matchAny<uint64_t> : matchAny<uint32_t>;
  step.d = decoder.firstOfPair(statement.operands[0], 4);
  step.d2 = decoder.secondPredicate(statement.operands[0]);
  if (step.d2 != kAbsent && !isAll)
    decoder.refuse("expected one result of match.sync.any");
  step.a = decoder.source(statement.operands[1], type);
  setMembers(decoder, statement.operands[2], step);
}

/// Elects the least lane, as the chips do.
void elect(Warp &warp, const Step &step, Lanes lanes) {
  const unsigned leader = unsigned(std::countr_zero(lanes));
  if (step.d != kAbsent)
    forEachLane(lanes, [&](unsigned lane) { warp.lanes<uint32_t>(step.d)[lane] = leader; });
  setPredicate(warp, step.d2, lanes, Lanes(1) << leader);
}

void decodeElect(Decoder &decoder, const Statement &statement, Step &step) {
  expectSync(decoder, statement);
  decoder.expectOperands(statement, 2, 2);
  decoder.expectModifiers(statement, {"sync"});
  const Operand &result = statement.operands[0];
  if (result.kind != Operand::Kind::Ignored)
    step.d = decoder.firstOfPair(result, 4);
  step.d2 = decoder.secondPredicate(result);
  if (step.d2 == kAbsent)
    decoder.refuse("expected a register or '_', and a predicate after '|'");
  setMembers(decoder, statement.operands[1], step);
  step.run = elect;
}

//===----------------------------------------------------------------------===//
// redux
//===----------------------------------------------------------------------===//

template <typename T> struct Add {
  T operator()(T a, T b) const { return T(uint32_t(a) + uint32_t(b)); }
};
template <typename T> struct Min {
  T operator()(T a, T b) const { return std::min(a, b); }
};
template <typename T> struct Max {
  T operator()(T a, T b) const { return std::max(a, b); }
};

template <typename T, typename Combine> void reduce(Warp &warp, const Step &step, Lanes lanes) {
  const T *a = warp.lanes<T>(step.a);
  const unsigned first = unsigned(std::countr_zero(lanes));
  T result = a[first];
  forEachLane(lanes & ~(Lanes(1) << first),
              [&](unsigned lane) { result = Combine()(result, a[lane]); });
  forEachLane(lanes, [&](unsigned lane) { warp.lanes<T>(step.d)[lane] = result; });
}

Handler reductionOf(std::string_view mode, Type type) {
  const bool isSigned = type == Type::S32;
  if (isSigned || type == Type::U32) {
    if (mode == "add")
      return reduce<uint32_t, Add<uint32_t>>;
    if (mode == "min")
      return isSigned ? reduce<int32_t, Min<int32_t>> : reduce<uint32_t, Min<uint32_t>>;
    if (mode == "max")
      return isSigned ? reduce<int32_t, Max<int32_t>> : reduce<uint32_t, Max<uint32_t>>;
  }
  if (type == Type::B32) {
    if (mode == "and")
      return reduce<uint32_t, std::bit_and<uint32_t>>;
    if (mode == "or")
      return reduce<uint32_t, std::bit_or<uint32_t>>;
    if (mode == "xor")
      return reduce<uint32_t, std::bit_xor<uint32_t>>;
  }
  return nullptr;
}

void decodeRedux(Decoder &decoder, const Statement &statement, Step &step) {
  expectSync(decoder, statement);
  decoder.expectOperands(statement, 3, 3);
  step.run = reductionOf(modeOf(decoder, statement, {"sync"}), decoder.type(statement));
  if (!step.run)
    decoder.refuseForm(statement);
  step.d = decoder.destination(statement.operands[0], 4);
  step.a = decoder.source(statement.operands[1], Type::B32);
  setMembers(decoder, statement.operands[2], step);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// The action of a barrier instruction, in Step::width.
enum BarrierFlags : uint8_t { kWaits = 1, kIsNegated = 2 };

/// Returns the value of an operand that all lanes must agree on.
uint32_t uniform(Warp &warp, uint32_t offset, Lanes lanes, const char *what) {
  const uint32_t *values = warp.lanes<uint32_t>(offset);
  const unsigned first = unsigned(std::countr_zero(lanes));
  forEachLane(lanes, [&](unsigned lane) {
    if (values[lane] != values[first])
      throw Fault{std::string("expected one ") + what + " of a barrier in all lanes, found " +
                      std::to_string(values[first]) + " in " + warp.describe(first) + " and " +
                      std::to_string(values[lane]) + " in " + warp.describe(lane),
                  0};
  });
  return values[first];
}

/// `a`: the barrier, `b`: the count or absent, `c`: the predicate or absent, `width`: BarrierFlags,
/// `flags`: the Cta::Reduction.
void arrive(Warp &warp, const Step &step, Lanes lanes) {
  const unsigned id = uniform(warp, step.a, lanes, "number");
  unsigned count = 0;
  if (step.b != kAbsent) {
    count = uniform(warp, step.b, lanes, "count of threads");
    if (count == 0)
      throw Fault{"barrier " + std::to_string(id) + " for 0 threads, expected a multiple of 32", 0};
  }
  Lanes votes = 0;
  if (step.c != kAbsent)
    votes = (warp.predicate(step.c) ^ (step.width & kIsNegated ? kAllLanes : 0)) & lanes;
  warp.cta.arrive(warp, step, id, count, step.width & kWaits, votes);
}

/// bar.red.popc.u32 d, a{, b}, {!}c; bar.red.{and,or}.pred p, a{, b}, {!}c
void decodeBarrierReduction(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectOperands(statement, 3, 4);
  const Type type = decoder.type(statement);
  const bool isCount = statement.has("popc");
  if (isCount ? type != Type::U32
              : type != Type::Pred || statement.has("and") == statement.has("or"))
    decoder.refuseForm(statement);
  step.flags = isCount ? Cta::kCount : statement.has("and") ? Cta::kAll : Cta::kAny;
  const std::vector<Operand> &operands = statement.operands;
  step.d = decoder.firstOfPair(operands[0], isCount ? 4 : 0);
  step.a = decoder.source(operands[1], Type::U32);
  if (operands.size() == 4)
    step.b = decoder.source(operands[2], Type::U32);
  bool isNegated = false;
  step.c = decoder.predicate(operands.back(), isNegated);
  step.width = uint8_t(kWaits | (isNegated ? kIsNegated : 0));
}

/// bar.warp.sync orders the accesses of the whole warp, even if the mask has only some lanes.
void syncWarp(Warp &warp, const Step &, Lanes) { warp.cta.run.races.syncWarp(warp); }

/// bar and barrier. A barrier without .aligned may be executed by lanes at different times, but
/// here, too, all lanes of a warp meet at one instruction.
void decodeBarrier(Decoder &decoder, const Statement &statement, Step &step) {
  if (statement.has("cluster"))
    decoder.refuse("'", statement.mnemonic(),
                   "' is not supported: clusters of CTAs are not executed yet");
  if (statement.has("warp")) {
    decoder.expectModifiers(statement, {"warp", "sync"});
    decoder.expectOperands(statement, 1, 1);
    setMembers(decoder, statement.operands[0], step);
    step.run = syncWarp;
    return;
  }
  decoder.expectModifiers(statement,
                          {"cta", "sync", "arrive", "red", "aligned", "popc", "and", "or"});
  const bool isArrive = statement.has("arrive"), isReduction = statement.has("red");
  if (int(isArrive) + isReduction + statement.has("sync") != 1)
    decoder.refuseForm(statement);
  step.flow = Flow::Barrier;
  step.run = arrive;
  if (isReduction)
    return decodeBarrierReduction(decoder, statement, step);
  decoder.expectModifiers(statement, {"cta", "sync", "arrive", "aligned"});
  decoder.expectOperands(statement, isArrive ? 2 : 1, 2);
  step.a = decoder.source(statement.operands[0], Type::U32);
  if (statement.operands.size() == 2)
    step.b = decoder.source(statement.operands[1], Type::U32);
  step.width = isArrive ? 0 : kWaits;
}

} // namespace

void addCollectives(Opcodes &opcodes) {
  opcodes["shfl"] = decodeShuffle;
  opcodes["vote"] = decodeVote;
  opcodes["activemask"] = decodeActiveMask;
  opcodes["match"] = decodeMatch;
  opcodes["elect"] = decodeElect;
  opcodes["redux"] = decodeRedux;
  opcodes["bar"] = opcodes["barrier"] = decodeBarrier;
}

} // namespace pe::ptx
