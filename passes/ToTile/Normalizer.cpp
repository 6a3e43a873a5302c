//===- Normalizer.cpp - looks up normalizers ------------------------------===//
#include "passes/ToTile/Normalizer.h"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
// Defined in a file of Normalizers each.
#define PE_NORMALIZER(CASE, NAME) const Normalizer &NAME();
#include "dialect/PE/PENormalizers.def"
} // namespace mlir::tile

const Normalizer &Normalizer::of(pe::Normalizer kind) {
  switch (kind) {
#define PE_NORMALIZER(CASE, NAME)                                                                  \
  case pe::Normalizer::CASE:                                                                       \
    return NAME();
#include "dialect/PE/PENormalizers.def"
  }
  llvm_unreachable("all normalizers are listed");
}
