//===- DistanceEntries.cpp - tables with an entry per distance ------------===//
#include "passes/ToTile/DistanceEntries.h"

#include "dialect/PE/PEInterfaces.h"

using namespace mlir;
using namespace mlir::tile;

/// The entry of distance 0.
static constexpr StringLiteral kOrigin = "c - 1 - q_start + k_start";

DistanceEntries::DistanceEntries(int64_t least) : first("0") {
  if (least != pe::DifferenceRange::kUnboundedMin)
    first = "max(0, " + kOrigin.str() + (least < 0 ? " - " : " + ") +
            std::to_string(std::abs(least)) + ")";
  count = "max(0, r + c - 1 - " + first + ")";
  prepared = "max(0, r + capacity - 1 - " + first + ")";
}

Value mlir::tile::distanceOfEntry(Scalar &s, Value entry) { return s.sub(entry, s.size(kOrigin)); }
