//===- Moves.cpp - mov, cvta, isspacep ------------------------------------===//

#include "runtime/ptx/StepDecoder.h"
#include "runtime/ptx/Warp.h"

#include <chrono>

namespace pe::ptx {

namespace {

template <typename T> void move(Warp &warp, const Step &step, Lanes lanes) {
  T *d = warp.lanes<T>(step.d);
  const T *a = warp.lanes<T>(step.a);
  if (lanes == kAllLanes)
    std::memcpy(d, a, sizeof(T) * kWarpSize);
  else
    forEachLane(lanes, [&](unsigned lane) { d[lane] = a[lane]; });
}

void movePredicate(Warp &warp, const Step &step, Lanes lanes) {
  Lanes &d = warp.predicate(step.d);
  const Lanes a = step.a == kAbsent ? (step.imm ? kAllLanes : 0)
                                    : warp.predicate(step.a) ^ (step.flags ? kAllLanes : 0);
  d = (d & ~lanes) | (a & lanes);
}

/// d = {list}: the first element is the least significant.
template <typename Whole, typename Part> void pack(Warp &warp, const Step &step, Lanes lanes) {
  Whole *d = warp.lanes<Whole>(step.d);
  const uint32_t *list = warp.list(step);
  forEachLane(lanes, [&](unsigned lane) {
    Whole whole = 0;
    for (unsigned i = 0; i < step.count; ++i)
      whole |= Whole(warp.lanes<Part>(list[i])[lane]) << (i * sizeof(Part) * 8);
    d[lane] = whole;
  });
}

/// {list} = a.
template <typename Whole, typename Part> void unpack(Warp &warp, const Step &step, Lanes lanes) {
  const uint32_t *list = warp.list(step);
  forEachLane(lanes, [&](unsigned lane) {
    const Whole whole = warp.lanes<Whole>(step.a)[lane];
    for (unsigned i = 0; i < step.count; ++i)
      if (list[i] != kAbsent)
        warp.lanes<Part>(list[i])[lane] = Part(whole >> (i * sizeof(Part) * 8));
  });
}

/// A register that has a new value at each read. The clock counts instructions of the launch.
void readClock(Warp &warp, const Step &step, Lanes lanes) {
  const uint64_t clock = warp.cta.run.executed;
  const uint64_t time = std::chrono::steady_clock::now().time_since_epoch().count();
  uint64_t value = 0;
  switch (Special(step.imm)) {
  case Special::Clock:
  case Special::Clock64:
    value = clock;
    break;
  case Special::ClockHigh:
    value = clock >> 32;
    break;
  case Special::GlobalTimerHigh:
    value = time >> 32;
    break;
  default:
    value = time;
    break;
  }
  forEachLane(lanes, [&](unsigned lane) {
    if (step.width == 8)
      warp.lanes<uint64_t>(step.d)[lane] = value;
    else
      warp.lanes<uint32_t>(step.d)[lane] = uint32_t(value);
  });
}

void decodePredicateMove(Decoder &decoder, const Statement &statement, Step &step) {
  step.d = decoder.firstOfPair(statement.operands[0], 0);
  const Operand &from = statement.operands[1];
  bool isNegated = false;
  if (from.kind == Operand::Kind::Integer)
    step.imm = from.bits != 0;
  else
    step.a = decoder.predicate(from, isNegated);
  step.flags = isNegated;
  step.run = movePredicate;
}

Handler packOf(Decoder &decoder, unsigned bytes, unsigned count, bool isPack) {
  if (bytes == 4 && count == 2)
    return isPack ? pack<uint32_t, uint16_t> : unpack<uint32_t, uint16_t>;
  if (bytes == 4 && count == 4)
    return isPack ? pack<uint32_t, uint8_t> : unpack<uint32_t, uint8_t>;
  if (bytes == 8 && count == 2)
    return isPack ? pack<uint64_t, uint32_t> : unpack<uint64_t, uint32_t>;
  if (bytes == 8 && count == 4)
    return isPack ? pack<uint64_t, uint16_t> : unpack<uint64_t, uint16_t>;
  if (bytes == 2 && count == 2)
    return isPack ? pack<uint16_t, uint8_t> : unpack<uint16_t, uint8_t>;
  decoder.refuse("expected 2 or 4 parts in braces, found ", count);
}

Type partOf(unsigned bytes) { return bytes == 1 ? Type::B8 : bytes == 2 ? Type::B16 : Type::B32; }

void decodeMove(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {});
  decoder.expectOperands(statement, 2, 2);
  const Type type = decoder.type(statement);
  if (type == Type::Pred)
    return decodePredicateMove(decoder, statement, step);
  const unsigned bytes = bytesOf(type);
  const Operand &to = statement.operands[0], &from = statement.operands[1];
  if (from.kind == Operand::Kind::Vector) {
    const unsigned count = unsigned(from.elements.size());
    step.run = packOf(decoder, bytes, count, true);
    step.list = decoder.sources(from, partOf(bytes / count), step.count);
    step.d = decoder.destination(to, bytes);
    return;
  }
  if (to.kind == Operand::Kind::Vector) {
    const unsigned count = unsigned(to.elements.size());
    step.run = packOf(decoder, bytes, count, false);
    step.list = decoder.destinations(to, bytes / count, step.count);
    step.a = decoder.source(from, bytes);
    return;
  }
  step.d = decoder.destination(to, bytes);
  if (from.kind == Operand::Kind::Special)
    if (auto special = specialNamed(from.name); special && special->first >= Special::Clock) {
      if (special->second != bytes)
        decoder.refuse("expected a register of ", special->second * 8, " bits for '", from.name,
                       "'");
      step.imm = int64_t(special->first);
      step.width = uint8_t(bytes);
      step.run = readClock;
      return;
    }
  step.a = decoder.source(from, type);
  switch (bytes) {
  case 1:
    step.run = move<uint8_t>;
    break;
  case 2:
    step.run = move<uint16_t>;
    break;
  case 4:
    step.run = move<uint32_t>;
    break;
  case 8:
    step.run = move<uint64_t>;
    break;
  default:
    decoder.refuseForm(statement);
  }
}

//===----------------------------------------------------------------------===//
// Generic addresses
//===----------------------------------------------------------------------===//

uint64_t windowOf(Space space) {
  switch (space) {
  case Space::Shared:
    return kSharedWindow;
  case Space::Local:
    return kLocalWindow;
  case Space::Const:
    return kConstWindow;
  case Space::Param:
    return kParamWindow;
  default:
    return 0;
  }
}

Space spaceNamed(Decoder &decoder, const Statement &statement) {
  for (Space space : {Space::Shared, Space::Local, Space::Const, Space::Param, Space::Global})
    if (statement.has(nameOf(space)))
      return space;
  if (statement.has("shared::cta"))
    return Space::Shared;
  if (statement.has("param::entry"))
    return Space::Param;
  decoder.refuseForm(statement);
}

/// `imm`: the window; `flags`: 1 for cvta.to, which removes it.
template <typename T> void convertAddress(Warp &warp, const Step &step, Lanes lanes) {
  const T *a = warp.lanes<T>(step.a);
  uint64_t *d = warp.lanes<uint64_t>(step.d);
  forEachLane(lanes, [&](unsigned lane) {
    d[lane] = step.flags ? uint64_t(a[lane]) & ~uint64_t(step.imm)
                         : uint64_t(a[lane]) | uint64_t(step.imm);
  });
}

void decodeCvta(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectOperands(statement, 2, 2);
  const Space space = spaceNamed(decoder, statement);
  const bool isTo = statement.has("to");
  if (decoder.type(statement) != Type::U64)
    decoder.refuse("expected .u64");
  step.imm = int64_t(windowOf(space));
  step.flags = isTo;
  step.d = decoder.destination(statement.operands[0], 8);
  step.a = decoder.source(statement.operands[1], 8);
  step.run = convertAddress<uint64_t>;
}

void isSpace(Warp &warp, const Step &step, Lanes lanes) {
  const uint64_t *a = warp.lanes<uint64_t>(step.a);
  Lanes result = 0;
  forEachLane(lanes, [&](unsigned lane) {
    if ((a[lane] & kWindowMask) == uint64_t(step.imm))
      result |= Lanes(1) << lane;
  });
  Lanes &d = warp.predicate(step.d);
  d = (d & ~lanes) | result;
}

void decodeIsSpace(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectOperands(statement, 2, 2);
  step.imm = int64_t(windowOf(spaceNamed(decoder, statement)));
  step.d = decoder.firstOfPair(statement.operands[0], 0);
  step.a = decoder.source(statement.operands[1], 8);
  step.run = isSpace;
}

/// The policy is opaque and unused.
void decodePolicy(Decoder &decoder, const Statement &statement, Step &step) {
  step.d = decoder.destination(statement.operands[0], 8);
  step.a = decoder.constant(0, 8);
  step.run = move<uint64_t>;
}

} // namespace

void addMoves(Opcodes &opcodes) {
  opcodes["mov"] = decodeMove;
  opcodes["cvta"] = decodeCvta;
  opcodes["isspacep"] = decodeIsSpace;
  opcodes["createpolicy"] = decodePolicy;
}

} // namespace pe::ptx
