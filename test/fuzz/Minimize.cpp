//===- Minimize.cpp - Reduces failing programs ----------------------------===//

#include "fuzz/Minimize.h"

#include <algorithm>
#include <cmath>

namespace pe::fuzz {
namespace {

/// Collects simplified copies of a program.
class Steps {
public:
  explicit Steps(const Program &program) : program(program) {}

  std::vector<Program> take() {
    dropParts();
    for (size_t n = 0; n < program.biases.size(); ++n)
      changeTree([n](Program &changed) -> Node & { return changed.biases[n]; });
    if (program.score)
      changeTree([](Program &changed) -> Node & { return *changed.score; });
    if (program.factor)
      changeTree([](Program &changed) -> Node & { return *changed.factor; });
    if (program.mask)
      changeTree([](Program &changed) -> Node & { return *changed.mask; });
    if (program.rotation)
      changeTree([](Program &changed) -> Node & { return *changed.rotation; });
    for (size_t n = 0; n < program.contents.size(); ++n)
      changeTree([n](Program &changed) -> Node & { return changed.contents[n]; });
    if (program.embedding)
      changeTree([](Program &changed) -> Node & { return *changed.embedding; });
    shrinkCall();
    shrinkParameters();
    return std::move(found);
  }

private:
  template <typename Change> void add(const Change &change) {
    Program changed = program;
    change(changed);
    dropUnusedParameters(changed);
    found.push_back(std::move(changed));
  }

  void dropParts();
  void shrinkCall();
  void shrinkParameters();
  template <typename Root> void changeTree(const Root &root);
  template <typename At> void changeNode(const Node &node, const At &at);
  template <typename At> void changeAttributes(const Node &node, const At &at);

