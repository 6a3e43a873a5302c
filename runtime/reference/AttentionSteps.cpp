//===- AttentionSteps.cpp - Attentions of a function, forward and in reverse -===//
//
// Builds the problem of an attention from its operands: the coordinates, biases, rotations, masks
// and parameters that it uses.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/CallSizes.h"
#include "runtime/reference/Evaluator.h"
#include "runtime/reference/Rounding.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace pe::reference {
namespace {

/// The group of value_content(...) among pe.attention's operands, after query, key, value, biases,
/// prologues, rotation and contents.
constexpr size_t kValueContentGroup = 7;
/// The groups of content(...), rotate_values(...) and query(...).
constexpr size_t kContentGroup = 6;
constexpr size_t kValueRotationGroup = 16;
constexpr size_t kContentQueriesGroup = 17;

Expected<const Normalizer *> normalizerOf(const Operation &operation) {
  auto keyword = operation.keyword("normalizer", kDefaultNormalizer);
  if (!keyword)
    return keyword.takeError();
  const Normalizer *normalizer = Normalizer::find(*keyword);
  if (!normalizer)
    return operation.fail("expected normalizer ", Normalizer::keywords(), ", found '", *keyword,
                          "'");
  return normalizer;
}

} // namespace

/// Replaces the pool of the keys and that of the values by tensors with the keys of every entry.
/// Pages after the last key are not read.
Status Evaluator::gatherPages(const Operation &operation) {
  const std::optional<ValueId> pages = pagesOf(operation);
  if (!pages)
    return Status::success();
  const Array &table = tensors.at(*pages);
  for (const size_t n : {1, 2}) {
    Array &pool = tensors.at(operation.operands[n]);
    const int64_t page = pool.shape[1], heads = pool.shape[2], depth = pool.shape[3];
    const int64_t batch = table.shape[0], slots = table.shape[1];
    const int64_t keys = keysInPages.value_or(slots * page);
    if (keys < 0 || keys > slots * page)
      return operation.fail("expected at most ", slots * page, " keys, as many as ", slots,
                            " pages of ", page, " hold, found ", keys);
    Array all = Array::zeros({batch, heads, keys, depth});
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t j = 0; j < keys; ++j) {
        const auto found = static_cast<int64_t>(table.data[b * slots + j / page]);
        if (found < 0 || found >= pool.shape[0])
          return operation.fail("expected pages from 0 to ", pool.shape[0] - 1, ", found ", found);
        for (int64_t h = 0; h < heads; ++h)
          std::copy_n(&pool.data[((found * page + j % page) * heads + h) * depth], depth,
                      &all.data[((b * heads + h) * keys + j) * depth]);
      }
    pool = std::move(all);
  }
  return Status::success();
}

Status Evaluator::prepareAttention(const Operation &operation) {
  if (Status status = gatherPages(operation); !status)
    return status.takeError();
  if (Status status = operation.expectOnly({"normalizer", "scale", "scale_by_depth", "dropout",
                                            "resultSegmentSizes", "attend_current", "remainder",
                                            "direction", "rotated_keys"});
      !status)
    return status.takeError();
  auto call = bindSizes(program, operation, tensors, seeds, positions);
  if (!call)
    return call.takeError();
  const int64_t headDim = tensors.at(operation.operands[0]).shape[3];
  const int64_t valueDim = tensors.at(operation.operands[2]).shape[3];
  auto normalizer = normalizerOf(operation);
  const auto depth = static_cast<double>(headDim);
  auto scale = operation.number(
      "scale", 1.0 / (operation.find("scale_by_depth") ? depth : std::sqrt(depth)));
  if (!normalizer || !scale)
    return normalizer ? scale.takeError() : normalizer.takeError();
  Step &step = steps.emplace_back(Step{&operation,
                                       operation.operands[0],
                                       operation.operands[1],
                                       operation.operands[2],
                                       GraphBuilder(program, definitions, tensors, *call),
                                       {},
                                       {}});
  step.builder.seeds = &seeds;
  step.problem.sizes = {call->batch,    call->queryHeads, call->keyHeads,  call->queries,
                        call->keys,     headDim,          valueDim,        call->queryStart,
                        call->keyStart, call->headStart,  call->headsTotal};
  step.problem.scale = *scale;
  step.problem.normalizer = *normalizer;
  step.problem.positions.queryStart = call->queryStart;
  step.problem.positions.keyStart = call->keyStart;
  if (Status status = readPositions(step); !status)
    return status.takeError();
  if (Status status = readOperands(step); !status)
    return status.takeError();
  step.problem.positions.boundaries = step.problem.mask.restartsIn();
  if (step.problem.positions.boundaries && call->batch > 1)
    return operation.fail("expected a batch of 1 with documents, found ", call->batch);
  if (Status status = checkNormalizer(step); !status)
    return status.takeError();
  return readSides(step);
}

