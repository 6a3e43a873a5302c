//===- Turns.h - CTAs add to shared data in a fixed order -------*- C++ -*-===//
//
// Sums across CTAs are added in a fixed order, so that they are the same to the bit in every run: a
// ticket counts the CTAs that have added; a CTA waits for its number, adds to an f32 buffer, and
// passes the ticket on. The order is that of the items, which CTAs take from a counter
// (StreamStage), so that a CTA only waits for one that is running or has finished, in whatever
// order the device starts them. All turns of a step are waited for and passed on together.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_TURNS_H
#define PE_PASSES_TOGPU_TURNS_H

#include "passes/ToGPU/KernelBuilder.h"

#include <functional>

namespace mlir::tile::gpu {

class FragmentKernel;

/// What the CTA does once the ticket shows `number`; then it shows the next.
struct Turn {
  Value ticket;
  Num number;
  std::function<void()> work;
};

void takeTurns(FragmentKernel &k, ArrayRef<Turn> turns);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_TURNS_H
