//===- CallSizes.cpp - Sizes and place of one call ------------------------===//

#include "runtime/plan/CallSizes.h"

#include <algorithm>

namespace pe::plan {

static Status checkSize(const char *name, int64_t value) {
  if (value >= 0 && value <= kPositionLimit)
    return Status::success();
  return makeError(name, ": expected a size of 0 to 2^30, found ", value);
}

/// `count` rows from `start` on; neither sum nor comparison can overflow, as count is a size.
static Status checkPositions(const char *name, int64_t start, int64_t count, const char *what) {
  if (start >= -kPositionLimit && start <= kPositionLimit - count)
    return Status::success();
  return makeError(name, ": expected positions of at least -2^30 and below 2^30 for ", count, " ",
                   what, ", found the first at ", start);
}

std::span<const std::string> sizeNames() {
  static const std::string names[] = {"b", "hq", "hkv", "r", "c", "d", "e"};
  return names;
}

bool headsAreGrouped(const CallSizes &sizes) {
  return sizes.keyHeads == 0 ? sizes.queryHeads == 0 : sizes.queryHeads % sizes.keyHeads == 0;
}

static Status checkSizes(const CallSizes &sizes) {
  for (const auto &[name, value] :
       {std::pair{"batch", sizes.batch}, std::pair{"query heads", sizes.queryHeads},
        std::pair{"key heads", sizes.keyHeads}, std::pair{"queries", sizes.queries},
        std::pair{"keys", sizes.keys}})
    if (Status s = checkSize(name, value); !s)
      return s;
  if (!headsAreGrouped(sizes))
    return makeError("expected the query heads to be a multiple of the key heads, found ",
                     sizes.queryHeads, " query heads and ", sizes.keyHeads, " key heads");
  return Status::success();
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

static Status placeHeads(CallSizes &sizes, const Positions &positions) {
  sizes.headStart = positions.headStart;
  sizes.headsTotal = positions.headsTotal.value_or(sizes.queryHeads);
  if (sizes.headStart >= 0 && sizes.headsTotal >= sizes.queryHeads &&
      sizes.headStart <= sizes.headsTotal - sizes.queryHeads && sizes.headsTotal <= kPositionLimit)
    return Status::success();
  return makeError("expected head_start and heads_total to hold this call's ", sizes.queryHeads,
                   " heads", sizes.headsTotal > kPositionLimit ? " in at most 2^30" : "",
                   ", found head_start ", sizes.headStart, " of heads_total ", sizes.headsTotal,
                   positions.headsTotal ? "" : ", the default; give heads_total");
}

Status place(CallSizes &sizes, const Positions &positions) {
  if (Status s = checkSizes(sizes); !s)
    return s;
  sizes.keyStart = positions.keyStart;
  if (Status s = checkPositions("k_start", sizes.keyStart, sizes.keys, "keys"); !s)
    return s;
  sizes.queryStart = positions.queryStart.value_or(sizes.keyStart + sizes.keys - sizes.queries);
  if (Status s = checkPositions("q_start", sizes.queryStart, sizes.queries, "queries"); !s)
    return s;
  if (Status s = checkDistances(sizes); !s)
    return s;
  return placeHeads(sizes, positions);
}

} // namespace pe::plan
