//===- Composition.h - What is composed with what ---------------*- C++ -*-===//
//
// The modes of attention and the kinds of terms, which pairs of them are refused and why, and
// programs that hold many at a time, so that every other pair stands in one of them. The page
// docs/composition.md is written from here; CompositionTest.cpp holds all of it to what happens.
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

/// Where a feature stands in a program.
enum class Slot {
  Bias,
  Prologue,
  Rotation,
  Content,
  ValueContent,
  Score,
  Sink,
  Factor,
  Dropout,
  Positions,
  Mask,
  Attribute,
  Result, ///< the second one
  Merge,  ///< two calls on parts of the keys, and a merge of their results
};

struct Feature {
  std::string_view name;
  Slot slot;
  std::string_view operand = {}; ///< in its clause, or the attribute
  std::string_view arguments = {};
  std::string_view code = {};
  std::string_view implied = {}; ///< another feature, without which there is no such thing
};

/// Two features of which a program may not have both.
struct Refusal {
  std::string_view first, second;
  std::string_view label;
  std::string_view reason;
  /// It is the call on a part of the keys that is refused.
  bool isOfCall = false;
};

/// Indices of features, ascending.
using Composition = std::vector<size_t>;

std::span<const Feature> features();
size_t featureNamed(std::string_view name);
/// With what they imply.
Composition closureOf(Composition chosen);
/// Why these two may not stand in one program; null where they may.
const Refusal *refusalOf(size_t first, size_t second);
/// Programs in which every pair occurs that is not refused.
std::vector<Composition> compositions();

bool has(const Composition &chosen, std::string_view feature);
/// The source of a program with these features; `withSink` is false for the calls whose results are
/// merged, where the merge has it.
std::string programOf(const Composition &chosen, bool withSink = true);
/// The source of the merge of two such calls.
std::string mergeOf(const Composition &chosen);

/// docs/composition.md.
std::string compositionPage();

} // namespace pe::conformance

#endif // PE_TEST_CONFORMANCE_COMPOSITION_H
