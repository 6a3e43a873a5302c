//===- StepDecoder.cpp - Operands and statements --------------------------===//

#include "runtime/ptx/StepDecoder.h"
#include "runtime/ptx/DeviceMemory.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace pe::ptx {

namespace {

std::string describe(const Operand &operand, const Function &function) {
  switch (operand.kind) {
  case Operand::Kind::Register: {
    const Register &found = function.registers[operand.index];
    return found.name + ", a register of type ." + std::string(nameOf(found.type));
  }
  case Operand::Kind::Special:
  case Operand::Kind::Symbol:
    return "'" + operand.name + "'";
  case Operand::Kind::Address:
    return "an address in brackets";
  case Operand::Kind::Vector:
    return "operands in braces";
  case Operand::Kind::Ignored:
    return "'_'";
  default:
    return "a literal";
  }
}

/// The read-only registers.
struct SpecialName {
  std::string_view name;
  Special which;
  unsigned bytes;
};
constexpr SpecialName kSpecials[] = {{"%tid.x", Special::TidX, 4},
                                     {"%tid.y", Special::TidY, 4},
                                     {"%tid.z", Special::TidZ, 4},
                                     {"%ntid.x", Special::NtidX, 4},
                                     {"%ntid.y", Special::NtidY, 4},
                                     {"%ntid.z", Special::NtidZ, 4},
                                     {"%ctaid.x", Special::CtaidX, 4},
                                     {"%ctaid.y", Special::CtaidY, 4},
                                     {"%ctaid.z", Special::CtaidZ, 4},
                                     {"%nctaid.x", Special::NctaidX, 4},
                                     {"%nctaid.y", Special::NctaidY, 4},
                                     {"%nctaid.z", Special::NctaidZ, 4},
                                     {"%laneid", Special::LaneId, 4},
                                     {"%warpid", Special::WarpId, 4},
                                     {"%nwarpid", Special::NumWarps, 4},
                                     {"%smid", Special::SmId, 4},
                                     {"%nsmid", Special::NumSms, 4},
                                     {"%gridid", Special::GridId, 8},
                                     {"%lanemask_eq", Special::MaskEq, 4},
                                     {"%lanemask_le", Special::MaskLe, 4},
                                     {"%lanemask_lt", Special::MaskLt, 4},
                                     {"%lanemask_ge", Special::MaskGe, 4},
                                     {"%lanemask_gt", Special::MaskGt, 4},
                                     {"%total_smem_size", Special::TotalShared, 4},
                                     {"%dynamic_smem_size", Special::DynamicShared, 4},
                                     {"%clock", Special::Clock, 4},
                                     {"%clock_hi", Special::ClockHigh, 4},
                                     {"%clock64", Special::Clock64, 8},
                                     {"%globaltimer", Special::GlobalTimer, 8},
                                     {"%globaltimer_lo", Special::GlobalTimerLow, 4},
                                     {"%globaltimer_hi", Special::GlobalTimerHigh, 4}};

} // namespace