/// Checks that the normalizer supports the operands and results of the attention.
Status Evaluator::checkNormalizer(const Step &step) const {
  const Operation &operation = *step.operation;
  const Normalizer &normalizer = *step.problem.normalizer;
  if (step.problem.sink && !normalizer.takesSink())
    return operation.fail("expected no sink under the normalizer '", normalizer.keyword(),
                          "', found one");
  if (operation.results.size() > 1 && !normalizer.emptyStatistic())
    return operation.fail("expected one result under the normalizer '", normalizer.keyword(),
                          "', which has no statistic of a row, found ", operation.results.size());
  return Status::success();
}

/// Reads the options of normalizers that order keys: the keys that a query attends to, and the use
/// of the remaining mass.
Status Evaluator::readSides(Step &step) {
  const Operation &operation = *step.operation;
  AttentionProblem &problem = step.problem;
  auto current = operation.boolean("attend_current", false);
  auto remainder = operation.keyword("remainder", "drop");
  auto direction = operation.keyword("direction", "before");
  if (!current || !remainder || !direction)
    return !current     ? current.takeError()
           : !remainder ? remainder.takeError()
                        : direction.takeError();
  problem.attendsCurrent = *current;
  auto turned = operation.boolean("rotated_keys", false);
  if (!turned)
    return turned.takeError();
  problem.keysAreTurned = *turned;
  problem.keepsRemainder = *remainder == "value";
  problem.hasBothSides = *direction == "both";
  problem.isUnplaced = !readsPositions(program) && !step.builder.graph.drawsChance();
  if (!problem.normalizer->ordersKeys()) {
    if (problem.attendsCurrent || problem.keepsRemainder || problem.hasBothSides)
      return operation.fail("expected no attend_current, remainder or direction under the "
                            "normalizer '",
                            problem.normalizer->keyword(), "', which does not order keys");
    return Status::success();
  }
  if (!problem.hasBothSides && !problem.mask.isCausal())
    return operation.fail("expected a causal mask: the normalizer '", problem.normalizer->keyword(),
                          "' needs an order of the keys");
  const AttentionSizes &sizes = problem.sizes;
  const bool haveKeys = sizes.queryStart >= sizes.keyStart &&
                        sizes.queryStart + sizes.queries <= sizes.keyStart + sizes.keys;
  if (problem.keepsRemainder && !haveKeys)
    return operation.fail("expected a key at the position of every query, whose value gets the "
                          "remainder");
  return Status::success();
}

