//===- Regions.cpp - Scalar operations of a user's region -----------------===//
//
// The body of pe.bias_fn as scalar nodes: arith and math operations by their rules, reads of
// parameters, the head numbers and the scalar MLP. Values of integer type are exact in a double.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/GraphBuilder.h"

#include <cmath>
#include <set>

namespace pe::reference {

Expected<NodeId> GraphBuilder::buildBiasFunction(const Operation &operation) {
  if (Status status = operation.expectOnly({}); !status)
    return status.takeError();
  if (operation.regions.size() != 1)
    return operation.fail("expected one region");
  const Region &region = operation.regions[0];
  const Position positions[] = {Position::Batch, Position::Head, Position::Query, Position::Key};
  constexpr size_t count = std::size(positions);
  if (region.arguments.size() != count + operation.operands.size())
    return operation.fail("expected a region with arguments b, h, i, j and one per operand");
  for (size_t i = 0; i < count; ++i)
    nodes[region.arguments[i]] = graph.position(positions[i]);
  for (size_t i = 0; i < operation.operands.size(); ++i)
    captured[region.arguments[count + i]] = operation.operands[i];

  for (const Operation &inner : region.operations) {
    if (inner.name == "pe.yield")
      return scalar(inner, 0);
    if (Status status = buildRegionOperation(inner); !status)
      return status.takeError();
  }
  return operation.fail("expected the region to end with 'pe.yield'");
}

Status GraphBuilder::buildRegionOperation(const Operation &operation) {
  if (operation.results.size() != 1 || !operation.regions.empty())
    return operation.fail("is not supported inside a region: expected an operation with one "
                          "result and no region of its own");
  auto node = regionNode(operation);
  if (!node)
    return node.takeError();
  nodes[operation.results[0]] = *node;
  return Status::success();
}

Expected<NodeId> GraphBuilder::scalar(const Operation &operation, size_t operand) const {
  if (operand >= operation.operands.size())
    return operation.fail("expected at least ", operand + 1, " operands");
  ValueId value = operation.operands[operand];
  if (nodes[value] < 0)
    return operation.fail("expected operand ", operand, " to be a scalar of the region, found a ",
                          program.typeOf(value));
  return nodes[value];
}

Expected<NodeId> GraphBuilder::regionNode(const Operation &operation) {
  static const std::set<std::string_view> conversions = {
      "arith.index_cast", "arith.index_castui", "arith.sitofp", "arith.uitofp", "arith.extf",
      "arith.truncf",     "arith.extsi",        "arith.extui",  "arith.trunci"};
  const std::string &name = operation.name;
  if (name == "arith.constant")
    return buildConstant(operation);
  if (name == "pe.read")
    return buildRead(operation);
  if (name == "pe.global_head")
    return buildGlobalHead(operation);
  if (name == "pe.heads_total")
    return graph.position(Position::HeadsTotal);

  std::vector<NodeId> in;
  for (size_t i = 0; i < operation.operands.size() && (name != "pe.mlp_eval" || i < 2); ++i) {
    auto node = scalar(operation, i);
    if (!node)
      return node.takeError();
    in.push_back(*node);
  }
  if (name == "pe.mlp_eval" && in.size() == 2) {
    auto spec = readMlp(operation, {operation.operands.begin() + 2, operation.operands.end()});
    if (!spec)
      return spec.takeError();
    return graph.mlp(std::move(*spec), in[0], in[1]);
  }
  if (conversions.contains(name) && in.size() == 1)
    return buildConversion(operation);
  if ((name == "arith.cmpf" || name == "arith.cmpi") && in.size() == 2)
    return buildComparison(operation, name == "arith.cmpf");
  if (name == "arith.select" && in.size() == 3)
    return graph.select(in[0], in[1], in[2]);
  if (name == "math.fma" && in.size() == 3)
    return graph.arith("addf", graph.arith("mulf", in[0], in[1]), in[2]);
  if (const UnaryRule *rule = findUnaryRule(name); rule && in.size() == 1)
    return graph.unary(*rule, in[0]);
  if (const BinaryRule *rule = findBinaryRule(name); rule && in.size() == 2)
    return graph.binary(*rule, in[0], in[1]);
  return operation.fail("is not supported inside a region");
}

Expected<NodeId> GraphBuilder::buildConstant(const Operation &operation) {
  const Attribute *attribute = operation.find("value");
  std::optional<double> value;
  if (attribute)
    value = attribute->asNumber();
  if (attribute && !value)
    if (auto truth = attribute->asBool())
      value = *truth ? 1.0 : 0.0;
  if (!value)
    return operation.fail("expected attribute 'value' to be a number");
  const std::string &type = program.typeOf(operation.results[0]);
  // A truth value is 1 here, though MLIR prints it as -1 when it is read as signed.
  if (type == "i1")
    return graph.constant(*value != 0.0 ? 1.0 : 0.0);
  return graph.constant(type == "f32" ? static_cast<double>(static_cast<float>(*value)) : *value);
}

Expected<NodeId> GraphBuilder::buildComparison(const Operation &operation, bool isFloat) {
  const Attribute *attribute = operation.find("predicate");
  if (!attribute)
    return operation.fail("expected attribute 'predicate'");
  const BinaryRule *rule = nullptr;
  if (auto number = attribute->asNumber())
    rule = isFloat ? findFloatComparison(static_cast<int64_t>(*number))
                   : findIntegerComparison(static_cast<int64_t>(*number));
  else if (auto word = attribute->asKeyword())
    rule = isFloat ? findFloatComparison(*word) : findIntegerComparison(*word);
  if (!rule)
    return operation.fail("expected a comparison's predicate");
  auto a = scalar(operation, 0), b = scalar(operation, 1);
  return graph.binary(*rule, *a, *b);
}

/// Conversions change nothing here, except those that read a truth value (1 in this program) as a
/// signed number (-1), and those to fewer bits.
Expected<NodeId> GraphBuilder::buildConversion(const Operation &operation) {
  auto x = scalar(operation, 0);
  const std::string &from = program.typeOf(operation.operands[0]);
  const std::string &to = program.typeOf(operation.results[0]);
  bool readsSign = operation.name == "arith.extsi" || operation.name == "arith.sitofp" ||
                   operation.name == "arith.index_cast";
  if (from == "i1" && readsSign)
    return graph.unary(*findUnaryRule("arith.negf"), *x);
  if (operation.name == "arith.trunci" && to == "i1")
    return graph.arith("andi", *x, graph.constant(1.0));
  if (operation.name == "arith.trunci" && to != "i32" && to != "i64")
    return operation.fail("expected a result of type i1, i32 or i64, found ", to);
  return *x;
}

Expected<NodeId> GraphBuilder::buildRead(const Operation &operation) {
  if (operation.operands.empty())
    return operation.fail("expected a tensor to read");
  auto tensor = packed(operation, operation.operands[0]);
  if (!tensor)
    return tensor.takeError();
  ReadSpec spec{tensor->offset, *tensor->shape, {}};
  for (size_t i = 1; i < operation.operands.size(); ++i) {
    auto index = scalar(operation, i);
    if (!index)
      return index.takeError();
    spec.indices.push_back(*index);
  }
  if (spec.indices.size() != spec.shape.size())
    return operation.fail("expected ", spec.shape.size(), " indices for a tensor of shape ",
                          toString(spec.shape), ", found ", spec.indices.size());
  return graph.read(std::move(spec));
}

/// head_start + h; with an operand, head_start + that head.
Expected<NodeId> GraphBuilder::buildGlobalHead(const Operation &operation) {
  NodeId global = graph.position(Position::GlobalHead);
  if (operation.operands.empty())
    return global;
  auto head = scalar(operation, 0);
  if (!head)
    return head.takeError();
  NodeId start = graph.arith("subi", global, graph.position(Position::Head));
  return graph.arith("addi", start, *head);
}

} // namespace pe::reference
