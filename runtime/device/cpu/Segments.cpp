//===- Segments.cpp - Pieces of a chain of maps, found on the host --------===//
#include "runtime/device/cpu/Segments.h"

#include "runtime/device/library/FindSegments.h"

#include <algorithm>
#include <memory>

void pe_find_segments(const PeFindSegments *call) {
  using namespace pe::segments;
  const auto *links = reinterpret_cast<const Link *>(call + 1);
  int64_t width = 1;
  for (int64_t i = 0; i < call->linkCount; ++i)
    width = std::max(width, links[i].outputs);
  const auto scratch = std::make_unique_for_overwrite<double[]>(
      segmentsScratch(1, call->degree, width, call->capacity + 1));
  SegmentFinder<pe::cpu::HostPlatform>({}, *call, scratch.get()).run();
}
