//===- Logic.cpp - and, or, shl, shf, lop3, prmt, selp, slct --------------===//

#include "runtime/ptx/Arithmetic.h"
#include "runtime/ptx/HalfFloats.h"

namespace pe::ptx {

namespace {

struct And {
  template <typename T> T operator()(T a, T b) const { return a & b; }
};
struct Or {
  template <typename T> T operator()(T a, T b) const { return a | b; }
};
struct Xor {
  template <typename T> T operator()(T a, T b) const { return a ^ b; }
};
struct Not {
  template <typename T> T operator()(T a) const { return T(~a); }
};
struct IsZero { // cnot
  template <typename T> T operator()(T a) const { return a == 0; }
};
struct ShiftLeft {
  template <typename T> T operator()(T a, uint32_t b) const {
    return b >= sizeof(T) * 8 ? T(0) : T(a << (b & (sizeof(T) * 8 - 1)));
  }
};
struct ShiftRight {
  template <typename T> T operator()(T a, uint32_t b) const {
    constexpr uint32_t size = sizeof(T) * 8;
    if (std::is_signed_v<T>)
      return T(a >> (b < size ? b : size - 1));
    return b >= size ? T(0) : T(a >> (b & (size - 1)));
  }
};

template <typename F> Handler binaryHandler(unsigned bytes) {
  switch (bytes) {
  case 2:
    return handlerOf<Binary<uint16_t, uint16_t, uint16_t, F>>();
  case 4:
    return handlerOf<Binary<uint32_t, uint32_t, uint32_t, F>>();
  case 8:
    return handlerOf<Binary<uint64_t, uint64_t, uint64_t, F>>();
  default:
    return nullptr;
  }
}
template <typename F> Handler unaryHandler(unsigned bytes) {
  switch (bytes) {
  case 2:
    return handlerOf<Unary<uint16_t, uint16_t, F>>();
  case 4:
    return handlerOf<Unary<uint32_t, uint32_t, F>>();
  case 8:
    return handlerOf<Unary<uint64_t, uint64_t, F>>();
  default:
    return nullptr;
  }
}

//===----------------------------------------------------------------------===//
// Predicates
//===----------------------------------------------------------------------===//

enum Negations : uint16_t { kNegatesA = 1, kNegatesB = 2 };

template <typename F> void predicateHandler(Warp &warp, const Step &step, Lanes lanes) {
  const Lanes a = warp.predicate(step.a) ^ (step.flags & kNegatesA ? kAllLanes : 0);
  const Lanes b = warp.predicate(step.b) ^ (step.flags & kNegatesB ? kAllLanes : 0);
  Lanes &d = warp.predicate(step.d);
  d = (d & ~lanes) | (F()(a, b) & lanes);
}

/// Returns the offset of a predicate or of an immediate mask.
uint32_t predicateSource(Decoder &decoder, const Operand &operand, Step &step, uint16_t flag) {
  if (operand.kind == Operand::Kind::Integer)
    return decoder.constant(operand.bits ? kAllLanes : 0, sizeof(Lanes));
  bool isNegated = false;
  const uint32_t offset = decoder.predicate(operand, isNegated);
  step.flags = uint16_t(step.flags | (isNegated ? flag : 0));
  return offset;
}

void decodePredicates(Decoder &decoder, const Statement &statement, Step &step) {
  const bool isNot = statement.opcode == "not";
  decoder.expectOperands(statement, isNot ? 2 : 3, isNot ? 2 : 3);
  step.d = decoder.firstOfPair(statement.operands[0], 0);
  step.a = predicateSource(decoder, statement.operands[1], step, kNegatesA);
  step.b = isNot ? decoder.constant(kAllLanes, sizeof(Lanes))
                 : predicateSource(decoder, statement.operands[2], step, kNegatesB);
  step.run = statement.opcode == "and"  ? predicateHandler<And>
             : statement.opcode == "or" ? predicateHandler<Or>
                                        : predicateHandler<Xor>;
}

void decodeBitwise(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {});
  const Type type = decoder.type(statement);
  const std::string &opcode = statement.opcode;
  if (type == Type::Pred && opcode != "cnot")
    return decodePredicates(decoder, statement, step);
  if (!isBits(type) || type == Type::B8)
    decoder.refuseForm(statement);
  const unsigned bytes = bytesOf(type);
  if (opcode == "not" || opcode == "cnot") {
    decodeOperands(decoder, statement, step, type, {type});
    step.run = opcode == "not" ? unaryHandler<Not>(bytes) : unaryHandler<IsZero>(bytes);
    return;
  }
  decodeOperands(decoder, statement, step, type, {type, type});
  step.run = opcode == "and"  ? binaryHandler<And>(bytes)
             : opcode == "or" ? binaryHandler<Or>(bytes)
                              : binaryHandler<Xor>(bytes);
}

//===----------------------------------------------------------------------===//
// Shifts
//===----------------------------------------------------------------------===//

template <typename T, typename F> Handler shiftHandler() {
  return handlerOf<Binary<T, T, uint32_t, F>>();
}

void decodeShift(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {});
  const Type type = decoder.type(statement);
  const bool isLeft = statement.opcode == "shl";
  if (isLeft ? !isBits(type) : !isBits(type) && !isInteger(type))
    decoder.refuseForm(statement);
  decodeOperands(decoder, statement, step, type, {type, Type::U32});
  switch (type) {
  case Type::B16:
  case Type::U16:
    step.run = isLeft ? shiftHandler<uint16_t, ShiftLeft>() : shiftHandler<uint16_t, ShiftRight>();
    break;
  case Type::B32:
  case Type::U32:
    step.run = isLeft ? shiftHandler<uint32_t, ShiftLeft>() : shiftHandler<uint32_t, ShiftRight>();
    break;
  case Type::B64:
  case Type::U64:
    step.run = isLeft ? shiftHandler<uint64_t, ShiftLeft>() : shiftHandler<uint64_t, ShiftRight>();
    break;
  case Type::S16:
    step.run = shiftHandler<int16_t, ShiftRight>();
    break;
  case Type::S32:
    step.run = shiftHandler<int32_t, ShiftRight>();
    break;
  case Type::S64:
    step.run = shiftHandler<int64_t, ShiftRight>();
    break;
  default:
    decoder.refuseForm(statement);
  }
}

