//===- Program.cpp - A generated program as data --------------------------===//

#include "fuzz/Program.h"

#include <algorithm>
#include <map>
#include <set>

namespace pe::fuzz {
namespace {

/// Every tree of the program.
template <typename Visit> void forEachTree(Program &program, const Visit &visit) {
  for (Node &bias : program.biases)
    visit(bias);
  if (program.score)
    visit(*program.score);
  if (program.sink)
    visit(*program.sink);
  if (program.rotation)
    visit(*program.rotation);
  if (program.mask)
    visit(*program.mask);
}

} // namespace

bool isData(const Parameter &parameter) {
  return std::ranges::any_of(parameter.dims, [](int64_t dim) { return dim < kHeads; });
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
  std::map<int, int> renumbered;
  std::vector<Parameter> kept;
  for (int parameter : used) {
    renumbered[parameter] = static_cast<int>(kept.size());
    kept.push_back(program.parameters[parameter]);
  }
  program.parameters = std::move(kept);
  forEachTree(program, [&](Node &tree) {
    walk(tree, [&](Node &node) {
      for (int &parameter : node.parameters)
        if (parameter != kNoParameter)
          parameter = renumbered.at(parameter);
    });
  });
}

} // namespace pe::fuzz
