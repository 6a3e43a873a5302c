//===- Generate.cpp - Generates a program from a seed ---------------------===//

#include "fuzz/Generate.h"

#include "fuzz/EvaluateProgram.h"
#include "fuzz/ScalarWriter.h"

#include <cmath>

namespace pe::fuzz {
namespace {

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed, "program") { program.seed = seed; }
  Program generate();

private:
  void drawSizes();
  void drawPositions();
  Node coordinate(bool isWhole = false);
  Node bias(int depth);
  Node biasOfCoordinate();
  Node mlp();
  std::optional<Node> wellConditionedBias();
  std::optional<Node> score();
  std::optional<Node> factor();
  Node mask(int depth);
  Node maskFunction();
  Node maskCode();
  Node maskOfSticks();
  void drawSticks();
  void drawPlacement();
  void drawDocuments();
  Node content();
  Node waves();
  Node nearTable();
  Node nearFunction();
  void drawContents();
  Program merge();
  Program embed();
  void drawDropout();
  bool fits(const Node &tree) const;
  Node window();
  Node rotation();

  int headParameter(double low, double high);
  template <typename T> T pick(std::initializer_list<T> choices) {
    return choices.begin()[random.below(choices.size())];
  }
  uint64_t below(uint64_t bound) { return random.below(bound); }
  bool chance(double probability) { return random.uniform() < probability; }
  double real(double low, double high) { return static_cast<float>(random.uniform(low, high)); }

  Random random;
  Program program;
  std::optional<Node> documents;
};

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

void Generator::drawSizes() {
  Sizes &sizes = program.sizes;
  sizes.batch = chance(0.02) ? 0 : pick<int64_t>({1, 1, 1, 2, 3});
  sizes.keyHeads = pick<int64_t>({1, 1, 2, 3});
  sizes.queryHeads = sizes.keyHeads * pick<int64_t>({1, 1, 2, 3});
  auto length = [&] { return pick<int64_t>({1, 2, 5, 15, 16, 17, 31, 32, 33, 40, 49, 64, 70}); };
  sizes.queries = chance(0.03) ? 0 : length();
  sizes.keys = chance(0.04) ? 0 : chance(0.3) ? sizes.queries : length();
  while (pairsOf(program) > 8000)
    (sizes.queries > sizes.keys ? sizes.queries : sizes.keys) /= 2;
  auto dim = [&] { return pick<int64_t>({16, 16, 16, 24, 32, 40, 64}); };
  sizes.headDim = dim();
  sizes.valueDim = chance(0.5) ? sizes.headDim : dim();
  if (chance(0.04)) // only the CPU supports these
    sizes.headDim = sizes.valueDim = 8;
}

/// Draws positions near values where their products and sums overflow 31, 32 and 63 bits;
/// start + length is at most 2^30.
void Generator::drawPositions() {
  constexpr int64_t limit = 1 << 30;
  Positions &positions = program.positions;
  const Sizes &sizes = program.sizes;
  auto start = [&](int64_t length) -> int64_t {
    switch (below(6)) {
    case 0:
      return below(300);
    case 1:
      return pick<int64_t>({1270, 46330, 65500, 2097100}) + below(40);
    case 2:
      return (1 << 24) - 20 + below(40);
    case 3:
      return limit - length - below(3);
    case 4:
      return below(limit - length + 1);
    default:
      return int64_t(1) << (7 + below(23));
    }
  };
  if (chance(0.25)) {
    positions.headStart = below(8);
    positions.headsTotal = positions.headStart + sizes.queryHeads + below(9);
  }
  if (chance(0.4))
    return;
  int64_t near = start(sizes.queries + sizes.keys + 60);
  positions.keyStart = chance(0.1) ? -near : chance(0.15) ? -int64_t(below(40)) : near;
  if (chance(0.25))
    return;
  positions.queryStart = chance(0.8)   ? positions.keyStart + int64_t(below(100)) - 40
                         : chance(0.5) ? start(sizes.queries)
                                       : -int64_t(below(40));
  positions.queryStart = std::clamp(*positions.queryStart, -limit, limit - sizes.queries);
}

