//===- Comparisons.cpp - set, setp ----------------------------------------===//

#include "runtime/ptx/Arithmetic.h"
#include "runtime/ptx/HalfFloats.h"

#include <algorithm>

namespace pe::ptx {

namespace {

enum class Relation : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
constexpr std::string_view kRelations[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                           "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
/// Relations of unsigned integers that have two names.
constexpr std::pair<std::string_view, Relation> kUnsignedRelations[] = {
    {"lo", Relation::Lt}, {"ls", Relation::Le}, {"hi", Relation::Gt}, {"hs", Relation::Ge}};

/// Returns whether the relation holds; Eq, Lt, ... are false and Neu, Ltu, ... true for NaN.
template <Relation kRelation, typename T> bool holds(T a, T b) {
  switch (kRelation) {
  case Relation::Eq:
    return a == b;
  case Relation::Ne:
    return a == a && b == b && a != b;
  case Relation::Lt:
    return a < b;
  case Relation::Le:
    return a <= b;
  case Relation::Gt:
    return a > b;
  case Relation::Ge:
    return a >= b;
  case Relation::Equ:
    return !(a < b) && !(a > b);
  case Relation::Neu:
    return !(a == b);
  case Relation::Ltu:
    return !(a >= b);
  case Relation::Leu:
    return !(a > b);
  case Relation::Gtu:
    return !(a <= b);
  case Relation::Geu:
    return !(a < b);
  case Relation::Num:
    return a == a && b == b;
  case Relation::Nan:
    return a != a || b != b;
  }
}

enum Flags : uint16_t { // `c` is the predicate of a combination
  kNoCombination = 0,
  kAnd = 1,
  kOr = 2,
  kXor = 3,
  kCombination = 3, // .and, .or, .xor
  kNegates = 4,     // !c
  kIsSet = 8,
  kPair = 16, // set with a packed result
  kFlushesHalf = 32
};

Lanes combine(Warp &warp, const Step &step, Lanes value) {
  if (!(step.flags & kCombination))
    return value;
  const Lanes other = warp.predicate(step.c) ^ (step.flags & kNegates ? kAllLanes : 0);
  switch (step.flags & kCombination) {
  case kAnd:
    return value & other;
  case kOr:
    return value | other;
  default:
    return value ^ other;
  }
}

/// Writes the results of setp: p and its complement q, both combined with c.
void writePredicates(Warp &warp, const Step &step, Lanes lanes, Lanes value, Lanes second) {
  const Lanes p = combine(warp, step, value), q = combine(warp, step, second);
  if (step.d != kAbsent) {
    Lanes &d = warp.predicate(step.d);
    d = (d & ~lanes) | (p & lanes);
  }
  if (step.d2 != kAbsent) {
    Lanes &d = warp.predicate(step.d2);
    d = (d & ~lanes) | (q & lanes);
  }
}

/// Returns the mask of lanes for which F holds, of all lanes. The bits are collected in elements of
/// the size of T, so that the loop vectorizes.
template <typename T, typename F>
[[gnu::always_inline]] inline Lanes compare(const T *a, const T *b) {
  if constexpr (sizeof(T) > 2) {
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, Lanes>;
    Bits mask = 0;
    for (unsigned i = 0; i < kWarpSize; ++i)
      mask |= Bits(F()(a[i], b[i])) << i;
    return Lanes(mask);
  }
  uint8_t results[kWarpSize];
  for (unsigned i = 0; i < kWarpSize; ++i)
    results[i] = F()(a[i], b[i]);
  Lanes mask = 0;
  for (unsigned i = 0; i < kWarpSize; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, results + i, 8);
    mask |= Lanes(eight * 0x0102040810204080 >> 56) << i;
  }
  return mask;
}

/// Writes the results of set: Step::width bytes per lane, `imm` for true and 0 for false.
void writeValues(Warp &warp, const Step &step, Lanes lanes, Lanes value, Lanes second) {
  const Lanes lower = combine(warp, step, value), upper = combine(warp, step, second);
  forEachLane(lanes, [&](unsigned lane) {
    const uint32_t word = lower >> lane & 1 ? uint32_t(step.imm) : 0;
    const uint32_t upperWord = upper >> lane & 1 ? uint32_t(step.imm) : 0;
    if (step.width == 2)
      warp.lanes<uint16_t>(step.d)[lane] = uint16_t(word);
    else
      warp.lanes<uint32_t>(step.d)[lane] =
          step.flags & kPair ? (word & 0xFFFF) | upperWord << 16 : word;
  });
}

void write(Warp &warp, const Step &step, Lanes lanes, Lanes value, Lanes second) {
  if (step.flags & kIsSet)
    writeValues(warp, step, lanes, value, second);
  else
    writePredicates(warp, step, lanes, value, second);
}

template <Relation kRelation, bool kFlush> struct Compare {
  template <typename T> bool operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, float>)
      return holds<kRelation>(flush<kFlush>(a), flush<kFlush>(b));
    return holds<kRelation>(a, b);
  }
};

