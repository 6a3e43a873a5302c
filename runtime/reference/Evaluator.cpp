//===- Evaluator.cpp - Running a function forward and in reverse ----------===//
//
// Coordinates, biases, rotations and masks are evaluated by the attention that uses them; here are
// the tensors: arguments, constants and attentions.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Evaluator.h"
#include "runtime/plan/ShapeBinder.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace pe::reference {
namespace {

/// The dimensions of "tensor<2x?xf32>" with -1 for "?", or nothing for another type.
std::optional<Shape> dimensionsOf(std::string_view type) {
  constexpr std::string_view prefix = "tensor<";
  if (!type.starts_with(prefix))
    return std::nullopt;
  type.remove_prefix(prefix.size());
  Shape dims;
  while (!type.empty() && (type[0] == '?' || (type[0] >= '0' && type[0] <= '9'))) {
    size_t end = type.find('x');
    if (end == std::string_view::npos)
      return std::nullopt;
    int64_t dim = -1;
    if (type[0] != '?')
      std::from_chars(type.data(), type.data() + end, dim);
    dims.push_back(dim);
    type.remove_prefix(end + 1);
  }
  return dims;
}

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

void addTo(Array &target, const std::vector<double> &source, size_t offset = 0) {
  for (size_t e = 0; e < target.data.size(); ++e)
    target.data[e] += source[offset + e];
}

/// The numbers of a list of lists, in order.
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
      continue; // another one is read (GraphBuilder::packed)
    if (found == inputs.end())
      return makeError("expected a tensor '", argument.name, "', found none of that name");
    if (Status status = bindArgument(argument, found->second); !status)
      return status.takeError();
    known.insert(argument.name);
  }
  for (const Return &result : program.returns)
    known.insert("d_" + result.name);
  for (const auto &[name, tensor] : inputs)
    if (!known.contains(name) && (grad || !name.starts_with("d_")))
      return makeError("found a tensor '", name, "' that '", program.name, "' does not have");
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
    if (operation.name == "arith.constant") {
      if (Status status = evaluateConstant(operation); !status)
        return status.takeError();
      continue;
    }
    // The operands of an attention are evaluated with it.
    for (ValueId result : operation.results)
      if (!program.typeOf(result).starts_with("!pe."))
        return operation.fail("is no operation that the reference can evaluate");
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

/// The size that each dimension of an argument means, if no attention reads it as q, k or v.
static std::vector<std::string> sizesOf(const Argument &argument, const Shape &dims,
                                        const std::string &otherwise) {
  static const std::map<std::string, const char *> names = {{"batch", "b"},     {"head", "hq"},
                                                            {"kv_head", "hkv"}, {"query", "r"},
                                                            {"key", "c"},       {"depth", "d"}};
  std::vector<std::string> sizes;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    // An unknown size without an axis counts what `otherwise` says.
    const std::string word = axis < argument.axes.size() ? argument.axes[axis] : otherwise;
    auto found = names.find(word);
    if (dims[axis] >= 0)
      sizes.push_back(std::to_string(dims[axis]));
    else
      sizes.push_back(found != names.end() ? found->second : word);
  }
  return sizes;
}

/// The words of every call, and the sizes that axes of arguments name.
static std::vector<plan::FrameWord> frameOf(const Program &program) {
  std::vector<plan::FrameWord> words = plan::standardFrame();
  for (const Argument &argument : program.arguments) {
    auto dims = dimensionsOf(program.typeOf(argument.id));
    if (!dims || argument.axes.size() != dims->size())
      continue;
    for (const std::string &size : sizesOf(argument, *dims, "head")) {
      const auto isSame = [&](const plan::FrameWord &word) { return word.name == size; };
      if (std::isalpha(static_cast<unsigned char>(size[0])) &&
          std::none_of(words.begin(), words.end(), isSame))
        words.push_back({plan::FrameWord::Kind::Size, size, "1"});
    }
  }
  return words;
}

/// Takes the sizes of a call from a tensor whose dimensions are `sizes`.
static Status bindTo(const plan::FrameLayout &layout, plan::ShapeBinder &binder,
                     const std::string &tensor, const std::vector<std::string> &sizes,
                     const Shape &shape) {
  plan::SymbolicShape expected;
  for (const std::string &size : sizes) {
    auto expression = plan::SizeExpression::parse(size);
    if (!expression)
      return expression.takeError().within("tensor '" + tensor + "'");
    if (Status status = expression->resolve(layout.getNames()); !status)
      return status;
    expected.push_back(std::move(*expression));
  }
  return binder.bind(tensor, expected, shape);
}

