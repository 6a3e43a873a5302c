//===- Masks.h - Which keys a query may attend to ---------------*- C++ -*-===//
//
// A !pe.mask value as a small tree over the positions i of a query and j of a key.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_MASKS_H
#define PE_RUNTIME_REFERENCE_MASKS_H

#include "runtime/reference/GraphBuilder.h"

#include <functional>
#include <limits>
#include <vector>

namespace pe::reference {

struct Mask {
  enum class Kind : uint8_t { Window, Function, Documents, And, Or };
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

  Kind kind = Kind::And; ///< an And of nothing allows everything
  /// A Window allows lowest <= i - j <= highest.
  int64_t lowest = -unlimited;
  int64_t highest = unlimited;
  /// A Function allows what its scalar code says.
  NodeId function = -1;
  /// Documents allows what lies between the same two of these; positions may restart there.
  std::vector<int64_t> boundaries;
  bool restarts = false;
  std::vector<Mask> parts;

  /// `holds` says whether a function's node is true at the pair.
  bool allows(Token i, Token j, const std::function<bool(NodeId)> &holds) const;
  /// The nodes of all functions.
  void collectFunctions(std::vector<NodeId> &nodes) const;
  /// True if no key after its query is allowed, whatever the positions.
  bool isCausal() const;
  /// The boundaries of the documents that positions restart in; null without any.
  const std::vector<int64_t> *restartsIn() const;
};

/// Which document a place lies in: the last one that begins at or before it and is not empty.
size_t documentOf(const std::vector<int64_t> &boundaries, int64_t place);

/// The positions of the tokens of one attention.
struct PairPositions {
  /// [B, Sq] and [B, Sk] numbers; null unless they are given.
  const Array *queries = nullptr, *keys = nullptr;
  int64_t queryStart = 0, keyStart = 0;
  /// Where they restart; null unless they do.
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

/// A mask at the pairs of one row after another.
class MaskEvaluator {
public:
  MaskEvaluator(const Mask &mask, const ScalarGraph &graph, const ParameterPack &parameters);

  /// As those of ScalarEvaluator.
  void startHead(int64_t batch, int64_t head, int64_t globalHead, int64_t headsTotal);
  void startRow(Token query);
  /// Whether the mask keeps the pair of the current row.
  bool allows(Token key);
  /// Counts the reads of the functions that the last `allows` evaluated.
  void tallyReads(ReadTally &tally);

private:
  const Mask &mask;
  Token query = 0;
  std::vector<std::pair<NodeId, ScalarEvaluator>> functions;
  std::vector<ScalarEvaluator *> evaluated;
};

/// The mask made by the value's operation.
Expected<Mask> buildMask(const Program &program, const Definitions &definitions,
                         GraphBuilder &builder, ValueId value);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_MASKS_H
