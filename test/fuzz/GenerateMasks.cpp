//===- GenerateMasks.cpp - Generates masks --------------------------------===//

#include "fuzz/Generator.h"

#include "fuzz/EvaluateProgram.h"

namespace pe::fuzz {

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

} // namespace pe::fuzz
