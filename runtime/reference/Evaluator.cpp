//===- Evaluator.cpp - Forward and reverse of a function ------------------===//
//
// Binds the arguments, runs the operations on tensors in order and in reverse, and collects the
// results. AttentionSteps, EmbedSteps and MergeSteps implement these operations. Coordinates,
// biases, rotations and masks are evaluated by the attention that uses them.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Evaluator.h"

#include <cmath>

namespace pe::reference {
namespace {

bool fits(const Shape &shape, const Shape &dims) {
  if (shape.size() != dims.size())
    return false;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (dims[axis] >= 0 && dims[axis] != shape[axis])
      return false;
  return true;
}

Expected<Array> toArray(const Tensor &tensor) {
  auto elements = toDoubles(tensor);
  if (!elements)
    return elements.takeError();
  return Array{tensor.shape(), std::move(*elements)};
}

/// Appends the numbers of nested lists in order; returns false if an element is not a number.
bool flatten(const Attribute &attribute, std::vector<double> &numbers) {
  if (auto *elements = std::get_if<std::vector<Attribute>>(&attribute.value)) {
    for (const Attribute &element : *elements)
      if (!flatten(element, numbers))
        return false;
    return true;
  }
  auto number = attribute.asNumber();
  if (number)
    numbers.push_back(*number);
  return number.has_value();
}

} // namespace

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

Status Evaluator::bindArgument(const Argument &argument, const Tensor &tensor) {
  const std::string &type = program.typeOf(argument.id);
  auto dims = dimensionsOf(type);
  if (!dims || !fits(tensor.shape(), *dims))
    return makeError("expected tensor '", argument.name, "' to fit ", type, ", found shape ",
                     toString(tensor.shape()));
  auto array = toArray(tensor);
  if (!array)
    return array.takeError();
  if (!isFloating(tensor.dtype()))
    integers.insert(argument.id);
  if (tensor.dtype() == DType::I64) {
    const Tensor whole = tensor.contiguous();
    const auto values = whole.values<int64_t>();
    seeds.emplace(argument.id, std::vector<int64_t>(values.begin(), values.end()));
  }
  tensors.emplace(argument.id, std::move(*array));
  return Status::success();
}

Status Evaluator::bind(const TensorMap &inputs, bool grad) {
  std::set<std::string> known;
  for (const Argument &argument : program.arguments) {
    auto found = inputs.find(argument.name);
    if (found == inputs.end() && !argument.absent.empty())
      continue; // another argument is read (GraphBuilder::packed)
    if (found == inputs.end())
      return makeError("expected a tensor '", argument.name, "', found no tensor of that name");
    if (Status status = bindArgument(argument, found->second); !status)
      return status.takeError();
    known.insert(argument.name);
  }
  for (const Return &result : program.returns)
    known.insert("d_" + result.name);
  if (auto length = inputs.find("kv_len");
      length != inputs.end() && hasPages(program) && known.insert("kv_len").second) {
    if (length->second.dtype() != DType::I32 || length->second.numel() != 1)
      return makeError("tensor 'kv_len': expected one i32, found ", nameOf(length->second.dtype()),
                       " of shape ", toString(length->second.shape()));
    keysInPages = *length->second.data<int32_t>();
  }
  for (const auto &[name, tensor] : inputs)
    if (!known.contains(name) && (grad || !name.starts_with("d_")))
      return makeError("expected tensors of '", program.name, "', found an unknown tensor '", name,
                       "'");
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

Status Evaluator::forward(bool run) {
  for (const Operation &operation : program.operations) {
    if (operation.name == "pe.attention") {
      if (Status status = prepareAttention(operation); !status)
        return status.takeError();
      if (run)
        runAttention(steps.back());
      continue;
    }
    if (operation.name == "pe.embed") {
      if (Status status = prepareEmbed(operation); !status)
        return status.takeError();
      if (run)
        runEmbed(embeds.back());
      continue;
    }
    if (operation.name == "pe.merge") {
      if (Status status = prepareMerge(operation); !status)
        return status.takeError();
      if (run)
        runMerge(merges.back());
      continue;
    }
    if (operation.name == "arith.constant") {
      if (Status status = evaluateConstant(operation); !status)
        return status.takeError();
      continue;
    }
    // Operands of an attention that are not tensors are evaluated with it.
    for (ValueId result : operation.results)
      if (!program.typeOf(result).starts_with("!pe."))
        return operation.fail("is not an operation that the reference can evaluate");
  }
  for (const Return &result : program.returns)
    if (run && !tensors.contains(result.id))
      return makeError("expected result '", result.name, "' to be a tensor, found ",
                       program.typeOf(result.id));
  return Status::success();
}

Status Evaluator::evaluateConstant(const Operation &operation) {
  auto dims = dimensionsOf(program.typeOf(operation.results.at(0)));
  const Attribute *value = operation.find("value");
  std::vector<double> numbers;
  if (!dims || !value || !flatten(*value, numbers))
    return operation.fail("expected a constant tensor of numbers");
  Array array = Array::zeros(*dims);
  if (numbers.size() == 1)
    numbers.assign(array.data.size(), numbers[0]);
  if (numbers.size() != array.data.size())
    return operation.fail("expected ", array.data.size(), " numbers, found ", numbers.size());
  array.data = std::move(numbers);
  tensors.emplace(operation.results[0], std::move(array));
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Reverse
//===----------------------------------------------------------------------===//

Array &Evaluator::arrayOf(TensorValues &values, ValueId value) const {
  return values.try_emplace(value, Array::zeros(tensors.at(value).shape)).first->second;
}

const Array *Evaluator::findGradient(ValueId value) const {
  auto found = gradients.find(value);
  return found == gradients.end() ? nullptr : &found->second;
}

Status Evaluator::reverse(const TensorMap &inputs) {
  for (const Step &step : steps)
    if (pagesOf(*step.operation))
      return step.operation->fail("expected a forward call of an attention with pages(...)");
  for (const Step &step : steps)
    if (step.problem.keysAreTurned &&
        std::ranges::any_of(step.problem.rotations, &Rotation::isLearned))
      return step.operation->fail("expected a rotation without tensors for gradients with "
                                  "rotated_keys");
  for (const Return &result : program.returns) {
    auto found = inputs.find("d_" + result.name);
    if (found == inputs.end())
      continue;
    const Shape &expected = tensors.at(result.id).shape;
    if (found->second.shape() != expected)
      return makeError("expected cotangent 'd_", result.name, "' of shape ", toString(expected),
                       ", found ", toString(found->second.shape()));
    auto cotangent = toDoubles(found->second);
    if (!cotangent)
      return cotangent.takeError();
    addTo(gradientOf(result.id), *cotangent);
  }
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    reverseAttention(*step);
  for (const EmbedStep &step : embeds)
    reverseEmbed(step);
  for (auto merge = merges.rbegin(); merge != merges.rend(); ++merge)
    reverseMerge(*merge);
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Results Evaluator::takeResults(bool grad) {
  auto toTensor = [](const Array &array) { return Tensor::of(array.data, array.shape); };
  Results results;
  results.maxLogit = maxLogit;
  results.outsideReads = outsideReads;
  results.badScore = badScore;
  for (const Return &result : program.returns) {
    results.outputs[result.name] = toTensor(tensors.at(result.id));
    const Operation *maker = definitions[result.id];
    if (maker && maker->results.size() > 1 && maker->results[1] == result.id)
      results.logarithms.insert(result.name);
    if (auto found = terms.find(result.id); found != terms.end())
      results.terms[result.name] = toTensor(found->second);
    if (auto found = outputErrors.find(result.id); found != outputErrors.end())
      results.logitErrors[result.name] = toTensor(found->second);
  }
  if (!grad)
    return results;
  for (const Argument &argument : program.arguments) {
    if (integers.contains(argument.id) || !tensors.contains(argument.id))
      continue;
    results.gradients["d_" + argument.name] = toTensor(gradientOf(argument.id));
    if (auto found = magnitudes.find(argument.id); found != magnitudes.end())
      results.magnitudes["d_" + argument.name] = toTensor(found->second);
    if (auto found = gradientTerms.find(argument.id); found != gradientTerms.end())
      results.terms["d_" + argument.name] = toTensor(found->second);
    for (auto [squares, sizes] :
         {std::pair(&noiseSquared, &results.noise), std::pair(&roundingSquared, &results.rounding),
          std::pair(&errorSquared, &results.logitErrors)})
      if (auto found = squares->find(argument.id); found != squares->end()) {
        for (double &square : found->second.data)
          square = std::sqrt(square);
        (*sizes)["d_" + argument.name] = toTensor(found->second);
      }
  }
  return results;
}

std::vector<const AttentionProblem *> Evaluator::problems() const {
  std::vector<const AttentionProblem *> all;
  for (const Step &step : steps)
    all.push_back(&step.problem);
  return all;
}

std::vector<const EmbeddingProblem *> Evaluator::embeddings() const {
  std::vector<const EmbeddingProblem *> all;
  for (const EmbedStep &step : embeds)
    all.push_back(&step.problem);
  return all;
}

} // namespace pe::reference
