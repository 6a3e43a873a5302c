//===- Timing.h - Timing of complete calls ---===//
#ifndef PE_TOOLS_PE_TIMING_H
#define PE_TOOLS_PE_TIMING_H

#include "runtime/api/Compiler.h"

#include <optional>

namespace pe::cli {

/// Medians over complete calls, including tables and preparation, without compilation and file
/// access.
struct Timing {
  double forwardSeconds = 0, backwardSeconds = 0; // backward is 0 if not requested
  double forwardFlops = 0, backwardFlops = 0;     // useful operations of one call
  double forwardShare = 0, backwardShare = 0;     // of the FMA peak measured between the calls
  int threads = 1;

  /// True if the useful work is known (one attention), and if there is a peak for comparison (on
  /// the CPU).
  bool countsWork = true, hasPeak = true;

  /// For an embedding, which is memory-bound: the bytes of the tokens that are read and written,
  /// and the time of a copy of as many bytes by the same threads, measured between the calls.
  double forwardBytes = 0, backwardBytes = 0, forwardCopyShare = 0, backwardCopyShare = 0;

  /// The line of `pe run --time`.
  std::string json(const std::string &structure) const;
};

/// Times calls of a function. `pairs` is the number of unmasked pairs, if the plan's range of i - j
/// does not determine it.
Expected<Timing> timeCalls(const api::CompiledFunction &function, const TensorMap &arguments,
                           const TensorMap &cotangents, const Positions &positions,
                           ParallelFor &pool, int repeats, std::optional<double> pairs = {});

/// Counts the unmasked pairs of all heads and batch entries with the mask of the program. Returns
/// nullopt if the mask is a range of i - j, which the plan contains, or if the number of attentions
/// is not one. In a call with lengths the pairs of each batch entry are counted; more than one
/// attention is then an error.
Expected<std::optional<double>> countMaskedPairs(const jit::Description &description,
                                                 const TensorMap &arguments,
                                                 const Positions &positions, unsigned threads);

/// Counts the unmasked pairs of one head and batch entry: those with
/// window.low <= i - j <= window.high and i >= 0.
double countPairs(const plan::Plan &plan, const plan::CallSizes &sizes);

double medianOf(std::vector<double> values);

} // namespace pe::cli

#endif // PE_TOOLS_PE_TIMING_H
