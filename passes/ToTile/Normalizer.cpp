//===- Normalizer.cpp - the list of normalizers ---------------------------===//
#include "passes/ToTile/Normalizer.h"

using namespace mlir;
using namespace mlir::tile;

const Normalizer &Normalizer::of(pe::Normalizer kind) {
  switch (kind) {
  case pe::Normalizer::Softmax:
    return softmax();
  case pe::Normalizer::StickBreaking:
    return stickBreaking();
  }
  llvm_unreachable("all normalizers are listed");
}
