//===- LaneSums.h - sums over the inner side, divided among lanes -*- C++ -*-===//
//
// A block's sum over the inner side is reduced in the four lanes of a quad. If the stream only
// carries such a sum, multiplied by factors of the owner, then every lane carries the sum of the
// pairs that it holds, and the quad is reduced once, after the stream:
//
//   %sum  = tile.reduce add %p over "c"             each lane: the sum of its pairs
//   %next = tile.map(%l, %alpha, %sum)              l * alpha + sum, linear in l and sum together
//   tile.yield ..., %next, ...                      nothing else reads %l, %sum or %next
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_LANESUMS_H
#define PE_PASSES_TOGPU_LANESUMS_H

#include "passes/ToGPU/FragmentKernel.h"

namespace mlir::tile::gpu {

/// The carries of a stream that lanes hold in parts.
class LaneSums {
public:
  explicit LaneSums(StreamOp stream);

  /// Returns true if result `index` of the stream is a sum of the parts in the lanes of a quad.
  bool isDivided(unsigned index) const { return carries.contains(index); }
  /// Returns the parts of a start value: the whole in the first lane of a quad, zero in the others.
  Registers divide(FragmentKernel &k, const Registers &values) const;

private:
  llvm::DenseSet<unsigned> carries;
};

/// Returns true if the lanes of a quad keep the parts of this sum (LaneSums).
bool isLaneSum(ReduceOp op);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_LANESUMS_H
