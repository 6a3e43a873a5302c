//===- Biases.cpp - Functions of a coordinate -----------------------------===//
//
// Translates each bias to scalar nodes, following docs/encodings. Parameters with a head axis are
// indexed by the head within the call, `h`; slopes given by a rule use the global head.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Activations.h"
#include "runtime/plan/NameList.h"
#include "runtime/reference/GraphBuilder.h"

#include <cmath>

namespace pe::reference {

const std::map<std::string_view, GraphBuilder::Handler> &GraphBuilder::biasHandlers() {
  static const std::map<std::string_view, Handler> handlers = {
      {"pe.linear", &GraphBuilder::buildLinear},
      {"pe.table", &GraphBuilder::buildTable},
      {"pe.power", &GraphBuilder::buildPower},
      {"pe.mlp", &GraphBuilder::buildMlp},
      {"pe.cosine_sum", &GraphBuilder::buildCosineSum},
      {"pe.add", &GraphBuilder::buildAdd},
      {"pe.scale", &GraphBuilder::buildScale},
      {"pe.bias_fn", &GraphBuilder::buildBiasFunction},
      {"pe.score_fn", &GraphBuilder::buildScoreFunction},
      {"pe.factor_fn", &GraphBuilder::buildFactorFunction},
      {"pe.sink_fn", &GraphBuilder::buildSinkFunction},
      {"pe.embedding_fn", &GraphBuilder::buildEmbeddingFunction},
      {"pe.rotation_fn", &GraphBuilder::buildRotationFunction},
      {"pe.content_fn", &GraphBuilder::buildContentFunction},
      {"pe.mask_fn", &GraphBuilder::buildBiasFunction},
  };
  return handlers;
}

Expected<NodeId> GraphBuilder::slopeNode(const Operation &operation,
                                         const std::vector<ValueId> &slope) {
  if (!slope.empty())
    return headParameter(operation, slope[0], "the slope");
  auto rule = operation.keyword("rule", "none");
  if (!rule)
    return rule.takeError();
  if (*rule != "geometric" && *rule != "interleaved")
    return operation.fail("expected slope rule 'geometric' or 'interleaved', found '", *rule, "'");
  const BinaryRule &formula = *rule == "geometric" ? geometricSlopeRule : interleavedSlopeRule;
  NodeId head = graph.position(Position::GlobalHead);
  return graph.binary(formula, head, graph.position(Position::HeadsTotal));
}

/// Builds factor * (s_h * x) (+ b_h).
Expected<NodeId> GraphBuilder::buildLinear(const Operation &operation) {
  if (Status status = operation.expectOnly({"factor", "rule"}); !status)
    return status.takeError();
  auto groups = operation.operandGroups(3, /*required=*/1);
  if (!groups)
    return groups.takeError();
  auto x = nodeOf((*groups)[0].at(0));
  auto factor = operation.number("factor", 1.0);
  auto slope = slopeNode(operation, (*groups)[1]);
  if (!x || !factor)
    return x ? factor.takeError() : x.takeError();
  if (!slope)
    return slope.takeError();
  NodeId value = graph.arith("mulf", graph.constant(*factor), graph.arith("mulf", *slope, *x));
  if ((*groups)[2].empty())
    return value;
  auto intercept = headParameter(operation, (*groups)[2][0], "the intercept");
  if (!intercept)
    return intercept.takeError();
  return graph.arith("addf", value, *intercept);
}

/// Builds table[x, h]; x is clamped to the table.
Expected<NodeId> GraphBuilder::buildTable(const Operation &operation) {
  if (Status status = operation.expectOnly({}); !status)
    return status.takeError();
  if (operation.operands.size() != 2)
    return operation.fail("expected a coordinate and a table");
  auto x = nodeOf(operation.operands[0]);
  if (!x)
    return x.takeError();
  auto table = packed(operation, operation.operands[1]);
  if (!table)
    return table.takeError();
  const Shape &shape = *table->shape;
  if (shape.size() != 2 || (shape[1] != sizes.queryHeads && shape[1] != 1))
    return operation.fail("expected a table of shape [N, ", sizes.queryHeads,
                          "], one column per head, found ", toString(shape));
  return graph.read({table->offset, shape, {*x, headNode}});
}

/// Builds factor * r1_h * x^(r2_h).
Expected<NodeId> GraphBuilder::buildPower(const Operation &operation) {
  if (Status status = operation.expectOnly({"factor"}); !status)
    return status.takeError();
  if (operation.operands.size() != 3)
    return operation.fail("expected a coordinate, an exponent and a slope");
  auto x = nodeOf(operation.operands[0]);
  auto factor = operation.number("factor", 1.0);
  auto exponent = headParameter(operation, operation.operands[1], "the exponent");
  auto slope = headParameter(operation, operation.operands[2], "the slope");
  if (!x || !factor)
    return x ? factor.takeError() : x.takeError();
  if (!exponent || !slope)
    return exponent ? slope.takeError() : exponent.takeError();
  NodeId power = graph.binary(positivePowerRule, *x, *exponent);
  return graph.arith("mulf", graph.constant(*factor), graph.arith("mulf", *slope, power));
}

/// Builds the sum of cos(x / base^(k / terms)) over k = 1..terms.
NodeId GraphBuilder::cosineSum(int64_t terms, double base, NodeId x) {
  CosineSumSpec spec;
  for (int64_t k = 1; k <= terms; ++k)
    spec.frequencies.push_back(1.0 / std::pow(base, static_cast<double>(k) / terms));
  return graph.cosineSum(std::move(spec), x);
}

/// Builds the scalar form that a region uses.
Expected<NodeId> GraphBuilder::buildCosineSumEval(const Operation &operation) {
  auto x = scalar(operation, 0);
  auto terms = operation.integer("terms", 64);
  auto base = operation.number("base", 10000.0);
  if (!x)
    return x.takeError();
  if (!terms || !base)
    return terms ? base.takeError() : terms.takeError();
  return cosineSum(*terms, *base, *x);
}

/// Builds the sum of r1_h * cos(x / base^(k / terms)) over k = 1..terms.
Expected<NodeId> GraphBuilder::buildCosineSum(const Operation &operation) {
  if (Status status = operation.expectOnly({"terms", "base"}); !status)
    return status.takeError();
  auto terms = operation.integer("terms", 64);
  auto base = operation.number("base", 10000.0);
  auto groups = operation.operandGroups(2, /*required=*/1);
  if (!terms || !base)
    return terms ? base.takeError() : terms.takeError();
  if (!groups)
    return groups.takeError();
  auto x = nodeOf((*groups)[0].at(0));
  if (!x)
    return x.takeError();
  NodeId sum = cosineSum(*terms, *base, *x);
  if ((*groups)[1].empty())
    return sum;
  auto amplitude = headParameter(operation, (*groups)[1][0], "the amplitude");
  if (!amplitude)
    return amplitude.takeError();
  return graph.arith("mulf", *amplitude, sum);
}

Expected<NodeId> GraphBuilder::buildAdd(const Operation &operation) {
  if (Status status = operation.expectOnly({}); !status)
    return status.takeError();
  if (operation.operands.empty())
    return operation.fail("expected biases to add");
  NodeId sum = -1;
  for (ValueId operand : operation.operands) {
    auto node = nodeOf(operand);
    if (!node)
      return node.takeError();
    sum = sum < 0 ? *node : graph.arith("addf", sum, *node);
  }
  return sum;
}

Expected<NodeId> GraphBuilder::buildScale(const Operation &operation) {
  if (Status status = operation.expectOnly({"factor"}); !status)
    return status.takeError();
  auto factor = operation.number("factor", 1.0);
  if (operation.operands.size() != 1 || !operation.find("factor"))
    return operation.fail("expected one bias and the attribute 'factor'");
  auto node = nodeOf(operation.operands[0]);
  if (!node || !factor)
    return node ? factor.takeError() : node.takeError();
  return graph.arith("mulf", graph.constant(*factor), *node);
}

//===----------------------------------------------------------------------===//
// pe.mlp
//===----------------------------------------------------------------------===//

Expected<MlpLayer> GraphBuilder::readMlpLayer(const Operation &operation, ValueId weights,
                                              ValueId bias, int64_t inputs, bool isLast) {
  auto weightPlace = packed(operation, weights);
  auto biasPlace = packed(operation, bias);
  if (!weightPlace || !biasPlace)
    return weightPlace ? biasPlace.takeError() : weightPlace.takeError();
  const Shape &shape = *weightPlace->shape;
  // The first layer's single input has no axis.
  bool fits = shape.size() == 2 ? shape[1] == inputs : shape.size() == 1 && inputs == 1;
  if (!fits)
    return operation.fail("expected layer weights of shape [n, ", inputs, "]",
                          inputs == 1 ? " or [n]" : "", ", found ", toString(shape));
  if (biasPlace->shape->size() != 1 || (*biasPlace->shape)[0] != shape[0])
    return operation.fail("expected a layer bias of shape [", shape[0], "], found ",
                          toString(*biasPlace->shape));
  if (isLast && shape[0] != 1 && shape[0] != sizes.queryHeads)
    return operation.fail("expected a last layer of 1 row or ", sizes.queryHeads,
                          " rows, one per head, found ", shape[0]);
  return MlpLayer{weightPlace->offset, biasPlace->offset, inputs, shape[0]};
}

Expected<MlpSpec> GraphBuilder::readMlp(const Operation &operation,
                                        const std::vector<ValueId> &tensors) {
  if (Status status = operation.expectOnly({"activation", "final_activation", "tolerance"});
      !status)
    return status.takeError();
  if (tensors.empty() || tensors.size() % 2)
    return operation.fail("expected pairs of weights and bias, found ", tensors.size(), " tensors");
  MlpSpec spec;
  int64_t inputs = 1;
  for (size_t i = 0; i < tensors.size(); i += 2) {
    auto layer =
        readMlpLayer(operation, tensors[i], tensors[i + 1], inputs, i + 2 == tensors.size());
    if (!layer)
      return layer.takeError();
    inputs = layer->outputs;
    spec.layers.push_back(*layer);
  }
  auto activation = operation.keyword("activation", "relu");
  auto finalActivation = operation.keyword("final_activation", "identity");
  if (!activation || !finalActivation)
    return activation ? finalActivation.takeError() : activation.takeError();
  spec.activation = findActivation(*activation);
  spec.finalActivation = findActivation(*finalActivation);
  if (!spec.activation || !spec.finalActivation)
    return operation.fail("expected activations ", plan::listNames(plan::kActivationNames, "or"),
                          ", found ", *activation, " and ", *finalActivation);
  return spec;
}

Expected<NodeId> GraphBuilder::buildMlp(const Operation &operation) {
  if (operation.operands.empty())
    return operation.fail("expected a coordinate and layers");
  auto x = nodeOf(operation.operands[0]);
  if (!x)
    return x.takeError();
  auto spec = readMlp(operation, {operation.operands.begin() + 1, operation.operands.end()});
  if (!spec)
    return spec.takeError();
  return graph.mlp(std::move(*spec), *x, headNode);
}

} // namespace pe::reference
