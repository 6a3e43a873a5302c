//===- Atomics.cpp - atom, red --------------------------------------------===//

#include "runtime/ptx/Access.h"
#include "runtime/ptx/HalfFloats.h"

#include <algorithm>

namespace pe::ptx {

namespace {

enum class Operation : uint8_t {
  Add,
  Min,
  Max,
  And,
  Or,
  Xor,
  Exchange,
  Compare,
  Increment,
  Decrement
};

template <typename T> T combine(Operation operation, T old, T b, T c) {
  switch (operation) {
  case Operation::Add:
    if constexpr (std::is_integral_v<T>) // wraps
      return T(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(b));
    else
      return old + b;
  case Operation::Min:
    return b < old ? b : old;
  case Operation::Max:
    return old < b ? b : old;
  case Operation::Exchange:
    return b;
  case Operation::Compare:
    return old == b ? c : old;
  default:
    break;
  }
  if constexpr (std::is_integral_v<T>)
    switch (operation) {
    case Operation::And:
      return old & b;
    case Operation::Or:
      return old | b;
    case Operation::Xor:
      return old ^ b;
    case Operation::Increment:
      return old >= b ? T(0) : T(old + 1);
    case Operation::Decrement:
      return old == 0 || old > b ? b : T(old - 1);
    default:
      break;
    }
  return old;
}

/// Two values of a 16-bit format in 32 bits, of which each is added.
template <typename Format> struct Pair {
  uint32_t bits;
};
template <typename Format>
Pair<Format> combine(Operation, Pair<Format> old, Pair<Format> b, Pair<Format>) {
  Pair<Format> result{0};
  for (unsigned shift : {0u, 16u}) {
    const float sum =
        Format::widen(uint16_t(old.bits >> shift)) + Format::widen(uint16_t(b.bits >> shift));
    result.bits |= uint32_t(Format::narrow(sum)) << shift;
  }
  return result;
}

/// `d`: the old value (absent for red), `b`, `c`: operands, `e`: the operation.
template <typename T> void atomic(Warp &warp, const Step &step, Lanes lanes) {
  Run &run = warp.cta.run;
  const Places places(warp, step, lanes, sizeof(T),
                      {.isWrite = true, .isStrong = true, .isAtomic = true});
  forEachLane(lanes, [&](unsigned lane) {
    const Space space = places.space(lane);
    const uint64_t key = keyOf(warp, space, places.address(lane));
    run.races.observe(warp, key, step.flags & kAcquire);
    warp.lastPoll = run.executed;
    if (space == Space::Global) {
      run.strong.replace(warp.cta.number, places.address(lane), sizeof(T));
      warp.cta.stale.forget(places.address(lane));
    }
    if (step.flags & kAcquire)
      warp.cta.stale.clear();
    T old, b, c{};
    std::memcpy(&old, places[lane], sizeof(T));
    b = warp.lanes<T>(step.b)[lane];
    if (step.c != kAbsent)
      c = warp.lanes<T>(step.c)[lane];
    const T result = combine(Operation(step.e), old, b, c);
    if (std::memcmp(&result, &old, sizeof(T)) != 0)
      run.progress(); // polling by atomic operations makes no progress
    std::memcpy(places[lane], &result, sizeof(T));
    if (step.d != kAbsent)
      warp.lanes<T>(step.d)[lane] = old;
    run.races.publish(warp, key, step.flags & kRelease, /*isAtomic=*/true);
  });
}

Handler handlerOf(Type type) {
  switch (type) {
  case Type::S32:
    return atomic<int32_t>;
  case Type::U32:
  case Type::B32:
    return atomic<uint32_t>;
  case Type::S64:
    return atomic<int64_t>;
  case Type::U64:
  case Type::B64:
    return atomic<uint64_t>;
  case Type::F32:
    return atomic<float>;
  case Type::F64:
    return atomic<double>;
  case Type::B16:
    return atomic<uint16_t>;
  case Type::F16x2:
    return atomic<Pair<Half>>;
  case Type::BF16x2:
    return atomic<Pair<Brain>>;
  default:
    return nullptr;
  }
}

struct OperationName {
  std::string_view name;
  Operation operation;
};
constexpr OperationName kOperations[] = {
    {"add", Operation::Add},       {"min", Operation::Min},     {"max", Operation::Max},
    {"and", Operation::And},       {"or", Operation::Or},       {"xor", Operation::Xor},
    {"exch", Operation::Exchange}, {"cas", Operation::Compare}, {"inc", Operation::Increment},
    {"dec", Operation::Decrement}};

void decodeAtomic(Decoder &decoder, const Statement &statement, Step &step) {
  const bool hasResult = statement.opcode == "atom";
  step.flags = kStrong;
  Type type = Type::None;
  bool hasOperation = false;
  for (const std::string &word : readQualifiers(decoder, statement, step)) {
    const auto *named = std::ranges::find(kOperations, word, &OperationName::name);
    if (named != std::end(kOperations) && !hasOperation) {
      step.e = uint32_t(named->operation);
      hasOperation = true;
    } else if (std::optional<Type> found = typeNamed(word); found && type == Type::None) {
      type = *found;
    } else if (word != "noftz") {
      decoder.refuseForm(statement);
    }
  }
  const bool isFloat =
      type == Type::F32 || type == Type::F64 || type == Type::F16x2 || type == Type::BF16x2;
  step.run = handlerOf(type);
  if (!hasOperation || !step.run || (isFloat && Operation(step.e) != Operation::Add))
    decoder.refuseForm(statement);
  const bool isCompare = Operation(step.e) == Operation::Compare;
  const size_t count = 2 + hasResult + isCompare;
  decoder.expectOperands(statement, count, count + statement.has("L2::cache_hint"));
  size_t at = 0;
  if (hasResult) {
    const Operand &result = statement.operands[at++];
    if (result.kind != Operand::Kind::Ignored)
      step.d = decoder.destination(result, bytesOf(type));
  }
  decoder.address(statement.operands[at++], step);
  step.b = decoder.source(statement.operands[at++], type);
  if (isCompare)
    step.c = decoder.source(statement.operands[at], type);
}

} // namespace

void addAtomics(Opcodes &opcodes) { opcodes["atom"] = opcodes["red"] = decodeAtomic; }

} // namespace pe::ptx
