//===- GpuModel.h - predicted cycles of GPU kernels ---===//
//
// Estimates the effect of a kernel change without a GPU: counts the instructions of one iteration
// of the main loop in the PTX and divides them by what a multiprocessor does per cycle.
//
//   roofline   the busiest unit alone: everything else overlaps with it
//   serial     nothing overlaps: the units run one after another
//
// A real kernel lies in between. Not modelled: register allocation, latencies, bank conflicts,
// memory beyond the multiprocessor, ptxas optimizations. Rates are those of runtime/plan/Machine.h,
// per multiprocessor and cycle.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_GPUMODEL_H
#define PE_TOOLS_PE_GPUMODEL_H

#include "pe/Error.h"
#include "runtime/plan/Machine.h"
#include "runtime/plan/Product.h"

#include <map>
#include <string>
#include <vector>

namespace pe::cli {

/// Instructions of one warp in one iteration of the main loop, by the unit that executes them.
struct LoopCounts {
  int64_t instructions = 0;
  int64_t matrix = 0;  // mma.sync m16n8k16
  int64_t fma = 0;     // f32 add, multiply, multiply-add, conversions
  int64_t alu = 0;     // integers, comparisons, selections, minima and maxima
  int64_t special = 0; // ex2, lg2, rcp ...
  int64_t shared = 0;  // cycles of 128 bytes: ldmatrix, ld.shared, st.shared, shfl
  int64_t global = 0;  // ld.global, st.global, cp.async

  /// The hot path: of the paths through the loop that multiply and copy most, the shortest.
  /// `loop` is empty if a kernel has no loop with a contraction.
  static std::map<std::string, LoopCounts> ofKernels(const std::string &ptx);
  /// Threads of a CTA, by kernel.
  static std::map<std::string, int> threadsOf(const std::string &ptx);
};

/// A product and the rates of its multiprocessors.
struct ModelledGpu {
  const plan::Product *product;
  const plan::Machine *machine;

  /// Returns the multiply-adds of mma.sync on 16-bit elements, per cycle.
  double matrixPerCycle() const;
};
/// Lists the chips of all products: "sm_80, sm_86 ...".
std::string modelledChips();
/// Returns the product with a chip, "sm_90" or "sm_90a".
Expected<ModelledGpu> findProduct(const std::string &chip);

struct Prediction {
  double rooflineCycles = 0, serialCycles = 0; // of a CTA's pass through the loop
  std::string busiest;
  double rooflineTeraflops = 0, serialTeraflops = 0; // of the useful work, without masked blocks
};
Prediction predict(const LoopCounts &counts, int threads, const ModelledGpu &gpu);

} // namespace pe::cli

#endif // PE_TOOLS_PE_GPUMODEL_H