template <typename T, typename F> struct Comparison {
  [[gnu::always_inline]] static void run(Warp &warp, const Step &step, Lanes lanes) {
    const Lanes value = compare<T, F>(warp.lanes<T>(step.a), warp.lanes<T>(step.b));
    write(warp, step, lanes, value, ~value);
  }
};

/// f16 and bf16 values, and, if kParts is 2, pairs of them, compared in single precision.
template <typename Format, unsigned kParts, Relation kRelation>
void compareHalves(Warp &warp, const Step &step, Lanes lanes) {
  const uint16_t *a = warp.lanes<uint16_t>(step.a), *b = warp.lanes<uint16_t>(step.b);
  auto widen = [&](uint16_t bits) {
    return Format::widen(step.flags & kFlushesHalf ? flushHalf<Format, true>(bits) : bits);
  };
  Lanes parts[2] = {};
  for (unsigned i = 0; i < kWarpSize; ++i)
    for (unsigned part = 0; part < kParts; ++part)
      parts[part] |=
          Lanes(holds<kRelation>(widen(a[i * kParts + part]), widen(b[i * kParts + part]))) << i;
  write(warp, step, lanes, parts[0], kParts == 2 ? parts[1] : ~parts[0]);
}

//===----------------------------------------------------------------------===//
// Choice of the handler
//===----------------------------------------------------------------------===//

template <typename T, Relation kRelation, bool kFlush = false> Handler comparison() {
  return handlerOf<Comparison<T, Compare<kRelation, kFlush>>>();
}

template <Relation kRelation> Handler floatHandler(Type type, bool flushes) {
  switch (type) {
  case Type::F32:
    return flushes ? comparison<float, kRelation, true>() : comparison<float, kRelation>();
  case Type::F64:
    return comparison<double, kRelation>();
  case Type::F16:
    return compareHalves<Half, 1, kRelation>;
  case Type::BF16:
    return compareHalves<Brain, 1, kRelation>;
  case Type::F16x2:
    return compareHalves<Half, 2, kRelation>;
  case Type::BF16x2:
    return compareHalves<Brain, 2, kRelation>;
  default:
    return nullptr;
  }
}

template <Relation kRelation> Handler integerHandler(Type type) {
  switch (type) {
  case Type::B16:
  case Type::U16:
    return comparison<uint16_t, kRelation>();
  case Type::S16:
    return comparison<int16_t, kRelation>();
  case Type::B32:
  case Type::U32:
    return comparison<uint32_t, kRelation>();
  case Type::S32:
    return comparison<int32_t, kRelation>();
  case Type::B64:
  case Type::U64:
    return comparison<uint64_t, kRelation>();
  case Type::S64:
    return comparison<int64_t, kRelation>();
  default:
    return nullptr;
  }
}

template <Relation kRelation> Handler anyHandler(Type type, bool flushes) {
  if constexpr (kRelation < Relation::Equ)
    if (!isFloat(type))
      return integerHandler<kRelation>(type);
  return isFloat(type) ? floatHandler<kRelation>(type, flushes) : nullptr;
}

