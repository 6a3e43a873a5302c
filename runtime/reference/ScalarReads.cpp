//===- ScalarReads.cpp - Counting of out-of-range reads -------------------===//

#include "runtime/reference/ScalarGraph.h"

namespace pe::reference {

/// Returns true if an index is out of range. All indices may read an axis of one element.
static bool isOutsideAxis(const ReadSpec &spec, size_t axis, double index) {
  return spec.shape[axis] > 1 && (index < 0.0 || index > static_cast<double>(spec.shape[axis] - 1));
}

void ScalarEvaluator::noteOutside(int number) {
  const ReadSpec &spec = graph.reads[number];
  bool isOut = false;
  for (size_t axis = 0; axis < spec.shape.size(); ++axis)
    isOut |= isOutsideAxis(spec, axis, values[spec.indices[axis]]);
  outsideReads += static_cast<int64_t>(isOut) - static_cast<int64_t>(isOutside[number]);
  isOutside[number] = isOut;
}

/// Adds the inputs that determine the node's value at this pair to `pending`.
void ScalarEvaluator::visitInputs(NodeId id) {
  const ScalarNode &node = graph.nodes[id];
  auto add = [&](NodeId input) {
    if (input >= 0 && !isVisited[input]) {
      isVisited[input] = true;
      pending.push_back(input);
    }
  };
  if (node.kind == ScalarNode::Kind::Read)
    for (NodeId index : graph.reads[node.spec].indices)
      add(index);
  if (node.kind == ScalarNode::Kind::Select) {
    add(node.in[0]);
    return add(node.in[values[node.in[0]] != 0.0 ? 1 : 2]);
  }
  const bool isAnd = node.integer == findIntegerRule("arith.andi");
  const bool isOr = node.integer == findIntegerRule("arith.ori");
  if (node.kind == ScalarNode::Kind::Integer && node.bits == 1 && (isAnd || isOr))
    for (int side : {0, 1})
      if ((integers[node.in[side]] != 0) == isOr)
        return add(node.in[side]); // this operand decides the result
  for (NodeId input : node.in)
    add(input);
}

void ScalarEvaluator::tallyReads(ReadTally &tally) {
  tally.addEvaluation(root);
  if (outsideReads == 0)
    return;
  isVisited.assign(isVisited.size(), false);
  isVisited[root] = true;
  pending = {root};
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    visitInputs(id);
    const ScalarNode &node = graph.nodes[id];
    if (node.kind != ScalarNode::Kind::Read || !isOutside[node.spec])
      continue;
    const ReadSpec &spec = graph.reads[node.spec];
    for (size_t axis = 0; axis < spec.shape.size(); ++axis)
      if (const double index = values[spec.indices[axis]]; isOutsideAxis(spec, axis, index))
        tally.addOutside(root, node.spec, axis, index);
  }
}

std::vector<OutsideRead>
ScalarGraph::describe(const ReadTally &tally,
                      const std::function<std::string(NodeId)> &unitOf) const {
  std::vector<OutsideRead> all;
  for (const auto &[place, entry] : tally.entries()) {
    const auto [number, axis] = place;
    const ReadSpec &spec = reads[number];
    all.push_back({spec.tensor, spec.location, axis, spec.shape[axis], entry.least, entry.most,
                   entry.count, tally.evaluationsOf(entry.root), unitOf(entry.root)});
  }
  return all;
}

} // namespace pe::reference
