//===- GenerateCall.cpp - Generates the sizes and positions of a call -----===//

#include "fuzz/Generator.h"

#include "fuzz/EvaluateProgram.h"

#include <algorithm>

namespace pe::fuzz {

void Generator::drawSizes() {
  Sizes &sizes = program.sizes;
  sizes.batch = chance(0.02) ? 0 : pick<int64_t>({1, 1, 1, 2, 3});
  sizes.keyHeads = pick<int64_t>({1, 1, 2, 3});
  sizes.queryHeads = sizes.keyHeads * pick<int64_t>({1, 1, 2, 3});
  auto length = [&] { return pick<int64_t>({1, 2, 5, 15, 16, 17, 31, 32, 33, 40, 49, 64, 70}); };
  sizes.queries = chance(0.03) ? 0 : length();
  sizes.keys = chance(0.04) ? 0 : chance(0.3) ? sizes.queries : length();
  if (chance(0.2)) { // a step of decoding: few rows, and around the boundaries of splits
    sizes.queries = pick<int64_t>({1, 1, 2, 5, 8, 9});
    sizes.keys = pick<int64_t>({16, 63, 64, 65, 200, 511, 512, 513, 600, 1030});
  }
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

} // namespace pe::fuzz
