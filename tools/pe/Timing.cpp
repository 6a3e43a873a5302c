//===- Timing.cpp - whole calls, timed beside the machine's peak ---===//
#include "tools/pe/Timing.h"

#include "runtime/device/cpu/Peak.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace pe::cli {

double medianOf(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double countPairs(const plan::Plan &plan, const plan::CallSizes &sizes) {
  double pairs = 0;
  int64_t firstKey = sizes.keyStart, lastKey = sizes.keyStart + sizes.keys - 1;
  for (int64_t row = 0; row < sizes.queries; ++row) {
    int64_t position = sizes.queryStart + row;
    if (position < 0)
      continue;
    int64_t low = firstKey, high = lastKey;
    if (plan.window && plan.window->low)
      high = std::min(high, position - *plan.window->low);
    if (plan.window && plan.window->high)
      low = std::max(low, position - *plan.window->high);
    pairs += std::max<int64_t>(0, high - low + 1);
  }
  return pairs;
}

std::string Timing::json(const std::string &structure) const {
  nlohmann::ordered_json line;
  const auto known = [](bool isKnown, double value) {
    return isKnown ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
  };
  const bool hasBackward = backwardSeconds > 0;
  line["forward_seconds"] = forwardSeconds;
  line["backward_seconds"] = known(hasBackward, backwardSeconds);
  line["forward_gflops"] = known(countsWork, forwardFlops / forwardSeconds * 1e-9);
  line["backward_gflops"] =
      known(countsWork && hasBackward, backwardFlops / backwardSeconds * 1e-9);
  line["forward_share_of_peak"] = known(countsWork && hasPeak, forwardShare);
  line["backward_share_of_peak"] = known(countsWork && hasPeak && hasBackward, backwardShare);
  line["threads"] = threads;
  line["structure"] = structure;
  return line.dump();
}

Expected<Timing> timeCalls(const api::CompiledFunction &function, const TensorMap &arguments,
                           const TensorMap &cotangents, const Positions &positions,
                           ParallelFor &pool, int repeats) {
  const device::Runner &runner = *function.runner;
  const plan::Plan &plan = runner.getPlan();
  auto sizes = runner.bind(arguments, positions);
  if (!sizes)
    return sizes.error();
  Timing timing;
  timing.threads = pool.threads();
  timing.countsWork = plan.window.has_value();
  timing.hasPeak = plan.target == "cpu";
  double scores = countPairs(plan, *sizes) * sizes->batch * sizes->queryHeads;
  timing.forwardFlops = 2.0 * (plan.headDim + plan.valueDim) * scores;
  timing.backwardFlops = 2.0 * (3 * plan.headDim + 2 * plan.valueDim) * scores;
  cpu::Level level = timing.hasPeak ? cpu::levelOf(plan.features) : cpu::Level::Unsupported;
  std::vector<double> forward, backward, forwardShare, backwardShare;
  for (int repeat = -1; repeat < std::max(repeats, 1); ++repeat) { // the first one warms up
    double peak = timing.hasPeak ? cpu::measureFmaPeak(pool, level, 1) * 1e9 : 1;
    auto times = runner.time(arguments, positions, cotangents, pool);
    if (!times)
      return times.error();
    if (repeat < 0)
      continue;
    forward.push_back(times->forward);
    forwardShare.push_back(timing.forwardFlops / times->forward / peak);
    backward.push_back(times->backward);
    backwardShare.push_back(timing.backwardFlops / times->backward / peak);
  }
  timing.forwardSeconds = medianOf(forward);
  timing.forwardShare = medianOf(forwardShare);
  if (!cotangents.empty()) {
    timing.backwardSeconds = medianOf(backward);
    timing.backwardShare = medianOf(backwardShare);
  }
  return timing;
}

} // namespace pe::cli
