//===- Masks.cpp - Which keys a query may attend to -----------------------===//

#include "runtime/reference/Masks.h"

#include <algorithm>

namespace pe::reference {

bool Mask::allows(int64_t i, int64_t j, const std::function<bool(NodeId)> &holds) const {
  auto partAllows = [&](const Mask &part) { return part.allows(i, j, holds); };
  switch (kind) {
  case Kind::Window:
    return lowest <= i - j && i - j <= highest;
  case Kind::Function:
    return holds(function);
  case Kind::And:
    return std::all_of(parts.begin(), parts.end(), partAllows);
  case Kind::Or:
    return std::any_of(parts.begin(), parts.end(), partAllows);
  }
  return false;
}

bool Mask::isCausal() const {
  auto partIsCausal = [](const Mask &part) { return part.isCausal(); };
  switch (kind) {
  case Kind::Window:
    return lowest >= 0;
  case Kind::Function: // what its code keeps is checked where the program is parsed
    return true;
  case Kind::And:
    return std::any_of(parts.begin(), parts.end(), partIsCausal);
  case Kind::Or:
    return std::all_of(parts.begin(), parts.end(), partIsCausal);
  }
  return false;
}

void Mask::collectFunctions(std::vector<NodeId> &nodes) const {
  if (kind == Kind::Function && std::find(nodes.begin(), nodes.end(), function) == nodes.end())
    nodes.push_back(function);
  for (const Mask &part : parts)
    part.collectFunctions(nodes);
}

MaskEvaluator::MaskEvaluator(const Mask &mask, const ScalarGraph &graph,
                             const ParameterPack &parameters)
    : mask(mask) {
  std::vector<NodeId> nodes;
  mask.collectFunctions(nodes);
  for (NodeId node : nodes)
    functions.emplace_back(node, ScalarEvaluator(graph, node, parameters));
}

void MaskEvaluator::startHead(int64_t batch, int64_t head, int64_t globalHead, int64_t headsTotal) {
  for (auto &[node, evaluator] : functions)
    evaluator.startHead(batch, head, globalHead, headsTotal);
}

void MaskEvaluator::startRow(int64_t row) {
  query = row;
  for (auto &[node, evaluator] : functions)
    evaluator.startRow(row);
}

bool MaskEvaluator::allows(int64_t key) {
  return mask.allows(query, key, [&](NodeId node) {
    auto found = std::find_if(functions.begin(), functions.end(),
                              [&](const auto &entry) { return entry.first == node; });
    return found->second.evaluate(key) != 0;
  });
}

static Expected<Mask> buildCombination(const Program &program, const Definitions &definitions,
                                       GraphBuilder &builder, const Operation &operation,
                                       Mask::Kind kind) {
  if (Status status = operation.expectOnly({}); !status)
    return status.takeError();
  if (operation.operands.empty())
    return operation.fail("expected masks to combine");
  Mask mask;
  mask.kind = kind;
  for (ValueId operand : operation.operands) {
    auto part = buildMask(program, definitions, builder, operand);
    if (!part)
      return part.takeError();
    mask.parts.push_back(std::move(*part));
  }
  return mask;
}

Expected<Mask> buildMask(const Program &program, const Definitions &definitions,
                         GraphBuilder &builder, ValueId value) {
  const Operation *operation = definitions[value];
  if (!operation)
    return makeError("expected a mask made in the function, found an argument");
  if (operation->name == "pe.mask_and")
    return buildCombination(program, definitions, builder, *operation, Mask::Kind::And);
  if (operation->name == "pe.mask_or")
    return buildCombination(program, definitions, builder, *operation, Mask::Kind::Or);
  if (operation->name == "pe.mask_fn") {
    auto node = builder.nodeOf(value);
    if (!node)
      return node.takeError();
    return Mask{.kind = Mask::Kind::Function, .function = *node};
  }

  bool isWindow = operation->name == "pe.sliding_window";
  auto known = isWindow ? operation->expectOnly({"left", "right"}) : operation->expectOnly({});
  if (!known)
    return known.takeError();
  Mask mask;
  mask.kind = Mask::Kind::Window;
  if (operation->name == "pe.causal") {
    mask.lowest = 0;
  } else if (operation->name == "pe.strict_causal") {
    mask.lowest = 1;
  } else if (isWindow) {
    auto left = operation->integer("left", Mask::unlimited);
    auto right = operation->integer("right", Mask::unlimited);
    if (!left || !right)
      return left ? right.takeError() : left.takeError();
    mask.highest = *left == Mask::unlimited ? *left : *left - 1;
    mask.lowest = *right == Mask::unlimited ? -*right : 1 - *right;
  } else {
    return operation->fail("is no mask that the reference knows");
  }
  return mask;
}

} // namespace pe::reference
