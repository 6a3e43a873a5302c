//===- Reference.cpp - The float64 reference ------------------------------===//

#include "runtime/reference/Reference.h"

#include "runtime/reference/Evaluator.h"

namespace pe::reference {

Expected<Results> evaluate(const Program &program, const TensorMap &inputs,
                           const Positions &positions, bool grad, const EvaluateOptions &options) {
  Evaluator evaluator(program, positions, options);
  if (Status status = evaluator.bind(inputs, grad); !status)
    return status.takeError();
  if (Status status = evaluator.forward(/*run=*/true); !status)
    return status.takeError();
  if (grad)
    if (Status status = evaluator.reverse(inputs); !status)
      return status.takeError();
  return evaluator.takeResults(grad);
}

Expected<Tensor> materializeBias(const Program &program, const TensorMap &inputs,
                                 const Positions &positions) {
  Evaluator evaluator(program, positions, {.rounding = {}, .threads = 1});
  if (Status status = evaluator.bind(inputs, /*grad=*/false); !status)
    return status.takeError();
  // A second attention may read the first one's result, so only a single one can be prepared
  // without being run.
  if (Status status = evaluator.forward(/*run=*/false); !status)
    return status.takeError();
  auto problems = evaluator.problems();
  if (problems.size() != 1)
    return makeError("expected a function with one attention to materialize its bias, found ",
                     problems.size());
  Array dense = denseBias(*problems[0]);
  return Tensor::of(dense.data, dense.shape);
}

} // namespace pe::reference
