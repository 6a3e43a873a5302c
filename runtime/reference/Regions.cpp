//===- Regions.cpp - Scalar operations of a user's region -----------------===//
//
// Translates the bodies of pe.bias_fn, pe.score_fn and so on to scalar nodes: arith and math
// operations by their rules, reads of parameters, head indices and the scalar MLP. Real numbers are
// computed in float64 for every type, integers at the width of their type.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/GraphBuilder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace pe::reference {

static bool isIntegerType(std::string_view type) {
  return type == "index" || type.starts_with('i');
}

/// Returns the bits of an integer type; an index has 64.
static unsigned widthOf(std::string_view type) {
  unsigned bits = 64;
  if (type.size() > 1 && type.starts_with('i'))
    std::from_chars(type.data() + 1, type.data() + type.size(), bits);
  return bits;
}

Expected<NodeId> GraphBuilder::buildBiasFunction(const Operation &operation) {
  return buildFunction(operation,
                       {Position::Batch, Position::Head, Position::Query, Position::Key});
}

Expected<NodeId> GraphBuilder::buildScoreFunction(const Operation &operation) {
  return buildFunction(operation, {Position::Score, Position::Batch, Position::Head,
                                   Position::Query, Position::Key});
}

Expected<NodeId> GraphBuilder::buildFactorFunction(const Operation &operation) {
  return buildFunction(operation,
                       {Position::Batch, Position::Head, Position::Query, Position::Key});
}

Expected<NodeId> GraphBuilder::buildSinkFunction(const Operation &operation) {
  return buildFunction(operation, {Position::Batch, Position::Head, Position::Query});
}

/// Builds element d of the vector of a pair. The shift and the projection are not captures.
Expected<NodeId> GraphBuilder::buildContentFunction(const Operation &operation) {
  if (Status status = operation.expectOnly({"extent"}); !status)
    return status.takeError();
  return buildRegion(operation, {Position::Batch, Position::Head, Position::Query, Position::Key,
                                 Position::Dim, Position::Width});
}

Expected<NodeId> GraphBuilder::buildEmbeddingFunction(const Operation &operation) {
  // The requirements of the attributes are checked before the evaluation.
  if (Status status = operation.expectOnly({"least", "width_multiple"}); !status)
    return status.takeError();
  return buildRegion(operation,
                     {Position::Query, Position::Dim, Position::Width, Position::Length});
}

/// Builds the frequency of a pair of dims: Dim is the index of the pair, Width the number of pairs.
Expected<NodeId> GraphBuilder::buildRotationFunction(const Operation &operation) {
  return buildRegion(operation, {Position::Head, Position::Dim, Position::Width});
}

/// Builds a region whose leading arguments are `positions`.
Expected<NodeId> GraphBuilder::buildFunction(const Operation &operation,
                                             const std::vector<Position> &positions) {
  if (Status status = operation.expectOnly({}); !status)
    return status.takeError();
  return buildRegion(operation, positions);
}

Expected<NodeId> GraphBuilder::buildRegion(const Operation &operation,
                                           const std::vector<Position> &positions) {
  if (operation.regions.size() != 1)
    return operation.fail("expected one region");
  const Region &region = operation.regions[0];
  const size_t count = positions.size();
  // Captures come first, then the shift and the projection of a content term.
  size_t captures = operation.operands.size();
  if (operation.find("operandSegmentSizes")) {
    auto groups = operation.operandGroups(1);
    if (!groups)
      return groups.takeError();
    captures = (*groups)[0].size();
  }
  if (region.arguments.size() != count + captures)
    return operation.fail("expected a region with ", count, " arguments and one per capture");
  for (size_t i = 0; i < count; ++i) {
    NodeId node = graph.position(positions[i]), place = node;
    if (havePlaces && positions[i] == Position::Query)
      place = graph.position(Position::Row);
    if (havePlaces && positions[i] == Position::Key)
      place = graph.position(Position::Column);
    setNode(region.arguments[i], node, place);
  }
  for (size_t i = 0; i < captures; ++i) {
    ValueId argument = region.arguments[count + i];
    if (program.typeOf(operation.operands[i]) != "!pe.coordinate") {
      captured[argument] = operation.operands[i];
      continue;
    }
    auto coordinate = nodeOf(operation.operands[i]);
    if (!coordinate)
      return coordinate;
    setNode(argument, *coordinate, *coordinate);
  }

  for (const Operation &inner : region.operations) {
    if (inner.name == "pe.yield")
      return scalar(inner, 0);
    if (Status status = buildRegionOperation(inner); !status)
      return status.takeError();
  }
  return operation.fail("expected the region to end with 'pe.yield'");
}