//===----------------------------------------------------------------------===//
// Coordinates and biases
//===----------------------------------------------------------------------===//

int Generator::headParameter(double low, double high) {
  std::vector<int64_t> dims = {kHeads};
  if (chance(0.2))
    dims = {};
  else if (chance(0.2))
    dims = {1};
  return addParameter(program, dims, low, high);
}

Node Generator::coordinate(bool isWhole) {
  Node node = makeNode(Op::Distance, Type::Coordinate);
  node.op = isWhole ? pick({Op::Distance, Op::Relative, Op::Bucket, Op::Bucket, Op::QueryPosition,
                            Op::KeyPosition})
                    : pick({Op::Distance, Op::Relative, Op::QueryPosition, Op::KeyPosition,
                            Op::LogDistance, Op::Progressive, Op::Bucket, Op::ClampedLog});
  switch (node.op) {
  case Op::LogDistance:
    node.parameters = {headParameter(0.05, 2.0)};
    break;
  case Op::Progressive:
    node.parameters = {chance(0.6) ? headParameter(0.05, 1.0) : kNoParameter,
                       chance(0.6) ? headParameter(0.1, 1.5) : kNoParameter};
    node.reals = {pick({1.0, 20.0, 512.0}), pick({1e-6, 1e-3, 1.0})};
    break;
  case Op::Bucket:
    node.flag = chance(0.5);
    node.integers[0] = pick<int64_t>({4, 6, 8, 32, 64});
    node.integers[1] = node.integers[0] + pick<int64_t>({1, 7, 30, 100, 1000});
    break;
  case Op::ClampedLog:
    node.parameters = {headParameter(1.0, 6.0)};
    break;
  default:
    break;
  }
  return node;
}

Node Generator::mlp() {
  Node node = makeNode(Op::Mlp, Type::Bias, {coordinate()});
  constexpr int64_t kinds = kActivations.size();
  node.integers = {int64_t(below(kinds)), chance(0.6) ? 0 : int64_t(below(kinds))};
  int hidden = below(3);
  int64_t units = 0;
  for (int layer = 0; layer <= hidden; ++layer) {
    int64_t rows = layer < hidden ? int64_t(1 + below(12)) : chance(0.25) ? 1 : kHeads;
    double range = units ? 1.0 / std::sqrt(double(units)) : 1.0;
    node.parameters.push_back(
        addParameter(program, layer ? std::vector{rows, units} : std::vector{rows}, -range, range));
    node.parameters.push_back(addParameter(program, {rows}, -range, range));
    units = rows;
  }
  return node;
}

Node Generator::biasOfCoordinate() {
  Node node = makeNode(pick({Op::Linear, Op::Linear, Op::Table, Op::Power, Op::Mlp, Op::CosineSum}),
                       Type::Bias);
  double factor = chance(0.5) ? pick({1.0, -1.0, 0.5}) : real(-0.2, 0.2);
  switch (node.op) {
  case Op::Linear:
    node.children = {coordinate()};
    node.integers[0] = chance(0.3) ? 1 + below(2) : 0;
    node.parameters = {node.integers[0] ? kNoParameter : headParameter(0.01, 0.4),
                       chance(0.3) ? headParameter(-1, 1) : kNoParameter};
    node.reals[0] = factor;
    return node;
  case Op::Table:
    node.children = {coordinate(/*isWhole=*/true)};
    node.parameters = {
        addParameter(program, {pick<int64_t>({1, 4, 32, 64, 200}), kHeads}, -1.0, 1.0)};
    return node;
  case Op::Power:
    node.children = {coordinate()};
    node.parameters = {headParameter(0.2, 1.5), headParameter(-0.5, 0.5)};
    node.reals[0] = factor;
    return node;
  case Op::CosineSum:
    node.children = {coordinate()};
    node.parameters = {chance(0.7) ? headParameter(-1, 1) : kNoParameter};
    node.integers[0] = chance(0.1) ? 64 : 1 + below(8);
    node.reals[0] = pick({2.0, 10.0, 10000.0, 500000.0});
    return node;
  default:
    return mlp();
  }
}

