//===- Flags.h - The flags of `pe train` ------------------------*- C++ -*-===//
//
// Defines a flag, the common kinds of setters, and the groups of flags, each in its own file.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_FLAGS_H
#define PE_RUNTIME_TRAIN_SESSION_FLAGS_H

#include "runtime/core/Error.h"
#include "runtime/train/session/Config.h"

#include <charconv>
#include <cmath>
#include <functional>

namespace pe::train {

using Setter = std::function<Status(TrainConfig &, const std::string &)>;

struct Flag {
  std::string name;
  /// The default. For a new flag that determines the result, it must be the behavior of earlier
  /// versions: a checkpoint without the flag is assumed to have this value.
  std::string preset;
  std::string help;
  Setter set;
  /// True if the result of a run depends on the flag.
  bool identity = true;
  /// False if the flag may be written without a value, which then is "true".
  bool needsValue = true;
};

/// Returns the table of all flags.
const std::vector<Flag> &trainFlags();

/// Splits "a=1,b=uniform(0,2)" at the commas that are not inside parentheses or angle brackets.
std::vector<std::string> splitList(const std::string &list);

template <typename Number> Expected<Number> parseNumber(const std::string &text) {
  Number value{};
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size())
    return makeError("expected ", std::is_integral_v<Number> ? "an integer" : "a number",
                     ", found '", text, "'");
  return value;
}

/// Sets a number of at least `least` in the configuration.
template <typename Number, typename Access> Setter number(Number least, Access access) {
  return [=](TrainConfig &config, const std::string &text) -> Status {
    auto value = parseNumber<Number>(text);
    if (!value)
      return value.takeError();
    if constexpr (std::is_floating_point_v<Number>)
      if (!std::isfinite(*value))
        return makeError("expected a finite number, found '", text, "'");
    if (!(*value >= least))
      return makeError("expected at least ", least, ", found ", text);
    access(config) = *value;
    return Status::success();
  };
}

/// The interval [0, 1] or [0, 1).
enum class Range : uint8_t { Closed, HalfOpen };
template <typename Access> Setter fraction(Range range, Access access) {
  return [=](TrainConfig &config, const std::string &text) -> Status {
    auto value = parseNumber<double>(text);
    if (!value)
      return value.takeError();
    const bool below = range == Range::Closed ? *value <= 1 : *value < 1;
    if (!(*value >= 0 && below))
      return makeError("expected a number from 0 to ", range == Range::Closed ? "1" : "below 1",
                       ", found '", text, "'");
    access(config) = *value;
    return Status::success();
  };
}

template <typename Access> Setter text(Access access) {
  return [=](TrainConfig &config, const std::string &value) -> Status {
    access(config) = value;
    return Status::success();
  };
}

template <typename Parse, typename Access> Setter choice(Parse parse, Access access) {
  return [=](TrainConfig &config, const std::string &value) -> Status {
    auto parsed = parse(value);
    if (!parsed)
      return parsed.takeError();
    access(config) = *parsed;
    return Status::success();
  };
}

/// Accepts only `value`; `why` gives the reason, or what to use instead.
inline Setter only(const std::string &value, const std::string &why) {
  return [=](TrainConfig &, const std::string &text) -> Status {
    if (text != value)
      return makeError("expected ", value.empty() ? "nothing" : "'" + value + "'", " (", why,
                       "), found '", text, "'");
    return Status::success();
  };
}

template <typename Access> Setter onOff(Access access) {
  return [=](TrainConfig &config, const std::string &value) -> Status {
    if (value != "on" && value != "off")
      return makeError("expected 'on' or 'off', found '", value, "'");
    access(config) = value == "on";
    return Status::success();
  };
}

std::vector<Flag> flagsOfTask();
std::vector<Flag> flagsOfModel();
std::vector<Flag> flagsOfSteps();
std::vector<Flag> flagsOfOptimizers();
std::vector<Flag> flagsOfChanges();
std::vector<Flag> flagsOfRun();

/// Checks constraints between several flags.
Status checkReinit(const ReinitConfig &reinit);

/// Reads the phases from a JSON file.
Status setPhases(TrainConfig &config, const std::string &path);

inline constexpr const char *kOnGpus =
    "pe train runs on the CPU in float32; on GPUs and in other types, train with the Python "
    "package";

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_FLAGS_H
