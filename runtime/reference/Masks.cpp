//===- Masks.cpp - Evaluation of masks ------------------------------------===//

#include "runtime/reference/Masks.h"

#include <algorithm>

namespace pe::reference {

size_t documentOf(const std::vector<int64_t> &boundaries, int64_t place) {
  auto next = std::upper_bound(boundaries.begin(), boundaries.end(), place);
  return static_cast<size_t>(next - boundaries.begin());
}

Token PairPositions::find(const Array *given, int64_t batch, int64_t index, int64_t place) const {
  if (given)
    return {place, static_cast<int64_t>(given->data[batch * given->dim(1) + index])};
  if (!boundaries)
    return place;
  const size_t document = documentOf(*boundaries, place);
  return {place, document ? place - (*boundaries)[document - 1] : place};
}

const std::vector<int64_t> *Mask::restartsIn() const {
  if (kind == Kind::Documents && restarts)
    return &boundaries;
  for (const Mask &part : parts)
    if (const auto *found = part.restartsIn())
      return found;
  return nullptr;
}

bool Mask::allows(Token i, Token j, const std::function<bool(NodeId)> &holds) const {
  auto partAllows = [&](const Mask &part) { return part.allows(i, j, holds); };
  switch (kind) {
  case Kind::Window:
    return lowest <= i.position - j.position && i.position - j.position <= highest;
  case Kind::Function:
    return holds(function);
  case Kind::Documents:
    return documentOf(boundaries, i.place) == documentOf(boundaries, j.place);
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
  case Kind::Function: // the pairs its code keeps are checked when the program is parsed
    return true;
  case Kind::Documents:
    return false;
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

void MaskEvaluator::startRow(Token row) {
  query = row;
  for (auto &[node, evaluator] : functions)
    evaluator.startRow(row);
}

bool MaskEvaluator::allows(Token key) {
  evaluated.clear();
  return mask.allows(query, key, [&](NodeId node) {
    auto found = std::find_if(functions.begin(), functions.end(),
                              [&](const auto &entry) { return entry.first == node; });
    evaluated.push_back(&found->second);
    return found->second.evaluate(key) != 0;
  });
}

void MaskEvaluator::tallyReads(ReadTally &tally) {
  for (ScalarEvaluator *evaluator : evaluated)
    evaluator->tallyReads(tally);
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

static Expected<Mask> buildDocuments(GraphBuilder &builder, const Operation &operation) {
  if (Status status = operation.expectOnly({"restart"}); !status)
    return status.takeError();
  auto restart = operation.boolean("restart", false);
  if (!restart)
    return restart.takeError();
  const Array *numbers =
      operation.operands.size() == 1 ? builder.find(operation.operands[0]) : nullptr;
  if (!numbers || numbers->shape.size() != 1)
    return operation.fail("expected a tensor of boundaries");
  Mask mask{.kind = Mask::Kind::Documents};
  mask.restarts = *restart;
  for (double number : numbers->data)
    mask.boundaries.push_back(static_cast<int64_t>(number));
  return mask;
}

Expected<Mask> buildMask(const Program &program, const Definitions &definitions,
                         GraphBuilder &builder, ValueId value) {
  const Operation *operation = definitions[value];
  if (!operation)
    return makeError("expected a mask defined in the function, found an argument");
  if (operation->name == "pe.mask_and")
    return buildCombination(program, definitions, builder, *operation, Mask::Kind::And);
  if (operation->name == "pe.mask_or")
    return buildCombination(program, definitions, builder, *operation, Mask::Kind::Or);
  if (operation->name == "pe.documents")
    return buildDocuments(builder, *operation);
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
    return operation->fail("is not a mask that the reference can evaluate");
  }
  return mask;
}

} // namespace pe::reference
