//===- SineAndCosine.h - float64 sine and cosine --------------------------===//
#ifndef PE_PASSES_TOTILE_SINEANDCOSINE_H
#define PE_PASSES_TOTILE_SINEANDCOSINE_H

#include "passes/ToTile/TileBuilder.h"

namespace mlir::tile {

/// Emits sine and cosine in float64 by arithmetic that vectorizes: series of the remainder r in
/// [-pi/4, pi/4] of x = n pi/2 + r. The error of r is below 1e-15 for |x| < 2^30.
std::pair<Value, Value> emitSineAndCosine(Scalar &s, Value x);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_SINEANDCOSINE_H
