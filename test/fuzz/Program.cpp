//===- Program.cpp - A generated program as data --------------------------===//

#include "fuzz/Program.h"

#include "fuzz/Print.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

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

bool isUnplaced(const Program &program) {
  bool isRead = program.mask || program.rotation || !program.biases.empty() || program.dropout != 0;
  if (program.score)
    walk(*program.score, [&](const Node &node) {
      // A captured coordinate is a function of both.
      isRead |= node.op == Op::Query || node.op == Op::Key || node.op == Op::Captured;
    });
  return !isRead;
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

std::string printRunOptions(const Program &program) {
  const Sizes &sizes = program.sizes;
  std::ostringstream out;
  out << "--random=" << program.seed << " --shape=b=" << sizes.batch << ",h=" << sizes.queryHeads
      << ",hkv=" << sizes.keyHeads << ",sq=" << sizes.queries << ",sk=" << sizes.keys
      << ",d=" << sizes.headDim << ",dv=" << sizes.valueDim;
  const Positions &positions = program.positions;
  if (positions.queryStart)
    out << " --q-start=" << *positions.queryStart;
  if (positions.keyStart)
    out << " --k-start=" << positions.keyStart;
  if (positions.headStart)
    out << " --head-start=" << positions.headStart;
  if (positions.headsTotal)
    out << " --heads-total=" << *positions.headsTotal;
  out << " --grad --check";
  return out.str();
}

} // namespace pe::fuzz
