//===- ScalarWriterReads.cpp - Generates reads of parameters and data --------===//

#include "fuzz/ScalarWriter.h"

#include <algorithm>

namespace pe::fuzz {

/// Draws axes of the call, and rarely others.
std::vector<int64_t> ScalarWriter::drawAxes() {
  std::vector<int64_t> dims;
  if (chance(0.5))
    dims.push_back(kBatch);
  if (chance(0.5))
    dims.push_back(chance(0.4) ? kKeyHeads : kHeads);
  if (dims.size() < 2 && chance(0.2)) // only activations have rank 4
    dims.push_back(chance(0.5) ? kRows : int64_t(1 + below(5)));
  if (dims.empty() || chance(0.9))
    dims.push_back(chance(0.4) ? kQueries : kKeys);
  return dims == std::vector{kHeads} ? std::vector{kBatch} : dims;
}

/// Generates an index of an axis of the call: its variable, sometimes with an offset. Other indices
/// are rejected (read-C3).
Node ScalarWriter::nearPlace(Op place) {
  Node node = makeNode(place, Type::Index);
  if (chance(0.9))
    return node;
  return makeScalar(chance(0.5) ? "arith.addi" : "arith.subi", Type::Index,
                    {std::move(node), wholeConstant(Type::Index)});
}

/// Generates an index of an axis of `dim` entries: near `place` for an axis of the call, otherwise
/// an arbitrary integer.
Node ScalarWriter::indexOf(int64_t dim, bool isOfCall, Op place, int depth) {
  Node index = isOfCall ? nearPlace(place) : whole(Type::Index, std::max(depth, 1));
  if (index.op == Op::Constant) // an out-of-bounds constant would be rejected
    index.integers[0] = dim < 0 ? 0 : below(dim);
  return index;
}

/// Reads a parameter, mostly at the indices of the pair, sometimes at an offset.
Node ScalarWriter::readAt(Type type, int parameter, int depth) {
  std::vector<Node> indices;
  const std::vector<int64_t> dims = program.parameters[parameter].dims;
  for (int64_t dim : dims) {
    Op place = dim == kBatch                  ? Op::Batch
               : dim == kQueries              ? Op::Query
               : dim == kKeys && chance(0.85) ? Op::Key
               : dim == kKeys                 ? Op::Query
                                              : Op::Head;
    const bool isOfCall = dim < 0 && dim != kRows;
    indices.push_back(indexOf(dim, isOfCall, place, depth));
  }
  return makeRead(type, parameter, std::move(indices));
}

/// Subtracts a read from the same read at the query, whose tensor the call may omit.
Node ScalarWriter::lessAbsent(Node read) {
  const int parameter = read.parameters[0];
  const Parameter given = program.parameters[parameter];
  std::vector<int64_t> dims = given.dims;
  std::vector<Node> indices = read.children;
  bool isOfQuery = false;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (dims[axis] == kKeys) {
      dims[axis] = kQueries;
      indices[axis] = makeNode(Op::Query, Type::Index);
      isOfQuery = true;
    }
  const int other = addParameter(program, dims, given.low, given.high);
  const Positions &positions = program.positions;
  const Sizes &sizes = program.sizes;
  const int64_t first =
      positions.queryStart.value_or(positions.keyStart + sizes.keys - sizes.queries);
  const bool haveKeys =
      first >= positions.keyStart && first + sizes.queries <= positions.keyStart + sizes.keys;
  program.parameters[other].absent = parameter;
  program.parameters[other].isLeftOut = (haveKeys || !isOfQuery) && chance(0.5);
  return makeScalar("arith.subf", Type::F32,
                    {makeRead(Type::F32, other, std::move(indices)), std::move(read)});
}

/// Reads data over axes of the call.
Node ScalarWriter::readData(int depth) {
  const double low = random.uniform(-1.5, 0.5), high = low + random.uniform(0.2, 1.5);
  const int parameter = addParameter(program, drawAxes(), low, high);
  Node node = readAt(Type::F32, parameter, depth);
  const bool isOfPair = scope != Scope::Mask && scope != Scope::Token;
  return isOfPair && chance(0.2) ? lessAbsent(std::move(node)) : node;
}

/// Reads i32 data over axes of the call, or a table: small values, or values near the positions.
Node ScalarWriter::readWhole(int depth) {
  const int64_t start = program.positions.keyStart;
  const std::pair<int64_t, int64_t> ranges[] = {
      {0, 3}, {-2, 9}, {0, 60}, {start - 1, start + program.sizes.keys + 2}};
  const auto [low, high] = ranges[below(std::size(ranges))];
  std::vector<int64_t> dims = drawAxes();
  if (chance(0.2))
    dims = {int64_t(1 + below(30))};
  return readAt(Type::Index, addWholeParameter(program, dims, low, high), depth);
}

/// Generates a read of an embedding.
Node ScalarWriter::readOfToken(int depth) {
  const std::vector<int64_t> choices[] = {
      {}, {1}, {int64_t(1 + below(40))}, {kModel}, {kRows, kModel}, {kQueries}, {kModel, kRows}};
  const std::vector<int64_t> dims = choices[below(std::size(choices))];
  const double low = random.uniform(-1.5, 0.5);
  const int parameter = addParameter(program, dims, low, low + random.uniform(0.2, 1.5));
  std::vector<Node> indices;
  for (int64_t dim : dims) {
    const Op place = dim == kModel ? Op::Dim : Op::Token;
    const bool isOfCall = dim == kModel || dim == kQueries || (dim < 0 && chance(0.8));
    indices.push_back(indexOf(dim, isOfCall, place, depth));
  }
  return makeRead(Type::F32, parameter, std::move(indices));
}

Node ScalarWriter::read(int depth) {
  if (scope == Scope::Token)
    return readOfToken(depth);
  if (chance(0.25))
    return readData(depth);
  const double low = random.uniform(-1.5, 0.5), high = low + random.uniform(0.2, 1.5);
  const int64_t size = chance(0.1) ? 200 + below(1500) : 1 + below(40);
  const std::vector<int64_t> choices[] = {
      {}, {1}, {kHeads}, {kHeads}, {size}, {size, kHeads}, {kHeads, size}};
  const std::vector<int64_t> dims = choices[below(std::size(choices))];
  std::vector<Node> indices;
  for (int64_t dim : dims)
    indices.push_back(indexOf(dim, dim == kHeads, Op::Head, depth));
  return makeRead(Type::F32, addParameter(program, dims, low, high), std::move(indices));
}

} // namespace pe::fuzz
