//===- PlotParts.h - Shared parts of the plots of encodings ---===//
#ifndef PE_TOOLS_PE_PLOTPARTS_H
#define PE_TOOLS_PE_PLOTPARTS_H

#include "runtime/chart/Heatmap.h"
#include "runtime/chart/LineChart.h"
#include "runtime/chart/SvgWriter.h"
#include "tools/pe/Plot.h"

#include <functional>

namespace pe::cli {

/// Default lengths, and upper bounds on lengths.
inline constexpr int64_t kDefaultLength = 64, kDefaultWeights = 32, kDefaultRotation = 64;
inline constexpr int64_t kLongestMap = 2048, kLongestRow = 1 << 17, kMostCells = 128,
                         kLongestMask = 256;
/// Logits this far below the largest one of a head have no visible effect on weights.
inline constexpr double kShownLogits = 30;

/// Returns an element of a tensor [1, H, queries, keys] of f32 or f64.
double at(const Tensor &tensor, int64_t head, int64_t row, int64_t column);
/// Returns true if the mask [1, queries, keys] keeps the pair.
bool isAllowed(const Tensor &allowed, int64_t row, int64_t key);

/// Returns --length, checked for a kind of plot.
Expected<int64_t> lengthOf(const PlottedEncoding &encoding, int64_t otherwise, int64_t most,
                           const char *kind);
/// Returns the queries of --query in ascending order. By default, the middle of the length and, for
/// a bias by distance, also 128 and 8192.
Expected<std::vector<int64_t>> queriesOf(const PlottedEncoding &encoding);
/// Returns the number of keys of a query in a plot: as many after it as before it, or none after
/// it.
int64_t keysOf(const PlottedEncoding &encoding, int64_t query);
/// Samples [0, count): all integers near 0, then some of every octave.
std::vector<int64_t> octaves(int64_t count);

/// Returns the subtitle: the source of the values, and the heads if not all are drawn.
std::string subtitle(const PlottedEncoding &encoding, bool isCompiled);

/// Heads with the same plot, drawn once.
struct HeadGroup {
  int64_t first;
  /// "head 3", "heads 0–7", "heads 0, 2"
  std::string name;
};
/// Groups the heads by their plotted values (NaN equals NaN).
std::vector<HeadGroup> groupHeads(const std::vector<int64_t> &heads,
                                  const std::function<std::vector<double>(int64_t)> &numbersOf);
/// Returns "heads 0–7".
std::string nameOfHeads(const std::vector<int64_t> &heads);

/// Clips a chart of logits kShownLogits below the largest value of each series, unless --full-range
/// is set. Adds a note to the subtitle if anything is clipped.
void clipLogits(const PlottedEncoding &encoding, chart::LineChart &chart);
/// Returns the value, clipped to kShownLogits below `largest` unless --full-range is set.
double clippedLogit(const PlottedEncoding &encoding, double value, double largest);

} // namespace pe::cli

#endif // PE_TOOLS_PE_PLOTPARTS_H
