//===- RandomCalls.cpp - Random calls with few rows -----------------------===//

#include "conformance/RandomCalls.h"

#include "runtime/core/Random.h"

#include <algorithm>

namespace pe::conformance {
namespace {

/// The pairs of a call, over its batch and heads, that the reference evaluates in tens of ms.
constexpr int64_t kPairs = 30000;

int64_t pick(Random &random, std::initializer_list<int64_t> from) {
  return from.begin()[random.below(from.size())];
}

/// Draws 1 to 3000 keys, most of them next to the end of a block or of a split of 512 keys.
int64_t drawKeys(Random &random) {
  switch (random.below(4)) {
  case 0:
    return 1 + int64_t(random.below(40));
  case 1:
    return 1 + int64_t(random.below(3000));
  default:
    return pick(random, {16, 32, 64, 128, 256, 512, 512, 1024, 1536, 2048, 2560}) - 2 +
           int64_t(random.below(5));
  }
}

/// Draws starts for which the encoding is defined. Some rows are before or after all keys.
Positions drawStarts(Random &random, const EncodingFile &encoding, const Call &call) {
  Positions positions;
  if (encoding.placing == Placing::None || random.below(2) == 0)
    return positions;
  positions.keyStart = pick(random, {0, 1, 30, 300, 511, 512, 2000});
  if (encoding.isEarlyOnly)
    positions.keyStart %= 40;
  positions.headsTotal = call.queryHeads + int64_t(random.below(4));
  positions.headStart =
      int64_t(random.below(uint64_t(*positions.headsTotal - call.queryHeads + 1)));
  if (!call.lengths.empty() || random.below(2) == 0)
    return positions;
  const bool ownsKeys = encoding.placing == Placing::OwnKeys;
  const int64_t first = ownsKeys ? 0 : -4, last = call.keys - call.queries + (ownsKeys ? 0 : 20);
  positions.queryStart =
      positions.keyStart + first + int64_t(random.below(uint64_t(last - first + 1)));
  return positions;
}

} // namespace

Call RandomCall::call() const {
  Call call = sizes;
  call.name = name;
  call.lengths = lengths;
  return call;
}

RandomCall drawFewRows(const EncodingFile &encoding, uint64_t seed, int number) {
  RandomCall drawn;
  Call &call = drawn.sizes;
  drawn.name = "few_rows_" + std::to_string(seed) + "_" + std::to_string(number);
  Random random(seed, std::string(encoding.name) + " " + drawn.name);
  call.seed = random.next();
  call.keyHeads = pick(random, {1, 1, 2, 3});
  call.queryHeads = call.keyHeads * pick(random, {1, 1, 2, 3, 8});
  call.queries = random.below(3) == 0 ? 1 : 1 + int64_t(random.below(8));
  call.keys = std::max(drawKeys(random), encoding.placing == Placing::OwnKeys ? call.queries : 1);
  if (encoding.isTable || encoding.isEarlyOnly) // 2048 distances; products of positions in f32
    call.keys = std::min<int64_t>(call.keys, encoding.isTable ? 2020 : 570);
  if (encoding.placing == Placing::Square)
    call.keys = call.queries;
  if (random.below(3) == 0)
    call.headDim = call.valueDim = 64;
  else
    drawn.useSmallDims();
  call.batch = 1 + int64_t(random.below(3));
  call.logits = double(pick(random, {1, 1, 1, 30}));
  const bool hasLengths =
      encoding.placing == Placing::Any && !encoding.isPlaced && random.below(2) == 0;
  for (int64_t *size : {&call.batch, &call.keyHeads})
    if (call.batch * call.queryHeads * call.queries * call.keys > kPairs) {
      call.queryHeads = size == &call.keyHeads ? call.queryHeads / call.keyHeads : call.queryHeads;
      *size = 1;
    }
  while (call.queryHeads * call.queries * call.keys > kPairs && call.queries > 1)
    --call.queries;
  for (int64_t entry = 0; hasLengths && entry < call.batch; ++entry)
    drawn.lengths.push_back(
        int32_t(random.below(3) == 0 ? call.keys : std::min(drawKeys(random) - 1, call.keys)));
  call.lengths = drawn.lengths;
  call.positions = drawStarts(random, encoding, call);
  return drawn;
}

} // namespace pe::conformance