template <size_t... kIndices>
Handler handlerFor(Relation relation, Type type, bool flushes, std::index_sequence<kIndices...>) {
  using Choose = Handler (*)(Type, bool);
  constexpr Choose choices[] = {anyHandler<Relation(kIndices)>...};
  return choices[size_t(relation)](type, flushes);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

Relation relationOf(Decoder &decoder, const Statement &statement, Type type) {
  const std::string &name = statement.modifiers.front();
  for (const auto &[each, relation] : kUnsignedRelations)
    if (each == name && type >= Type::U8 && type <= Type::U64)
      return relation;
  const auto *found = std::find(std::begin(kRelations), std::end(kRelations), name);
  if (found == std::end(kRelations))
    decoder.refuse("expected a comparison such as .lt, found '.", name, "'");
  const Relation relation = Relation(found - kRelations);
  if ((isBits(type) && relation > Relation::Ne) || (!isFloat(type) && relation > Relation::Ge))
    decoder.refuse("comparison '.", name, "' of .", nameOf(type));
  return relation;
}

/// Reads .and, .or, .xor and operand `at`, and sets `run` of a step.
void decodeComparison(Decoder &decoder, const Statement &statement, Step &step, Type type) {
  const bool isSet = statement.opcode == "set", flushes = statement.has("ftz");
  decoder.expectModifiers(statement, {statement.modifiers.front(), "and", "or", "xor", "ftz"});
  const unsigned combinations = statement.has("and") + statement.has("or") + statement.has("xor");
  const size_t count = 3 + combinations;
  decoder.expectOperands(statement, count, count);
  const bool canFlush = type == Type::F32 || type == Type::F16 || type == Type::F16x2;
  if (combinations > 1 || (flushes && !canFlush))
    decoder.refuseForm(statement);
  step.a = decoder.source(statement.operands[1], type);
  step.b = decoder.source(statement.operands[2], type);
  if (combinations) {
    bool isNegated = false;
    step.c = decoder.predicate(statement.operands[3], isNegated);
    step.flags = uint16_t((statement.has("and")  ? kAnd
                           : statement.has("or") ? kOr
                                                 : kXor) |
                          (isNegated ? kNegates : 0));
  }
  step.flags = uint16_t(step.flags | (isSet ? kIsSet : 0) | (flushes ? kFlushesHalf : 0));
  const Relation relation = relationOf(decoder, statement, type);
  step.run = handlerFor(relation, type, flushes, std::make_index_sequence<std::size(kRelations)>());
  if (!step.run)
    decoder.refuseForm(statement);
}

void decodeSetPredicate(Decoder &decoder, const Statement &statement, Step &step) {
  decodeComparison(decoder, statement, step, decoder.type(statement));
  const Operand &result = statement.operands[0];
  if (result.kind != Operand::Kind::Ignored)
    step.d = decoder.firstOfPair(result, 0);
  step.d2 = decoder.secondPredicate(result);
}

/// Returns the bits of true for a type of results, or refuses.
uint32_t trueOf(Decoder &decoder, const Statement &statement, Type type) {
  switch (type) {
  case Type::F32:
    return asBits(1.0f);
  case Type::F16:
  case Type::F16x2:
    return Half::kOne;
  case Type::BF16:
  case Type::BF16x2:
    return Brain::kOne;
  case Type::U16:
  case Type::S16:
  case Type::U32:
  case Type::S32:
    return ~uint32_t(0);
  default:
    decoder.refuseForm(statement);
  }
}

void decodeSet(Decoder &decoder, const Statement &statement, Step &step) {
  const std::vector<Type> types = decoder.types(statement);
  if (types.size() != 2)
    decoder.refuseForm(statement);
  decodeComparison(decoder, statement, step, types[1]);
  const bool isPair = types[1] == Type::F16x2 || types[1] == Type::BF16x2;
  const bool isPairResult = types[0] == Type::F16x2 || types[0] == Type::BF16x2;
  step.imm = trueOf(decoder, statement, types[0]);
  step.width = uint8_t(bytesOf(types[0]));
  if (isPairResult ? types[0] != types[1] : isPair && step.width != 4)
    decoder.refuseForm(statement);
  if (isPairResult || isPair)
    step.flags |= kPair;
  step.d = decoder.destination(statement.operands[0], step.width);
}

} // namespace

void addComparisons(Opcodes &opcodes) {
  opcodes["setp"] = decodeSetPredicate;
  opcodes["set"] = decodeSet;
}

} // namespace pe::ptx
