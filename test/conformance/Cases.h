//===- Cases.h - The conformance suite's case table -------------*- C++ -*-===//
//
// Encodings times calls. An encoding is a file, of examples/encodings or of test/conformance/
// encodings; a call is sizes, positions and the size of the logits. Every device runs the same
// table, and a case that a device cannot run is an error. The flags below say on which calls
// and in which types an encoding is judged.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_CONFORMANCE_CASES_H
#define PE_TEST_CONFORMANCE_CASES_H

#include "pe/LoopOptions.h"
#include "pe/Positions.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pe::conformance {

/// Which calls a function can be asked.
enum class Placing {
  Any,     ///< all of the table
  OwnKeys, ///< those with a key at the position of every query
  None,    ///< those that say nothing about positions
};

struct EncodingFile {
  std::string_view name;
  /// Relative to the repository's root.
  std::string_view path;
  /// Not judged at positions of 10^6: f32 arithmetic per pair on products of positions, or
  /// gradients that cancel.
  bool isEarlyOnly = false;
  /// An entry @embed: its calls are embeddingCalls(), whose head dim is the width of tokens.
  bool isEmbedding = false;
  /// It reads a table over positions or distances, or its values are beyond f16 at far ones.
  bool isTable = false;
  /// Every call has as many key heads as query heads.
  bool isUngrouped = false;
  Placing placing = Placing::Any;
  /// Positions are data: every call has one sequence at most, and no query at a negative row.
  bool isPlaced = false;
};

struct Call {
  std::string_view name;
  int64_t batch, queryHeads, keyHeads, queries, keys, headDim, valueDim;
  Positions positions = {};
  /// Scores are about this large.
  double logits = 1.0;
  /// Left out by --quick.
  bool isLong = false;
  /// Keys at a distance of 10^5: judged with f32 operands.
  bool isFar = false;
  /// Positions of 10^6: judged with f32 operands.
  bool isLate = false;
};

/// The range a parameter of this name is drawn from, in place of its pe.init: chosen so that the
/// interesting point (a threshold, say) lies inside the sequences of the table.
struct ParameterRange {
  std::string_view name;
  double low, high;
};

/// One way to run the loops lowering.
struct LoopChoice {
  std::string_view name;
  LoopOptions options;
};

std::span<const EncodingFile> encodingFiles();
std::span<const Call> calls();
std::span<const Call> embeddingCalls();
std::span<const Call> callsOf(const EncodingFile &encoding);
std::span<const ParameterRange> parameterRanges();
std::span<const LoopChoice> loopChoices();
/// Whether choice number `choice` is used for encoding number `encoding`: two choices per encoding,
/// with different blocks and owners, one for calls of head dim 16 and one for the others (so a
/// function is compiled once). The whole table covers all of them at both.
bool isInTurn(size_t choice, size_t encoding, const Call &call);
/// More than 100 000 pairs of a query and a key: seconds on emulated threads.
bool isLarge(const Call &call);
/// One of every `of` pairs of an encoding and a call.
struct Turn {
  size_t number = 0, of = 1;
};
/// Whether this is the turn of a call of encoding number `encoding`: neighbours of either take
/// turns, so that every encoding and every call has its share.
bool isInTurn(const Turn &turn, size_t encoding, const Call &call);

} // namespace pe::conformance

#endif // PE_TEST_CONFORMANCE_CASES_H
