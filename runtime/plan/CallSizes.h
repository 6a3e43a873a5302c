//===- CallSizes.h - Sizes and positions of one call ------------*- C++ -*-===//
//
// The batch, heads and lengths of a call, and the global positions of its queries, keys and heads.
// `place` (Frame.h) completes and checks them.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_CALLSIZES_H
#define PE_RUNTIME_PLAN_CALLSIZES_H

#include "pe/Error.h"
#include "runtime/plan/SizeExpression.h"

namespace pe::plan {

/// Positions are in [-2^30, 2^30), so that the distance of any two fits in 32 bits. Sizes are at
/// most this limit.
inline constexpr int64_t kPositionLimit = int64_t(1) << 30;
/// The maximum distance of a query from a key. Kernels compute with 32-bit distances and add the
/// rows of a block to them; the margin to 2^31 is for that addition.
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
            {"c", keys},  {"d", headDim},     {"e", valueDim},   {"capacity", keys}};
  }
};

/// Returns true if every key head serves the same number of query heads.
bool headsAreGrouped(const CallSizes &sizes);

// The checks of `place`, for frames of any plan (Frame.h).

/// Checks the size called `name` in plans.
Status checkSize(const std::string &name, int64_t value);
Status checkHeads(const CallSizes &sizes);
/// Checks the parameter called `name` in plans; `sizes` have been checked.
Status checkParameter(const std::string &name, int64_t value, const CallSizes &sizes);
/// Checks distances and heads after all parameters are known.
Status checkPlace(const CallSizes &sizes, bool isHeadsTotalGiven);

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_CALLSIZES_H
