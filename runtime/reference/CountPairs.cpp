//===- CountPairs.cpp - Counting of unmasked pairs ------------------------===//

#include "runtime/reference/Evaluator.h"
#include "runtime/reference/Reference.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace pe::reference {
namespace {

bool reads(const Region &region, ValueId value) {
  return std::any_of(
      region.operations.begin(), region.operations.end(), [&](const Operation &operation) {
        const auto &operands = operation.operands;
        return std::find(operands.begin(), operands.end(), value) != operands.end() ||
               std::any_of(operation.regions.begin(), operation.regions.end(),
                           [&](const Region &inner) { return reads(inner, value); });
      });
}

/// Returns true if the code of some mask reads argument `number`: 0 is the batch entry, 1 the head.
bool masksRead(const Program &program, size_t number) {
  return std::any_of(
      program.operations.begin(), program.operations.end(), [&](const Operation &operation) {
        return operation.name == "pe.mask_fn" &&
               reads(operation.regions.front(), operation.regions.front().arguments[number]);
      });
}

int64_t countRow(const AttentionProblem &problem, MaskEvaluator &mask, int64_t batch, int64_t row) {
  const int64_t i = problem.sizes.queryStart + row;
  mask.startRow(problem.positions.query(batch, row));
  int64_t pairs = 0;
  for (int64_t key = 0; key < problem.sizes.keys; ++key)
    pairs += problem.isOrdered(i, problem.sizes.keyStart + key) &&
             mask.allows(problem.positions.key(batch, key));
  return pairs;
}

} // namespace

Expected<double> countPairs(const Program &program, const TensorMap &inputs,
                            const Positions &positions, unsigned threads) {
  Evaluator evaluator(program, positions, {.rounding = {}, .threads = 1});
  if (Status status = evaluator.bind(inputs, /*grad=*/false); !status)
    return status.takeError();
  if (Status status = evaluator.forward(/*run=*/false); !status)
    return status.takeError();
  auto problems = evaluator.problems();
  if (problems.size() != 1)
    return makeError("expected a function with one attention to count its pairs, found ",
                     problems.size());
  const AttentionProblem &problem = *problems[0];
  const AttentionSizes &sizes = problem.sizes;
  // If the mask is the same for all batch entries or heads, only one of them is counted.
  const bool isOfBatch = masksRead(program, 0) || problem.positions.queries;
  const int64_t batch = isOfBatch ? sizes.batch : std::min<int64_t>(1, sizes.batch);
  const int64_t heads =
      masksRead(program, 1) ? sizes.queryHeads : std::min<int64_t>(1, sizes.queryHeads);
  std::atomic<int64_t> next = 0, pairs = 0;
  auto work = [&] {
    MaskEvaluator mask(problem.mask, *problem.graph, *problem.parameters);
    for (int64_t at; (at = next++) < batch * heads * sizes.queries;) {
      const int64_t head = at / sizes.queries % heads, entry = at / sizes.queries / heads;
      mask.startHead(entry, head, sizes.headStart + head, sizes.headsTotal);
      pairs += countRow(problem, mask, entry, at % sizes.queries);
    }
  };
  std::vector<std::thread> running;
  for (unsigned n = 1; n < (threads ? threads : std::max(1u, std::thread::hardware_concurrency()));
       ++n)
    running.emplace_back(work);
  work();
  for (std::thread &thread : running)
    thread.join();
  const double times = static_cast<double>(sizes.batch * sizes.queryHeads) /
                       static_cast<double>(std::max<int64_t>(1, batch * heads));
  return static_cast<double>(pairs.load()) * times;
}

} // namespace pe::reference