std::optional<std::pair<Special, unsigned>> specialNamed(std::string_view name) {
  for (const SpecialName &special : kSpecials)
    if (special.name == name)
      return std::pair(special.which, special.bytes);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Decoder::Decoder(const Module &module, const Function &function, Code &code, KernelParts &kernel)
    : theModule(module), theFunction(function), theCode(code), kernel(kernel) {
  for (const Register &each : function.registers) {
    if (each.type == Type::Pred) {
      registerOffsets.push_back(theCode.frameBytes);
      theCode.frameBytes += sizeof(Lanes);
    } else {
      registerOffsets.push_back(0);
    }
  }
  for (size_t i = 0; i < function.registers.size(); ++i)
    if (function.registers[i].type != Type::Pred)
      registerOffsets[i] = slot(bytesOf(function.registers[i].type));
  // Parameters and results of functions, and of calls, live in the frame; local variables in the
  // local memory of the lane.
  auto addParameter = [&](const Variable &variable) {
    theCode.frameBytes = uint32_t(alignUp(theCode.frameBytes, 32));
    parameterOffsets[variable.name] = {theCode.frameBytes, uint32_t(variable.bytes)};
    theCode.frameBytes += uint32_t(variable.bytes) * kWarpSize;
  };
  if (!function.isEntry) {
    for (const Variable &variable : function.parameters)
      addParameter(variable);
    for (const Variable &variable : function.results)
      addParameter(variable);
    for (const auto &[name, place] : parameterOffsets)
      theCode.parameterOffsets[name] = place.first;
  }
  for (const Variable &variable : function.variables) {
    if (variable.space == Space::Param)
      addParameter(variable);
    if (variable.space != Space::Local)
      continue;
    theCode.ownLocalBytes = uint32_t(alignUp(theCode.ownLocalBytes, variable.align));
    localOffsets[variable.name] = theCode.ownLocalBytes;
    theCode.ownLocalBytes += uint32_t(variable.bytes);
  }
  theCode.ownLocalBytes = uint32_t(alignUp(theCode.ownLocalBytes, 16));
}

uint32_t Decoder::slot(unsigned bytes) {
  theCode.frameBytes = uint32_t(alignUp(theCode.frameBytes, 32));
  const uint32_t offset = theCode.frameBytes;
  theCode.frameBytes += bytes * kWarpSize;
  return offset;
}

const Register &Decoder::registerOf(const Operand &operand) const {
  return theFunction.registers[operand.index];
}

uint32_t Decoder::constant(uint64_t bits, unsigned bytes) {
  if (bytes < 8)
    bits &= (uint64_t(1) << bytes * 8) - 1;
  auto [it, isNew] = constantOffsets.try_emplace({bits, bytes}, 0);
  if (isNew) {
    it->second = slot(bytes);
    theCode.constants.push_back({it->second, uint8_t(bytes), bits});
  }
  return it->second;
}

uint32_t Decoder::special(const Operand &operand, unsigned bytes) {
  if (operand.name == "WARP_SZ")
    return constant(kWarpSize, bytes);
  const auto found = specialNamed(operand.name);
  if (!found)
    refuse("unknown register '", operand.name, "'");
  if (found->first >= Special::Clock)
    refuse("'", operand.name, "' outside of mov");
  // nvcc reads 32-bit registers into 64-bit ones in a few places, never the other way.
  if (bytes != found->second)
    refuse("expected an operand of ", bytes * 8, " bits, found '", operand.name, "' of ",
           found->second * 8);
  auto [it, isNew] = namedOffsets.try_emplace({operand.name, bytes}, 0);
  if (isNew) {
    it->second = slot(bytes);
    theCode.specials.push_back({it->second, uint8_t(bytes), found->first});
  }
  return it->second;
}

uint32_t Decoder::symbol(const Operand &operand, unsigned bytes) {
  if (bytes != 4 && bytes != 8)
    refuse("expected an operand of ", bytes * 8, " bits, found the address of '", operand.name,
           "'");
  auto it = localOffsets.find(operand.name);
  if (it == localOffsets.end())
    return constant(kernel.addressOf(operand.name, theFunction) + uint64_t(operand.offset), bytes);
  const std::string key = operand.name + "+" + std::to_string(operand.offset);
  auto [named, isNew] = namedOffsets.try_emplace({key, bytes}, 0);
  if (isNew) {
    named->second = slot(bytes);
    theCode.locals.push_back(
        {named->second, uint8_t(bytes), uint64_t(it->second) + uint64_t(operand.offset)});
  }
  return named->second;
}

/// Rounds to the nearest value in half precision.
static uint64_t halfBits(double value) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}

