//===- Masks.h - Evaluation of masks ----------------------------*- C++ -*-===//
//
// Represents a !pe.mask value as a small tree over the positions i of a query and j of a key.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_MASKS_H
#define PE_RUNTIME_REFERENCE_MASKS_H

#include "runtime/reference/GraphBuilder.h"

#include <functional>
#include <limits>
#include <vector>

namespace pe::reference {

/// A node of the tree of a mask.
struct Mask {
  enum class Kind : uint8_t { Window, Function, Documents, And, Or };
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

  Kind kind = Kind::And; ///< an empty And keeps all pairs
  /// A Window keeps lowest <= i - j <= highest.
  int64_t lowest = -unlimited;
  int64_t highest = unlimited;
  /// A Function keeps the pairs at which its scalar code is true.
  NodeId function = -1;
  /// Documents keeps the pairs between the same two boundaries; positions may restart at them.
  std::vector<int64_t> boundaries;
  bool restarts = false;
  std::vector<Mask> parts;

  /// Returns true if the pair is kept. `holds` evaluates the node of a Function at the pair.
  bool allows(Token i, Token j, const std::function<bool(NodeId)> &holds) const;
  /// Appends the nodes of all functions.
  void collectFunctions(std::vector<NodeId> &nodes) const;
  /// Returns true if no key after its query is kept, for any positions.
  bool isCausal() const;
  /// Returns the boundaries of the documents in which positions restart, or null.
  const std::vector<int64_t> *restartsIn() const;
};

/// Returns the document of a place: the last nonempty one that begins at or before it.
size_t documentOf(const std::vector<int64_t> &boundaries, int64_t place);

/// The positions of the tokens of one attention.
struct PairPositions {
  /// [B, Sq] and [B, Sk]; null unless positions are given as data.
  const Array *queries = nullptr, *keys = nullptr;
  int64_t queryStart = 0, keyStart = 0;
  /// The boundaries at which positions restart; null if they do not.
  const std::vector<int64_t> *boundaries = nullptr;

  Token query(int64_t batch, int64_t row) const {
    return find(queries, batch, row, queryStart + row);
  }
  Token key(int64_t batch, int64_t column) const {
    return find(keys, batch, column, keyStart + column);
  }

private:
  Token find(const Array *given, int64_t batch, int64_t index, int64_t place) const;
};

/// Evaluates a mask at the pairs of one row after another.
class MaskEvaluator {
public:
  MaskEvaluator(const Mask &mask, const ScalarGraph &graph, const ParameterPack &parameters);

  /// Same as in ScalarEvaluator.
  void startHead(int64_t batch, int64_t head, int64_t globalHead, int64_t headsTotal);
  void startRow(Token query);
  /// Returns true if the mask keeps the pair of the current row and this key.
  bool allows(Token key);
  /// Counts the out-of-range reads of the functions that the last `allows` evaluated.
  void tallyReads(ReadTally &tally);

private:
  const Mask &mask;
  Token query = 0;
  std::vector<std::pair<NodeId, ScalarEvaluator>> functions;
  std::vector<ScalarEvaluator *> evaluated;
};

/// Builds the mask that defines `value`.
Expected<Mask> buildMask(const Program &program, const Definitions &definitions,
                         GraphBuilder &builder, ValueId value);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_MASKS_H
