//===- Masks.cpp - Which keys a query may attend to -----------------------===//

#include "runtime/reference/Masks.h"

#include <algorithm>

namespace pe::reference {

bool Mask::allows(int64_t batch, int64_t i, int64_t j) const {
  auto partAllows = [&](const Mask &part) { return part.allows(batch, i, j); };
  switch (kind) {
  case Kind::Window:
    return lowest <= i - j && i - j <= highest;
  case Kind::Prefix:
    return static_cast<double>(j) < ends[batch];
  case Kind::And:
    return std::all_of(parts.begin(), parts.end(), partAllows);
  case Kind::Or:
    return std::any_of(parts.begin(), parts.end(), partAllows);
  }
  return false;
}

bool Mask::isCausal() const {
  auto partIsCausal = [](const Mask &part) { return part.isCausal(); };
  switch (kind) {
  case Kind::Window:
    return lowest >= 0;
  case Kind::Prefix:
    return false;
  case Kind::And:
    return std::any_of(parts.begin(), parts.end(), partIsCausal);
  case Kind::Or:
    return std::all_of(parts.begin(), parts.end(), partIsCausal);
  }
  return false;
}

static Expected<Mask> buildCombination(const Program &program, const Definitions &definitions,
                                       const TensorValues &tensors, const Operation &operation,
                                       Mask::Kind kind) {
  if (Status status = operation.expectOnly({}); !status)
    return status.takeError();
  if (operation.operands.empty())
    return operation.fail("expected masks to combine");
  Mask mask;
  mask.kind = kind;
  for (ValueId operand : operation.operands) {
    auto part = buildMask(program, definitions, tensors, operand);
    if (!part)
      return part.takeError();
    mask.parts.push_back(std::move(*part));
  }
  return mask;
}

/// j <= i or j < prefix[b].
static Expected<Mask> buildPrefix(const TensorValues &tensors, const Operation &operation) {
  if (Status status = operation.expectOnly({}); !status)
    return status.takeError();
  auto found = operation.operands.size() == 1 ? tensors.find(operation.operands[0]) : tensors.end();
  if (found == tensors.end() || found->second.shape.size() != 1)
    return operation.fail("expected the lengths of the prefixes, one per batch entry");
  Mask causal{.kind = Mask::Kind::Window, .lowest = 0};
  Mask prefix{.kind = Mask::Kind::Prefix, .ends = found->second.data};
  return Mask{.kind = Mask::Kind::Or, .parts = {std::move(causal), std::move(prefix)}};
}

Expected<Mask> buildMask(const Program &program, const Definitions &definitions,
                         const TensorValues &tensors, ValueId value) {
  const Operation *operation = definitions[value];
  if (!operation)
    return makeError("expected a mask made in the function, found an argument");
  if (operation->name == "pe.mask_and")
    return buildCombination(program, definitions, tensors, *operation, Mask::Kind::And);
  if (operation->name == "pe.mask_or")
    return buildCombination(program, definitions, tensors, *operation, Mask::Kind::Or);
  if (operation->name == "pe.prefix_lm")
    return buildPrefix(tensors, *operation);

  bool isWindow = operation->name == "pe.sliding_window";
  auto known = isWindow ? operation->expectOnly({"left", "right"}) : operation->expectOnly({});
  if (!known)
    return known.takeError();
  Mask mask;
  mask.kind = Mask::Kind::Window;
  if (operation->name == "pe.causal") {
    mask.lowest = 0;
  } else if (operation->name == "pe.strict_causal") {
    mask.lowest = 1;
  } else if (isWindow) {
    auto left = operation->integer("left", Mask::unlimited);
    auto right = operation->integer("right", Mask::unlimited);
    if (!left || !right)
      return left ? right.takeError() : left.takeError();
    mask.highest = *left == Mask::unlimited ? *left : *left - 1;
    mask.lowest = *right == Mask::unlimited ? -*right : 1 - *right;
  } else {
    return operation->fail("is no mask that the reference knows");
  }
  return mask;
}

} // namespace pe::reference