/// A shift of the 64 bits b:a, of which the upper (left shift) or lower half is the result.
template <bool kIsLeft, bool kClamps> struct Funnel {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    const uint32_t count = kClamps ? (c < 32 ? c : 32) : c & 31;
    const uint64_t both = uint64_t(b) << 32 | a;
    return kIsLeft ? uint32_t(both << count >> 32) : uint32_t(both >> count);
  }
};

template <typename F> Handler wordHandler() {
  return handlerOf<Ternary<uint32_t, uint32_t, uint32_t, uint32_t, F>>();
}

void decodeFunnel(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"l", "r", "clamp", "wrap"});
  const bool isLeft = statement.has("l"), clamps = statement.has("clamp");
  if (decoder.type(statement) != Type::B32 || isLeft == statement.has("r") ||
      clamps == statement.has("wrap"))
    decoder.refuseForm(statement);
  decodeOperands(decoder, statement, step, Type::B32, {Type::B32, Type::B32, Type::B32});
  if (isLeft)
    step.run = clamps ? wordHandler<Funnel<true, true>>() : wordHandler<Funnel<true, false>>();
  else
    step.run = clamps ? wordHandler<Funnel<false, true>>() : wordHandler<Funnel<false, false>>();
}

//===----------------------------------------------------------------------===//
// lop3 and prmt
//===----------------------------------------------------------------------===//

/// `imm`: the value of the function for each combination of bits of a, b and c.
struct Lop3 {
  [[gnu::always_inline]] static void run(Warp &warp, const Step &step, Lanes lanes) {
    const uint32_t *a = warp.lanes<uint32_t>(step.a), *b = warp.lanes<uint32_t>(step.b);
    const uint32_t *c = warp.lanes<uint32_t>(step.c);
    uint32_t *d = warp.lanes<uint32_t>(step.d);
    uint32_t terms[8];
    for (unsigned i = 0; i < 8; ++i)
      terms[i] = step.imm >> i & 1 ? ~uint32_t(0) : 0;
    forLanes<1>(lanes, [=](unsigned i) __attribute__((always_inline)) {
      const uint32_t x = a[i], y = b[i], z = c[i];
      const uint32_t low =
          (~y & ((~z & terms[0]) | (z & terms[1]))) | (y & ((~z & terms[2]) | (z & terms[3])));
      const uint32_t high =
          (~y & ((~z & terms[4]) | (z & terms[5]))) | (y & ((~z & terms[6]) | (z & terms[7])));
      d[i] = (~x & low) | (x & high);
    });
  }
};

void decodeLop3(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {});
  decoder.expectOperands(statement, 5, 5);
  if (decoder.type(statement) != Type::B32)
    decoder.refuseForm(statement);
  step.d = decoder.destination(statement.operands[0], 4);
  step.a = decoder.source(statement.operands[1], 4);
  step.b = decoder.source(statement.operands[2], 4);
  step.c = decoder.source(statement.operands[3], 4);
  step.imm = decoder.immediate(statement.operands[4]);
  if (step.imm < 0 || step.imm > 255)
    decoder.refuse("expected a table of 8 bits, found ", step.imm);
  step.run = handlerOf<Lop3>();
}

struct Permute {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    const uint64_t bytes = uint64_t(b) << 32 | a;
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const uint32_t selector = c >> (4 * i);
      const uint32_t byte = uint32_t(bytes >> (8 * (selector & 7))) & 0xFF;
      const uint32_t sign = byte & 0x80 ? 0xFF : 0;
      result |= (selector & 8 ? sign : byte) << (8 * i);
    }
    return result;
  }
};

