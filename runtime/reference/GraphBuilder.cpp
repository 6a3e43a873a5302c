//===- GraphBuilder.cpp - Translation of pe operations to nodes -----------===//
//
// Dispatches over coordinates and biases, and reads parameter tensors. The formulas are in
// Coordinates.cpp, Biases.cpp and Regions.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/GraphBuilder.h"

#include <utility>

namespace pe::reference {

Definitions findDefinitions(const Program &program) {
  Definitions definitions(program.types.size(), nullptr);
  for (const Operation &operation : program.operations)
    for (ValueId result : operation.results)
      definitions[result] = &operation;
  return definitions;
}

GraphBuilder::GraphBuilder(const Program &program, const Definitions &definitions,
                           const TensorValues &tensors, const plan::CallSizes &sizes)
    : program(program), definitions(definitions), tensors(tensors), sizes(sizes),
      headNode(graph.position(Position::Head)), nodes(program.types.size(), -1),
      placeNodes(program.types.size(), -1) {}

Expected<NodeId> GraphBuilder::nodeOf(ValueId value) {
  if (nodes[value] >= 0)
    return nodes[value];
  const Operation *operation = definitions[value];
  if (!operation)
    return makeError(
        "expected a coordinate or a bias defined in the function, found an argument of "
        "type ",
        program.typeOf(value));
  Handler handler = nullptr;
  for (auto *handlers : {&coordinateHandlers(), &biasHandlers()})
    if (auto found = handlers->find(operation->name); found != handlers->end())
      handler = found->second;
  if (!handler)
    return operation->fail("is not a coordinate or bias that the reference can evaluate");
  const std::string outer = std::exchange(graph.location, operation->location);
  auto node = (this->*handler)(*operation);
  graph.location = outer;
  if (node)
    nodes[value] = *node;
  return node;
}

Expected<GraphBuilder::PackedTensor> GraphBuilder::packed(const Operation &operation,
                                                          ValueId tensor) {
  if (auto outer = captured.find(tensor); outer != captured.end())
    tensor = outer->second;
  // If an argument is omitted, another one is read at the same indices.
  for (const Argument &argument : program.arguments)
    if (argument.id == tensor && !argument.absent.empty() && !tensors.contains(tensor))
      for (const Argument &other : program.arguments)
        if (other.name == argument.absent)
          tensor = other.id;
  auto found = tensors.find(tensor);
  if (found == tensors.end())
    return operation.fail("reads a value of type ", program.typeOf(tensor),
                          ", expected a floating tensor");
  const Array &array = found->second;
  const bool isData = axesOf(tensor) != nullptr;
  // Tables per batch entry have no elements if the batch is empty, and tensors of query(...) if
  // there are no queries either.
  const Shape &shape = array.shape;
  const bool isOfNoBatch = (shape.size() == 3 || shape.size() == 4) && shape[0] == 0;
  const bool isOfNoRows = shape.size() == 4 && shape[2] == 0;
  if (array.data.empty() && !isData && !isOfNoBatch && !isOfNoRows)
    return operation.fail("reads a tensor without elements, of shape ", toString(array.shape));
  auto [offset, isNew] = offsets.emplace(tensor, pack.size());
  if (isNew) {
    // In a call without queries or keys the values are irrelevant.
    pack.append(array.data.empty() ? std::vector<double>{0.0} : array.data);
    parameters.push_back({tensor, offset->second});
  }
  return PackedTensor{offset->second, &array.shape, tensor};
}

const std::vector<std::string> *GraphBuilder::axesOf(ValueId tensor) const {
  for (const Argument &argument : program.arguments)
    if (argument.id == tensor && !argument.axes.empty())
      return &argument.axes;
  return nullptr;
}

bool GraphBuilder::isOfTokens(const PackedTensor &tensor, size_t axis) const {
  const std::vector<std::string> *axes = axesOf(tensor.value);
  return axes && axis < axes->size() && ((*axes)[axis] == "query" || (*axes)[axis] == "key");
}

NodeId GraphBuilder::placeOf(const PackedTensor &tensor, size_t axis, NodeId index) {
  const std::vector<std::string> *axes = axesOf(tensor.value);
  if (!axes || axis >= axes->size())
    return index;
  const std::string &word = (*axes)[axis];
  auto with = [&](const char *rule, int64_t number) {
    return graph.integer(*findIntegerRule(rule), index, graph.integerConstant(number), 64, 64);
  };
  if (word == "query")
    return with("arith.subi", sizes.queryStart);
  if (word == "key")
    return with("arith.subi", sizes.keyStart);
  if (word == "kv_head" && sizes.keyHeads > 0)
    return with("arith.divui", sizes.queryHeads / sizes.keyHeads);
  return index;
}

Expected<NodeId> GraphBuilder::headParameter(const Operation &operation, ValueId tensor,
                                             std::string_view what) {
  auto place = packed(operation, tensor);
  if (!place)
    return place.takeError();
  const Shape &shape = *place->shape;
  if (shape.empty())
    return graph.read({place->offset, shape, {}});
  // A single element is shared by all heads: its index is clamped to 0.
  if (shape.size() != 1 || (shape[0] != sizes.queryHeads && shape[0] != 1))
    return operation.fail("expected ", what, " to be one number or ", sizes.queryHeads,
                          " numbers, one per head, found shape ", toString(shape));
  return graph.read({place->offset, shape, {headNode}});
}

Expected<NodeId> GraphBuilder::sinkOf(const Operation &operation, ValueId logits) {
  const Array *array = find(logits);
  if (!array || array->shape != Shape{sizes.queryHeads})
    return operation.fail("expected a sink per query head, ", sizes.queryHeads, ", found shape ",
                          array ? toString(array->shape) : "none");
  return headParameter(operation, logits, "sinks");
}

Expected<NodeId> GraphBuilder::drawOf(const Operation &operation, double probability,
                                      ValueId seed) {
  if (auto outer = captured.find(seed); outer != captured.end())
    seed = outer->second;
  const Array *array = find(seed);
  const bool isPerBatch = array && array->shape.size() == 1;
  if (!array || !seeds || !seeds->contains(seed) || (isPerBatch && array->shape[0] != sizes.batch))
    return operation.fail("expected a 64-bit seed, or one per batch entry, found shape ",
                          array ? toString(array->shape) : "none");
  return graph.draw({probability, seeds->at(seed), isPerBatch});
}

} // namespace pe::reference
