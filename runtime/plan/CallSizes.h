//===- CallSizes.h - Sizes and positions of one call ------------*- C++ -*-===//
//
// The batch, heads and lengths of a call, and the global positions of its queries, keys and heads.
// Every API (C++, C, the reference) completes and checks its calls with `place`, so that defaults
// and limits are the same everywhere:
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
            {"c", keys},  {"d", headDim},     {"e", valueDim}};
  }
};

/// Returns true if every key head serves the same number of query heads.
bool headsAreGrouped(const CallSizes &sizes);

/// Fills in the starts and the total number of heads, with the defaults of docs/contract.md.
/// Accepts any values. Errors: a size that is negative or above the limit, query heads that are not
/// a multiple of the key heads, a position outside [-2^30, 2^30), a query and a key too far apart,
/// heads outside [0, headsTotal).
Status place(CallSizes &sizes, const Positions &positions);

// The individual checks of `place`, for frames of any plan (Frame.h).

/// Checks the size called `name` in plans.
Status checkSize(const std::string &name, int64_t value);
Status checkHeads(const CallSizes &sizes);
/// Checks the parameter called `name` in plans; `sizes` have been checked.
Status checkParameter(const std::string &name, int64_t value, const CallSizes &sizes);
/// Checks distances and heads after all parameters are known.
Status checkPlace(const CallSizes &sizes, bool isHeadsTotalGiven);

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_CALLSIZES_H