Status GraphBuilder::buildRegionOperation(const Operation &operation) {
  const bool isSum = operation.name == "pe.sum";
  if (operation.results.size() != 1 || operation.regions.size() != (isSum ? 1 : 0))
    return operation.fail("is not supported inside a region: expected an operation with one "
                          "result and no region");
  graph.location = operation.location; // nodeOf restores the enclosing one
  auto node = regionNode(operation);
  if (!node)
    return node.takeError();
  NodeId place = *node;
  const bool isLong = isSum || operation.name == "pe.mlp_eval";
  if (havePlaces && !isAtPlaces && !isLong) {
    std::swap(nodes, placeNodes);
    isAtPlaces = true;
    auto other = regionNode(operation);
    isAtPlaces = false;
    std::swap(nodes, placeNodes);
    if (!other)
      return other.takeError();
    place = *other;
  }
  setNode(operation.results[0], *node, place);
  return Status::success();
}

void GraphBuilder::setNode(ValueId value, NodeId position, NodeId place) {
  nodes[value] = position;
  placeNodes[value] = place;
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
      "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui", "arith.extf", "arith.truncf"};
  const std::string &name = operation.name;
  if (name == "arith.constant")
    return buildConstant(operation);
  if (name == "pe.read")
    return buildRead(operation);
  if (name == "pe.axis_size")
    return buildAxisSize(operation);
  if (name == "pe.dropout_factor")
    return buildDraw(operation);
  if (name == "pe.cosine_sum_eval")
    return buildCosineSumEval(operation);
  if (name == "pe.sum")
    return buildSum(operation);
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
  if (name == "arith.cmpf" && in.size() == 2)
    return buildFloatComparison(operation, in[0], in[1]);
  if (name == "arith.cmpi" && in.size() == 2)
    return buildIntegerComparison(operation, in[0], in[1]);
  if (name == "arith.select" && in.size() == 3)
    return graph.select(in[0], in[1], in[2], isIntegerType(program.typeOf(operation.results[0])));
  if (name == "math.fma" && in.size() == 3)
    return graph.arith("addf", graph.arith("mulf", in[0], in[1]), in[2]);
  if (name == "math.clampf" && in.size() == 3)
    return graph.clamp(in[0], in[1], in[2]);
  if (name == "math.fpowi" && in.size() == 2)
    return graph.binary(*findBinaryRule("math.powf"), in[0], in[1]);
  if (const IntegerRule *rule = findIntegerRule(name); rule && in.size() == rule->arity)
    return graph.integer(*rule, in[0], in.back(), widthOf(program.typeOf(operation.operands[0])),
                         widthOf(program.typeOf(operation.results[0])));
  if (const UnaryRule *rule = findUnaryRule(name); rule && in.size() == 1) {
    NodeId value = graph.unary(*rule, in[0]);
    return program.typeOf(operation.results[0]) == "i1" ? graph.fromTruth(value) : value;
  }
  if (const BinaryRule *rule = findBinaryRule(name); rule && in.size() == 2)
    return graph.binary(*rule, in[0], in[1]);
  return operation.fail("is not supported inside a region");
}

