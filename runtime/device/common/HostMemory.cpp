//===- HostMemory.cpp - Clears and copies around host stages --------------===//

#include "runtime/device/common/HostMemory.h"

#include "runtime/core/StridedCopy.h"
#include "runtime/device/common/ViewRuns.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace pe::device {

namespace {

/// Sets bytes, in parallel pieces of 1 MiB.
void fillBytes(void *begin, int64_t bytes, int byte, ParallelFor &pool) {
  constexpr int64_t kPiece = int64_t(1) << 20;
  char *first = static_cast<char *>(begin);
  parallelFor(pool, (bytes + kPiece - 1) / kPiece, [&](int64_t piece) {
    const int64_t from = piece * kPiece;
    std::memset(first + from, byte, static_cast<size_t>(std::min(kPiece, bytes - from)));
  });
}

/// Copies between a view and its packed copy, in parallel over the first axis.
void copyView(const View &view, char *packed, bool intoView, ParallelFor &pool) {
  StridedCopy copy = packingOf(view, intoView);
  char *strided = static_cast<char *>(view.data);
  char *to = intoView ? strided : packed;
  const char *from = intoView ? packed : strided;
  parallelFor(pool, copy.parts(), [&](int64_t part) { copy.run(part, to, from); });
}

/// Fills the elements that the call will write with NaN, but not the gaps between rows of a view.
void poisonBuffer(const BoundCall &call, size_t index, char *first, ParallelFor &pool) {
  const Slot &slot = call.slot(index);
  if (slot.bytes == slot.reach) {
    fillBytes(call.address(index, first), slot.bytes, 0xFF, pool);
    return;
  }
  const std::vector<char> packed(static_cast<size_t>(slot.bytes), char(0xFF));
  copyView(call.viewAt(slot.view), const_cast<char *>(packed.data()), /*intoView=*/true, pool);
}

void copyPacked(const BoundCall &call, char *first, bool isBefore, ParallelFor &pool) {
  for (size_t i = 0; i < call.slotCount(); ++i) {
    const Slot &slot = call.slot(i);
    if (slot.isPacked && slot.isWritten != isBefore)
      copyView(call.viewAt(slot.view), first + slot.offset, !isBefore, pool);
  }
}

/// Adds up element `index` (in row-major order) of the parts that contain it.
template <typename T> void sumElement(const BoundEntries::Sum &sum, int64_t index) {
  const View &result = *sum.result;
  int64_t place[PE_MAX_RANK], to = 0;
  for (int k = result.rank; k-- > 0; index /= result.shape[k]) {
    place[k] = index % result.shape[k];
    to += place[k] * result.strides[k];
  }
  double total = 0;
  bool isFirst = true; // the sum of one part has its bits, -0 included
  for (const View *part : sum.parts) {
    int64_t from = 0;
    bool isInside = true;
    for (int k = 0; k < part->rank; ++k) {
      isInside &= place[k] < part->shape[k];
      from += place[k] * part->strides[k];
    }
    if (!isInside)
      continue;
    const double value = static_cast<const T *>(part->data)[from];
    total = isFirst ? value : total + value;
    isFirst = false;
  }
  static_cast<T *>(result.data)[to] = static_cast<T>(total);
}

void addUp(const BoundEntries::Sum &sum, ParallelFor &pool) {
  constexpr int64_t kPiece = 1024;
  int64_t count = 1;
  for (int k = 0; k < sum.result->rank; ++k)
    count *= sum.result->shape[k];
  parallelFor(pool, (count + kPiece - 1) / kPiece, [&](int64_t piece) {
    const int64_t end = std::min((piece + 1) * kPiece, count);
    for (int64_t index = piece * kPiece; index < end; ++index)
      sum.result->dtype == PE_F64 ? sumElement<double>(sum, index) : sumElement<float>(sum, index);
  });
}

} // namespace

void completeOnHost(const BoundEntries &entries, ParallelFor &pool) {
  parallelFor(pool, static_cast<int64_t>(entries.size()), [&](int64_t entry) {
    (void)entries.forEachTail(static_cast<size_t>(entry), [](const View &tail) {
      const ViewRuns runs(tail);
      for (int64_t run = 0; run < runs.size(); ++run)
        std::memset(runs[run], 0, static_cast<size_t>(runs.bytes()));
      return Status::success();
    });
  });
  for (const BoundEntries::Sum &sum : entries.sums())
    addUp(sum, pool);
}

void poisonOnHost(const BoundCall &call, char *first, ParallelFor &pool) {
  fillBytes(first, call.usedBytes(), 0xFF, pool);
  for (size_t i = 0; i < call.slotCount(); ++i)
    if (call.slot(i).isWritten && call.slot(i).place == Slot::Place::View)
      poisonBuffer(call, i, first, pool);
}

void beginOnHost(const BoundCall &call, char *first, ParallelFor &pool) {
  fillBytes(first, call.zeroedBytes(), 0, pool);
  for (size_t i = 0; i < call.slotCount(); ++i)
    if (call.slot(i).isCleared)
      fillBytes(call.address(i, first), call.slot(i).bytes, 0, pool);
  copyPacked(call, first, /*isBefore=*/true, pool);
}

void endOnHost(const BoundCall &call, char *first, ParallelFor &pool) {
  copyPacked(call, first, /*isBefore=*/false, pool);
}

} // namespace pe::device
