//===- Timing.h - whole calls, timed beside the machine's peak ---===//
#ifndef PE_TOOLS_PE_TIMING_H
#define PE_TOOLS_PE_TIMING_H

#include "runtime/api/Compiler.h"

#include <optional>

namespace pe::cli {

/// Medians over whole calls, including tables and preparation but not compilation and file access.
struct Timing {
  double forwardSeconds = 0, backwardSeconds = 0; // backward 0: not asked for
  double forwardFlops = 0, backwardFlops = 0;     // useful ones of one call
  double forwardShare = 0, backwardShare = 0;     // of the FMA peak measured between the calls
  int threads = 1;

  /// Whether the useful work is known (one attention), and whether there is a peak to compare with
  /// (on the CPU).
  bool countsWork = true, hasPeak = true;

  /// Of an embedding, whose work is memory: bytes of the tokens that are read and written, and the
  /// time of a copy of as many bytes by the same threads between the calls.
  double forwardBytes = 0, backwardBytes = 0, forwardCopyShare = 0, backwardCopyShare = 0;

  /// The line of `pe run --time`.
  std::string json(const std::string &structure) const;
};

/// `pairs`: how many pairs the mask leaves, where the plan's range of i - j does not say it.
Expected<Timing> timeCalls(const api::CompiledFunction &function, const TensorMap &arguments,
                           const TensorMap &cotangents, const Positions &positions,
                           ParallelFor &pool, int repeats, std::optional<double> pairs = {});

/// Unmasked pairs of all heads and batch entries, by the program's own mask; none where it is a
/// range of i - j, which the plan knows, or where there is not one attention.
Expected<std::optional<double>> countMaskedPairs(const std::string &program,
                                                 const TensorMap &arguments,
                                                 const Positions &positions, unsigned threads);

/// Unmasked pairs of one head and batch entry: those with window.low <= i - j <= window.high and
/// i >= 0.
double countPairs(const plan::Plan &plan, const plan::CallSizes &sizes);

double medianOf(std::vector<double> values);

} // namespace pe::cli

#endif // PE_TOOLS_PE_TIMING_H
