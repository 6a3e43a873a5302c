//===- Turns.h - CTAs add to shared data in a fixed order -------*- C++ -*-===//
//
// Sums across CTAs are added in a fixed order, so that they are bitwise equal in every run. A
// ticket counts the CTAs that have added; a CTA waits for its number, adds to an f32 buffer, and
// increments the ticket. The order follows the items, which CTAs take from a counter
// (FragmentKernel), so that a CTA only waits for CTAs that are running or have finished, regardless
// of the order in which the device starts them, and how many run at once. A step waits for all its
// turns together and passes them on together.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_TURNS_H
#define PE_PASSES_TOGPU_TURNS_H

#include "passes/ToGPU/KernelBuilder.h"

#include <functional>

namespace mlir::tile::gpu {

class FragmentKernel;

/// The work that the CTA does when the ticket reaches `number`. The ticket is then incremented.
struct Turn {
  Value ticket;
  Num number;
  std::function<void()> work = {};
};

/// Waits for the turns, by one thread of a different warp for each. A barrier must follow.
void waitForTurns(FragmentKernel &k, ArrayRef<Turn> turns);
/// Passes the turns on. A barrier must precede: it orders the stores of all threads before that.
void passTurnsOn(FragmentKernel &k, ArrayRef<Turn> turns);
/// Waits for the turns, does their work and passes them on.
void takeTurns(FragmentKernel &k, ArrayRef<Turn> turns);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_TURNS_H