Expected<plan::CallSizes> Evaluator::bindSizes(const Operation &operation) const {
  if (operation.operands.size() < 3)
    return operation.fail("expected operands q, k and v");
  const std::pair<const char *, std::vector<std::string>> expected[] = {
      {"q", {"b", "hq", "r", "d"}}, {"k", {"b", "hkv", "c", "d"}}, {"v", {"b", "hkv", "c", "e"}}};
  auto layout = plan::FrameLayout::create(frameOf(program));
  if (!layout)
    return layout.takeError();
  plan::ShapeBinder binder(*layout);
  for (size_t n = 0; n < 3; ++n) {
    auto found = tensors.find(operation.operands[n]);
    if (found == tensors.end())
      return operation.fail("expected q, k and v to be tensors of rank 4");
    const auto &[name, sizes] = expected[n];
    if (Status status = bindTo(*layout, binder, name, sizes, found->second.shape); !status)
      return status.takeError().at(operation.location);
  }
  for (const Argument &argument : program.arguments) {
    const bool isOperand = std::any_of(
        program.operations.begin(), program.operations.end(), [&](const Operation &other) {
          auto last = other.operands.begin() + std::min<size_t>(3, other.operands.size());
          // Tensors of a rotation have other extents, which it checks.
          const bool hasOwnExtents = other.name == "pe.rotation_table";
          if (hasOwnExtents)
            last = other.operands.end();
          return (hasOwnExtents || other.name == "pe.attention" || other.name == "pe.embed") &&
                 std::find(other.operands.begin(), last, argument.id) != last;
        });
    auto dims = dimensionsOf(program.typeOf(argument.id));
    if (isOperand || !dims || !tensors.contains(argument.id))
      continue;
    // An unknown size without an axis counts heads; seeds are per batch entry.
    const bool isSeed = std::any_of(
        program.operations.begin(), program.operations.end(), [&](const Operation &other) {
          auto end = other.operands.end();
          return other.name == "pe.attention" && seeds.contains(argument.id) &&
                 std::find(other.operands.begin(), end, argument.id) != end;
        });
    if (Status status = bindTo(*layout, binder, argument.name,
                               sizesOf(argument, *dims, isSeed ? "batch" : "head"),
                               tensors.at(argument.id).shape);
        !status)
      return status.takeError();
  }
  auto frame = binder.finish(positions);
  if (!frame)
    return frame.takeError();
  return layout->sizesOf(*frame);
}

Status Evaluator::prepareAttention(const Operation &operation) {
  if (Status status =
          operation.expectOnly({"normalizer", "scale", "dropout", "resultSegmentSizes"});
      !status)
    return status.takeError();
  auto call = bindSizes(operation);
  if (!call)
    return call.takeError();
  const int64_t headDim = tensors.at(operation.operands[0]).shape[3];
  const int64_t valueDim = tensors.at(operation.operands[2]).shape[3];
  auto normalizer = operation.keyword("normalizer", "softmax");
  auto scale = operation.number("scale", 1.0 / std::sqrt(static_cast<double>(headDim)));
  if (!normalizer || !scale)
    return normalizer ? scale.takeError() : normalizer.takeError();
  if (*normalizer != "softmax" && *normalizer != "stick_breaking")
    return operation.fail("expected normalizer 'softmax' or 'stick_breaking', found '", *normalizer,
                          "'");
  Step &step = steps.emplace_back(Step{&operation,
                                       operation.operands[0],
                                       operation.operands[1],
                                       operation.operands[2],
                                       GraphBuilder(program, definitions, tensors, *call),
                                       {},
                                       {}});
  step.problem.sizes = {call->batch,    call->queryHeads, call->keyHeads,  call->queries,
                        call->keys,     headDim,          valueDim,        call->queryStart,
                        call->keyStart, call->headStart,  call->headsTotal};
  step.problem.scale = *scale;
  step.problem.normalizer =
      *normalizer == "softmax" ? Normalizer::Softmax : Normalizer::StickBreaking;
  if (Status status = readOperands(step); !status)
    return status.takeError();
  if (step.problem.normalizer == Normalizer::StickBreaking && !step.problem.mask.isCausal())
    return operation.fail("expected a causal mask: stick-breaking needs an order of the keys");
  return Status::success();
}