Node Generator::bias(int depth) {
  if (depth > 0 && chance(0.15))
    return makeNode(Op::Add, Type::Bias, {bias(depth - 1), bias(depth - 1)});
  if (depth > 0 && chance(0.1)) {
    Node node = makeNode(Op::Scale, Type::Bias, {bias(depth - 1)});
    node.reals[0] = pick({0.5, -1.0, 0.0, 1.5, real(-1, 1)});
    return node;
  }
  if (chance(0.45))
    return biasOfCoordinate();
  bool isFormula = chance(0.3);
  Node value = ScalarWriter(random, program, isFormula).write(2 + below(3));
  return makeNode(isFormula ? Op::Formula : Op::Region, Type::Bias, {std::move(value)});
}

std::optional<Node> Generator::wellConditionedBias() {
  for (int attempt = 0; attempt < 12; ++attempt) {
    Node node = bias(2);
    ParameterValues values = drawParameters(program, program.seed);
    Condition condition = conditionOf(program, node, values, 150);
    if (condition.isDefined && condition.magnitude > 20) {
      Node scaled = makeNode(Op::Scale, Type::Bias, {std::move(node)});
      scaled.reals[0] = std::exp2(-std::floor(std::log2(condition.magnitude) - 2));
      node = std::move(scaled);
      condition = conditionOf(program, node, values, 150);
    }
    if (condition.isGood() && fits(node))
      return node;
  }
  return std::nullopt;
}

/// Generates a factor on weights with moderate values and slopes.
std::optional<Node> Generator::factor() {
  for (int attempt = 0; attempt < 12; ++attempt) {
    const bool isFormula = chance(0.3);
    Node value = ScalarWriter(random, program, isFormula, Scope::Factor).write(1 + below(3));
    Node node =
        makeNode(isFormula ? Op::FactorFormula : Op::FactorRegion, Type::Bias, {std::move(value)});
    if (conditionOf(program, node, drawParameters(program, program.seed), 150).isGood() &&
        fits(node))
      return node;
  }
  return std::nullopt;
}