/// Reads the rotation and adds its tensors to the parameters.
Status Evaluator::readRotation(Step &step, size_t n) {
  const ValueId value = step.operation->operands[n];
  auto groups = step.operation->operandGroups(kContentQueriesGroup + 1);
  if (!groups)
    return groups.takeError();
  const bool isOfValues =
      step.operation->find("operandSegmentSizes") && !(*groups)[kValueRotationGroup].empty() &&
      n + 1 + (*groups)[kContentQueriesGroup].size() == step.operation->operands.size();
  const AttentionSizes &s = step.problem.sizes;
  const plan::CallSizes sizes = {s.batch,      s.queryHeads, s.keyHeads,  s.queries,   s.keys,
                                 s.queryStart, s.keyStart,   s.headStart, s.headsTotal};
  auto rotation = buildRotation(program, definitions, value, isOfValues ? s.valueDim : s.headDim,
                                tensors, sizes);
  if (!rotation)
    return rotation.takeError();
  const Operation &operation = *definitions[value];
  if (isOfValues) {
    if (rotation->cosines || !rotation->learned.empty())
      return operation.fail("expected a rotation of values without learned tensors");
    step.problem.valueRotation = std::move(*rotation);
    return Status::success();
  }
  for (ValueId tensor : operation.operands) {
    if (program.typeOf(tensor).ends_with("xi32>"))
      continue; // positions
    auto offset = step.builder.offsetOf(operation, tensor);
    if (!offset)
      return offset.takeError();
    for (std::vector<Rotation::Learned> &numbers : rotation->learned)
      for (Rotation::Learned &number : numbers)
        if (number.tensor == tensor)
          number.place = *offset + number.element;
    if (rotation->cosines)
      (tensor == operation.operands[0] ? rotation->cosinesAt : rotation->sinesAt) = *offset;
  }
  step.problem.rotations.push_back(std::move(*rotation));
  return Status::success();
}

/// Returns the offset of a tensor of this shape in the pack.
Expected<int64_t> Evaluator::readMatrix(Step &step, const Operation &operation, ValueId tensor,
                                        const Shape &shape) {
  if (auto found = tensors.find(tensor); found == tensors.end() || found->second.shape != shape)
    return operation.fail("expected a tensor of shape ", toString(shape));
  return step.builder.offsetOf(operation, tensor);
}

/// Reads tensor `term` of query(...), the rows that a content term multiplies.
Status Evaluator::readRowsOfContent(Step &step, const std::vector<ValueId> &queries, size_t term,
                                    ContentProblem &content) {
  const Operation &operation = *step.operation;
  const AttentionSizes &sizes = step.problem.sizes;
  if (term >= queries.size())
    return operation.fail("expected a tensor in query(...) for content term ", term);
  auto found = tensors.find(queries[term]);
  if (found == tensors.end() || found->second.shape.size() != 4)
    return operation.fail("expected a tensor of rank 4 in query(...)");
  content.depth = found->second.shape[3];
  auto offset = readMatrix(step, operation, queries[term],
                           {sizes.batch, sizes.queryHeads, sizes.queries, content.depth});
  if (!offset)
    return offset.takeError();
  content.rowsAt = *offset;
  return Status::success();
}

/// Reads operand `n` of the attention, a content term of its score or of its values.
Status Evaluator::readContent(Step &step, size_t n) {
  const ValueId value = step.operation->operands[n];
  const Operation &operation = *definitions[value];
  const AttentionSizes &sizes = step.problem.sizes;
  auto root = step.builder.nodeOf(value);
  auto groups = operation.operandGroups(4);
  auto ofAttention = step.operation->operandGroups(kContentQueriesGroup + 1);
  if (!ofAttention)
    return ofAttention.takeError();
  if (!root || !groups)
    return root ? groups.takeError() : root.takeError();
  size_t before = 0;
  for (size_t group = 0; group < kValueContentGroup; ++group)
    before += (*ofAttention)[group].size();
  if (step.operation->find("operandSegmentSizes") && n == before &&
      !(*ofAttention)[kValueContentGroup].empty()) {
    if (operation.operands.size() != (*groups)[0].size() || operation.find("extent"))
      return operation.fail("expected neither operands of queries nor an extent of values");
    step.problem.valueContent = *root;
    return Status::success();
  }
  ContentProblem content{.root = *root, .depth = sizes.headDim};
  if (operation.find("extent")) {
    auto extent = operation.integer("extent", 0);
    if (!extent)
      return extent.takeError();
    content.extent = *extent;
  }
  if (const std::vector<ValueId> &queries = (*ofAttention)[kContentQueriesGroup];
      !queries.empty()) {
    const size_t term = n - (before - (*ofAttention)[kContentGroup].size());
    if (Status status = readRowsOfContent(step, queries, term, content); !status)
      return status;
  }
  if (const std::vector<ValueId> &factor = (*groups)[3]; !factor.empty()) {
    auto node = step.builder.nodeOf(factor[0]);
    if (!node)
      return node.takeError();
    content.factor = *node;
  }
  const std::tuple<size_t, int64_t *, Shape> tensorsOfTerm[] = {
      {1, &content.shiftAt, {sizes.queryHeads, sizes.headDim}},
      {2, &content.projectionAt, {sizes.headDim, sizes.headDim}}};
  for (const auto &[group, place, shape] : tensorsOfTerm)
    if (!(*groups)[group].empty()) {
      auto offset = readMatrix(step, operation, (*groups)[group][0], shape);
      if (!offset)
        return offset.takeError();
      *place = *offset;
    }
  step.problem.contents.push_back(content);
  return Status::success();
}