uint32_t Decoder::source(const Operand &operand, unsigned bytes, bool isFloat) {
  switch (operand.kind) {
  case Operand::Kind::Register: {
    const Register &found = registerOf(operand);
    if (operand.isMinus || operand.isNegated || operand.second >= 0 || bytesOf(found.type) != bytes)
      refuse("expected an operand of ", bytes * 8, " bits, found ", describe(operand, theFunction));
    return registerOffsets[operand.index];
  }
  case Operand::Kind::Special:
    return special(operand, bytes);
  case Operand::Kind::Integer:
    if (isFloat && bytes == 4)
      return constant(std::bit_cast<uint32_t>(float(int64_t(operand.bits))), 4);
    if (isFloat && bytes == 8)
      return constant(std::bit_cast<uint64_t>(double(int64_t(operand.bits))), 8);
    return constant(operand.bits, bytes);
  case Operand::Kind::Single:
  case Operand::Kind::Double: {
    const double value = operand.kind == Operand::Kind::Single
                             ? double(std::bit_cast<float>(uint32_t(operand.bits)))
                             : std::bit_cast<double>(operand.bits);
    const bool isSingle = operand.kind == Operand::Kind::Single;
    if (bytes == 2 && isFloat)
      return constant(halfBits(value), 2);
    if (bytes == 4) // keeps the bits of NaN
      return constant(isSingle ? operand.bits : std::bit_cast<uint32_t>(float(value)), 4);
    if (bytes == 8)
      return constant(isSingle ? std::bit_cast<uint64_t>(value) : operand.bits, 8);
    break;
  }
  case Operand::Kind::Symbol:
    return symbol(operand, bytes);
  default:
    break;
  }
  refuse("expected an operand of ", bytes * 8, " bits, found ", describe(operand, theFunction));
}

uint32_t Decoder::source(const Operand &operand, Type type) {
  const bool isFloat = type == Type::F16 || type == Type::BF16 || type == Type::F32 ||
                       type == Type::F64 || type == Type::TF32;
  return source(operand, bytesOf(type), isFloat);
}

uint32_t Decoder::sourceOfAnySize(const Operand &operand, Type type, unsigned &found) {
  found = bytesOf(type);
  if (operand.kind == Operand::Kind::Register && registerOf(operand).type != Type::Pred)
    found = bytesOf(registerOf(operand).type);
  if (found == bytesOf(type))
    return source(operand, type);
  return source(operand, found);
}

uint32_t Decoder::destination(const Operand &operand, unsigned bytes) const {
  unsigned found = 0;
  const uint32_t offset = destinationOfAnySize(operand, found);
  if (found != bytes)
    refuse("expected a register of ", bytes * 8, " bits, found ", describe(operand, theFunction));
  return offset;
}

uint32_t Decoder::destinationOfAnySize(const Operand &operand, unsigned &found) const {
  if (operand.kind != Operand::Kind::Register || operand.second >= 0 || operand.isNegated ||
      operand.isMinus || registerOf(operand).type == Type::Pred)
    refuse("expected a register for the result, found ", describe(operand, theFunction));
  found = bytesOf(registerOf(operand).type);
  return registerOffsets[operand.index];
}

uint32_t Decoder::predicate(const Operand &operand, bool &isNegated) const {
  isNegated = operand.isNegated;
  if (operand.kind != Operand::Kind::Register || registerOf(operand).type != Type::Pred)
    refuse("expected a predicate, found ", describe(operand, theFunction));
  return registerOffsets[operand.index];
}

uint32_t Decoder::secondPredicate(const Operand &operand) const {
  if (operand.second < 0)
    return kAbsent;
  if (theFunction.registers[operand.second].type != Type::Pred)
    refuse("expected a predicate after '|'");
  return registerOffsets[operand.second];
}

uint32_t Decoder::firstOfPair(const Operand &operand, unsigned bytes) const {
  Operand first = operand;
  first.second = -1;
  if (bytes)
    return destination(first, bytes);
  bool isNegated = false;
  const uint32_t offset = predicate(first, isNegated);
  if (isNegated)
    refuse("expected a predicate for the result, found its negation");
  return offset;
}

int64_t Decoder::immediate(const Operand &operand) const {
  if (operand.kind != Operand::Kind::Integer)
    refuse("expected an integer literal, found ", describe(operand, theFunction));
  return int64_t(operand.bits);
}

