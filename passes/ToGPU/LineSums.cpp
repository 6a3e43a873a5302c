//===- LineSums.cpp - sums over the owners of a block ---------------------===//
//
// A lane has a term for each of its inner elements, and the eight lanes with these elements each
// have others. They halve the elements between them, so that a sum of 16 elements takes 14 shuffles
// instead of 48, and a lane keeps two of them. The sums of the warps are added by the thread that
// adds the element to its buffer. Sums over all lanes of a warp are halved in the same way.
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/Folds.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

Num mlir::tile::gpu::sumBetweenLanes(FragmentKernel &k, ArrayRef<int> masks, Registers &sums) {
  KernelBuilder &b = k.b;
  Num first = 0;
  for (int mask : masks) {
    const size_t half = sums.size() / 2;
    if (sums.size() % 2) {
      for (Value &sum : sums)
        sum = b.add(sum, b.shuffleXor(sum, mask));
      continue;
    }
    Num part = k.lane / Num(mask) % Num(2);
    Value isHigh = b.compare(arith::CmpIPredicate::eq, part, 1);
    for (size_t i = 0; i < half; ++i) {
      Value kept = b.select(isHigh, sums[i + half], sums[i]);
      Value passed = b.select(isHigh, sums[i], sums[i + half]);
      sums[i] = b.add(kept, b.shuffleXor(passed, mask));
    }
    sums.truncate(half);
    first = first + part * Num(half);
  }
  return first;
}

LineSum mlir::tile::gpu::stageLine(FragmentKernel &k, Value buffer, const SpaceSet &spaces,
                                   Registers sums) {
  KernelBuilder &b = k.b;
  const Num first = sumBetweenLanes(k, {16, 8, 4}, sums);
  const int64_t inner = k.schedule.innerBlock;
  const int64_t offset = k.shared.allocate(k.schedule.warps * inner * 4);
  for (auto [index, sum] : llvm::enumerate(sums)) {
    Num number = first + Num(index);
    Num at = k.warp * Num(inner) + number / Num(2) * Num(8) + k.t * Num(2) + number % Num(2);
    b.store(sum, k.shared.at(at * Num(4) + Num(offset)));
  }
  return {buffer, spaces, offset};
}

void mlir::tile::gpu::addLineSum(Step &step, const LineSum &line) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  const int64_t inner = k.schedule.innerBlock;
  for (int64_t begin = 0; begin < inner; begin += k.schedule.threads()) {
    Num index = k.thread + Num(begin), element = step.at.base + index;
    Value exists = b.both(b.less(index, Num(inner)), b.less(element, k.limitOf(line.spaces)));
    b.ifThen(exists, [&] {
      Num at = k.layout.standing(index);
      Value total;
      for (int64_t w = 0; w < k.schedule.warps; ++w) {
        Num place = (at + Num(w * inner)) * Num(4) + Num(line.offset);
        Value sum = b.load(b.f32(), k.shared.at(place));
        total = total ? b.add(total, sum) : sum;
      }
      Place place = step.place();
      (hasRows(line.spaces) ? place.r : place.c) = element;
      Value address = k.fn.address(line.buffer, place);
      b.store(b.add(b.load(b.f32(), address), total), address);
    });
  }
}
