//===- Generate.cpp - Generates a program from a seed ---------------------===//

#include "fuzz/Generate.h"

#include "fuzz/EvaluateProgram.h"
#include "fuzz/Generator.h"

namespace pe::fuzz {

/// Generates a read of a logit per head.
Node Generator::sink() {
  return makeRead(Type::F32, addParameter(program, {kHeads}, -2, 4),
                  {makeNode(Op::Head, Type::Index)});
}

void Generator::drawDropout() {
  if (!chance(0.2))
    return;
  program.dropout = pick({0.1, 0.5, 0.9, real(0, 1)});
  program.hasSeedPerBatch = chance(0.4);
}

Program Generator::merge() {
  drawSizes();
  program.entry = Entry::Merge;
  program.sizes.keyHeads = program.sizes.queryHeads;
  program.hasLse = true;
  program.isStickBreaking = chance(0.4);
  if (!program.isStickBreaking && chance(0.4))
    program.sink = sink();
  return std::move(program);
}

Program Generator::embed() {
  drawSizes();
  program.entry = Entry::Embed;
  Sizes &sizes = program.sizes;
  sizes.keys = sizes.queries; // so that positions begin at 0
  sizes.queryHeads = sizes.keyHeads = 1;
  sizes.width = pick<int64_t>({1, 2, 7, 16, 33, 64});
  if (chance(0.5))
    program.positions.queryStart = chance(0.8) ? int64_t(below(100)) : (1 << 24) - 10;
  const int64_t end = program.queryStart() + sizes.queries;
  sizes.rows = end < 1000 ? end + 1 + int64_t(below(3)) : 1 + int64_t(below(40));
  for (int attempt = 0; attempt < 20 && !program.embedding; ++attempt) {
    Node node = code(Scope::Token, Op::EmbeddingRegion, Op::EmbeddingFormula, 0.4, 2);
    if (conditionOf(program, node, drawParameters(program, program.seed), 300).isGood())
      program.embedding = std::move(node);
  }
  if (!program.embedding)
    program.embedding =
        makeNode(Op::EmbeddingRegion, Type::Bias, {makeReal(Type::F32, real(-1, 1))});
  dropUnusedParameters(program);
  return std::move(program);
}

Program Generator::generate() {
  if (chance(0.03))
    return merge();
  if (chance(0.06))
    return embed();
  drawSizes();
  program.sizes.rows = 1 + int64_t(below(40));
  drawPositions();
  drawSticks();
  drawPlacement();
  for (uint64_t n = pick({0, 1, 1, 1, 2, 2, 3}); n > 0; --n)
    if (auto node = wellConditionedBias())
      program.biases.push_back(std::move(*node));
  if (chance(0.25))
    program.scale = pick({0.0, 0.5, 0.125, real(-0.4, 0.4)});
  // A scale of 0 makes every score 0, where score functions need not be differentiable.
  if (program.scale != 0.0 && chance(0.2))
    program.score = moderateCode(Scope::Score, Op::ScoreRegion, Op::ScoreFormula, 2);
  if (chance(0.35))
    program.rotation = rotation();
  if (program.isStickBreaking && !(program.hasBothSides && chance(0.4)))
    program.mask = maskOfSticks();
  else if (!program.isStickBreaking && chance(0.7))
    program.mask = mask(2);
  else
    program.mask.reset();
  if (documents)
    program.mask =
        program.mask ? makeNode(Op::MaskAnd, Type::Mask, {*program.mask, *documents}) : *documents;
  drawContents();
  program.hasLse = !program.hasBothSides && chance(0.35);
  if (!program.isStickBreaking && chance(0.2))
    program.sink = sink();
  drawDropout();
  if (chance(0.15))
    program.factor = moderateCode(Scope::Factor, Op::FactorRegion, Op::FactorFormula, 1);
  drawPlainNormalizer();
  drawPerHeadMask();
  drawFactorOfRows();
  drawRotations();
  drawContentQueries();
  dropUnusedParameters(program);
  return std::move(program);
}

/// Replaces softmax in some programs. Drawn last, so that it changes no other choice. Where every
/// score is 0, softpick is discontinuous.
void Generator::drawPlainNormalizer() {
  if (program.isStickBreaking || program.sink || program.scale == 0.0 || !chance(0.25))
    return;
  program.plainNormalizer = chance(0.5) ? "sigmoid" : "softpick";
  program.hasLse = false;
}

/// Adds a condition on heads to some masks. It keeps the key at the position of the query.
void Generator::drawPerHeadMask() {
  if (!program.mask || !chance(0.2))
    return;
  Node heads = makeNode(Op::MaskFn, Type::Mask);
  heads.integers = {kMaskConditions + int64_t(below(kHeadConditions)),
                    pick<int64_t>({1, 2, 9, 40})};
  program.mask = makeNode(Op::MaskAnd, Type::Mask, {*program.mask, std::move(heads)});
}

/// Replaces j by i in some factors, which then multiply the output of a row.
void Generator::drawFactorOfRows() {
  if (!program.factor || !chance(0.5))
    return;
  Node factor = *program.factor;
  walk(factor, [](Node &node) {
    if (node.op == Op::Key)
      node.op = Op::Query;
  });
  if (conditionOf(program, factor, drawParameters(program, program.seed), 150).isGood() &&
      fits(factor))
    program.factor = factor;
}

/// Rotates values in some programs, and changes the dims and the positions of some rotations.
void Generator::drawRotations() {
  auto change = [&](Node &node) {
    if (node.integers[0] && chance(0.4))
      node.integers[2] = 1;
    if (node.op != Op::Rotary || !node.parameters.empty() || !chance(0.3))
      return;
    node.integers[3] = kBlocks + int64_t(below(3));
    if (node.integers[3] == kRestarting)
      node.integers[1] = 0;
    const int64_t last = pick<int64_t>({3, 60, 300});
    for (int64_t side : {kQueries, kKeys})
      node.parameters.push_back(addWholeParameter(
          program, {static_cast<int64_t>(kSections.size()), kBatch, side}, 0, last));
  };
  if (program.rotation)
    change(*program.rotation);
  if (!chance(0.15))
    return;
  program.valueRotation = makeNode(Op::Rotary, Type::Rotation);
  Node &node = *program.valueRotation;
  node.reals[0] = pick({10000.0, 2.0, 10.0});
  node.flag = chance(0.5);
  if (chance(0.4))
    node.integers[0] = 2 * (1 + below(program.sizes.valueDim / 2));
  change(node);
}

Program generateProgram(uint64_t seed) { return Generator(seed).generate(); }

} // namespace pe::fuzz
