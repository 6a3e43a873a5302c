//===- Frame.h - The scalar values of a call --------------------*- C++ -*-===//
//
// Besides its buffers, a compiled stage receives one array of 64-bit words, the frame. The plan
// declares the words and their order: sizes, which are determined by the tensors of the call;
// parameters, scalars that a caller may pass by name; and strides of the caller's tensors.
// Everything that passes words on (stages on the CPU, kernels, the emulator) follows this list:
//
//   size b            size hq          size r           size c    ...
//   parameter k_start default 0        parameter q_start default k_start + c - r
//   stride q 0        stride q 1       stride q 2       ...
//
//   FrameLayout layout = *FrameLayout::create(plan.frame);
//   ShapeBinder binder(layout); ... binder.bind("q", shape, {2, 8, 3, 64}) ...
//   Expected<Frame> frame = binder.finish(Positions{.keyStart = 100});
//
// Every API (C++, C, the reference) completes and checks the sizes of a call with `place`, so that
// defaults and limits are the same everywhere:
//
//   CallSizes sizes;
//   sizes.queries = 3, sizes.keys = 10;        // ... from the tensors
//   place(sizes, {.keyStart = 100});           // queryStart becomes 107, headsTotal queryHeads
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

/// One word of a frame.
struct FrameWord {
  enum class Kind : uint8_t { Size, Parameter, Stride };
  Kind kind = Kind::Size;
  /// The name of the size or parameter, or of the buffer of a stride.
  std::string name;
  /// The default of a size that no tensor determines, or of a parameter that the caller omits: an
  /// expression over the preceding words. Empty: a value is required.
  std::string fallback = {};
  /// The axis of a stride, which is in elements. The last axis has no word: its stride is 1.
  int axis = 0;
  bool operator==(const FrameWord &) const = default;
};
std::string_view nameOf(FrameWord::Kind kind);

/// The words of one call, in the plan's order.
using Frame = std::vector<int64_t>;

/// Returns the sizes of every plan: b hq hkv r c d e capacity (batch, query heads, key heads,
/// queries, keys, head dim, value dim, the number of keys that tables over distances hold).
std::span<const FrameWord> standardSizes();
/// Returns the parameters that place a call of attention in the global problem: k_start, q_start,
/// head_start, heads_total, with the defaults of docs/contract.md.
std::span<const FrameWord> positionParameters();
/// Returns standardSizes followed by positionParameters.
std::vector<FrameWord> standardFrame();
/// The default of q_start if only dropout reads positions: no query is at a negative position,
/// where it would attend to nothing.
inline constexpr const char *kStartWithoutPositions = "max(0, k_start + c - r)";

/// The scalars of a call, by name.
class Scalars {
public:
  Scalars() = default;
  /// Sets the scalars that differ from the defaults.
  Scalars(const Positions &positions);
  void set(std::string name, int64_t value) { values.emplace_back(std::move(name), value); }
  const int64_t *find(std::string_view name) const;
  auto begin() const { return values.begin(); }
  auto end() const { return values.end(); }

private:
  std::vector<std::pair<std::string, int64_t>> values;
};

/// The frame declared by a plan, with its expressions parsed.
class FrameLayout {
public:
  FrameLayout() = default;
  /// Errors: a word without a name, a duplicate name, a default that uses later words.
  static Expected<FrameLayout> create(std::vector<FrameWord> words);

  const std::vector<FrameWord> &getWords() const { return words; }
  /// Indexed by word; empty for strides.
  std::span<const std::string> getNames() const { return names; }
  /// Returns the index of a size or parameter, or -1.
  int find(std::string_view name) const;

  /// Sets the sizes that no tensor determines to their defaults; a size without one is an error.
  Status fillSizes(std::span<int64_t> frame, std::span<const uint8_t> isKnown) const;
  /// Sets the parameters to the given values or their defaults. Checks that every word is in the
  /// range that stages rely on: sizes in [0, 2^30], parameters in [-2^30, 2^30], and for attention
  /// the conditions of place(). A scalar that is not a parameter is an error.
  Status fillParameters(std::span<int64_t> frame, const Scalars &scalars) const;

  /// Returns the sizes and positions of attention in a frame.
  CallSizes sizesOf(std::span<const int64_t> frame) const;
  /// Returns the frame of `sizes`, which place() has completed, without strides.
  Frame frameOf(const CallSizes &sizes, int64_t headDim, int64_t valueDim) const;

private:
  Status checkScalars(const Scalars &scalars) const;

  std::vector<FrameWord> words;
  std::vector<std::string> names;
  std::vector<SizeExpression> fallbacks; // indexed by word
  std::vector<int> known;                // the indices of the standard words, or -1
};

/// Fills in the starts and the total number of heads, with the defaults of docs/contract.md.
/// Accepts any values. Errors: a size that is negative or above the limit, query heads that are not
/// a multiple of the key heads, a position outside [-2^30, 2^30), a query and a key too far apart,
/// heads outside [0, headsTotal).
Status place(CallSizes &sizes, const Positions &positions);

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_FRAME_H
