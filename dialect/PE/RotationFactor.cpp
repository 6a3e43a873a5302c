//===- RotationFactor.cpp - The factor of scaled rotations ----------------===//
#include "dialect/PE/RotationFactor.h"

#include "dialect/PE/PERotations.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;

bool mlir::pe::setRotationFactor(Operation *root, double factor) {
  bool found = false;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RopeScalingAttr old) -> Attribute {
    found = true;
    return RopeScalingAttr::get(old.getContext(), old.getKind(),
                                FloatAttr::get(old.getFactor().getType(), factor),
                                old.getOriginalLength(), old.getFirst(), old.getSecond(),
                                old.getShortFactor(), old.getLongFactor());
  });
  replacer.recursivelyReplaceElementsIn(root);
  return found;
}
