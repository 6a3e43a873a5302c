//===- Masks.h - Which keys a query may attend to ---------------*- C++ -*-===//
//
// A !pe.mask value as a small tree over global positions i (query) and j (key).
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
  enum class Kind : uint8_t { Window, Function, And, Or };
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

  Kind kind = Kind::And; ///< an And of nothing allows everything
  /// A Window allows lowest <= i - j <= highest.
  int64_t lowest = -unlimited;
  int64_t highest = unlimited;
  /// A Function allows what its scalar code says.
  NodeId function = -1;
  std::vector<Mask> parts;

  /// `holds` says whether a function's node is true at the pair.
  bool allows(int64_t i, int64_t j, const std::function<bool(NodeId)> &holds) const;
  /// The nodes of all functions.
  void collectFunctions(std::vector<NodeId> &nodes) const;
  /// True if no key after its query is allowed, whatever the positions.
  bool isCausal() const;
};

/// A mask at the pairs of one row after another.
class MaskEvaluator {
public:
  MaskEvaluator(const Mask &mask, const ScalarGraph &graph, const ParameterPack &parameters);

  /// As those of ScalarEvaluator.
  void startHead(int64_t batch, int64_t head, int64_t globalHead, int64_t headsTotal);
  void startRow(int64_t query);
  /// Whether the mask keeps the pair of the current row.
  bool allows(int64_t key);

private:
  const Mask &mask;
  int64_t query = 0;
  std::vector<std::pair<NodeId, ScalarEvaluator>> functions;
};

/// The mask made by the value's operation.
Expected<Mask> buildMask(const Program &program, const Definitions &definitions,
                         GraphBuilder &builder, ValueId value);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_MASKS_H
