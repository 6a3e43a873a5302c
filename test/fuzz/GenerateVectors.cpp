//===- GenerateVectors.cpp - Generates rotations and content terms --------===//

#include "fuzz/Generator.h"

#include "fuzz/EvaluateProgram.h"

#include <algorithm>

namespace pe::fuzz {

Node Generator::rotation() {
  Node node = makeNode(Op::Rotary, Type::Rotation);
  auto read = [&](Parameter parameter) {
    node.parameters.push_back(static_cast<int>(program.parameters.size()));
    program.parameters.push_back(std::move(parameter));
  };
  auto base = [&] {
    const bool isPerHead = program.sizes.queryHeads == program.sizes.keyHeads && chance(0.6);
    return Parameter{"base", isPerHead ? std::vector{kHeads} : std::vector<int64_t>{}, 20.0, 200.0};
  };
  node.reals[0] = pick({10000.0, 2.0, 10.0, 500000.0});
  node.flag = chance(0.5);
  if (chance(0.4))
    node.integers[0] = 2 * (1 + below(program.sizes.headDim / 2));
  const int64_t dims = node.integers[0] ? node.integers[0] : program.sizes.headDim;
  // Keeps positions small: a table has a row for each, and the gradient of a frequency grows with
  // the position.
  const int64_t end = std::max({int64_t(1), program.queryStart() + program.sizes.queries,
                                program.positions.keyStart + program.sizes.keys});
  const bool isNear = program.positions.keyStart >= 0 && program.queryStart() > -1000 && end < 1000;
  if (isNear && !isPlacedByData(program) && chance(0.25)) {
    node.op = Op::RotationTable;
    std::vector<int64_t> extents = {end, dims / 2};
    if (chance(0.4))
      extents.insert(extents.begin(), program.sizes.batch);
    for (const char *name : {"cosines", "sines"})
      read({name, extents});
    return node;
  }
  if (isNear && chance(0.25)) {
    node.op = Op::RotationFn;
    node.integers[1] = below(kFrequencies.size());
    node.reals[0] = pick({1.0, 1.0, 1.25});
    read(base());
    read({"factor", {dims / 2}, 1.0, 4.0});
    return node;
  }
  if (chance(0.5)) {
    node.integers[1] = 1 + below(kScalings.size() - 1);
    node.reals[1] = pick({4.0, 8.0, 1.5, 0.5});
    if (dims < 4 && (node.integers[1] == 2 || node.integers[1] == 3)) // undefined for so few dims
      node.integers[1] = 1;
    const std::string_view kind = kScalings[node.integers[1]];
    if (isPlacedByData(program) && (kind == "dynamic_ntk" || kind == "longrope"))
      node.integers[1] = 1; // frequencies may not depend on the length
  }
  if (isNear && chance(0.3))
    read(base());
  return node;
}

static Node dimIndex() { return makeNode(Op::Dim, Type::Index); }

static Node difference() {
  return makeScalar("arith.subi", Type::Index,
                    {makeNode(Op::Query, Type::Index), makeNode(Op::Key, Type::Index)});
}

static Node realOf(Node index) { return makeNode(Op::ToReal, Type::F32, {std::move(index)}); }

static Node product(Node a, Node b) {
  return makeScalar("arith.mulf", Type::F32, {std::move(a), std::move(b)});
}

/// Generates a read of a table with a vector of `depth` elements per clipped distance.
Node Generator::nearTable(int64_t depth) {
  const int64_t low = -int64_t(below(9)), high = int64_t(below(24));
  Node index = makeScalar(
      "arith.maxsi", Type::Index,
      {makeScalar("arith.minsi", Type::Index, {difference(), makeWhole(Type::Index, high)}),
       makeWhole(Type::Index, low)});
  index = makeScalar("arith.addi", Type::Index, {std::move(index), makeWhole(Type::Index, -low)});
  const int64_t size = high - low + 1 + int64_t(below(2));
  Node head = makeNode(Op::Head, Type::Index);
  switch (below(3)) {
  case 0:
    return makeRead(Type::F32, addParameter(program, {size, depth}, -0.7, 0.7),
                    {index, dimIndex()});
  case 1:
    return makeRead(Type::F32, addParameter(program, {kHeads, size, depth}, -0.7, 0.7),
                    {head, index, dimIndex()});
  default:
    return makeRead(Type::F32, addParameter(program, {size, kHeads, depth}, -0.7, 0.7),
                    {index, head, dimIndex()});
  }
}

/// Generates sines and cosines of the distance.
Node Generator::waves() {
  auto pairOf = [&] {
    return realOf(
        makeScalar("arith.floordivsi", Type::Index, {dimIndex(), makeWhole(Type::Index, 2)}));
  };
  Node frequency =
      chance(0.5)
          ? makeScalar("arith.divf", Type::F32,
                       {makeReal(Type::F32, real(0.3, 1)),
                        makeScalar("arith.addf", Type::F32, {pairOf(), makeReal(Type::F32, 1)})})
          : makeScalar("math.exp", Type::F32,
                       {product(pairOf(), makeReal(Type::F32, real(-0.6, -0.05)))});
  Node angle = product(realOf(difference()), std::move(frequency));
  if (chance(0.6))
    return makeNode(Op::Waves, Type::F32, {std::move(angle)});
  return product(makeReal(Type::F32, real(-1, 1)),
                 makeScalar(chance(0.5) ? "math.sin" : "math.cos", Type::F32, {std::move(angle)}));
}

/// Generates an arbitrary function and a mask that restricts the distance.
Node Generator::nearFunction() {
  Node window = makeNode(Op::Window, Type::Mask);
  window.integers = {pick<int64_t>({1, 4, 17, 40}), chance(0.5) ? pick<int64_t>({1, 5, 12}) : 0};
  if (window.integers[1] == 0 || program.isStickBreaking)
    window = makeNode(Op::MaskAnd, Type::Mask, {makeNode(Op::Causal, Type::Mask), window});
  program.mask = program.mask ? makeNode(Op::MaskAnd, Type::Mask, {*program.mask, window}) : window;
  Node distance = makeScalar("math.tanh", Type::F32,
                             {product(realOf(difference()), makeReal(Type::F32, real(0.02, 0.5)))});
  Node element = makeScalar("math.cos", Type::F32,
                            {product(realOf(dimIndex()), makeReal(Type::F32, real(0.1, 1)))});
  return product(std::move(distance), std::move(element));
}

Node Generator::content(int64_t depth) {
  const bool isFormula = chance(0.5);
  const uint64_t form = below(5);
  Node value = form < 2 ? nearTable(depth) : form < 4 ? waves() : nearFunction();
  if ((form < 2 || form == 4) && chance(0.3)) // not for waves, which read no parameter
    value = product(std::move(value), makeRead(Type::F32, addParameter(program, {kHeads}, -1, 1),
                                               {makeNode(Op::Head, Type::Index)}));
  Node node =
      makeNode(isFormula ? Op::ContentFormula : Op::ContentRegion, Type::Bias, {std::move(value)});
  const double range = 0.7;
  node.parameters.assign(3, kNoParameter);
  if (depth != kDepth)
    return node;
  node.parameters = {
      chance(0.5) ? addParameter(program, {kHeads, kDepth}, -range, range) : kNoParameter,
      chance(0.3) ? addParameter(program, {kDepth, kDepth}, -0.3, 0.3) : kNoParameter,
      kNoParameter};
  return node;
}

void Generator::drawContents() {
  const bool restarts = documents && documents->flag;
  if (!program.given.empty())
    return;
  if (!restarts && chance(0.1)) {
    program.queryShift = makeRead(Type::F32, addParameter(program, {kHeads, kDepth}, -0.7, 0.7),
                                  {makeNode(Op::Head, Type::Index), dimIndex()});
  }
  if (program.hasBothSides || !chance(0.15))
    return;
  for (uint64_t n = pick({1, 1, 2}); n > 0; --n) {
    Node node = content(kDepth);
    if (conditionOf(program, node, drawParameters(program, program.seed), 300).isGood())
      program.contents.push_back(std::move(node));
  }
}

/// Returns true if the conjunction `mask` keeps only i >= j.
static bool isCausal(const Node &mask) {
  if (mask.op == Op::MaskAnd)
    return isCausal(mask.children[0]) || isCausal(mask.children[1]);
  return mask.op == Op::Causal || mask.op == Op::StrictCausal;
}

/// Generates a read of a table with a vector per distance below the extent.
Node Generator::tableWithin(int64_t rank, int64_t extent) {
  const bool isOneSided = program.mask && isCausal(*program.mask) && chance(0.7);
  const int64_t count = isOneSided ? extent : 2 * extent - 1;
  Node index = isOneSided ? difference()
                          : makeScalar("arith.addi", Type::Index,
                                       {difference(), makeWhole(Type::Index, extent - 1)});
  if (chance(0.6))
    return makeRead(Type::F32, addParameter(program, {rank, count}, -0.7, 0.7),
                    {dimIndex(), std::move(index)});
  return makeRead(Type::F32, addParameter(program, {count, rank}, -0.7, 0.7),
                  {std::move(index), dimIndex()});
}

/// Draws an extent. Terms with more than 128 different vectors are of another class, so long calls
/// get extents that exceed this and exclude pairs.
int64_t Generator::drawExtent() {
  if (program.sizes.keys > 150 && chance(0.7))
    return 130 + int64_t(below(program.sizes.keys));
  return pick<int64_t>({1, 2, 3, 5, 16, 17, 33, 40, 64, 100, 200});
}

/// Generates a content term with its own queries.
Node Generator::contentOfQueries() {
  const int64_t rank = pick<int64_t>({8, 16, 16, 24, 32, 64});
  const int64_t extent = drawExtent();
  Node node;
  if (chance(0.6)) {
    node = makeNode(chance(0.5) ? Op::ContentFormula : Op::ContentRegion, Type::Bias,
                    {tableWithin(rank, extent)});
    node.parameters.assign(3, kNoParameter);
    node.integers[0] = extent;
  } else {
    node = content(rank);
  }
  node.parameters[2] = addParameter(program, {kBatch, kHeads, kQueries, rank}, -1.0, 1.0);
  return node;
}

/// Generates a finite number per query: mostly a simple one, because the compiler refuses factors
/// that it cannot prove finite.
std::optional<Node> Generator::factorOfQueries() {
  const Op op = chance(0.5) ? Op::FactorFormula : Op::FactorRegion;
  Node position = product(realOf(makeNode(Op::Query, Type::Index)), makeReal(Type::F32, 0.01));
  Node head = makeRead(Type::F32, addParameter(program, {kHeads}, -1, 1),
                       {makeNode(Op::Head, Type::Index)});
  Node value;
  switch (below(3)) {
  case 0:
    value = product(makeScalar("math.tanh", Type::F32, {std::move(position)}), std::move(head));
    break;
  case 1:
    value = makeRead(Type::F32, addParameter(program, {kBatch, kQueries}, -1, 1),
                     {makeNode(Op::Batch, Type::Index), makeNode(Op::Query, Type::Index)});
    break;
  default:
    value = std::move(head);
  }
  value = makeScalar("arith.addf", Type::F32, {std::move(value), makeReal(Type::F32, 1)});
  Node factor = makeNode(op, Type::Bias, {std::move(value)});
  return fits(factor) ? std::optional(factor) : std::nullopt;
}

/// Gives some programs content terms with their own queries, some terms an extent and a factor, and
/// some attentions the scale 1 / D.
void Generator::drawContentQueries() {
  program.scalesByDepth = !program.scale && chance(0.1);
  if (!program.given.empty() || program.hasBothSides)
    return;
  if (program.contents.empty() && chance(program.sizes.keys > 150 ? 0.4 : 0.15))
    for (uint64_t n = pick({1, 1, 2}); n > 0; --n) {
      Node node = contentOfQueries();
      if (conditionOf(program, node, drawParameters(program, program.seed), 300).isGood())
        program.contents.push_back(std::move(node));
    }
  for (Node &node : program.contents) {
    if (node.integers[0] == 0 && chance(0.3))
      node.integers[0] = drawExtent();
    if (chance(0.4))
      if (auto factor = factorOfQueries())
        node.children.push_back(std::move(*factor));
  }
}

} // namespace pe::fuzz