uint32_t Decoder::append(const std::vector<uint32_t> &offsets) {
  const uint32_t first = uint32_t(theCode.offsets.size());
  theCode.offsets.insert(theCode.offsets.end(), offsets.begin(), offsets.end());
  return first;
}

uint32_t Decoder::sources(const Operand &operand, Type type, uint8_t &count) {
  std::vector<uint32_t> offsets;
  if (operand.kind == Operand::Kind::Vector)
    for (const Operand &element : operand.elements)
      offsets.push_back(source(element, type));
  else
    offsets.push_back(source(operand, type));
  count = uint8_t(offsets.size());
  return append(offsets);
}

uint32_t Decoder::destinations(const Operand &operand, unsigned bytes, uint8_t &count) {
  std::vector<uint32_t> offsets;
  auto add = [&](const Operand &element) {
    offsets.push_back(element.kind == Operand::Kind::Ignored ? kAbsent
                                                             : destination(element, bytes));
  };
  if (operand.kind == Operand::Kind::Vector)
    for (const Operand &element : operand.elements)
      add(element);
  else
    add(operand);
  count = uint8_t(offsets.size());
  return append(offsets);
}

void Decoder::address(const Operand &operand, Step &step) {
  if (operand.kind != Operand::Kind::Address || operand.elements.size() != 1)
    refuse("expected an address in brackets, found ", describe(operand, theFunction));
  const Operand &base = operand.elements[0];
  step.imm = operand.offset;
  step.width = 8;
  if (base.kind == Operand::Kind::Register) {
    step.width = uint8_t(bytesOf(registerOf(base).type));
    if (step.width != 4 && step.width != 8)
      refuse("expected an address of 32 or 64 bits, found ", describe(base, theFunction));
  }
  step.a = source(base, step.width);
}

bool Decoder::parameter(const Operand &operand, Step &step, uint64_t bytes) {
  if (operand.kind != Operand::Kind::Address || operand.elements.size() != 1 ||
      operand.elements[0].kind != Operand::Kind::Symbol)
    return false;
  const Operand &base = operand.elements[0];
  auto it = parameterOffsets.find(base.name);
  if (it == parameterOffsets.end())
    return false;
  const int64_t offset = operand.offset + base.offset;
  step.a = it->second.first;
  step.target = it->second.second;
  step.imm = offset;
  if (offset < 0 || uint64_t(offset) + bytes > step.target)
    refuse("bytes ", offset, " to ", offset + int64_t(bytes), " of '", base.name, "', which has ",
           step.target);
  return true;
}

std::pair<uint32_t, uint32_t> Decoder::parameterNamed(const std::string &name) const {
  auto it = parameterOffsets.find(name);
  if (it == parameterOffsets.end())
    refuse("expected a parameter, found '", name, "'");
  return it->second;
}

Code &Decoder::decodeFunction(const Function &callee) { return kernel.decode(callee); }

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void Decoder::refuseForm(const Statement &statement) const {
  refuse("'", statement.mnemonic(), "' is not supported");
}

void Decoder::expectOperands(const Statement &statement, size_t least, size_t most) const {
  const size_t found = statement.operands.size();
  if (found < least || found > most)
    refuse("expected ", least, most > least ? " to " + std::to_string(most) : "", " operands of '",
           statement.mnemonic(), "', found ", found);
}

std::vector<Type> Decoder::types(const Statement &statement) const {
  std::vector<Type> found;
  for (const std::string &word : statement.modifiers)
    if (std::optional<Type> type = typeNamed(word))
      found.push_back(*type);
  return found;
}

Type Decoder::type(const Statement &statement) const {
  const std::vector<Type> found = types(statement);
  if (found.size() != 1)
    refuseForm(statement);
  return found.front();
}

void Decoder::expectModifiers(const Statement &statement,
                              std::initializer_list<std::string_view> known) const {
  for (const std::string &word : statement.modifiers)
    if (!typeNamed(word) && std::ranges::find(known, word) == known.end())
      refuseForm(statement);
}

} // namespace pe::ptx
