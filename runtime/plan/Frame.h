//===- Frame.h - The numbers that a call hands to its stages ----*- C++ -*-===//
//
// Everything a compiled stage knows of a call besides its buffers is one array of 64-bit words, the
// frame. The plan declares them and their order: the sizes that the call's tensors give, the
// parameters, scalars that a caller may give by name, and the strides of the caller's tensors.
// Whoever hands words on (stages on the CPU, kernels, the emulator) follows that one list:
//
//   size b            size hq          size r           size c    ...
//   parameter k_start default 0        parameter q_start default k_start + c - r
//   stride q 0        stride q 1       stride q 2       ...
//
//   FrameLayout layout = *FrameLayout::create(plan.frame);
//   ShapeBinder binder(layout); ... binder.bind("q", shape, {2, 8, 3, 64}) ...
//   Expected<Frame> frame = binder.finish(Positions{.keyStart = 100});
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_FRAME_H
#define PE_RUNTIME_PLAN_FRAME_H

#include "pe/Positions.h"
#include "runtime/plan/CallSizes.h"
#include "runtime/plan/SizeExpression.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pe::plan {

/// What one word of a frame is.
struct FrameWord {
  enum class Kind : uint8_t { Size, Parameter, Stride };
  Kind kind = Kind::Size;
  /// Of the size or parameter; of a stride's buffer.
  std::string name;
  /// The value of a size that no tensor gives, or of a parameter that the caller leaves out: an
  /// expression over the words before it. Empty: it must be given.
  std::string fallback = {};
  /// Of a stride, in elements; the last axis has none, its elements are neighbours.
  int axis = 0;
  bool operator==(const FrameWord &) const = default;
};
std::string_view nameOf(FrameWord::Kind kind);

/// The words of one call, in the plan's order.
using Frame = std::vector<int64_t>;

/// b hq hkv r c d e (batch, query heads, key heads, queries, keys, head dim, value dim): the sizes
/// of every plan.
std::span<const FrameWord> standardSizes();
/// Where a call of attention lies in the whole: k_start, q_start, head_start, heads_total, with the
/// defaults of docs/contract.md.
std::span<const FrameWord> positionParameters();
/// Both.
std::vector<FrameWord> standardFrame();
/// The default of q_start where nothing but dropout reads a position: no query is at a negative
/// one, where it would attend to nothing.
inline constexpr const char *kStartWithoutPositions = "max(0, k_start + c - r)";

/// Scalars of a call by name.
class Scalars {
public:
  Scalars() = default;
  /// Those that are not the default of every plan.
  Scalars(const Positions &positions);
  void set(std::string name, int64_t value) { values.emplace_back(std::move(name), value); }
  const int64_t *find(std::string_view name) const;
  auto begin() const { return values.begin(); }
  auto end() const { return values.end(); }

private:
  std::vector<std::pair<std::string, int64_t>> values;
};

/// A plan's declaration of the frame, its expressions parsed.
class FrameLayout {
public:
  FrameLayout() = default;
  /// Errors: a word without a name, two of one name, a default over later words.
  static Expected<FrameLayout> create(std::vector<FrameWord> words);

  const std::vector<FrameWord> &getWords() const { return words; }
  /// By word; empty for strides.
  std::span<const std::string> getNames() const { return names; }
  /// The place of a size or parameter, or -1.
  int find(std::string_view name) const;

  /// Gives the sizes that no tensor has given their defaults; one without is an error.
  Status fillSizes(std::span<int64_t> frame, std::span<const uint8_t> isKnown) const;
  /// Gives the parameters their numbers or defaults. Checks that every word is in the range that
  /// stages may rely on: sizes in [0, 2^30], parameters in [-2^30, 2^30], and for attention what
  /// place() checks. A number for what is no parameter is an error.
  Status fillParameters(std::span<int64_t> frame, const Scalars &scalars) const;

  /// What is known of attention in a frame.
  CallSizes sizesOf(std::span<const int64_t> frame) const;
  /// The frame of these sizes, which were placed, but for its strides.
  Frame frameOf(const CallSizes &sizes, int64_t headDim, int64_t valueDim) const;

private:
  Status checkScalars(const Scalars &scalars) const;

  std::vector<FrameWord> words;
  std::vector<std::string> names;
  std::vector<SizeExpression> fallbacks; // by word
  std::vector<int> known;                // the places of the standard words, or -1
};

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_FRAME_H
