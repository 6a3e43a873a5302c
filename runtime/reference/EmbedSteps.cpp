//===- EmbedSteps.cpp - Embeddings of a function, forward and in reverse --===//
#include "runtime/plan/Frame.h"
#include "runtime/reference/Evaluator.h"
#include "runtime/reference/Rounding.h"

namespace pe::reference {

/// Reads the seed of dropout, or one per batch entry.
Expected<Evaluator::Dropped> Evaluator::readSeed(const Operation &operation, ValueId operand,
                                                 int64_t batch) {
  auto probability = operation.number("dropout", 0.0);
  if (!probability)
    return probability.takeError();
  auto found = seeds.find(operand);
  const Shape &shape = tensors.at(operand).shape;
  const bool isPerBatch = shape.size() == 1;
  if (found == seeds.end() || (isPerBatch && shape[0] != batch))
    return operation.fail("expected a 64-bit seed, or one per batch entry, found shape ",
                          toString(shape));
  return Dropped{*probability, found->second, isPerBatch};
}

Status Evaluator::prepareEmbed(const Operation &operation) {
  if (Status status = operation.expectOnly({"dropout"}); !status)
    return status.takeError();
  if (operation.operands.size() != 2 && operation.operands.size() != 3)
    return operation.fail("expected tokens, an embedding and optionally a seed");
  auto x = tensors.find(operation.operands[0]);
  if (x == tensors.end() || x->second.shape.size() != 3)
    return operation.fail("expected tokens of rank 3");
  const Shape &shape = x->second.shape;
  plan::CallSizes call = {shape[0], 1, 1, shape[1], shape[1]};
  if (Status status = plan::place(call, positions); !status)
    return status.takeError();
  EmbedStep &step = embeds.emplace_back(EmbedStep{
      &operation, operation.operands[0], GraphBuilder(program, definitions, tensors, call), {}});
  auto root = step.builder.nodeOf(operation.operands[1]);
  if (!root)
    return root.takeError();
  step.builder.graph.roundsToSingle = roundsFormulas;
  step.problem = {shape[0], shape[1],          shape[2], call.queryStart, &step.builder.graph,
                  *root,    &step.builder.pack};
  if (operation.operands.size() == 3) {
    auto dropped = readSeed(operation, operation.operands[2], shape[0]);
    if (!dropped)
      return dropped.takeError();
    step.problem.dropout = dropped->probability;
    step.problem.seeds = std::move(dropped->seeds);
    step.problem.hasSeedPerBatch = dropped->isPerBatch;
  }
  return checkAxes(step);
}

/// Checks that the tensors an embedding reads have the sizes of the tokens.
Status Evaluator::checkAxes(const EmbedStep &step) const {
  for (const GraphBuilder::Parameter &parameter : step.builder.parameters)
    for (const Argument &argument : program.arguments) {
      const Shape &shape = tensors.at(parameter.value).shape;
      for (size_t axis = 0; argument.id == parameter.value && axis < argument.axes.size(); ++axis) {
        const std::string &word = argument.axes[axis];
        const int64_t expected = word == "model"   ? step.problem.width
                                 : word == "query" ? step.problem.rows
                                                   : shape[axis];
        if (shape[axis] != expected && shape[axis] != 1)
          return makeError("tensor '", argument.name, "': expected ", expected, " on axis ", axis,
                           " (", word, "), found ", shape[axis]);
      }
    }
  return Status::success();
}

void Evaluator::runEmbed(const EmbedStep &step) {
  ReadTally reads;
  Array y = embed(step.problem, tensors.at(step.x), reads);
  for (OutsideRead &read : step.builder.graph.describe(reads, [](NodeId) { return "elements"; }))
    outsideReads.push_back(std::move(read));
  if (rounding && roundsResults(*rounding))
    roundAll(y.data, *rounding);
  tensors.emplace(step.operation->results.at(0), std::move(y));
}

void Evaluator::reverseEmbed(const EmbedStep &step) {
  const Array *cotangent = findGradient(step.operation->results.at(0));
  if (!cotangent)
    return;
  const Array ofSum = dropReverse(step.problem, *cotangent);
  Array ofTokens = ofSum;
  if (rounding && roundsResults(*rounding)) // as the gradient is stored
    roundAll(ofTokens.data, *rounding);
  addTo(gradientOf(step.x), ofTokens.data);
  const ParameterGradients found = embedReverse(step.problem, ofSum);
  for (const GraphBuilder::Parameter &parameter : step.builder.parameters) {
    addTo(gradientOf(parameter.value), found.sum, parameter.offset);
    addTo(arrayOf(magnitudes, parameter.value), found.magnitude, parameter.offset);
  }
}

} // namespace pe::reference
