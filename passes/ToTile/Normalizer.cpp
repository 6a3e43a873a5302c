//===- Normalizer.cpp - the list of normalizers ---------------------------===//
#include "passes/ToTile/Normalizer.h"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
// Defined in a file each.
const Normalizer &softmax();
const Normalizer &stickBreaking();
const Normalizer &sigmoid();
const Normalizer &softpick();
} // namespace mlir::tile

const Normalizer &Normalizer::of(pe::Normalizer kind) {
  switch (kind) {
  case pe::Normalizer::Softmax:
    return softmax();
  case pe::Normalizer::StickBreaking:
    return stickBreaking();
  case pe::Normalizer::Sigmoid:
    return sigmoid();
  case pe::Normalizer::Softpick:
    return softpick();
  }
  llvm_unreachable("all normalizers are listed");
}