Expected<NodeId> GraphBuilder::buildConstant(const Operation &operation) {
  const Attribute *attribute = operation.find("value");
  const std::string &type = program.typeOf(operation.results[0]);
  if (isIntegerType(type)) {
    auto integer = attribute ? attribute->asInteger() : std::nullopt;
    if (!integer)
      return operation.fail("expected attribute 'value' to be an integer of at most 64 bits");
    return graph.integerConstant(signExtend(*integer, widthOf(type)));
  }
  auto value = attribute ? attribute->asNumber() : std::nullopt;
  if (!value)
    return operation.fail("expected attribute 'value' to be a number");
  return graph.constant(type == "f32" ? static_cast<double>(static_cast<float>(*value)) : *value);
}

Expected<NodeId> GraphBuilder::buildFloatComparison(const Operation &operation, NodeId a,
                                                    NodeId b) {
  const BinaryRule *rule = nullptr;
  if (const Attribute *attribute = operation.find("predicate")) {
    if (auto number = attribute->asNumber())
      rule = findFloatComparison(static_cast<int64_t>(*number));
    else if (auto word = attribute->asKeyword())
      rule = findFloatComparison(*word);
  }
  if (!rule)
    return operation.fail("expected attribute 'predicate' to be a comparison");
  return graph.fromTruth(graph.binary(*rule, a, b));
}

Expected<NodeId> GraphBuilder::buildIntegerComparison(const Operation &operation, NodeId a,
                                                      NodeId b) {
  const IntegerRule *rule = nullptr;
  if (const Attribute *attribute = operation.find("predicate")) {
    if (auto number = attribute->asNumber())
      rule = findIntegerComparison(static_cast<int64_t>(*number));
    else if (auto word = attribute->asKeyword())
      rule = findIntegerComparison(*word);
  }
  if (!rule)
    return operation.fail("expected attribute 'predicate' to be a comparison");
  return graph.integer(*rule, a, b, widthOf(program.typeOf(operation.operands[0])), 1);
}

/// Converts between real numbers and integers. A conversion between real types is the identity.
Expected<NodeId> GraphBuilder::buildConversion(const Operation &operation) {
  auto x = scalar(operation, 0);
  const std::string &from = program.typeOf(operation.operands[0]);
  const std::string &to = program.typeOf(operation.results[0]);
  if (operation.name == "arith.uitofp")
    return graph.toRealUnsigned(*x, widthOf(from));
  if (operation.name == "arith.fptosi" || operation.name == "arith.fptoui")
    return graph.fromReal(*x, widthOf(to), operation.name == "arith.fptoui");
  return *x;
}

Expected<NodeId> GraphBuilder::buildRead(const Operation &operation) {
  if (operation.operands.empty())
    return operation.fail("expected a tensor to read");
  auto tensor = packed(operation, operation.operands[0]);
  if (!tensor)
    return tensor.takeError();
  ReadSpec spec{tensor->offset, *tensor->shape, {}};
  if (std::find(spec.shape.begin(), spec.shape.end(), 0) != spec.shape.end())
    spec.shape.assign(spec.shape.size(), 1); // the single element that replaces an empty tensor
  for (size_t i = 1; i < operation.operands.size(); ++i) {
    auto index = scalar(operation, i);
    if (!index)
      return index.takeError();
    // Data of tokens is indexed by their places, not by their positions.
    if (havePlaces && !isAtPlaces && isOfTokens(*tensor, i - 1))
      *index = placeNodes[operation.operands[i]];
    spec.indices.push_back(placeOf(*tensor, i - 1, *index));
  }
  if (spec.indices.size() != spec.shape.size())
    return operation.fail("expected ", spec.shape.size(), " indices for a tensor of shape ",
                          toString(spec.shape), ", found ", spec.indices.size());
  for (const Argument &argument : program.arguments)
    if (argument.id == tensor->value)
      spec.tensor = argument.name;
  spec.location = operation.location;
  NodeId element = graph.read(std::move(spec));
  const std::string &type = program.typeOf(operation.results[0]);
  return isIntegerType(type) ? graph.fromReal(element, widthOf(type), /*isUnsigned=*/false)
                             : element;
}

