//===- PlotParts.h - what pictures of encodings have in common ---===//
#ifndef PE_TOOLS_PE_PLOTPARTS_H
#define PE_TOOLS_PE_PLOTPARTS_H

#include "runtime/chart/Heatmap.h"
#include "runtime/chart/LineChart.h"
#include "runtime/chart/SvgWriter.h"
#include "tools/pe/Plot.h"

#include <functional>

namespace pe::cli {

/// Lengths without --length, and the longest ones.
inline constexpr int64_t kDefaultLength = 64, kDefaultWeights = 32, kDefaultRotation = 64;
inline constexpr int64_t kLongestMap = 2048, kLongestRow = 1 << 17, kMostCells = 128,
                         kLongestMask = 256;
/// Logits this far below the largest one of a head change no weight that can be seen.
inline constexpr double kShownLogits = 30;

/// One number of [1, H, queries, keys], f32 or f64.
double at(const Tensor &tensor, int64_t head, int64_t row, int64_t column);
/// Whether the mask [1, queries, keys] leaves the pair.
bool isAllowed(const Tensor &allowed, int64_t row, int64_t key);

/// --length, checked for a kind of picture.
Expected<int64_t> lengthOf(const PlottedEncoding &encoding, int64_t otherwise, int64_t most,
                           const char *kind);
/// The queries of --query, ascending, or the middle of the length, and of a bias by distance also
/// 128 and 8192.
Expected<std::vector<int64_t>> queriesOf(const PlottedEncoding &encoding);
/// How many keys one query of a picture has: as many after it as before it, or none after it.
int64_t keysOf(const PlottedEncoding &encoding, int64_t query);
/// Of `count` numbers: all near 0, then some of every octave.
std::vector<int64_t> octaves(int64_t count);

/// Under the title: where the numbers come from, and which heads are drawn if not all are.
std::string subtitle(const PlottedEncoding &encoding, bool isCompiled);

/// Heads that look the same, drawn once.
struct HeadGroup {
  int64_t first;
  /// "head 3", "heads 0–7", "heads 0, 2"
  std::string name;
};
/// Groups the heads by the numbers that are drawn of each (NaN equals NaN).
std::vector<HeadGroup> groupHeads(const std::vector<int64_t> &heads,
                                  const std::function<std::vector<double>(int64_t)> &numbersOf);
/// "heads 0–7"
std::string nameOfHeads(const std::vector<int64_t> &heads);

/// Clips a chart of logits kShownLogits below the largest number of each series, unless
/// --full-range was given, and says so in the subtitle where something is clipped.
void clipLogits(const PlottedEncoding &encoding, chart::LineChart &chart);
/// Without --full-range, the number, or the least that is still shown beside `largest`.
double clippedLogit(const PlottedEncoding &encoding, double value, double largest);

} // namespace pe::cli

#endif // PE_TOOLS_PE_PLOTPARTS_H
