//===- FormulaLoss.cpp - Where a formula loses digits in float32 ----------===//

#include "runtime/reference/FormulaLoss.h"

#include "runtime/reference/Evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pe::reference {
namespace {

using Kind = ScalarNode::Kind;

/// The largest relative error, 16 roundings, of an operation that counts as accurate.
constexpr double kRoundings = 0x1p-20;

double distanceOf(double exact, double single) {
  if (exact == single || (std::isnan(exact) && std::isnan(single)))
    return 0.0;
  return std::isfinite(single) ? std::fabs(exact - single)
                               : std::numeric_limits<double>::infinity();
}

/// The distance of the float32 number nearest to x from the next one of larger magnitude.
double spacingAt(double x) {
  const float size = std::fabs(static_cast<float>(x));
  return std::nextafter(size, std::numeric_limits<float>::infinity()) - size;
}

std::string_view nameOf(const ScalarNode &node) {
  if (node.kind == Kind::Unary)
    return node.unary->name;
  if (node.kind == Kind::Binary)
    return node.binary->name;
  if (node.kind == Kind::Select)
    return "arith.select";
  return node.kind == Kind::FromReal ? "arith.fptosi" : "";
}

/// One root of a graph, evaluated in float64 and with every value rounded to float32.
class Comparison {
public:
  Comparison(const ScalarGraph &graph, NodeId root, const ParameterPack &parameters)
      : root(root), rounding(roundingOf(graph)), exact(graph, root, parameters),
        single(rounding, root, parameters) {}

  void startHead(int64_t batch, int64_t head, int64_t globalHead, int64_t headsTotal) {
    exact.startHead(batch, head, globalHead, headsTotal);
    single.startHead(batch, head, globalHead, headsTotal);
  }
  void startSequence(int64_t width, int64_t length) {
    exact.startSequence(width, length);
    single.startSequence(width, length);
  }
  void startRow(Token query) {
    exact.startRow(query);
    single.startRow(query);
  }
  /// Evaluates a pair, and keeps its description if its loss is the largest so far.
  void compare(Token query, Token key, FormulaLoss &loss) {
    exact.evaluate(key);
    single.evaluate(key);
    keep(loss, [&] { return makeError("i = ", query.position, ", j = ", key.position); });
  }
  /// Same, for an element of an embedding.
  void compare(int64_t position, int64_t dim, FormulaLoss &loss) {
    exact.evaluateDim(dim);
    single.evaluateDim(dim);
    keep(loss, [&] { return makeError("p = ", position, ", d = ", dim); });
  }

private:
  static ScalarGraph roundingOf(ScalarGraph graph) {
    graph.roundsToSingle = true;
    return graph;
  }

  template <typename Place> void keep(FormulaLoss &loss, Place place) const {
    const double difference = distanceOf(exact.valueOf(root), single.valueOf(root));
    if (!std::isfinite(exact.valueOf(root)) || !(difference > loss.difference))
      return;
    const NodeId node = findNode();
    loss = {difference, rounding.locationOf(node),
            makeError("at ", place().getMessage(), ", ", describe(node)).getMessage()};
  }

  double relativeLossOf(NodeId id) const {
    const double size = std::max(std::fabs(exact.valueOf(id)), std::fabs(single.valueOf(id)));
    const double distance = distanceOf(exact.valueOf(id), single.valueOf(id));
    return distance == 0.0 ? 0.0 : distance / size;
  }

  /// Descends from the root to the operation that makes it inexact although its operands are
  /// accurate.
  NodeId findNode() const {
    NodeId id = root;
    while (true) {
      NodeId worst = -1;
      for (NodeId in : operandsOf(id))
        if (relativeLossOf(in) > kRoundings &&
            (worst < 0 || relativeLossOf(in) > relativeLossOf(worst)))
          worst = in;
      if (worst < 0)
        return id;
      id = worst;
    }
  }

  /// Returns the operands that determine the value. For a select, this is the condition if its two
  /// evaluations differ, otherwise the selected branch.
  std::vector<NodeId> operandsOf(NodeId id) const {
    const ScalarNode &node = rounding.node(id);
    if (node.kind == Kind::Select) {
      const bool isTrue = exact.valueOf(node.in[0]) != 0.0;
      return {isTrue == (single.valueOf(node.in[0]) != 0.0) ? node.in[isTrue ? 1 : 2] : node.in[0]};
    }
    std::vector<NodeId> operands;
    for (NodeId in : node.in)
      if (in >= 0)
        operands.push_back(in);
    return operands;
  }

