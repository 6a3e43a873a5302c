//===- GeneratedProgram.cpp - A generated program as data -----------------===//

#include "fuzz/GeneratedProgram.h"

#include <algorithm>
#include <map>
#include <set>

namespace pe::fuzz {
namespace {

/// Calls `visit` on every tree of the program.
template <typename Visit> void forEachTree(Program &program, const Visit &visit) {
  for (Node &bias : program.biases)
    visit(bias);
  if (program.score)
    visit(*program.score);
  if (program.factor)
    visit(*program.factor);
  if (program.sink)
    visit(*program.sink);
  if (program.rotation)
    visit(*program.rotation);
  if (program.valueRotation)
    visit(*program.valueRotation);
  for (Node &content : program.contents)
    visit(content);
  if (program.queryShift)
    visit(*program.queryShift);
  for (Node &numbers : program.given)
    visit(numbers);
  if (program.embedding)
    visit(*program.embedding);
  if (program.mask)
    visit(*program.mask);
}

} // namespace

bool isData(const Parameter &parameter) {
  return std::ranges::any_of(parameter.dims, [](int64_t dim) { return dim < kHeads; });
}

bool isRegion(Op op) {
  switch (op) {
  case Op::Region:
  case Op::Formula:
  case Op::ScoreRegion:
  case Op::ScoreFormula:
  case Op::FactorRegion:
  case Op::FactorFormula:
  case Op::MaskRegion:
  case Op::MaskFormula:
  case Op::ContentRegion:
  case Op::ContentFormula:
  case Op::EmbeddingRegion:
  case Op::EmbeddingFormula:
    return true;
  default:
    return false;
  }
}

bool isPlacedByData(const Program &program) {
  bool restarts = false;
  if (program.mask)
    walk(*program.mask,
         [&](const Node &node) { restarts |= node.op == Op::Documents && node.flag; });
  return restarts || !program.given.empty();
}

/// Returns true if anything except dropout depends on the positions of queries and keys.
static bool readsPositions(const Program &program) {
  bool isRead = program.mask || program.rotation || program.valueRotation ||
                !program.biases.empty() || program.queryShift || !program.contents.empty() ||
                program.isStickBreaking;
  for (const std::optional<Node> *function : {&program.score, &program.factor})
    if (*function)
      walk(**function, [&](const Node &node) {
        // A captured coordinate is a function of both positions.
        isRead |= node.op == Op::Query || node.op == Op::Key || node.op == Op::Captured;
      });
  return isRead;
}

bool isUnplaced(const Program &program) { return !readsPositions(program) && program.dropout == 0; }

int64_t Program::queryStart() const {
  const int64_t last = positions.keyStart + sizes.keys - sizes.queries;
  return positions.queryStart.value_or(readsPositions(*this) ? last : std::max<int64_t>(0, last));
}

std::vector<int> parametersOf(const Node &node) {
  std::set<int> found;
  walk(node, [&](const Node &inner) {
    for (int parameter : inner.parameters)
      if (parameter != kNoParameter)
        found.insert(parameter);
  });
  return {found.begin(), found.end()};
}

void dropUnusedParameters(Program &program) {
  std::set<int> used;
  forEachTree(program, [&](const Node &tree) {
    for (int parameter : parametersOf(tree))
      used.insert(parameter);
  });
  for (int parameter : std::set<int>(used)) // the defaults of absent parameters
    if (int other = program.parameters[parameter].absent; other != kNoParameter)
      used.insert(other);
  std::map<int, int> renumbered;
  std::vector<Parameter> kept;
  for (int parameter : used) {
    renumbered[parameter] = static_cast<int>(kept.size());
    kept.push_back(program.parameters[parameter]);
  }
  for (Parameter &parameter : kept)
    if (parameter.absent != kNoParameter)
      parameter.absent = renumbered.at(parameter.absent);
  program.parameters = std::move(kept);
  forEachTree(program, [&](Node &tree) {
    walk(tree, [&](Node &node) {
      for (int &parameter : node.parameters)
        if (parameter != kNoParameter)
          parameter = renumbered.at(parameter);
    });
  });
}

int64_t depthOf(const Program &program, const Node &content) {
  const int queries = content.parameters[2];
  return queries == kNoParameter ? program.sizes.headDim : program.parameters[queries].dims.back();
}

Node makeNode(Op op, Type type, std::vector<Node> children) {
  Node node;
  node.op = op;
  node.type = type;
  node.children = std::move(children);
  return node;
}

Node makeScalar(std::string_view name, Type type, std::vector<Node> children) {
  Node node = makeNode(Op::Scalar, type, std::move(children));
  node.scalar = findOperation(name);
  return node;
}

Node makeWhole(Type type, int64_t value) {
  Node node = makeNode(Op::Constant, type);
  node.integers[0] = wrap(value, bitsOf(type));
  return node;
}

Node makeReal(Type type, double value) {
  Node node = makeNode(Op::Constant, type);
  node.reals[0] = static_cast<float>(value);
  return node;
}

int addParameter(Program &program, std::vector<int64_t> dims, double low, double high) {
  Parameter parameter;
  parameter.name = "p" + std::to_string(program.parameters.size());
  parameter.dims = std::move(dims);
  parameter.low = static_cast<float>(low);
  parameter.high = static_cast<float>(high);
  program.parameters.push_back(std::move(parameter));
  return static_cast<int>(program.parameters.size()) - 1;
}

int addWholeParameter(Program &program, std::vector<int64_t> dims, int64_t low, int64_t high) {
  const int parameter = addParameter(program, std::move(dims), 0, 0);
  Parameter &added = program.parameters[parameter];
  added.isWhole = true;
  added.low = static_cast<double>(low);
  added.high = static_cast<double>(high);
  return parameter;
}

Node makeRead(Type type, int parameter, std::vector<Node> indices) {
  Node node = makeNode(Op::Read, type, std::move(indices));
  node.parameters = {parameter};
  return node;
}

} // namespace pe::fuzz
