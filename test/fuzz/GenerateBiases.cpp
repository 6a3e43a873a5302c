//===- GenerateBiases.cpp - Generates biases, score and weight functions --===//

#include "fuzz/Generator.h"

#include "fuzz/EvaluateProgram.h"

#include <cmath>

namespace pe::fuzz {

int Generator::headParameter(double low, double high) {
  std::vector<int64_t> dims = {kHeads};
  if (chance(0.2))
    dims = {};
  else if (chance(0.2))
    dims = {1};
  return addParameter(program, dims, low, high);
}

Node Generator::coordinate(bool isWhole) {
  Node node = makeNode(Op::Distance, Type::Coordinate);
  node.op = isWhole ? pick({Op::Distance, Op::Relative, Op::Bucket, Op::Bucket, Op::QueryPosition,
                            Op::KeyPosition})
                    : pick({Op::Distance, Op::Relative, Op::QueryPosition, Op::KeyPosition,
                            Op::LogDistance, Op::Progressive, Op::Bucket, Op::ClampedLog});
  switch (node.op) {
  case Op::LogDistance:
    node.parameters = {headParameter(0.05, 2.0)};
    break;
  case Op::Progressive:
    node.parameters = {chance(0.6) ? headParameter(0.05, 1.0) : kNoParameter,
                       chance(0.6) ? headParameter(0.1, 1.5) : kNoParameter};
    node.reals = {pick({1.0, 20.0, 512.0}), pick({1e-6, 1e-3, 1.0})};
    break;
  case Op::Bucket:
    node.flag = chance(0.5);
    node.integers[0] = pick<int64_t>({4, 6, 8, 32, 64});
    node.integers[1] = node.integers[0] + pick<int64_t>({1, 7, 30, 100, 1000});
    break;
  case Op::ClampedLog:
    node.parameters = {headParameter(1.0, 6.0)};
    break;
  default:
    break;
  }
  return node;
}

Node Generator::mlp() {
  Node node = makeNode(Op::Mlp, Type::Bias, {coordinate()});
  constexpr int64_t kinds = kActivations.size();
  node.integers = {int64_t(below(kinds)), chance(0.6) ? 0 : int64_t(below(kinds))};
  int hidden = below(3);
  int64_t units = 0;
  for (int layer = 0; layer <= hidden; ++layer) {
    int64_t rows = layer < hidden ? int64_t(1 + below(12)) : chance(0.25) ? 1 : kHeads;
    double range = units ? 1.0 / std::sqrt(double(units)) : 1.0;
    node.parameters.push_back(
        addParameter(program, layer ? std::vector{rows, units} : std::vector{rows}, -range, range));
    node.parameters.push_back(addParameter(program, {rows}, -range, range));
    units = rows;
  }
  return node;
}

Node Generator::biasOfCoordinate() {
  Node node = makeNode(pick({Op::Linear, Op::Linear, Op::Table, Op::Power, Op::Mlp, Op::CosineSum}),
                       Type::Bias);
  double factor = chance(0.5) ? pick({1.0, -1.0, 0.5}) : real(-0.2, 0.2);
  switch (node.op) {
  case Op::Linear:
    node.children = {coordinate()};
    node.integers[0] = chance(0.3) ? 1 + below(2) : 0;
    node.parameters = {node.integers[0] ? kNoParameter : headParameter(0.01, 0.4),
                       chance(0.3) ? headParameter(-1, 1) : kNoParameter};
    node.reals[0] = factor;
    return node;
  case Op::Table:
    node.children = {coordinate(/*isWhole=*/true)};
    node.parameters = {
        addParameter(program, {pick<int64_t>({1, 4, 32, 64, 200}), kHeads}, -1.0, 1.0)};
    return node;
  case Op::Power:
    node.children = {coordinate()};
    node.parameters = {headParameter(0.2, 1.5), headParameter(-0.5, 0.5)};
    node.reals[0] = factor;
    return node;
  case Op::CosineSum:
    node.children = {coordinate()};
    node.parameters = {chance(0.7) ? headParameter(-1, 1) : kNoParameter};
    node.integers[0] = chance(0.1) ? 64 : 1 + below(8);
    node.reals[0] = pick({2.0, 10.0, 10000.0, 500000.0});
    return node;
  default:
    return mlp();
  }
}

Node Generator::bias(int depth) {
  if (depth > 0 && chance(0.15))
    return makeNode(Op::Add, Type::Bias, {bias(depth - 1), bias(depth - 1)});
  if (depth > 0 && chance(0.1)) {
    Node node = makeNode(Op::Scale, Type::Bias, {bias(depth - 1)});
    node.reals[0] = pick({0.5, -1.0, 0.0, 1.5, real(-1, 1)});
    return node;
  }
  if (chance(0.45))
    return biasOfCoordinate();
  return code(Scope::Pair, Op::Region, Op::Formula, 0.3, 2);
}

std::optional<Node> Generator::wellConditionedBias() {
  for (int attempt = 0; attempt < 12; ++attempt) {
    Node node = bias(2);
    ParameterValues values = drawParameters(program, program.seed);
    Condition condition = conditionOf(program, node, values, 150);
    if (condition.isDefined && condition.magnitude > 20) {
      Node scaled = makeNode(Op::Scale, Type::Bias, {std::move(node)});
      scaled.reals[0] = std::exp2(-std::floor(std::log2(condition.magnitude) - 2));
      node = std::move(scaled);
      condition = conditionOf(program, node, values, 150);
    }
    if (condition.isGood() && fits(node))
      return node;
  }
  return std::nullopt;
}

/// Generates scalar code as a region or, with probability `formulaShare`, as a formula. The depth
/// of its tree is at least `depth` and less than depth + 3.
Node Generator::code(Scope scope, Op region, Op formula, double formulaShare, int depth) {
  const bool isFormula = chance(formulaShare);
  Node value = ScalarWriter(random, program, isFormula, scope).write(depth + below(3));
  return makeNode(isFormula ? formula : region, Type::Bias, {std::move(value)});
}

/// Generates scalar code with moderate values and slopes for usual scores; returns nullopt if no
/// attempt succeeds.
std::optional<Node> Generator::moderateCode(Scope scope, Op region, Op formula, int depth) {
  for (int attempt = 0; attempt < 12; ++attempt) {
    Node node = code(scope, region, formula, 0.3, depth);
    if (conditionOf(program, node, drawParameters(program, program.seed), 150).isGood() &&
        fits(node))
      return node;
  }
  return std::nullopt;
}

} // namespace pe::fuzz
