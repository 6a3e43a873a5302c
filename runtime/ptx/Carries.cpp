//===- Carries.cpp - add.cc, addc, sub.cc, subc, mad.cc, madc -------------===//

#include "runtime/ptx/Arithmetic.h"
#include "runtime/ptx/LaneLoops.h"

namespace pe::ptx {

namespace {

enum CarryFlags : uint16_t {
  kReads = 1,  // adds the carry, or subtracts the borrow
  kWrites = 2, // sets it
  kSubtracts = 4
};

/// Returns left + right + carry, or left - right - carry, and sets `carry`.
template <typename T> T sum(T left, T right, bool isDifference, bool &carry) {
  T result;
  bool first, second;
  if (isDifference) {
    first = __builtin_sub_overflow(left, right, &result);
    second = __builtin_sub_overflow(result, T(carry), &result);
  } else {
    first = __builtin_add_overflow(left, right, &result);
    second = __builtin_add_overflow(result, T(carry), &result);
  }
  carry = first || second;
  return result;
}

/// Part of the product that mad adds.
template <typename T> struct LowPart {
  using Type = T;
  static T of(T a, T b) { return a * b; }
};
template <typename T, typename Signed, typename Exact> struct HighPart {
  using Type = T;
  static T of(T a, T b) { return T(Exact(Signed(a)) * Exact(Signed(b)) >> sizeof(T) * 8); }
};
/// add and sub have no product: the left operand is `a`.
template <typename T> struct NoProduct {
  using Type = T;
};

/// The carry of a lane is its bit of Warp::carry.
template <typename Product> void carryHandler(Warp &warp, const Step &step, Lanes lanes) {
  using T = typename Product::Type;
  const T *a = warp.lanes<T>(step.a), *b = warp.lanes<T>(step.b);
  T *d = warp.lanes<T>(step.d);
  Lanes carries = 0;
  forEachLane(lanes, [&](unsigned lane) {
    bool carry = step.flags & kReads && warp.carry >> lane & 1;
    if constexpr (requires { Product::of(a[lane], b[lane]); })
      d[lane] = sum(Product::of(a[lane], b[lane]), warp.lanes<T>(step.c)[lane], false, carry);
    else
      d[lane] = sum(a[lane], b[lane], step.flags & kSubtracts, carry);
    carries |= Lanes(carry) << lane;
  });
  if (step.flags & kWrites)
    warp.carry = (warp.carry & ~lanes) | carries;
}

Handler madHandler(Type type, bool isHigh) {
  switch (type) {
  case Type::U32:
    return isHigh ? carryHandler<HighPart<uint32_t, uint32_t, uint64_t>>
                  : carryHandler<LowPart<uint32_t>>;
  case Type::S32:
    return isHigh ? carryHandler<HighPart<uint32_t, int32_t, int64_t>>
                  : carryHandler<LowPart<uint32_t>>;
  case Type::U64:
    return isHigh ? carryHandler<HighPart<uint64_t, uint64_t, unsigned __int128>>
                  : carryHandler<LowPart<uint64_t>>;
  case Type::S64:
    return isHigh ? carryHandler<HighPart<uint64_t, int64_t, __int128>>
                  : carryHandler<LowPart<uint64_t>>;
  default:
    return nullptr;
  }
}

} // namespace

void decodeCarry(Decoder &decoder, const Statement &statement, Step &step) {
  const Type type = decoder.type(statement);
  const bool isMad = statement.opcode.starts_with("mad");
  step.flags = uint16_t((statement.opcode.ends_with("c") ? kReads : 0) |
                        (statement.has("cc") ? kWrites : 0) |
                        (statement.opcode.starts_with("sub") ? kSubtracts : 0));
  if (isMad) {
    decoder.expectModifiers(statement, {"lo", "hi", "cc"});
    if (statement.has("lo") == statement.has("hi"))
      decoder.refuseForm(statement);
    decodeOperands(decoder, statement, step, type, {type, type, type});
    step.run = madHandler(type, statement.has("hi"));
  } else {
    decoder.expectModifiers(statement, {"cc"});
    decodeOperands(decoder, statement, step, type, {type, type});
    const bool isWord = type == Type::U32 || type == Type::S32 || type == Type::B32;
    const bool isLong = type == Type::U64 || type == Type::S64 || type == Type::B64;
    step.run = isWord   ? carryHandler<NoProduct<uint32_t>>
               : isLong ? carryHandler<NoProduct<uint64_t>>
                        : nullptr;
  }
  if (!step.run)
    decoder.refuseForm(statement);
}

void addCarries(Opcodes &opcodes) {
  opcodes["addc"] = opcodes["subc"] = opcodes["madc"] = decodeCarry;
}

} // namespace pe::ptx
