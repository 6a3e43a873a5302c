//===- Cases.h - Case table of the conformance suite ------------*- C++ -*-===//
//
// A case is an encoding and a call. An encoding is a file of examples/encodings or
// test/conformance/encodings; a call has sizes, positions and a magnitude of the logits. Every
// device runs the same table. A case that a device does not support is listed with its reason in
// Exemptions.cpp, or an error. The flags below select the calls for which an encoding is defined,
// and those whose results are compared on every device.
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

/// The calls that a function supports.
enum class Placing {
  Any,     ///< all calls of the table
  OwnKeys, ///< calls with a key at the position of every query
  None,    ///< calls with default positions
  Square,  ///< calls with as many queries as keys
};

struct EncodingFile {
  std::string_view name;
  /// The path relative to the repository root.
  std::string_view path;
  /// True if the encoding is not tested at positions of 10^6, because it computes products of
  /// positions in f32 or its gradients cancel.
  bool isEarlyOnly = false;
  /// True for an entry @embed. Its calls are embeddingCalls(), whose head dim is the token width.
  bool isEmbedding = false;
  /// True if the encoding reads a table over positions or distances, or exceeds the range of f16 at
  /// large ones.
  bool isTable = false;
  /// True if every call must have as many key heads as query heads.
  bool isUngrouped = false;
  Placing placing = Placing::Any;
  /// True if positions are data: a call has at most one sequence, and no query at a negative row.
  bool isPlaced = false;
};

struct Call {
  std::string_view name;
  int64_t batch, queryHeads, keyHeads, queries, keys, headDim, valueDim;
  Positions positions = {};
  /// The approximate magnitude of the scores.
  double logits = 1.0;
  /// True if --quick omits the call.
  bool isLong = false;
  /// True if keys are at a distance of 10^5; compared only with f32 operands.
  bool isFar = false;
  /// True if positions are about 10^6; compared only with f32 operands.
  bool isLate = false;
  /// The number of keys of each batch entry (`kv_len`); empty if every entry has all keys.
  std::span<const int32_t> lengths = {};
  /// Added to the seed of the inputs.
  uint64_t seed = 0;
};

/// The range that replaces `pe.init` for parameters of this name. It is chosen so that the relevant
/// point, such as a threshold, is inside the sequences of the table.
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
/// Returns true if encoding number `encoding` runs `call` with loop choice number `choice`. Each
/// encoding uses two choices with different blocks and owners: one for calls of head dim 16 and one
/// for the others, so that each function is compiled once. The table covers all choices at both.
bool isInTurn(size_t choice, size_t encoding, const Call &call);
/// Returns true if a call runs only in its turn: it needs another function than most calls of an
/// encoding, because its head dim is not 16, or it takes seconds on emulated threads, because it
/// has more than 100 000 query-key pairs with rows rounded up to blocks of `blockRows`.
bool waitsForTurn(const EncodingFile &encoding, const Call &call, int64_t blockRows = 1);
/// Selects one of every `of` cases.
struct Turn {
  size_t number = 0, of = 1;
};
/// Returns true if the turn selects `call` of encoding number `encoding`. The selection alternates
/// over encodings and over head dims, so that every encoding and every call is covered, and calls
/// that share a function have the same turn.
bool isInTurn(const Turn &turn, size_t encoding, const Call &call);

} // namespace pe::conformance

#endif // PE_TEST_CONFORMANCE_CASES_H
