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

} // namespace pe::reference