  /// "'math.sin' of 2.4995e+07 is 0.9 instead of 0.3: float32 numbers near 2.4995e+07 are 2 apart"
  std::string describe(NodeId id) const {
    const std::vector<NodeId> operands = operandsOf(id);
    double largest = exact.valueOf(id);
    std::string text = "the value";
    if (relativeLossOf(id) > kRoundings && !operands.empty()) {
      largest = 0.0;
      text = nameOf(rounding.node(id)).empty() ? "the operation"
                                               : "'" + std::string(nameOf(rounding.node(id))) + "'";
      for (NodeId in : operands) {
        text +=
            makeError(in == operands.front() ? " of " : " and ", exact.valueOf(in)).getMessage();
        if (std::fabs(exact.valueOf(in)) > std::fabs(largest))
          largest = exact.valueOf(in);
      }
    }
    text += makeError(" is ", single.valueOf(id), " instead of ", exact.valueOf(id)).getMessage();
    if (!std::isfinite(single.valueOf(id)))
      return text + ": float32 numbers reach 3.4e+38";
    if (std::fabs(exact.valueOf(id)) < std::numeric_limits<float>::min())
      return text + ": float32 numbers below 1.2e-38 have fewer digits, or none";
    return text +
           makeError(": float32 numbers near ", largest, " are ", spacingAt(largest), " apart")
               .getMessage();
  }

  NodeId root;
  ScalarGraph rounding;
  ScalarEvaluator exact, single;
};

void compareHead(const AttentionProblem &problem, Comparison &comparison, int64_t batch,
                 int64_t head, FormulaLoss &loss) {
  const AttentionSizes &sizes = problem.sizes;
  MaskEvaluator mask(problem.mask, *problem.graph, *problem.parameters);
  mask.startHead(batch, head, sizes.headStart + head, sizes.headsTotal);
  comparison.startHead(batch, head, sizes.headStart + head, sizes.headsTotal);
  for (int64_t row = 0; row < sizes.queries; ++row) {
    const Token query = problem.positions.query(batch, row);
    mask.startRow(query);
    comparison.startRow(query);
    for (int64_t column = 0; column < sizes.keys; ++column) {
      const Token key = problem.positions.key(batch, column);
      if (problem.isOrdered(sizes.queryStart + row, sizes.keyStart + column) && mask.allows(key))
        comparison.compare(query, key, loss);
    }
  }
}

void compareAttention(const AttentionProblem &problem, FormulaLoss &loss) {
  for (std::optional<NodeId> root : {problem.bias, problem.factor}) {
    if (!root)
      continue;
    Comparison comparison(*problem.graph, *root, *problem.parameters);
    for (int64_t batch = 0; batch < problem.sizes.batch; ++batch)
      for (int64_t head = 0; head < problem.sizes.queryHeads; ++head)
        compareHead(problem, comparison, batch, head, loss);
  }
}

void compareEmbedding(const EmbeddingProblem &problem, FormulaLoss &loss) {
  Comparison comparison(*problem.graph, problem.root, *problem.parameters);
  comparison.startSequence(problem.width, problem.start + problem.rows);
  for (int64_t position = problem.start; position < problem.start + problem.rows; ++position) {
    comparison.startRow(position);
    for (int64_t dim = 0; dim < problem.width; ++dim)
      comparison.compare(position, dim, loss);
  }
}

} // namespace

Expected<FormulaLoss> findFormulaLoss(const Program &program, const TensorMap &inputs,
                                      const Positions &positions) {
  Evaluator evaluator(program, positions, {.rounding = {}, .threads = 1});
  if (Status status = evaluator.bind(inputs, /*grad=*/false); !status)
    return status.takeError();
  if (Status status = evaluator.forward(/*run=*/false); !status)
    return status.takeError();
  FormulaLoss loss;
  for (const AttentionProblem *problem : evaluator.problems())
    compareAttention(*problem, loss);
  for (const EmbeddingProblem *problem : evaluator.embeddings())
    compareEmbedding(*problem, loss);
  return loss;
}

} // namespace pe::reference
