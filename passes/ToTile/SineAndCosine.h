//===- SineAndCosine.h - angles in float64 ---------------------------------===//
#ifndef PE_PASSES_TOTILE_SINEANDCOSINE_H
#define PE_PASSES_TOTILE_SINEANDCOSINE_H

#include "passes/ToTile/TileBuilder.h"

namespace mlir::tile {

/// Sine and cosine in float64, by arithmetic that vectorizes: of the rest r in [-pi/4, pi/4] of
/// x = n pi/2 + r, whose error is below 1e-15 for |x| < 2^30, as series.
std::pair<Value, Value> emitSineAndCosine(Scalar &s, Value x);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_SINEANDCOSINE_H
