//===- GraphBuilder.cpp - From pe operations to scalar nodes --------------===//
//
// The walk over coordinates and biases and the reading of parameter tensors. The formulas are in
// Coordinates.cpp, Biases.cpp and Regions.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/GraphBuilder.h"

namespace pe::reference {

Definitions findDefinitions(const Program &program) {
  Definitions definitions(program.types.size(), nullptr);
  for (const Operation &operation : program.operations)
    for (ValueId result : operation.results)
      definitions[result] = &operation;
  return definitions;
}

GraphBuilder::GraphBuilder(const Program &program, const Definitions &definitions,
                           const TensorValues &tensors, int64_t heads)
    : program(program), definitions(definitions), tensors(tensors), heads(heads),
      headNode(graph.position(Position::Head)), nodes(program.types.size(), -1) {}

Expected<NodeId> GraphBuilder::nodeOf(ValueId value) {
  if (nodes[value] >= 0)
    return nodes[value];
  const Operation *operation = definitions[value];
  if (!operation)
    return makeError("expected a coordinate or a bias made in the function, found an argument of "
                     "type ",
                     program.typeOf(value));
  Handler handler = nullptr;
  for (auto *handlers : {&coordinateHandlers(), &biasHandlers()})
    if (auto found = handlers->find(operation->name); found != handlers->end())
      handler = found->second;
  if (!handler)
    return operation->fail("is no coordinate or bias that the reference knows");
  auto node = (this->*handler)(*operation);
  if (node)
    nodes[value] = *node;
  return node;
}

Expected<GraphBuilder::PackedTensor> GraphBuilder::packed(const Operation &operation,
                                                          ValueId tensor) {
  if (auto outer = captured.find(tensor); outer != captured.end())
    tensor = outer->second;
  auto found = tensors.find(tensor);
  if (found == tensors.end())
    return operation.fail("reads a value of type ", program.typeOf(tensor),
                          " that is no floating tensor");
  const Array &array = found->second;
  if (array.data.empty())
    return operation.fail("reads a tensor without elements, of shape ", toString(array.shape));
  auto [offset, isNew] = offsets.emplace(tensor, pack.size());
  if (isNew) {
    pack.append(array.data);
    parameters.push_back({tensor, offset->second});
  }
  return PackedTensor{offset->second, &array.shape};
}

Expected<NodeId> GraphBuilder::headParameter(const Operation &operation, ValueId tensor,
                                             std::string_view what) {
  auto place = packed(operation, tensor);
  if (!place)
    return place.takeError();
  const Shape &shape = *place->shape;
  if (shape.empty())
    return graph.read({place->offset, shape, {}});
  // A single number is shared by all heads: its index is clamped to 0.
  if (shape.size() != 1 || (shape[0] != heads && shape[0] != 1))
    return operation.fail("expected ", what, " to be one number or ", heads,
                          " numbers, one per head, found shape ", toString(shape));
  return graph.read({place->offset, shape, {headNode}});
}

} // namespace pe::reference
