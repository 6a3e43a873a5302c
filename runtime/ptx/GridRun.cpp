//===- GridRun.cpp - The schedule of a launch ---------------------------------===//

#include "runtime/ptx/Copies.h"
#include "runtime/ptx/Warp.h"

#include <algorithm>
#include <limits>

namespace pe::ptx {

namespace {

/// Instructions of a warp between switches, at most.
constexpr uint64_t kLongestTurn = 5000;

} // namespace

/// Chooses the warp to run next, or null if all wait.
Warp *Run::choose() {
  using Order = Schedule::Order;
  const Order order = launch.schedule.order;
  std::vector<Warp *> &ready = candidates;
  ready.clear();
  for (const auto &cta : inFlight)
    for (const auto &warp : cta->warps)
      if (!warp->isDone && warp->barrier < 0)
        ready.push_back(warp.get());
  if (ready.empty())
    return nullptr;
  switch (order) {
  case Order::Forward:
    return ready[turn++ % ready.size()];
  case Order::Reverse:
    return ready[ready.size() - 1 - turn++ % ready.size()];
  case Order::Random:
    return ready[random() % ready.size()];
  }
  return nullptr;
}

/// Returns true if every warp that runs polls. Without strong loads, a warp is more likely to
/// compute.
bool Run::isStuck() const {
  constexpr uint64_t kFarMore = 1000;
  const uint64_t half = executed - launch.patience / 2;
  return executed - lastEvent > kFarMore * launch.patience ||
         std::ranges::all_of(candidates, [&](const Warp *warp) { return warp->lastPoll > half; });
}

uint64_t Run::lengthOfTurn() {
  if (launch.schedule.order != Schedule::Order::Random)
    return kLongestTurn;
  // Short turns find more interleavings, long ones are faster: each length is as likely as another
  // of its magnitude.
  return 1 + random() % (uint64_t(1) << (1 + random() % 11));
}

void Run::execute() {
  const unsigned warps = unsigned((launch.block.count() + kWarpSize - 1) / kWarpSize);
  uint64_t all = 0;
  if (__builtin_mul_overflow(launch.grid.count(), uint64_t(warps), &all))
    all = std::numeric_limits<uint64_t>::max();
  races.start(memory, all, warps);
  startCtas();
  while (!inFlight.empty()) {
    Warp *warp = choose();
    if (!warp)
      reportWaits("all warps wait for each other");
    if (launch.limit && executed >= launch.limit)
      reportWaits("the limit of warp instructions is reached");
    if (executed - lastEvent > launch.patience && isStuck())
      reportWaits("warps wait without end");
    try {
      if (warp->run(lengthOfTurn()) != Warp::Turn::Done)
        continue;
      if (warp->copies)
        warp->copies->checkAllLanded(*warp);
    } catch (Fault &fault) {
      if (!fault.line && current)
        fault.line = current->line;
      throw;
    }
    warp->isDone = true;
    Cta &cta = warp->cta;
    cta.ended(*warp);
    progress();
    if (std::ranges::all_of(cta.warps, [](auto &other) { return other->isDone; })) {
      std::erase_if(inFlight, [&](auto &other) { return other.get() == &cta; });
      startCtas();
    }
  }
}

} // namespace pe::ptx
