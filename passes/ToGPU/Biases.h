//===- Biases.h - functions of the distance on fragments ------------------===//
#ifndef PE_PASSES_TOGPU_BIASES_H
#define PE_PASSES_TOGPU_BIASES_H

#include "passes/ToGPU/Emitters.h"

namespace mlir::tile::gpu {

/// Loads table[row - column + (c - 1)] for every pair of the warp's block from its window. Pairs of
/// one diagonal share a register. Pairs that do not exist get an entry of the table or zero.
Registers loadWindow(Step &step, Value table);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_BIASES_H