  const Program &program;
  std::vector<Program> found;
};

void Steps::dropParts() {
  if (program.biases.size() > 1)
    for (size_t n = 0; n < program.biases.size(); ++n)
      add([n](Program &changed) {
        Node kept = changed.biases[n];
        changed.biases = {kept};
      });
  for (size_t n = 0; n < program.biases.size(); ++n)
    add([n](Program &changed) { changed.biases.erase(changed.biases.begin() + n); });
  if (program.score)
    add([](Program &changed) { changed.score.reset(); });
  if (program.factor)
    add([](Program &changed) { changed.factor.reset(); });
  if (program.sink)
    add([](Program &changed) { changed.sink.reset(); });
  if (program.dropout > 0)
    add([](Program &changed) { changed.dropout = 0; });
  if (program.rotation)
    add([](Program &changed) { changed.rotation.reset(); });
  if (program.valueRotation)
    add([](Program &changed) { changed.valueRotation.reset(); });
  for (size_t n = 0; n < program.contents.size(); ++n)
    add([n](Program &changed) { changed.contents.erase(changed.contents.begin() + n); });
  if (program.queryShift)
    add([](Program &changed) { changed.queryShift.reset(); });
  if (!program.given.empty())
    add([](Program &changed) { changed.given.clear(); });
  for (bool Program::*form :
       {&Program::attendsCurrent, &Program::keepsRemainder, &Program::hasBothSides})
    if (program.*form)
      add([form](Program &changed) { changed.*form = false; });
  if (program.mask && !program.isStickBreaking)
    add([](Program &changed) { changed.mask.reset(); });
  if (program.isStickBreaking)
    add([](Program &changed) {
      changed.isStickBreaking = changed.attendsCurrent = changed.keepsRemainder =
          changed.hasBothSides = false;
    });
  if (!program.plainNormalizer.empty())
    add([](Program &changed) { changed.plainNormalizer.clear(); });
  if (program.scalesByDepth)
    add([](Program &changed) { changed.scalesByDepth = false; });
  if (program.scale)
    add([](Program &changed) { changed.scale.reset(); });
  if (program.hasLse)
    add([](Program &changed) { changed.hasLse = false; });
}

/// Returns candidates that are closer to 0 than `value`, starting with `least`.
std::vector<int64_t> smallerThan(int64_t value, int64_t least) {
  std::vector<int64_t> smaller;
  for (int64_t next : {least, value / 2, value - 16, value - 1})
    if (std::abs(next) < std::abs(value) && next >= std::min(least, value) &&
        std::ranges::find(smaller, next) == smaller.end())
      smaller.push_back(next);
  return smaller;
}

Node leafOf(Type type);

void Steps::shrinkCall() {
  for (auto member : {&Sizes::batch, &Sizes::queries, &Sizes::keys, &Sizes::rows, &Sizes::width})
    for (int64_t value : smallerThan(program.sizes.*member, 1))
      add([=](Program &changed) {
        changed.sizes.*member = value;
        if (changed.rotation && changed.rotation->op == Op::RotationTable &&
            member == &Sizes::batch)
          changed.rotation = leafOf(Type::Rotation); // a table may have rows per batch entry
      });
  for (auto member : {&Sizes::headDim, &Sizes::valueDim})
    for (int64_t value : {int64_t(16), program.sizes.*member - 8})
      if (value < program.sizes.*member && value >= 16)
        add([=](Program &changed) {
          changed.sizes.*member = value;
          if (changed.rotation && changed.rotation->op != Op::Rotary)
            changed.rotation = leafOf(Type::Rotation); // a table's width depends on the head dim
          if (changed.rotation && changed.rotation->integers[0] > changed.sizes.headDim)
            changed.rotation = leafOf(Type::Rotation);
          if (changed.valueRotation)
            changed.valueRotation = leafOf(Type::Rotation);
        });
  if (program.sizes.queryHeads > 1)
    add([](Program &changed) { changed.sizes.queryHeads = changed.sizes.keyHeads = 1; });
  if (program.sizes.queryHeads != program.sizes.keyHeads)
    add([](Program &changed) { changed.sizes.queryHeads = changed.sizes.keyHeads; });
  const Positions &positions = program.positions;
  if (positions.queryStart)
    add([](Program &changed) { changed.positions.queryStart.reset(); });
  if (positions.headsTotal)
    add([](Program &changed) {
      changed.positions.headsTotal.reset();
      changed.positions.headStart = 0;
    });
  for (int64_t value : smallerThan(positions.keyStart, 0))
    add([=](Program &changed) { changed.positions.keyStart = value; });
  if (positions.queryStart)
    for (int64_t value : smallerThan(*positions.queryStart, 0))
      add([=](Program &changed) { changed.positions.queryStart = value; });
}

void Steps::shrinkParameters() {
  for (size_t p = 0; p < program.parameters.size(); ++p) {
    // Other ranks and sizes must match the ops that read them.
    const std::vector<int64_t> &dims = program.parameters[p].dims;
    if (program.parameters[p].absent != kNoParameter)
      add([=](Program &changed) {
        changed.parameters[p].absent = kNoParameter;
        changed.parameters[p].isLeftOut = false;
      });
    if (dims.size() == 1 && dims[0] > 1)
      for (int64_t value : smallerThan(dims[0], 1))
        add([=](Program &changed) { changed.parameters[p].dims[0] = value; });
  }
}

/// Returns the simplest node of a type.
Node leafOf(Type type) {
  switch (type) {
  case Type::Coordinate:
    return makeNode(Op::Distance, type);
  case Type::Bias:
    return makeNode(Op::Region, type, {makeReal(Type::F32, 1.0)});
  case Type::Mask:
    return makeNode(Op::Causal, type);
  case Type::Rotation: {
    Node node = makeNode(Op::Rotary, type);
    node.reals[0] = 10000.0;
    return node;
  }
  case Type::F32:
  case Type::F64:
    return makeReal(type, 1.0);
  default:
    return makeWhole(type, 1);
  }
}

template <typename Root> void Steps::changeTree(const Root &root) {
  // Visits every node by its path from the root.
  std::vector<std::vector<size_t>> paths = {{}};
  auto nodeAt = [&root](Program &changed, const std::vector<size_t> &path) -> Node & {
    Node *node = &root(changed);
    for (size_t step : path)
      node = &node->children[step];
    return *node;
  };
  Program original = program;
  for (size_t n = 0; n < paths.size(); ++n) {
    const std::vector<size_t> path = paths[n];
    const Node &node = nodeAt(original, path);
    changeNode(node, [&](Program &changed) -> Node & { return nodeAt(changed, path); });
    for (size_t child = 0; child < node.children.size(); ++child) {
      paths.push_back(path);
      paths.back().push_back(child);
    }
  }
}

template <typename At> void Steps::changeNode(const Node &node, const At &at) {
  auto put = [&](const Node &replacement) {
    add([&](Program &changed) {
      Node copy = replacement; // before its owner may be overwritten
      at(changed) = std::move(copy);
    });
  };
  Node leaf = leafOf(node.type);
  if (!node.children.empty() && node != leaf) {
    if (node.type == Type::Index)
      put(makeNode(Op::Key, Type::Index));
    put(leaf);
    for (const Node &child : node.children)
      walk(child, [&](const Node &inner) {
        if (inner.type == node.type && inner != leaf)
          put(inner);
      });
  }
  if (node.op == Op::Read)
    put(leaf);
  changeAttributes(node, at);
}

template <typename At> void Steps::changeAttributes(const Node &node, const At &at) {
  if (node.op == Op::Constant && isInteger(node.type) && node.type != Type::I1)
    for (int64_t value : smallerThan(node.integers[0], 1))
      add([&](Program &changed) { at(changed).integers[0] = value; });
  if (node.op == Op::Constant && isReal(node.type) && node.reals[0] != 1.0 &&
      node.reals[0] != std::round(node.reals[0]))
    add([&](Program &changed) { at(changed).reals[0] = std::round(node.reals[0]); });
  bool canLack = node.op == Op::Progressive || node.op == Op::CosineSum ||
                 node.op == Op::ContentRegion || node.op == Op::ContentFormula;
  const bool isContent = node.op == Op::ContentRegion || node.op == Op::ContentFormula;
  if (isContent && node.integers[0])
    add([&](Program &changed) { at(changed).integers[0] = 0; });
  if (isContent && node.children.size() > 1)
    add([&](Program &changed) { at(changed).children.pop_back(); });
  for (size_t n = 0; n < node.parameters.size(); ++n)
    if (node.parameters[n] != kNoParameter && n < 2 &&
        (canLack || (node.op == Op::Linear && n == 1)))
      add([&](Program &changed) { at(changed).parameters[n] = kNoParameter; });
  if (node.op == Op::CosineSum)
    for (int64_t terms : smallerThan(node.integers[0], 1))
      add([&](Program &changed) { at(changed).integers[0] = terms; });
  if (node.op == Op::Rotary && node.integers[0])
    add([&](Program &changed) { at(changed).integers[0] = 0; });
  if (node.op == Op::Rotary && node.integers[1])
    add([&](Program &changed) { at(changed).integers[1] = 0; });
  if (node.op == Op::Rotary && !node.parameters.empty())
    add([&](Program &changed) {
      at(changed).parameters.clear();
      at(changed).reals[0] = 10000.0;
    });
  if (node.flag)
    add([&](Program &changed) { at(changed).flag = false; });
  if (node.op == Op::Window)
    for (int side : {0, 1})
      for (int64_t value : smallerThan(node.integers[side], node.integers[1 - side] ? 0 : 1))
        add([&](Program &changed) { at(changed).integers[side] = value; });
}

} // namespace

std::vector<Program> simplerPrograms(const Program &program) { return Steps(program).take(); }

Program minimize(Program program, const std::function<bool(const Program &)> &fails) {
  // After a success the search continues with the next step, because steps that failed before
  // rarely succeed now. It ends after a full round without success.
  size_t next = 0, failures = 0;
  std::vector<Program> candidates = simplerPrograms(program);
  while (failures < candidates.size()) {
    next = next < candidates.size() ? next : 0;
    if (!fails(candidates[next])) {
      ++next;
      ++failures;
      continue;
    }
    program = candidates[next];
    candidates = simplerPrograms(program);
    failures = 0;
  }
  return program;
}

} // namespace pe::fuzz