/// The rotation, with its tensors among the parameters.
Status Evaluator::readRotation(Step &step, ValueId value) {
  const AttentionSizes &s = step.problem.sizes;
  const plan::CallSizes sizes = {s.batch,      s.queryHeads, s.keyHeads,  s.queries,   s.keys,
                                 s.queryStart, s.keyStart,   s.headStart, s.headsTotal};
  auto rotation = buildRotation(definitions, value, s.headDim, tensors, sizes);
  if (!rotation)
    return rotation.takeError();
  const Operation &operation = *definitions[value];
  std::vector<int64_t *> places = {&rotation->base};
  if (rotation->cosines)
    places = {&rotation->cosinesAt, &rotation->sinesAt};
  for (size_t n = 0; n < operation.operands.size(); ++n) {
    auto offset = step.builder.offsetOf(operation, operation.operands[n]);
    if (!offset)
      return offset.takeError();
    *places[n] = *offset;
  }
  step.problem.rotations.push_back(std::move(*rotation));
  return Status::success();
}

/// A logit per query head.
Status Evaluator::readSink(Step &step, ValueId operand) {
  const Array &logits = tensors.at(operand);
  if (logits.shape != Shape{step.problem.sizes.queryHeads})
    return step.operation->fail("expected a sink per query head, ", step.problem.sizes.queryHeads,
                                ", found shape ", toString(logits.shape));
  step.problem.sinks = logits.data;
  step.sink = operand;
  return Status::success();
}

/// One, or one per batch entry.
Status Evaluator::readSeed(Step &step, ValueId operand) {
  auto probability = step.operation->number("dropout", 0.0);
  if (!probability)
    return probability.takeError();
  auto found = seeds.find(operand);
  const Shape &shape = tensors.at(operand).shape;
  const bool isPerBatch = shape.size() == 1;
  if (found == seeds.end() || (isPerBatch && shape[0] != step.problem.sizes.batch))
    return step.operation->fail("expected a seed of 64 bits, or one per batch entry, found shape ",
                                toString(shape));
  step.problem.dropout = *probability;
  step.problem.seeds = found->second;
  step.problem.hasSeedPerBatch = isPerBatch;
  return Status::success();
}

/// Operands are distinguished by their types: the only tensors are sinks, of f32, and seeds, of
/// i64.
Status Evaluator::readOperands(Step &step) {
  const Operation &operation = *step.operation;
  for (size_t n = 3; n < operation.operands.size(); ++n) {
    ValueId operand = operation.operands[n];
    const std::string &type = program.typeOf(operand);
    if (type == "!pe.bias") {
      auto node = step.builder.nodeOf(operand);
      if (!node)
        return node.takeError();
      auto &bias = step.problem.bias;
      bias = bias ? step.builder.graph.arith("addf", *bias, *node) : *node;
    } else if (type == "!pe.score") {
      auto node = step.builder.nodeOf(operand);
      if (!node)
        return node.takeError();
      step.problem.score = *node;
    } else if (type == "!pe.rotation") {
      if (Status status = readRotation(step, operand); !status)
        return status.takeError();
    } else if (type == "!pe.mask") {
      auto mask = buildMask(program, definitions, step.builder, operand);
      if (!mask)
        return mask.takeError();
      step.problem.mask.parts.push_back(std::move(*mask));
    } else if (type.ends_with("xf32>")) {
      if (Status status = readSink(step, operand); !status)
        return status;
    } else if (type.starts_with("tensor<") && type.ends_with("i64>")) {
      if (Status status = readSeed(step, operand); !status)
        return status;
    } else {
      return operation.fail("has an operand of type ", type, " that the reference cannot evaluate");
    }
  }
  step.problem.rounding = rounding;
  step.problem.graph = &step.builder.graph;
  step.problem.parameters = &step.builder.pack;
  return Status::success();
}

