//===- CallSizes.cpp - Sizes and positions of one call --------------------===//

#include "runtime/plan/CallSizes.h"

#include <algorithm>

namespace pe::plan {

/// Returns a readable name for a size.
static std::string_view describe(std::string_view name) {
  for (const auto &[word, meaning] :
       {std::pair{"b", "batch"}, std::pair{"hq", "query heads"}, std::pair{"hkv", "key heads"},
        std::pair{"r", "queries"}, std::pair{"c", "keys"}})
    if (name == word)
      return meaning;
  return name;
}

Status checkSize(const std::string &name, int64_t value) {
  if (value >= 0 && value <= kPositionLimit)
    return Status::success();
  return makeError(describe(name), ": expected a size from 0 to 2^30, found ", value);
}

/// Checks `count` rows from `start`. `count` is a checked size, so nothing overflows.
static Status checkPositions(const char *name, int64_t start, int64_t count, const char *what) {
  if (start >= -kPositionLimit && start <= kPositionLimit - count)
    return Status::success();
  return makeError(name, ": expected positions in [-2^30, 2^30) for ", count, " ", what,
                   ", found the first at ", start);
}

bool headsAreGrouped(const CallSizes &sizes) {
  return sizes.keyHeads == 0 ? sizes.queryHeads == 0 : sizes.queryHeads % sizes.keyHeads == 0;
}

Status checkHeads(const CallSizes &sizes) {
  if (headsAreGrouped(sizes))
    return Status::success();
  return makeError("expected the query heads to be a multiple of the key heads, found ",
                   sizes.queryHeads, " query heads and ", sizes.keyHeads, " key heads");
}

Status checkParameter(const std::string &name, int64_t value, const CallSizes &sizes) {
  if (name == "k_start")
    return checkPositions("k_start", value, sizes.keys, "keys");
  if (name == "q_start")
    return checkPositions("q_start", value, sizes.queries, "queries");
  const bool isOfHeads = name == "head_start" || name == "heads_total"; // checkPlace
  if (isOfHeads || (value >= -kPositionLimit && value <= kPositionLimit))
    return Status::success();
  return makeError(name, ": expected a value from -2^30 to 2^30, found ", value);
}

static Status checkDistances(const CallSizes &sizes) {
  if (sizes.queries == 0 || sizes.keys == 0)
    return Status::success();
  const int64_t lastQuery = sizes.queryStart + sizes.queries - 1;
  const int64_t lastKey = sizes.keyStart + sizes.keys - 1;
  const int64_t farthest = std::max(lastQuery - sizes.keyStart, lastKey - sizes.queryStart);
  if (farthest <= kDistanceLimit)
    return Status::success();
  return makeError("q_start, k_start: expected queries and keys at most 2^31 - 2^16 apart, found ",
                   farthest);
}

Status checkPlace(const CallSizes &sizes, bool isHeadsTotalGiven) {
  if (Status s = checkDistances(sizes); !s)
    return s;
  if (sizes.headStart >= 0 && sizes.headsTotal >= sizes.queryHeads &&
      sizes.headStart <= sizes.headsTotal - sizes.queryHeads && sizes.headsTotal <= kPositionLimit)
    return Status::success();
  return makeError("expected head_start and heads_total to include this call's ", sizes.queryHeads,
                   " heads", sizes.headsTotal > kPositionLimit ? " in at most 2^30" : "",
                   ", found head_start ", sizes.headStart, " of heads_total ", sizes.headsTotal,
                   isHeadsTotalGiven ? "" : ", the default; pass heads_total");
}

} // namespace pe::plan
