//===- MemoryAccess.cpp - ld, st, fences ----------------------------------===//

#include "runtime/ptx/Access.h"

#include <algorithm>

namespace pe::ptx {

std::vector<std::string> readQualifiers(Decoder &decoder, const Statement &statement, Step &step) {
  std::vector<std::string> left;
  bool hasScope = false, isCta = false;
  for (const std::string &word : statement.modifiers) {
    if (word == "global")
      step.space = Space::Global;
    else if (word == "shared" || word == "shared::cta")
      step.space = Space::Shared;
    else if (word == "const")
      step.space = Space::Const;
    else if (word == "local")
      step.space = Space::Local;
    else if (word == "param" || word == "param::entry" || word == "param::func")
      step.space = Space::Param;
    else if (word == "volatile" || word == "relaxed" || word == "mmio")
      step.flags |= kStrong;
    else if (word == "acquire")
      step.flags |= kStrong | kAcquire;
    else if (word == "release")
      step.flags |= kStrong | kRelease;
    else if (word == "acq_rel")
      step.flags |= kStrong | kAcquire | kRelease;
    else if (word == "nc")
      step.flags |= kReadOnly;
    else if (word == "cta")
      hasScope = isCta = true;
    else if (word == "gpu" || word == "sys" || word == "cluster")
      hasScope = true;
    else if (word == "cg" || word == "cv" || word == "cs" || word == "lu")
      step.flags |= kUncached;
    else if (word == "weak" || word == "ca" || word == "wb" || word == "wt" ||
             word.starts_with("L1::") || word.starts_with("L2::"))
      continue; // hints
    else
      left.push_back(word);
  }
  if (hasScope && isCta)
    step.flags |= kCtaScope;
  if (step.flags & kReadOnly && step.space != Space::Global)
    decoder.refuse("'.nc' without '.global'");
  return left;
}

namespace {

/// Effects of a strong load in a lane. Returns where to read.
const std::byte *observe(Warp &warp, const Step &step, const Places &places, unsigned lane,
                         uint32_t bytes) {
  Run &run = warp.cta.run;
  warp.lastPoll = run.executed;
  const uint64_t address = places.address(lane);
  if (places.space(lane) == Space::Global && !(step.flags & kCtaScope))
    if (const std::byte *old =
            run.strong.late(warp.cta.number, address, bytes, run.launch.schedule.lateReleases))
      return old;
  if (places.space(lane) == Space::Global || places.space(lane) == Space::Shared)
    run.races.observe(warp, keyOf(warp, places.space(lane), address), step.flags & kAcquire);
  if (step.flags & kAcquire)
    warp.cta.stale.clear();
  return places[lane];
}

/// Returns where a lane's load reads.
const std::byte *sourceOf(Warp &warp, const Step &step, const Places &places, unsigned lane,
                          uint32_t bytes) {
  if (step.flags & kStrong)
    return observe(warp, step, places, lane, bytes);
  if (places.space(lane) == Space::Global && warp.cta.run.launch.schedule.loadsMayBeStale &&
      !(step.flags & kUncached))
    return warp.cta.stale.read(places.address(lane));
  return places[lane];
}

template <typename Element, typename Held> void load(Warp &warp, const Step &step, Lanes lanes) {
  const uint32_t bytes = sizeof(Element) * step.count;
  const Places places(warp, step, lanes, bytes, {.isStrong = bool(step.flags & kStrong)});
  const uint32_t *list = warp.list(step);
  const bool isPlain = step.space == Space::Shared && !(step.flags & kStrong);
  forEachLane(lanes, [&](unsigned lane) {
    const std::byte *from = isPlain ? places[lane] : sourceOf(warp, step, places, lane, bytes);
    for (unsigned i = 0; i < step.count; ++i) {
      Element element;
      std::memcpy(&element, from + i * sizeof(Element), sizeof(Element));
      if (list[i] != kAbsent)
        warp.lanes<Held>(list[i])[lane] = Held(element);
    }
  });
}

/// Returns true if a store leaves the lane's bytes as they are, or as a lower lane stores them.
template <typename Element, typename Held> bool isSilent(const Places &places, unsigned lane) {
  const Warp &warp = places.ofWarp();
  const uint32_t *list = warp.list(places.ofStep());
  unsigned before = lane;
  for (unsigned other = 0; other < lane; ++other)
    if ((places.lanes >> other & 1) && places[other] == places[lane])
      before = other;
  for (unsigned i = 0; i < places.ofStep().count; ++i) {
    const Held *const values = warp.lanes<Held>(list[i]);
    Element now = Element(values[lane]), old = Element(values[before]);
    if (before == lane)
      std::memcpy(&old, places[lane] + i * sizeof(Element), sizeof(Element));
    if (std::memcmp(&old, &now, sizeof(Element)) != 0)
      return false;
  }
  return true;
}

template <typename Element, typename Held> void store(Warp &warp, const Step &step, Lanes lanes) {
  const uint32_t bytes = sizeof(Element) * step.count;
  Run &run = warp.cta.run;
  const bool isStrong = step.flags & kStrong;
  const Places places(warp, step, lanes, bytes,
                      {.isWrite = true, .isStrong = isStrong, .isSilent = isSilent<Element, Held>});
  const uint32_t *list = warp.list(step);
  forEachLane(lanes, [&](unsigned lane) {
    const bool isGlobal = places.space(lane) == Space::Global;
    const uint64_t address = places.address(lane);
    if (isStrong && (isGlobal || places.space(lane) == Space::Shared)) {
      run.races.publish(warp, keyOf(warp, places.space(lane), address), step.flags & kRelease,
                        /*isAtomic=*/false);
      if (isGlobal)
        run.strong.replace(warp.cta.number, address, bytes);
    }
    for (unsigned i = 0; i < step.count; ++i) {
      const Element element = Element(warp.lanes<Held>(list[i])[lane]);
      std::memcpy(places[lane] + i * sizeof(Element), &element, sizeof(Element));
    }
    if (isGlobal)
      warp.cta.stale.write(address, places[lane], bytes);
  });
}

/// ld.param of a function, and st.param at a call: `a` is the variable in the frame, `imm` the
/// offset, `target` the bytes of the variable.
template <typename Element, typename Held>
void loadParameter(Warp &warp, const Step &step, Lanes lanes) {
  const std::byte *variable = warp.lanes<std::byte>(step.a);
  const uint32_t *list = warp.list(step);
  forEachLane(lanes, [&](unsigned lane) {
    for (unsigned i = 0; i < step.count; ++i) {
      Element element;
      std::memcpy(&element, variable + lane * step.target + step.imm + i * sizeof(Element),
                  sizeof(Element));
      if (list[i] != kAbsent)
        warp.lanes<Held>(list[i])[lane] = Held(element);
    }
  });
}

template <typename Element, typename Held>
void storeParameter(Warp &warp, const Step &step, Lanes lanes) {
  std::byte *variable = warp.lanes<std::byte>(step.a);
  const uint32_t *list = warp.list(step);
  forEachLane(lanes, [&](unsigned lane) {
    for (unsigned i = 0; i < step.count; ++i) {
      const Element element = Element(warp.lanes<Held>(list[i])[lane]);
      std::memcpy(variable + lane * step.target + step.imm + i * sizeof(Element), &element,
                  sizeof(Element));
    }
  });
}

/// The four access functions of one pair of types.
struct Functions {
  Handler load, store, loadParameter, storeParameter;
};

template <typename Element, typename Held> constexpr Functions functionsOf() {
  return {load<Element, Held>, store<Element, Held>, loadParameter<Element, Held>,
          storeParameter<Element, Held>};
}

template <typename Element> Functions functionsFor(unsigned held) {
  // A signed element extends its sign to the register.
  switch (held) {
  case 1:
    return functionsOf<Element, uint8_t>();
  case 2:
    return functionsOf<Element, uint16_t>();
  case 4:
    return functionsOf<Element, uint32_t>();
  default:
    return functionsOf<Element, uint64_t>();
  }
}

Functions functionsFor(Decoder &decoder, Type type, unsigned held) {
  if (held < bytesOf(type))
    decoder.refuse("expected registers of at least ", bytesOf(type) * 8, " bits, found ", held * 8);
  switch (type) {
  case Type::S8:
    return functionsFor<int8_t>(held);
  case Type::S16:
    return functionsFor<int16_t>(held);
  case Type::S32:
    return functionsFor<int32_t>(held);
  default:
    break;
  }
  switch (bytesOf(type)) {
  case 1:
    return functionsFor<uint8_t>(held);
  case 2:
    return functionsFor<uint16_t>(held);
  case 4:
    return functionsFor<uint32_t>(held);
  case 8:
    return functionsFor<uint64_t>(held);
  default:
    decoder.refuse("loads and stores of ", nameOf(type), " are not supported");
  }
}

/// Reads the type and vector length of ld or st from the modifiers that are left.
Type elementType(Decoder &decoder, const Statement &statement, Step &step) {
  Type type = Type::None;
  for (const std::string &word : readQualifiers(decoder, statement, step)) {
    if (word == "v2" || word == "v4" || word == "v8")
      step.count = uint8_t(word[1] - '0');
    else if (std::optional<Type> named = typeNamed(word); named && type == Type::None)
      type = *named;
    else
      decoder.refuseForm(statement);
  }
  if (bytesOf(type) == 0)
    decoder.refuseForm(statement);
  return type;
}

/// Adds the registers of ld or st to the list of the step; all must have one size, which is
/// returned.
unsigned addElements(Decoder &decoder, const Operand &operand, Type type, bool isLoad, Step &step) {
  const bool isVector = operand.kind == Operand::Kind::Vector;
  const size_t count = isVector ? operand.elements.size() : 1;
  if (count != step.count)
    decoder.refuse("expected ", int(step.count), " elements in braces, found ", count);
  std::vector<uint32_t> offsets;
  unsigned common = 0;
  for (size_t i = 0; i < count; ++i) {
    const Operand &element = isVector ? operand.elements[i] : operand;
    unsigned found = bytesOf(type);
    if (isLoad && element.kind == Operand::Kind::Ignored) {
      offsets.push_back(kAbsent);
      continue;
    }
    offsets.push_back(isLoad ? decoder.destinationOfAnySize(element, found)
                             : decoder.sourceOfAnySize(element, type, found));
    if (common && common != found)
      decoder.refuse("expected registers of one size in braces");
    common = found;
  }
  step.list = decoder.append(offsets);
  return common ? common : bytesOf(type);
}

void decodeAccess(Decoder &decoder, const Statement &statement, Step &step, bool isLoad) {
  decoder.expectOperands(statement, 2, 3); // the third is a cache policy
  const Type type = elementType(decoder, statement, step);
  const Operand &place = statement.operands[isLoad ? 0 : 1];
  const Operand &memory = statement.operands[isLoad ? 1 : 0];
  const Functions functions =
      functionsFor(decoder, type, addElements(decoder, place, type, isLoad, step));
  if (step.space == Space::Param && decoder.parameter(memory, step, bytesOf(type) * step.count)) {
    step.run = isLoad ? functions.loadParameter : functions.storeParameter;
    return;
  }
  if (!isLoad && (step.space == Space::Param || step.space == Space::Const))
    decoder.refuse("stores to .", nameOf(step.space), " memory of a kernel");
  decoder.address(memory, step);
  step.run = isLoad ? functions.load : functions.store;
}

void decodeLoad(Decoder &decoder, const Statement &statement, Step &step) {
  decodeAccess(decoder, statement, step, true);
}
void decodeStore(Decoder &decoder, const Statement &statement, Step &step) {
  decodeAccess(decoder, statement, step, false);
}

//===----------------------------------------------------------------------===//
// Fences and hints
//===----------------------------------------------------------------------===//

void fence(Warp &warp, const Step &, Lanes) {
  warp.cta.run.races.fence(warp);
  warp.cta.stale.clear();
}

void nothing(Warp &, const Step &, Lanes) {}

void decodeFence(Decoder &decoder, const Statement &statement, Step &step) {
  for (const std::string &word : statement.modifiers)
    if (word == "proxy" || word.starts_with("mbarrier") || word.starts_with("proxy::"))
      decoder.refuseForm(statement);
  decoder.expectOperands(statement, 0, 0);
  // A fence of CTA scope orders as one of device scope does, but does not make loads fresh between
  // CTAs: races find what relies on it.
  const bool isCta = statement.has("cta");
  step.run = isCta ? nothing : fence;
}

void decodeHint(Decoder &, const Statement &, Step &step) { step.run = nothing; }

} // namespace

void addMemory(Opcodes &opcodes) {
  opcodes["ld"] = decodeLoad;
  opcodes["ldu"] = decodeLoad;
  opcodes["st"] = decodeStore;
  opcodes["fence"] = opcodes["membar"] = decodeFence;
  opcodes["prefetch"] = opcodes["prefetchu"] = opcodes["applypriority"] = decodeHint;
  opcodes["nanosleep"] = opcodes["pmevent"] = decodeHint;
}

} // namespace pe::ptx