Status Evaluator::readQueryShift(Step &step, ValueId value) {
  const Operation &operation = *definitions[value];
  if (operation.name != "pe.query_shift" || operation.operands.size() != 1)
    return operation.fail("is not a prologue that the reference can evaluate");
  const AttentionSizes &sizes = step.problem.sizes;
  auto offset =
      readMatrix(step, operation, operation.operands[0], {sizes.queryHeads, sizes.headDim});
  if (!offset)
    return offset.takeError();
  step.problem.queryShifts.push_back(*offset);
  return Status::success();
}

/// Reads a sink: a logit per query head, or a function of the query. Its gradient is bounded only
/// by its own terms.
Status Evaluator::readSink(Step &step, ValueId operand) {
  const size_t before = step.builder.parameters.size();
  const bool isTensor = tensors.contains(operand);
  auto node =
      isTensor ? step.builder.sinkOf(*step.operation, operand) : step.builder.nodeOf(operand);
  if (!node)
    return node.takeError();
  step.problem.sink = *node;
  step.noteOwn(before);
  return Status::success();
}

/// Reads a factor on the weights and multiplies it by the preceding ones.
Status Evaluator::readFactor(Step &step, ValueId operand) {
  const Operation &operation = *step.operation;
  const size_t before = step.builder.parameters.size();
  auto probability = operation.number("dropout", 0.0);
  if (!probability)
    return probability.takeError();
  const bool isSeed = tensors.contains(operand);
  auto node =
      isSeed ? step.builder.drawOf(operation, *probability, operand) : step.builder.nodeOf(operand);
  if (!node)
    return node.takeError();
  auto &factor = step.problem.factor;
  factor = factor ? step.builder.graph.arith("mulf", *factor, *node) : *node;
  step.noteOwn(before);
  return Status::success();
}

/// Reads the positions if they are given as data, and sets havePlaces, on which everything built
/// later depends.
Status Evaluator::readPositions(Step &step) {
  const Operation &operation = *step.operation;
  std::vector<const Array *> given;
  for (size_t n = 3; n < operation.operands.size(); ++n)
    if (program.typeOf(operation.operands[n]).ends_with("xi32>") &&
        pagesOf(operation) != operation.operands[n])
      given.push_back(&tensors.at(operation.operands[n]));
  if (!given.empty() && given.size() != 2)
    return operation.fail("expected positions of queries and of keys");
  if (!given.empty()) {
    step.problem.positions.queries = given[0];
    step.problem.positions.keys = given[1];
  }
  step.builder.havePlaces =
      !given.empty() ||
      std::any_of(program.operations.begin(), program.operations.end(), [](const Operation &other) {
        return other.name == "pe.documents" && other.find("restart");
      });
  return Status::success();
}