/// Generates a score function with moderate values and slopes for usual scores.
std::optional<Node> Generator::score() {
  for (int attempt = 0; attempt < 12; ++attempt) {
    const bool isFormula = chance(0.3);
    Node value = ScalarWriter(random, program, isFormula, Scope::Score).write(2 + below(3));
    Node node =
        makeNode(isFormula ? Op::ScoreFormula : Op::ScoreRegion, Type::Bias, {std::move(value)});
    if (conditionOf(program, node, drawParameters(program, program.seed), 150).isGood() &&
        fits(node))
      return node;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Masks and rotations
//===----------------------------------------------------------------------===//

Node Generator::window() {
  Node node = makeNode(Op::Window, Type::Mask);
  auto side = [&] {
    return chance(0.03) ? (int64_t(1) << (31 + below(3))) - int64_t(below(2))
                        : pick<int64_t>({1, 2, 3, 10, 16, 33, 128});
  };
  unsigned which = below(4);
  node.integers = {which != 1 ? side() : 0, which == 1 || which == 2 ? side() : 0};
  return node;
}

/// Generates a condition of conditionText on differences, intervals of keys or pairs.
Node Generator::maskFunction() {
  Node node = makeNode(Op::MaskFn, Type::Mask);
  const auto kind = static_cast<int64_t>(below(kMaskConditions));
  const int64_t position = program.positions.keyStart + int64_t(below(program.sizes.keys + 2));
  const bool countsPositions = kind < kPositionConditions;
  node.integers = {kind, countsPositions ? position : pick<int64_t>({1, 2, 3, 5, 16, 33})};
  return node;
}

/// Generates a mask as integer code, which may read data of the call.
Node Generator::maskCode() {
  for (int attempt = 0; attempt < 8; ++attempt) {
    const bool isFormula = chance(0.5);
    Node value = ScalarWriter(random, program, isFormula, Scope::Mask).writeTruth(1 + below(3));
    Node node =
        makeNode(isFormula ? Op::MaskFormula : Op::MaskRegion, Type::Mask, {std::move(value)});
    if (fits(node) && isDefined(program, node, drawParameters(program, program.seed), 300))
      return node;
  }
  return maskFunction();
}

Node Generator::mask(int depth) {
  if (depth > 0 && chance(0.5))
    return makeNode(chance(0.6) ? Op::MaskAnd : Op::MaskOr, Type::Mask,
                    {mask(depth - 1), mask(depth - 1)});
  switch (below(6)) {
  case 0:
    return makeNode(Op::Causal, Type::Mask);
  case 1:
    return makeNode(Op::StrictCausal, Type::Mask);
  case 2:
    return maskFunction();
  case 3:
    return maskCode();
  default:
    return window();
  }
}

/// Generates a mask for stick-breaking: keys on one side unless the program attends to both.
Node Generator::maskOfSticks() {
  Node node = mask(1);
  if (program.hasBothSides) { // a window that masks an entire side is rejected
    walk(node, [&](Node &inner) {
      if (inner.op == Op::Causal || inner.op == Op::StrictCausal)
        inner = maskFunction();
      for (int64_t &side : inner.integers)
        if (inner.op == Op::Window && side == 1)
          side = 2;
    });
    return node;
  }
  if (chance(0.4))
    return makeNode(Op::Causal, Type::Mask);
  node = makeNode(Op::MaskAnd, Type::Mask,
                  {makeNode(pick({Op::Causal, Op::StrictCausal}), Type::Mask), std::move(node)});
  if (program.attendsCurrent || program.keepsRemainder) // needs the query's own key
    walk(node, [](Node &inner) {
      if (inner.op == Op::StrictCausal)
        inner.op = Op::Causal;
    });
  return node;
}

//===----------------------------------------------------------------------===//
// Forms of the call
//===----------------------------------------------------------------------===//

void Generator::drawSticks() {
  program.isStickBreaking = chance(0.35);
  if (!program.isStickBreaking)
    return;
  program.attendsCurrent = chance(0.25);
  program.keepsRemainder = chance(0.2);
  program.hasBothSides = chance(0.2);
  if (!program.keepsRemainder)
    return;
  Sizes &sizes = program.sizes; // every query needs a key at its position
  if (sizes.queries > sizes.keys)
    std::swap(sizes.queries, sizes.keys);
  if (program.positions.queryStart)
    program.positions.queryStart =
        program.positions.keyStart + int64_t(below(sizes.keys - sizes.queries + 1));
}

/// Draws positions that are data: explicit, or relative to the beginning of documents.
void Generator::drawPlacement() {
  if (chance(0.1))
    return drawDocuments();
  if (program.isStickBreaking || !chance(0.1))
    return;
  Positions &positions = program.positions; // explicit positions require nonnegative starts
  positions.keyStart = std::max<int64_t>(positions.keyStart, 0);
  const int64_t row = positions.queryStart.value_or(positions.keyStart + program.sizes.keys -
                                                    program.sizes.queries);
  if (row < 0)
    positions.queryStart = below(30);
  const int64_t last = pick<int64_t>({3, 60, 300, 5000, 1 << 20, (1 << 30) - 1});
  const int64_t first = last > 5000 ? last - 200 : 0;
  for (int64_t side : {kQueries, kKeys}) {
    const int parameter = addWholeParameter(program, {kBatch, side}, first, last);
    const Op place = side == kQueries ? Op::Query : Op::Key;
    program.given.push_back(makeRead(
        Type::Index, parameter, {makeNode(Op::Batch, Type::Index), makeNode(place, Type::Index)}));
  }
}

void Generator::drawDocuments() {
  Positions &positions = program.positions;
  Sizes &sizes = program.sizes;
  sizes.batch = 1;
  positions.keyStart = chance(0.6) ? 0 : int64_t(below(20));
  if (positions.queryStart)
    positions.queryStart =
        positions.keyStart + int64_t(below(std::max<int64_t>(
                                 1, program.keepsRemainder ? sizes.keys - sizes.queries + 1 : 12)));
  if (!positions.queryStart && positions.keyStart + sizes.keys < sizes.queries)
    positions.queryStart = positions.keyStart;
  const int64_t first =
      positions.queryStart.value_or(positions.keyStart + sizes.keys - sizes.queries);
  sizes.boundaries = 2 + below(6);
  documents = makeNode(Op::Documents, Type::Mask);
  documents->flag = chance(0.6);
  documents->parameters = {addWholeParameter(
      program, {kBoundaries}, 0, std::max(first + sizes.queries, positions.keyStart + sizes.keys))};
  program.mask = documents; // fits() needs to know that positions restart
}

/// Returns true if reads are valid for positions that are data: a tensor over keys is indexed by
/// functions of j only, a tensor over queries by functions of i only, and neither inside a sum.
bool Generator::fits(const Node &tree) const {
  bool isAllowed = true;
  if (!isPlacedByData(program))
    return isAllowed;
  auto readsTokens = [&](const Node &node) {
    if (node.op != Op::Read)
      return false;
    const std::vector<int64_t> &dims = program.parameters[node.parameters[0]].dims;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      walk(node.children[axis], [&](const Node &inner) {
        isAllowed &= !(dims[axis] == kQueries && inner.op == Op::Key) &&
                     !(dims[axis] == kKeys && inner.op == Op::Query);
      });
    return std::ranges::any_of(dims, [](int64_t dim) { return dim == kQueries || dim == kKeys; });
  };
  walk(tree, [&](const Node &node) {
    readsTokens(node);
    if (node.op == Op::Sum)
      walk(node, [&](const Node &inner) { isAllowed &= !readsTokens(inner); });
  });
  return isAllowed;
}

void Generator::drawDropout() {
  if (!chance(0.2))
    return;
  program.dropout = pick({0.1, 0.5, 0.9, real(0, 1)});
  program.hasSeedPerBatch = chance(0.4);
}

//===----------------------------------------------------------------------===//
// Content terms
//===----------------------------------------------------------------------===//

static Node dimIndex() { return makeNode(Op::Dim, Type::Index); }

static Node difference() {
  return makeScalar("arith.subi", Type::Index,
                    {makeNode(Op::Query, Type::Index), makeNode(Op::Key, Type::Index)});
}

static Node realOf(Node index) { return makeNode(Op::ToReal, Type::F32, {std::move(index)}); }

static Node product(Node a, Node b) {
  return makeScalar("arith.mulf", Type::F32, {std::move(a), std::move(b)});
}

/// Generates a read of a table with a vector per clipped distance.
Node Generator::nearTable() {
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
    return makeRead(Type::F32, addParameter(program, {size, kDepth}, -0.7, 0.7),
                    {index, dimIndex()});
  case 1:
    return makeRead(Type::F32, addParameter(program, {kHeads, size, kDepth}, -0.7, 0.7),
                    {head, index, dimIndex()});
  default:
    return makeRead(Type::F32, addParameter(program, {size, kHeads, kDepth}, -0.7, 0.7),
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

Node Generator::content() {
  const bool isFormula = chance(0.5);
  const uint64_t form = below(5);
  Node value = form < 2 ? nearTable() : form < 4 ? waves() : nearFunction();
  if ((form < 2 || form == 4) && chance(0.3)) // not for waves, which read no parameter
    value = product(std::move(value), makeRead(Type::F32, addParameter(program, {kHeads}, -1, 1),
                                               {makeNode(Op::Head, Type::Index)}));
  Node node =
      makeNode(isFormula ? Op::ContentFormula : Op::ContentRegion, Type::Bias, {std::move(value)});
  const double range = 0.7;
  node.parameters = {
      chance(0.5) ? addParameter(program, {kHeads, kDepth}, -range, range) : kNoParameter,
      chance(0.3) ? addParameter(program, {kDepth, kDepth}, -0.3, 0.3) : kNoParameter};
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
    Node node = content();
    if (conditionOf(program, node, drawParameters(program, program.seed), 300).isGood())
      program.contents.push_back(std::move(node));
  }
}

//===----------------------------------------------------------------------===//
// Other entries
//===----------------------------------------------------------------------===//

Program Generator::merge() {
  drawSizes();
  program.entry = Entry::Merge;
  program.sizes.keyHeads = program.sizes.queryHeads;
  program.hasLse = true;
  program.isStickBreaking = chance(0.4);
  if (!program.isStickBreaking && chance(0.4))
    program.sink = makeRead(Type::F32, addParameter(program, {kHeads}, -2, 4),
                            {makeNode(Op::Head, Type::Index)});
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
    const bool isFormula = chance(0.4);
    Node value = ScalarWriter(random, program, isFormula, Scope::Token).write(2 + below(3));
    Node node = makeNode(isFormula ? Op::EmbeddingFormula : Op::EmbeddingRegion, Type::Bias,
                         {std::move(value)});
    if (conditionOf(program, node, drawParameters(program, program.seed), 300).isGood())
      program.embedding = std::move(node);
  }
  if (!program.embedding)
    program.embedding =
        makeNode(Op::EmbeddingRegion, Type::Bias, {makeReal(Type::F32, real(-1, 1))});
  dropUnusedParameters(program);
  return std::move(program);
}

Node Generator::rotation() {
  Node node = makeNode(Op::Rotary, Type::Rotation);
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
    for (const char *name : {"cosines", "sines"}) {
      node.parameters.push_back(static_cast<int>(program.parameters.size()));
      program.parameters.push_back({name, extents});
    }
    return node;
  }
  if (isNear && chance(0.25)) {
    node.op = Op::RotationFn;
    node.integers[1] = below(kFrequencies.size());
    node.reals[0] = pick({1.0, 1.0, 1.25});
    const bool isPerHead = program.sizes.queryHeads == program.sizes.keyHeads && chance(0.6);
    for (const Parameter &parameter :
         {Parameter{"base", isPerHead ? std::vector<int64_t>{kHeads} : std::vector<int64_t>{}, 20.0,
                    200.0},
          Parameter{"factor", {dims / 2}, 1.0, 4.0}}) {
      node.parameters.push_back(static_cast<int>(program.parameters.size()));
      program.parameters.push_back(parameter);
    }
    return node;
  }
  if (chance(0.5)) {
    node.integers[1] = 1 + below(kScalings.size() - 1);
    node.reals[1] = pick({4.0, 8.0, 1.5, 0.5});
    if (dims < 4 && (node.integers[1] == 2 || node.integers[1] == 3)) // undefined for so few dims
      node.integers[1] = 1;
    if (isPlacedByData(program) && node.integers[1] == 3) // its base depends on the length
      node.integers[1] = 1;
  }
  if (isNear && chance(0.3)) {
    const bool isPerHead = program.sizes.queryHeads == program.sizes.keyHeads && chance(0.6);
    node.parameters.push_back(static_cast<int>(program.parameters.size()));
    program.parameters.push_back(
        {"base", isPerHead ? std::vector<int64_t>{kHeads} : std::vector<int64_t>{}, 20.0, 200.0});
  }
  return node;
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
    program.score = score();
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
    program.sink = makeRead(Type::F32, addParameter(program, {kHeads}, -2, 4),
                            {makeNode(Op::Head, Type::Index)});
  drawDropout();
  if (chance(0.15))
    program.factor = factor();
  dropUnusedParameters(program);
  return std::move(program);
}

} // namespace

Program generateProgram(uint64_t seed) { return Generator(seed).generate(); }

} // namespace pe::fuzz
