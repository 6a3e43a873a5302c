//===- Materialize.cpp - Dense biases, masks and rotations ----------------===//

#include "runtime/reference/Evaluator.h"
#include "runtime/reference/Reference.h"

#include <algorithm>

namespace pe::reference {
namespace {

Tensor toTensor(const Array &array) { return Tensor::of(array.data, array.shape); }

/// Evaluates a coordinate or bias of the problem at each pair, masked or not: [B, Hq, Sq, Sk].
Array denseValues(const AttentionProblem &problem, NodeId node) {
  const AttentionSizes &sizes = problem.sizes;
  Array dense = Array::zeros({sizes.batch, sizes.queryHeads, sizes.queries, sizes.keys});
  ScalarEvaluator evaluator(*problem.graph, node, *problem.parameters);
  double *next = dense.data.data();
  for (int64_t n = 0; n < sizes.batch * sizes.queryHeads; ++n) {
    int64_t head = n % sizes.queryHeads;
    evaluator.startHead(n / sizes.queryHeads, head, sizes.headStart + head, sizes.headsTotal);
    for (int64_t row = 0; row < sizes.queries; ++row) {
      evaluator.startRow(problem.positions.query(n / sizes.queryHeads, row));
      for (int64_t key = 0; key < sizes.keys; ++key)
        *next++ = evaluator.evaluate(problem.positions.key(n / sizes.queryHeads, key));
    }
  }
  return dense;
}

/// Returns the pairs that attention sums over; stick-breaking may omit the query's own key.
Array allowedPairs(const AttentionProblem &problem) {
  const AttentionSizes &sizes = problem.sizes;
  Array allowed = Array::zeros({sizes.batch, sizes.queries, sizes.keys});
  double *next = allowed.data.data();
  // A mask that depends on the head is shown for the first head.
  MaskEvaluator mask(problem.mask, *problem.graph, *problem.parameters);
  for (int64_t b = 0; b < sizes.batch; ++b) {
    mask.startHead(b, 0, sizes.headStart, sizes.headsTotal);
    for (int64_t row = 0; row < sizes.queries; ++row) {
      mask.startRow(problem.positions.query(b, row));
      for (int64_t key = 0; key < sizes.keys; ++key) {
        const int64_t i = sizes.queryStart + row, j = sizes.keyStart + key;
        *next++ = problem.isOrdered(i, j) && mask.allows(problem.positions.key(b, key));
      }
    }
  }
  return allowed;
}

/// Reads cosine and sine from the rotated first unit vector of each pair; includes the magnitude.
void readRotation(const AttentionProblem &problem, Materialized &result) {
  const AttentionSizes &sizes = problem.sizes;
  const std::vector<Rotation::Pair> &pairs = problem.rotations.front().pairs;
  Array cosine = Array::zeros({sizes.queries, static_cast<int64_t>(pairs.size())});
  Array sine = cosine;
  size_t at = 0;
  for (int64_t row = 0; row < sizes.queries; ++row) {
    std::vector<double> turned(sizes.headDim, 0.0);
    for (const Rotation::Pair &pair : pairs)
      turned[pair.first] = 1.0;
    problem.rotations.front().apply(turned.data(),
                                    {0, 0, sizes.queryStart + row, /*isQuery=*/true, row});
    for (const Rotation::Pair &pair : pairs) {
      cosine.data[at] = turned[pair.first];
      sine.data[at++] = turned[pair.second];
    }
  }
  result.cosine = toTensor(cosine);
  result.sine = toTensor(sine);
}

const Operation *findOnlyMlp(const Program &program) {
  const Operation *found = nullptr;
  for (const Operation &operation : program.operations)
    if (operation.name == "pe.mlp") {
      if (found)
        return nullptr;
      found = &operation;
    }
  return found;
}

} // namespace

/// Binds the inputs and returns the problem of the function's only attention without running it: a
/// second attention could read the result of the first.
static Expected<const AttentionProblem *> prepareOnly(Evaluator &evaluator,
                                                      const TensorMap &inputs) {
  if (Status status = evaluator.bind(inputs, /*grad=*/false); !status)
    return status.takeError();
  if (Status status = evaluator.forward(/*run=*/false); !status)
    return status.takeError();
  auto problems = evaluator.problems();
  if (problems.size() != 1)
    return makeError("expected a function with one attention to materialize its bias, found ",
                     problems.size());
  return problems[0];
}

Expected<Materialized> materialize(const Program &program, const TensorMap &inputs,
                                   const Positions &positions) {
  Evaluator evaluator(program, positions, {.rounding = {}, .threads = 1});
  auto prepared = prepareOnly(evaluator, inputs);
  if (!prepared)
    return prepared.takeError();
  const AttentionProblem &problem = **prepared;
  Materialized result;
  result.allowed = toTensor(allowedPairs(problem));
  const AttentionSizes &sizes = problem.sizes;
  result.hasBias = problem.bias.has_value();
  result.bias =
      result.hasBias
          ? toTensor(denseValues(problem, *problem.bias))
          : Tensor::zeros(DType::F64, {sizes.batch, sizes.queryHeads, sizes.queries, sizes.keys});
  if (problem.rotations.size() == 1)
    readRotation(problem, result);
  if (const Operation *mlp = findOnlyMlp(program)) {
    for (auto [value, tensor] : {std::pair(mlp->operands.front(), &result.mlpInput),
                                 std::pair(mlp->results.front(), &result.mlpValue)}) {
      auto node = evaluator.nodeOf(value);
      if (!node)
        return node.takeError();
      *tensor = toTensor(denseValues(problem, *node));
    }
  }
  return result;
}

Expected<Tensor> materializeScores(const Program &program, const TensorMap &inputs,
                                   const Positions &positions, const std::vector<double> &scores) {
  Evaluator evaluator(program, positions, {.rounding = {}, .threads = 1});
  auto prepared = prepareOnly(evaluator, inputs);
  if (!prepared)
    return prepared.takeError();
  const AttentionProblem &problem = **prepared;
  if (!problem.score)
    return Tensor();
  const AttentionSizes &sizes = problem.sizes;
  Array values =
      Array::zeros({sizes.queryHeads, sizes.queries, static_cast<int64_t>(scores.size())});
  ScalarEvaluator evaluate(*problem.graph, *problem.score, *problem.parameters);
  double *next = values.data.data();
  for (int64_t head = 0; head < sizes.queryHeads; ++head) {
    evaluate.startHead(0, head, sizes.headStart + head, sizes.headsTotal);
    for (int64_t row = 0; row < sizes.queries; ++row) {
      evaluate.startRow(problem.positions.query(0, row));
      const int64_t own = sizes.queryStart + row - sizes.keyStart;
      const auto key = problem.positions.key(0, std::clamp<int64_t>(own, 0, sizes.keys - 1));
      for (double score : scores)
        *next++ = evaluate.evaluate(key, score);
    }
  }
  return toTensor(values);
}

Expected<Tensor> materializeBias(const Program &program, const TensorMap &inputs,
                                 const Positions &positions) {
  auto result = materialize(program, inputs, positions);
  if (!result)
    return result.takeError();
  return result->bias;
}

} // namespace pe::reference