void Evaluator::runAttention(Step &step) {
  AttentionInputs inputs{tensors.at(step.q), tensors.at(step.k), tensors.at(step.v)};
  AttentionOutputs outputs = attend(step.problem, inputs, threads);
  maxLogit = std::max(maxLogit, outputs.maxLogit);
  const std::vector<ValueId> &results = step.operation->results;
  if (!results.empty())
    tensors.emplace(results[0], std::move(outputs.o));
  if (results.size() > 1)
    tensors.emplace(results[1], std::move(outputs.lse));
  if (!results.empty())
    terms.emplace(results[0], std::move(outputs.oTerms));
  if (results.size() > 1)
    terms.emplace(results[1], std::move(outputs.lseTerms));
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
  return Status::success();
}

void Evaluator::reverseAttention(const Step &step) {
  AttentionInputs inputs{tensors.at(step.q), tensors.at(step.k), tensors.at(step.v)};
  const std::vector<ValueId> &results = step.operation->results;
  AttentionCotangents cotangents;
  if (!results.empty())
    cotangents.o = findGradient(results[0]);
  if (results.size() > 1)
    cotangents.lse = findGradient(results[1]);

  AttentionGradients found = attendReverse(step.problem, inputs, cotangents, threads);
  if (rounding && roundsResults(*rounding))
    for (Array *gradient : {&found.q.sum, &found.k.sum, &found.v})
      roundAll(gradient->data, *rounding);
  addTo(gradientOf(step.q), found.q.sum.data);
  addTo(gradientOf(step.k), found.k.sum.data);
  addTo(gradientOf(step.v), found.v.data);
  addTo(gradientTerms.try_emplace(step.v, Array::zeros(found.vTerms.shape)).first->second,
        found.vTerms.data);
  addTo(arrayOf(noiseSquared, step.q), found.q.noiseSquared.data);
  addTo(arrayOf(noiseSquared, step.k), found.k.noiseSquared.data);
  for (const GraphBuilder::Parameter &parameter : step.builder.parameters) {
    ValueId value = parameter.value;
    addTo(gradientOf(value), found.parameters.sum, parameter.offset);
    addTo(arrayOf(magnitudes, value), found.parameters.magnitude, parameter.offset);
    addTo(arrayOf(noiseSquared, value), found.parameters.noiseSquared, parameter.offset);
    addTo(gradientTerms.try_emplace(value, Array::zeros({1})).first->second,
          {std::sqrt(found.biasNoiseSquared)});
  }
  if (step.sink) {
    addTo(gradientOf(*step.sink), found.sinks.sum);
    addTo(arrayOf(magnitudes, *step.sink), found.sinks.magnitude);
    addTo(arrayOf(noiseSquared, *step.sink), found.sinks.noiseSquared);
  }
}

//===----------------------------------------------------------------------===//
// Embeddings
//===----------------------------------------------------------------------===//

Status Evaluator::prepareEmbed(const Operation &operation) {
  if (operation.operands.size() != 2)
    return operation.fail("expected tokens and an embedding");
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
  step.problem = {shape[0], shape[1],          shape[2], call.queryStart, &step.builder.graph,
                  *root,    &step.builder.pack};
  return checkAxes(step);
}

/// What an embedding reads has the sizes that the tokens give.
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
  Array y = embed(step.problem, tensors.at(step.x));
  if (rounding && roundsResults(*rounding))
    roundAll(y.data, *rounding);
  tensors.emplace(step.operation->results.at(0), std::move(y));
}

void Evaluator::reverseEmbed(const EmbedStep &step) {
  const Array *cotangent = findGradient(step.operation->results.at(0));
  if (!cotangent)
    return;
  addTo(gradientOf(step.x), cotangent->data);
  const ParameterGradients found = embedReverse(step.problem, *cotangent);
  for (const GraphBuilder::Parameter &parameter : step.builder.parameters) {
    addTo(gradientOf(parameter.value), found.sum, parameter.offset);
    addTo(arrayOf(magnitudes, parameter.value), found.magnitude, parameter.offset);
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Results Evaluator::takeResults(bool grad) {
  auto toTensor = [](const Array &array) { return Tensor::of(array.data, array.shape); };
  Results results;
  results.maxLogit = maxLogit;
  for (const Return &result : program.returns) {
    results.outputs[result.name] = toTensor(tensors.at(result.id));
    if (auto found = terms.find(result.id); found != terms.end())
      results.terms[result.name] = toTensor(found->second);
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
    if (auto found = noiseSquared.find(argument.id); found != noiseSquared.end()) {
      for (double &square : found->second.data)
        square = std::sqrt(square);
      results.noise["d_" + argument.name] = toTensor(found->second);
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

} // namespace pe::reference