/// Returns the number of summands: the attribute, or the size of an operand's axis.
Expected<int64_t> GraphBuilder::countOf(const Operation &operation) {
  if (operation.find("count"))
    return operation.integer("count", 0);
  const Attribute *attribute = operation.find("extent");
  auto extent = attribute ? attribute->asIntegers() : std::nullopt;
  if (!extent || extent->size() != 2 || (*extent)[0] < 0 ||
      (*extent)[0] >= static_cast<int64_t>(operation.operands.size()))
    return operation.fail("expected attribute 'count', or 'extent' with an operand and an axis");
  auto tensor = packed(operation, operation.operands[(*extent)[0]]);
  if (!tensor)
    return tensor.takeError();
  const int64_t axis = (*extent)[1];
  if (axis < 0 || axis >= static_cast<int64_t>(tensor->shape->size()))
    return operation.fail("expected an axis of a tensor of shape ", toString(*tensor->shape));
  return (*tensor->shape)[axis];
}

/// Builds pe.sum: its region once per summand, added from first to last.
Expected<NodeId> GraphBuilder::buildSum(const Operation &operation) {
  const Region &region = operation.regions[0];
  auto count = countOf(operation);
  if (!count)
    return count.takeError();
  if (region.arguments.size() != operation.operands.size() + 1)
    return operation.fail("expected a region with an index and one argument per operand");
  for (size_t i = 0; i < operation.operands.size(); ++i) {
    ValueId outer = operation.operands[i], argument = region.arguments[i + 1];
    setNode(argument, nodes[outer], placeNodes[outer]);
    auto tensor = captured.find(outer);
    if (tensor != captured.end())
      captured[argument] = tensor->second;
  }
  NodeId sum = graph.constant(0);
  for (int64_t k = 0; k < *count; ++k) {
    NodeId index = graph.integerConstant(k);
    setNode(region.arguments[0], index, index);
    for (const Operation &inner : region.operations) {
      if (inner.name != "pe.yield") {
        if (Status status = buildRegionOperation(inner); !status)
          return status.takeError();
        continue;
      }
      auto summand = scalar(inner, 0);
      if (!summand)
        return summand.takeError();
      sum = graph.arith("addf", sum, *summand);
    }
  }
  return sum;
}

Expected<NodeId> GraphBuilder::buildDraw(const Operation &operation) {
  auto probability = operation.number("probability", 0.0);
  if (operation.operands.size() != 1 || !probability)
    return operation.fail("expected a probability and a seed");
  return drawOf(operation, *probability, operation.operands[0]);
}

Expected<NodeId> GraphBuilder::buildAxisSize(const Operation &operation) {
  auto axis = operation.integer("axis", 0);
  if (operation.operands.empty() || !axis)
    return operation.fail("expected a tensor and an axis");
  auto tensor = packed(operation, operation.operands[0]);
  if (!tensor)
    return tensor.takeError();
  if (*axis < 0 || *axis >= static_cast<int64_t>(tensor->shape->size()))
    return operation.fail("expected an axis of the tensor, found ", *axis);
  return graph.integerConstant((*tensor->shape)[*axis]);
}

/// Builds head_start + h or, with an operand, head_start + that head.
Expected<NodeId> GraphBuilder::buildGlobalHead(const Operation &operation) {
  NodeId global = graph.position(Position::GlobalHead);
  if (operation.operands.empty())
    return global;
  auto head = scalar(operation, 0);
  if (!head)
    return head.takeError();
  const IntegerRule &minus = *findIntegerRule("arith.subi"), &plus = *findIntegerRule("arith.addi");
  NodeId start = graph.integer(minus, global, graph.position(Position::Head), 64, 64);
  return graph.integer(plus, start, *head, 64, 64);
}

} // namespace pe::reference
