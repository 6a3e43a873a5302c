//===- Frame.cpp - The scalar values of a call ----------------------------===//

#include "runtime/plan/Frame.h"

#include <algorithm>

namespace pe::plan {

using Kind = FrameWord::Kind;

std::string_view nameOf(Kind kind) {
  static constexpr std::string_view names[] = {"size", "parameter", "stride"};
  return names[static_cast<size_t>(kind)];
}

std::span<const FrameWord> standardSizes() {
  static const FrameWord words[] = {{Kind::Size, "b", "1"},    {Kind::Size, "hq", "1"},
                                    {Kind::Size, "hkv", "hq"}, {Kind::Size, "r", "0"},
                                    {Kind::Size, "c", "r"},    {Kind::Size, "d"},
                                    {Kind::Size, "e"},         {Kind::Size, "capacity", "c"}};
  return words;
}

std::span<const FrameWord> positionParameters() {
  static const FrameWord words[] = {{Kind::Parameter, "k_start", "0"},
                                    {Kind::Parameter, "q_start", "k_start + c - r"},
                                    {Kind::Parameter, "head_start", "0"},
                                    {Kind::Parameter, "heads_total", "hq"}};
  return words;
}

std::vector<FrameWord> standardFrame() {
  std::vector<FrameWord> words(standardSizes().begin(), standardSizes().end());
  words.insert(words.end(), positionParameters().begin(), positionParameters().end());
  return words;
}

Scalars::Scalars(const Positions &positions) {
  if (positions.keyStart)
    set("k_start", positions.keyStart);
  if (positions.queryStart)
    set("q_start", *positions.queryStart);
  if (positions.headStart)
    set("head_start", positions.headStart);
  if (positions.headsTotal)
    set("heads_total", *positions.headsTotal);
}

const int64_t *Scalars::find(std::string_view name) const {
  const auto found = std::ranges::find(values, name, [](auto &entry) { return entry.first; });
  return found == values.end() ? nullptr : &found->second;
}

/// The words that the checks of attention use, in the order of their fields in CallSizes.
static constexpr std::string_view kKnown[] = {"b",       "hq",      "hkv",        "r",          "c",
                                              "q_start", "k_start", "head_start", "heads_total"};
static constexpr int64_t CallSizes::*kFields[] = {
    &CallSizes::batch,    &CallSizes::queryHeads, &CallSizes::keyHeads,
    &CallSizes::queries,  &CallSizes::keys,       &CallSizes::queryStart,
    &CallSizes::keyStart, &CallSizes::headStart,  &CallSizes::headsTotal};

Expected<FrameLayout> FrameLayout::create(std::vector<FrameWord> words) {
  FrameLayout layout;
  for (FrameWord &word : words) {
    if (word.kind == Kind::Stride) {
      layout.fallbacks.emplace_back();
      layout.names.emplace_back();
      layout.words.push_back(std::move(word));
      continue;
    }
    std::string problem;
    const auto name = SizeExpression::parse(word.name, problem);
    if (!name || !name->asName() || *name->asName() != word.name)
      return makeError("frame: expected a name for every ", nameOf(word.kind), ", found '",
                       word.name, "'");
    if (layout.find(word.name) >= 0)
      return makeError("frame: expected unique names, found '", word.name, "' twice");
    SizeExpression fallback;
    if (!word.fallback.empty()) {
      Expected<SizeExpression> parsed = SizeExpression::parse(word.fallback);
      Status status = parsed ? parsed->resolve(layout.names) : Status(parsed.takeError());
      if (!status)
        return status.takeError().within("default of '" + word.name + "'");
      fallback = *std::move(parsed);
    }
    layout.fallbacks.push_back(std::move(fallback));
    layout.names.push_back(word.name);
    layout.words.push_back(std::move(word));
  }
  for (std::string_view name : kKnown)
    layout.known.push_back(layout.find(name));
  return layout;
}

int FrameLayout::find(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

CallSizes FrameLayout::sizesOf(std::span<const int64_t> frame) const {
  CallSizes sizes;
  for (size_t i = 0; i < known.size(); ++i)
    if (known[i] >= 0)
      sizes.*kFields[i] = frame[known[i]];
  if (known.back() < 0)
    sizes.headsTotal = sizes.queryHeads;
  return sizes;
}

Frame FrameLayout::frameOf(const CallSizes &sizes, int64_t headDim, int64_t valueDim) const {
  Frame frame(words.size());
  for (size_t i = 0; i < known.size(); ++i)
    if (known[i] >= 0)
      frame[known[i]] = sizes.*kFields[i];
  for (const auto &[name, size] :
       {std::pair{"d", headDim}, {"e", valueDim}, {"capacity", sizes.keys}})
    if (const int place = find(name); place >= 0)
      frame[place] = size;
  return frame;
}

Status FrameLayout::fillSizes(std::span<int64_t> frame, std::span<const uint8_t> isKnown) const {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].kind != Kind::Size || isKnown[i])
      continue;
    if (words[i].fallback.empty())
      return makeError("expected a tensor that gives '", words[i].name, "', found none");
    Expected<int64_t> value = fallbacks[i].evaluate(frame);
    if (!value)
      return value.takeError();
    frame[i] = *value;
  }
  return Status::success();
}

Status FrameLayout::checkScalars(const Scalars &scalars) const {
  for (const auto &[name, value] : scalars) {
    const int place = find(name);
    if (place >= 0 && words[place].kind == Kind::Parameter)
      continue;
    std::string declared;
    for (const FrameWord &word : words)
      if (word.kind == Kind::Parameter)
        declared += (declared.empty() ? "" : ", ") + word.name;
    return makeError("expected the parameters ", declared.empty() ? "none" : declared, ", found '",
                     name, "'");
  }
  return Status::success();
}

Status FrameLayout::fillParameters(std::span<int64_t> frame, const Scalars &scalars) const {
  if (Status s = checkScalars(scalars); !s)
    return s;
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i].kind == Kind::Size)
      if (Status s = checkSize(words[i].name, frame[i]); !s)
        return s;
  if (Status s = checkHeads(sizesOf(frame)); !s)
    return s;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].kind != Kind::Parameter)
      continue;
    const int64_t *given = scalars.find(words[i].name);
    if (!given && words[i].fallback.empty())
      return makeError("expected a value for parameter '", words[i].name, "', found none");
    Expected<int64_t> value = given ? Expected(*given) : fallbacks[i].evaluateSigned(frame);
    if (!value)
      return value.takeError();
    frame[i] = *value;
    if (Status s = checkParameter(words[i].name, frame[i], sizesOf(frame)); !s)
      return s;
  }
  return checkPlace(sizesOf(frame), scalars.find("heads_total"));
}

Status place(CallSizes &sizes, const Positions &positions) {
  static const FrameLayout layout = *FrameLayout::create(standardFrame());
  Frame frame = layout.frameOf(sizes, /*headDim=*/0, /*valueDim=*/0);
  if (Status s = layout.fillParameters(frame, positions); !s)
    return s;
  sizes = layout.sizesOf(frame);
  return Status::success();
}

} // namespace pe::plan
