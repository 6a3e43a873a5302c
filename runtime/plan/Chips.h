//===- Chips.h - The GPUs that kernels are compiled for ---------*- C++ -*-===//
//
// The chips that support the instructions of the kernels (mma.sync for bf16, cp.async). Sizes are
// those of the CUDA programming guide, table of compute capabilities.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_CHIPS_H
#define PE_RUNTIME_PLAN_CHIPS_H

#include <string_view>

namespace pe::plan {

struct Chip {
  std::string_view name; // as LLVM and ptxas write it; a letter allows no other chip
  int capability;        // 90 for compute capability 9.0
  int lowestPtx;         // the lowest PTX version that LLVM 22 accepts, 78 for 7.8
  int usualPtx;          // the version that every CUDA 12 driver accepts, or the first of the chip
  int sharedBytes;       // of one CTA
  int threads;           // of a multiprocessor
};

inline constexpr Chip kChips[] = {
    {"sm_80", 80, 70, 80, 166912, 2048},    {"sm_86", 86, 71, 80, 101376, 1536},
    {"sm_89", 89, 78, 80, 101376, 1536},    {"sm_90", 90, 78, 80, 232448, 2048},
    {"sm_90a", 90, 80, 80, 232448, 2048},   {"sm_100", 100, 86, 86, 232448, 2048},
    {"sm_100a", 100, 86, 86, 232448, 2048}, {"sm_103", 103, 88, 88, 232448, 2048},
    {"sm_120", 120, 87, 87, 101376, 1536},
};

/// Returns the first chip of a compute capability, or null.
constexpr const Chip *chipOf(int capability) {
  for (const Chip &chip : kChips)
    if (chip.capability == capability)
      return &chip;
  return nullptr;
}

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_CHIPS_H