constexpr std::string_view kPermutations[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
/// Selectors of the modes, by the two low bits of c.
constexpr uint32_t kSelectors[][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
    {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
    {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};

/// `imm`: the index in kPermutations.
void permuteByMode(Warp &warp, const Step &step, Lanes lanes) {
  const uint32_t *a = warp.lanes<uint32_t>(step.a), *b = warp.lanes<uint32_t>(step.b);
  const uint32_t *c = warp.lanes<uint32_t>(step.c);
  uint32_t *d = warp.lanes<uint32_t>(step.d);
  forEachLane(lanes, [&](unsigned lane) {
    d[lane] = Permute()(a[lane], b[lane], kSelectors[step.imm][c[lane] & 3]);
  });
}

void decodePermute(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  if (decoder.type(statement) != Type::B32 || statement.modifiers.size() > 2)
    decoder.refuseForm(statement);
  decodeOperands(decoder, statement, step, Type::B32, {Type::B32, Type::B32, Type::B32});
  step.run = wordHandler<Permute>();
  for (size_t i = 0; i < std::size(kPermutations); ++i)
    if (statement.has(kPermutations[i])) {
      step.imm = int64_t(i);
      step.run = permuteByMode;
    }
}

//===----------------------------------------------------------------------===//
// selp and slct
//===----------------------------------------------------------------------===//

template <typename T> struct SelectByPredicate {
  [[gnu::always_inline]] static void run(Warp &warp, const Step &step, Lanes lanes) {
    const T *a = warp.lanes<T>(step.a), *b = warp.lanes<T>(step.b);
    T *d = warp.lanes<T>(step.d);
    const Lanes c = warp.predicate(step.c) ^ (step.flags ? kAllLanes : 0);
    forLanes<1>(lanes, [=](unsigned i) __attribute__((always_inline)) {
      const T isChosen = T(-(T(c >> i) & 1));
      d[i] = T((a[i] & isChosen) | (b[i] & ~isChosen));
    });
  }
};

/// Types that selp and slct copy: all but 8-bit and packed ones.
bool isSelectable(Type type) {
  const unsigned bytes = bytesOf(type);
  return bytes == 2 || bytes == 4 || bytes == 8;
}

void decodeSelect(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {});
  decoder.expectOperands(statement, 4, 4);
  const Type type = decoder.type(statement);
  if (!isSelectable(type))
    decoder.refuseForm(statement);
  step.d = decoder.destination(statement.operands[0], bytesOf(type));
  step.a = decoder.source(statement.operands[1], type);
  step.b = decoder.source(statement.operands[2], type);
  bool isNegated = false;
  step.c = decoder.predicate(statement.operands[3], isNegated);
  step.flags = isNegated;
  switch (bytesOf(type)) {
  case 2:
    step.run = handlerOf<SelectByPredicate<uint16_t>>();
    break;
  case 4:
    step.run = handlerOf<SelectByPredicate<uint32_t>>();
    break;
  default:
    step.run = handlerOf<SelectByPredicate<uint64_t>>();
    break;
  }
}

/// a if c is not negative, else b.
template <bool kFlush> struct SelectBySign {
  template <typename T> T operator()(T a, T b, int32_t c) const { return c >= 0 ? a : b; }
  template <typename T> T operator()(T a, T b, float c) const {
    return flush<kFlush>(c) >= 0 ? a : b;
  }
};

template <typename T> Handler signHandler(bool isFloat, bool flushes) {
  if (!isFloat)
    return handlerOf<Ternary<T, T, T, int32_t, SelectBySign<false>>>();
  return flushes ? handlerOf<Ternary<T, T, T, float, SelectBySign<true>>>()
                 : handlerOf<Ternary<T, T, T, float, SelectBySign<false>>>();
}

void decodeSignSelect(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"ftz"});
  const std::vector<Type> types = decoder.types(statement);
  if (types.size() != 2 || !isSelectable(types[0]) ||
      (types[1] != Type::S32 && types[1] != Type::F32))
    decoder.refuseForm(statement);
  decodeOperands(decoder, statement, step, types[0], {types[0], types[0], types[1]});
  const bool isSingle = types[1] == Type::F32, flushes = statement.has("ftz");
  switch (bytesOf(types[0])) {
  case 2:
    step.run = signHandler<uint16_t>(isSingle, flushes);
    break;
  case 4:
    step.run = signHandler<uint32_t>(isSingle, flushes);
    break;
  default:
    step.run = signHandler<uint64_t>(isSingle, flushes);
    break;
  }
}

} // namespace

void addLogic(Opcodes &opcodes) {
  opcodes["and"] = opcodes["or"] = opcodes["xor"] = decodeBitwise;
  opcodes["not"] = opcodes["cnot"] = decodeBitwise;
  opcodes["shl"] = opcodes["shr"] = decodeShift;
  opcodes["shf"] = decodeFunnel;
  opcodes["lop3"] = decodeLop3;
  opcodes["prmt"] = decodePermute;
  opcodes["selp"] = decodeSelect;
  opcodes["slct"] = decodeSignSelect;
  addComparisons(opcodes);
}

} // namespace pe::ptx
