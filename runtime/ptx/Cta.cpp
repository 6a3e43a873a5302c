//===- Cta.cpp - Blocks of threads and the launch -------------------------===//

#include "runtime/ptx/Copies.h"
#include "runtime/ptx/Warp.h"

#include <algorithm>

namespace pe::ptx {

Warp::Warp(Cta &cta, unsigned number) : ClockedWarp(number), cta(cta) {
  const uint64_t threads = cta.run.launch.block.count();
  const uint64_t left = threads - uint64_t(number) * kWarpSize;
  if (left < kWarpSize)
    exited = kAllLanes << left;
  clock.number = cta.number * ((threads + kWarpSize - 1) / kWarpSize) + number;
  clock.own[number] = 0;
  push(*cta.run.kernel.entry, live());
}

Warp::~Warp() = default;

Cta::Cta(Run &run, uint64_t number)
    : run(run), number(number), index{uint32_t(number % run.launch.grid.x),
                                      uint32_t(number / run.launch.grid.x % run.launch.grid.y),
                                      uint32_t(number / run.launch.grid.x / run.launch.grid.y)} {
  const unsigned count = unsigned((run.launch.block.count() + kWarpSize - 1) / kWarpSize);
  shared.assign(run.sharedBytes, std::byte(0xFF));
  shadow.reset(run.sharedBytes, count);
  for (unsigned i = 0; i < count; ++i)
    warps.push_back(std::make_unique<Warp>(*this, i));
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void Cta::arrive(Warp &warp, const Step &step, unsigned id, unsigned count, bool waits,
                 Lanes votes) {
  if (id >= barriers.size())
    throw Fault{"barrier " + std::to_string(id) + ", expected 0 to 15", 0};
  if (count % kWarpSize)
    throw Fault{"barrier " + std::to_string(id) + " for " + std::to_string(count) +
                    " threads, expected a multiple of 32",
                0};
  Barrier &barrier = barriers[id];
  if (barrier.arrivals.empty()) {
    barrier.expected = count;
    barrier.isOfAll = count == 0;
  } else if (barrier.isOfAll != (count == 0) || barrier.expected != count) {
    throw Fault{warp.describe(kWarpSize) + " arrives at barrier " + std::to_string(id) + " for " +
                    (count ? std::to_string(count) : "all") + " threads, and another warp for " +
                    (barrier.isOfAll ? "all" : std::to_string(barrier.expected)) +
                    "; expected equal counts",
                0};
  }
  if (std::ranges::find(barrier.arrivals, &warp) != barrier.arrivals.end())
    throw Fault{warp.describe(kWarpSize) + " arrives at barrier " + std::to_string(id) +
                    " again before it is complete",
                0};
  barrier.arrived += kWarpSize;
  barrier.arrivals.push_back(&warp);
  barrier.votes += std::popcount(votes);
  barrier.isAll &= votes == warp.live();
  if (waits) {
    barrier.waiting.push_back(&warp);
    warp.barrier = int(id);
    warp.barrierStep = &step;
  }
  completeIfFull(barrier);
}

void Cta::completeIfFull(Barrier &barrier) {
  if (barrier.arrivals.empty())
    return;
  const auto living = std::ranges::count_if(warps, [](auto &warp) { return warp->live() != 0; });
  const unsigned expected = barrier.isOfAll ? unsigned(living) * kWarpSize : barrier.expected;
  if (barrier.arrived < expected)
    return;
  run.races.barrier(barrier.arrivals, {barrier.waiting.begin(), barrier.waiting.end()});
  for (Warp *warp : barrier.waiting) {
    const Step &step = *warp->barrierStep;
    if (step.flags == kCount)
      std::fill_n(warp->lanes<uint32_t>(step.d), kWarpSize, barrier.votes);
    else if (step.flags != kNoReduction)
      warp->predicate(step.d) =
          (step.flags == kAll ? barrier.isAll : barrier.votes != 0) ? kAllLanes : 0;
    warp->barrier = -1;
  }
  barrier = Barrier();
  run.progress();
}

void Cta::ended(Warp &) {
  for (Barrier &barrier : barriers)
    if (barrier.isOfAll)
      completeIfFull(barrier);
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

Run::Run(const Kernel &kernel, const Launch &launch, const Limits &limits, Memory &memory,
         const std::vector<std::byte> &constants)
    : kernel(kernel), launch(launch), limits(limits), memory(memory), constants(constants),
      random(launch.schedule.seed) {
  sharedBytes = kernel.dynamicShared + launch.dynamicShared;
  parameters.resize(kernel.parameterBytes);
  for (size_t i = 0; i < kernel.function->parameters.size(); ++i)
    std::ranges::copy(launch.parameters[i],
                      parameters.begin() + kernel.function->parameters[i].offset);
}

void Run::startCtas() {
  const size_t most = std::max(1u, launch.schedule.ctasInFlight);
  while (inFlight.size() < most && next < launch.grid.count()) {
    inFlight.push_back(std::make_unique<Cta>(*this, next));
    ++next;
  }
}

void Run::reportWaits(const char *what) {
  std::string places;
  for (const auto &cta : inFlight)
    for (const auto &warp : cta->warps)
      if (!warp->isDone) {
        if (places.size() > 600) {
          places += "; ...";
          goto full;
        }
        places += (places.empty() ? "" : "; ") + warp->describe(kWarpSize) + " of CTA " +
                  std::to_string(cta->number) + " at " + warp->place() +
                  (warp->barrier >= 0 ? ", barrier " + std::to_string(warp->barrier) : "");
      }
full:
  throw Fault{std::string(what) + ": " + places, current ? current->line : 0};
}

} // namespace pe::ptx
