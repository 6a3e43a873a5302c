//===- Masks.cpp - Evaluates a generated mask -----------------------------===//

#include "fuzz/BiasEvaluator.h"

#include <algorithm>

namespace pe::fuzz {
namespace {

/// Evaluates the condition that conditionText prints.
bool holds(int64_t kind, int64_t n, const Pair &pair) {
  const int64_t i = pair.i, j = pair.j;
  auto modulo = [&](int64_t x) { return (x % n + n) % n; };
  switch (kind) {
  case 0:
    return j < n;
  case 1:
    return j >= n;
  case 2:
    return j == n;
  case 3:
    return j <= i || j < n;
  case 4:
    return j < n || j > i;
  case 5:
    return j >= n && i + 3 > j;
  case 6:
    return std::abs(i - j) <= n;
  case 7:
    return modulo(i + j + pair.h) == 0;
  case 8:
    return modulo(pair.b + i) != 1;
  case 9:
    return modulo(i - j) == 0 && 2 * j - i < 7;
  case kMaskConditions:
    return i - j < n + 3 * pair.h;
  default:
    return pair.h % 2 == 0 || j <= i + n;
  }
}

/// Returns the number of documents that begin at or before a place: the place's document, from 1.
int64_t documentOf(const std::vector<long double> &boundaries, int64_t place) {
  return std::ranges::count_if(boundaries, [&](long double begin) { return begin <= place; });
}

/// Returns the documents in which positions restart, or null.
const Node *findRestart(const Node &mask) {
  const Node *found = nullptr;
  walk(mask, [&](const Node &node) {
    if (node.op == Op::Documents && node.flag)
      found = &node;
  });
  return found;
}

} // namespace

Pair pairAt(const Program &program, const ParameterValues &values, int64_t b, int64_t h, int64_t r,
            int64_t c) {
  Pair pair{b, h, program.queryStart() + r, program.positions.keyStart + c};
  if (!program.given.empty()) {
    const Sizes &sizes = program.sizes;
    auto numberAt = [&](size_t side, int64_t at) { // the other side may have no tokens
      const std::vector<long double> &numbers = values[program.given[side].parameters[0]];
      return at < std::ssize(numbers) ? static_cast<int64_t>(numbers[at]) : 0;
    };
    pair.i = numberAt(0, b * sizes.queries + r);
    pair.j = numberAt(1, b * sizes.keys + c);
    return pair;
  }
  const Node *restart = program.mask ? findRestart(*program.mask) : nullptr;
  if (!restart)
    return pair;
  const std::vector<long double> &boundaries = values[restart->parameters[0]];
  for (int64_t *position : {&pair.i, &pair.j})
    if (const int64_t document = documentOf(boundaries, *position); document > 0)
      *position -= static_cast<int64_t>(boundaries[document - 1]);
  return pair;
}

bool BiasEvaluator::allows(const Node &mask, const Pair &at) {
  pair = at;
  const int64_t i = at.i, j = at.j;
  switch (mask.op) {
  case Op::MaskFn:
    return holds(mask.integers[0], mask.integers[1], at);
  case Op::MaskRegion:
  case Op::MaskFormula:
    noiseCount = 0;
    return scalar(mask.children[0]).integer != 0;
  case Op::Documents: {
    const std::vector<long double> &boundaries = values[mask.parameters[0]];
    return documentOf(boundaries, at.row) == documentOf(boundaries, at.column);
  }
  case Op::Causal:
    return j <= i;
  case Op::StrictCausal:
    return j < i;
  case Op::Window:
    return (!mask.integers[0] || i - j < mask.integers[0]) &&
           (!mask.integers[1] || j - i < mask.integers[1]);
  case Op::MaskAnd:
    return allows(mask.children[0], at) && allows(mask.children[1], at);
  case Op::MaskOr:
    return allows(mask.children[0], at) || allows(mask.children[1], at);
  default:
    return true;
  }
}

} // namespace pe::fuzz
