//===- Composition.h - Composition of attention features --------*- C++ -*-===//
//
// Lists the modes of attention and the kinds of terms, the pairs that are refused with the reason,
// and programs with many features each, which together contain every supported pair.
// docs/composition.md is generated from these tables, and CompositionTest.cpp tests them.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_CONFORMANCE_COMPOSITION_H
#define PE_TEST_CONFORMANCE_COMPOSITION_H

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pe::conformance {

/// The place of a feature in a program.
enum class Slot {
  Bias,
  Prologue,
  Rotation,
  ValueRotation,
  Content,
  ValueContent,
  Score,
  Sink,
  Factor,
  Dropout,
  Positions,
  Mask,
  Attribute,
  Result, ///< the second result
  Merge,  ///< two calls on parts of the keys and a merge of their results
};

struct Feature {
  std::string_view name;
  Slot slot;
  std::string_view operand = {}; ///< the operand of its clause, or the attribute
  std::string_view arguments = {};
  std::string_view code = {};
  std::string_view implied = {}; ///< another feature that this one requires
  std::string_view query = {};   ///< the queries of a content term
};

/// Two features that a program cannot combine.
struct Refusal {
  std::string_view first, second;
  /// A label of docs/spec.md, or words of the parser's message.
  std::string_view label;
  std::string_view reason;
  /// True if the call on a part of the keys is refused, not the program.
  bool isOfCall = false;
};

/// The indices of features, in ascending order.
using Composition = std::vector<size_t>;

std::span<const Feature> features();
size_t featureNamed(std::string_view name);
/// Adds the features that the chosen ones require.
Composition closureOf(Composition chosen);
/// Returns why a program cannot combine two features, or null if it can.
const Refusal *refusalOf(size_t first, size_t second);
/// Returns programs that together contain every supported pair.
std::vector<Composition> compositions();

bool has(const Composition &chosen, std::string_view feature);
/// Returns the source of a program with these features. `withSink` is false for calls whose results
/// are merged, because the merge has the sink.
std::string programOf(const Composition &chosen, bool withSink = true);
/// Returns the source of the merge of two such calls.
std::string mergeOf(const Composition &chosen);

/// Returns the content of docs/composition.md.
std::string compositionPage();

} // namespace pe::conformance

#endif // PE_TEST_CONFORMANCE_COMPOSITION_H
