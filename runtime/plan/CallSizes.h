//===- CallSizes.h - Sizes and place of one call ----------------*- C++ -*-===//
//
// A call's batch, heads and lengths, and where its queries, keys and heads lie in the whole. Every
// entrance (C++, C, the reference) places its calls here, so that defaults and
// limits are the same everywhere:
//
//   CallSizes sizes;
//   sizes.queries = 3, sizes.keys = 10;        // ... from the tensors
//   place(sizes, {.keyStart = 100});           // queryStart becomes 107, headsTotal queryHeads
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_CALLSIZES_H
#define PE_RUNTIME_PLAN_CALLSIZES_H

#include "pe/Error.h"
#include "pe/Positions.h"
#include "runtime/plan/SizeExpression.h"

namespace pe::plan {

/// Positions lie in [-2^30, 2^30), so that the distance of any two fits in 32 bits. No size exceeds
/// it either.
inline constexpr int64_t kPositionLimit = int64_t(1) << 30;
/// How far a query may be from a key. Kernels compute with distances in 32 bits and add a block's
/// rows to them; what is left up to 2^31 is room for that.
inline constexpr int64_t kDistanceLimit = (int64_t(1) << 31) - (int64_t(1) << 16);

/// The sizes of one call.
struct CallSizes {
  int64_t batch = 1;
  int64_t queryHeads = 1;
  int64_t keyHeads = 1;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t queryStart = 0;
  int64_t keyStart = 0;
  int64_t headStart = 0;
  int64_t headsTotal = 1;

  SizeValues values(int64_t headDim, int64_t valueDim) const {
    return {{"b", batch}, {"hq", queryHeads}, {"hkv", keyHeads}, {"r", queries},
            {"c", keys},  {"d", headDim},     {"e", valueDim}};
  }
};

/// Whether every key head serves the same number of query heads.
bool headsAreGrouped(const CallSizes &sizes);

/// Fills in the starts and the heads of the whole, with the defaults of docs/contract.md. Errors:
/// a size that is negative or beyond the limit, heads that are not grouped evenly, a position
/// outside [-2^30, 2^30), a query and a key too far apart, heads that do not lie in the whole. Any
/// numbers may be given.
Status place(CallSizes &sizes, const Positions &positions);

// The parts of it, for frames of any plan (Frame.h).

/// A size by its name in plans.
Status checkSize(const std::string &name, int64_t value);
Status checkHeads(const CallSizes &sizes);
/// A parameter by its name in plans; `sizes` are in their limits.
Status checkParameter(const std::string &name, int64_t value, const CallSizes &sizes);
/// Distances and heads, all parameters being known.
Status checkPlace(const CallSizes &sizes, bool isHeadsTotalGiven);

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_CALLSIZES_H