/// Reads the other operands, which are distinguished by their types: the only tensors are those of
/// query(...), which readContent reads, sinks (f32), seeds (i64), and positions and pages (i32).
Status Evaluator::readOperands(Step &step) {
  const Operation &operation = *step.operation;
  auto groups = operation.operandGroups(kContentQueriesGroup + 1);
  if (!groups)
    return groups.takeError();
  const std::vector<ValueId> &rows = (*groups)[kContentQueriesGroup];
  for (size_t n = 3; n < operation.operands.size(); ++n) {
    ValueId operand = operation.operands[n];
    const std::string &type = program.typeOf(operand);
    if (std::find(rows.begin(), rows.end(), operand) != rows.end())
      continue;
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
      if (Status status = readRotation(step, n); !status)
        return status.takeError();
    } else if (type == "!pe.content") {
      if (Status status = readContent(step, n); !status)
        return status.takeError();
    } else if (type == "!pe.prologue") {
      if (Status status = readQueryShift(step, operand); !status)
        return status.takeError();
    } else if (type == "!pe.mask") {
      auto mask = buildMask(program, definitions, step.builder, operand);
      if (!mask)
        return mask.takeError();
      step.problem.mask.parts.push_back(std::move(*mask));
    } else if (type.ends_with("xi32>")) {
      continue; // readPositions
    } else if (type.ends_with("xf32>") || type == "!pe.sink") {
      if (Status status = readSink(step, operand); !status)
        return status;
    } else if ((type.starts_with("tensor<") && type.ends_with("i64>")) || type == "!pe.factor") {
      if (Status status = readFactor(step, operand); !status)
        return status;
    } else {
      return operation.fail("has an operand of type ", type, " that the reference cannot evaluate");
    }
  }
  step.problem.rounding = rounding;
  step.builder.graph.roundsToSingle = roundsFormulas;
  step.problem.graph = &step.builder.graph;
  step.problem.parameters = &step.builder.pack;
  return Status::success();
}

void Evaluator::runAttention(Step &step) {
  AttentionInputs inputs{tensors.at(step.q), tensors.at(step.k), tensors.at(step.v)};
  AttentionOutputs outputs = attend(step.problem, inputs, threads);
  maxLogit = std::max(maxLogit, outputs.maxLogit);
  const std::optional<NodeId> sink = step.problem.sink;
  for (OutsideRead &read : step.builder.graph.describe(
           outputs.reads, [&](NodeId root) { return root == sink ? "rows" : "kept pairs"; }))
    outsideReads.push_back(std::move(read));
  if (const std::optional<BadScore> &bad = outputs.badScore; bad && badScore.empty())
    badScore = makeError(bad->part, " is ", std::isnan(bad->score) ? "NaN" : "inf",
                         " at i = ", bad->i, ", j = ", bad->j)
                   .getMessage();
  const std::vector<ValueId> &results = step.operation->results;
  if (!results.empty())
    tensors.emplace(results[0], std::move(outputs.o));
  if (results.size() > 1)
    tensors.emplace(results[1], std::move(outputs.lse));
  if (!results.empty())
    terms.emplace(results[0], std::move(outputs.oTerms));
  if (!results.empty() && step.problem.normalizer->amplifiesErrors())
    outputErrors.emplace(results[0], std::move(outputs.oErrors));
  if (results.size() > 1)
    terms.emplace(results[1], std::move(outputs.lseTerms));
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
  const bool hasErrors = step.problem.normalizer->amplifiesErrors();
  if (hasErrors) {
    addTo(arrayOf(errorSquared, step.q), found.q.errorSquared.data);
    addTo(arrayOf(errorSquared, step.k), found.k.errorSquared.data);
    addTo(errorSquared.try_emplace(step.v, Array::zeros(found.vErrorSquared.shape)).first->second,
          found.vErrorSquared.data);
  }
  for (const GraphBuilder::Parameter &parameter : step.builder.parameters) {
    ValueId value = parameter.value;
    addTo(gradientOf(value), found.parameters.sum, parameter.offset);
    addTo(arrayOf(magnitudes, value), found.parameters.magnitude, parameter.offset);
    addTo(arrayOf(noiseSquared, value), found.parameters.noiseSquared, parameter.offset);
    addTo(arrayOf(roundingSquared, value), found.parameters.roundingSquared, parameter.offset);
    if (hasErrors)
      addTo(arrayOf(errorSquared, value), found.parameterErrorSquared, parameter.offset);
    if (!step.own.contains(value))
      addTo(gradientTerms.try_emplace(value, Array::zeros({1})).first->second,
            {std::sqrt(found.biasNoiseSquared)});
  }
}

} // namespace pe::reference
