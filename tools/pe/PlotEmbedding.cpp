//===- PlotEmbedding.cpp - Plots of embeddings ---===//
#include "runtime/chart/Heatmap.h"
#include "runtime/chart/LineChart.h"
#include "runtime/chart/SvgWriter.h"
#include "tools/pe/Plot.h"

#include <algorithm>
#include <set>

namespace pe::cli {
namespace {

using chart::Csv;

constexpr int64_t kDefaultLength = 128, kLongest = 1 << 17, kMostCells = 128, kMostPoints = 512;

/// Returns an element of a tensor [length, Dm] of f32 or f64.
double at(const Tensor &tensor, int64_t position, int64_t dim) {
  const int64_t place = position * tensor.dim(1) + dim;
  return tensor.dtype() == DType::F32 ? tensor.data<float>()[place] : tensor.data<double>()[place];
}

std::string subtitle(const PlottedEncoding &encoding, const PlottedEncoding::Embedded &embedded) {
  return encoding.source() +
         (embedded.isCompiled ? "from compiled code" : "from the float64 reference");
}

Expected<PlottedEncoding::Embedded> read(const PlottedEncoding &encoding, const char *kind) {
  if (!encoding.isEmbedding())
    return encoding.lacks("an embedding of tokens (pe.embed)");
  const int64_t length = encoding.options().length.value_or(kDefaultLength);
  if (length < 1 || length > kLongest)
    return makeError("--length: expected 1 to ", kLongest, " for kind ", kind, ", found ", length);
  return encoding.embedding(length);
}

/// Returns the step between drawn dimensions. It is odd, because adjacent dimensions are often
/// sines and cosines.
int64_t stepOf(int64_t dims) {
  const int64_t step = (dims + kMostCells - 1) / kMostCells;
  return step == 1 ? 1 : step | 1;
}

/// Returns the dimensions of --dims. By default, the first one and pairs of adjacent later ones:
/// many high-frequency curves in one plot would not be readable.
Expected<std::vector<int64_t>> dimsOf(const PlottedEncoding &encoding, int64_t width) {
  std::set<int64_t> dims(encoding.options().dims.begin(), encoding.options().dims.end());
  if (dims.empty())
    for (int64_t dim : {int64_t(0), width / 4, width / 4 + 1, width / 2, width / 2 + 1})
      if (dim < width)
        dims.insert(dim);
  for (int64_t dim : dims)
    if (dim < 0 || dim >= width)
      return makeError("--dims: expected dimensions of 0 to ", width - 1, ", found ", dim);
  return std::vector<int64_t>(dims.begin(), dims.end());
}

} // namespace

Pictures plotEmbedding(const PlottedEncoding &encoding) {
  auto embedded = read(encoding, "embedding");
  if (!embedded)
    return embedded.takeError();
  const int64_t length = embedded->found.dim(0), width = embedded->found.dim(1);
  const int64_t step = (length + 255) / 256, dimStep = stepOf(width);
  chart::Heatmap map{.title = encoding.name() + ": embedding of tokens with " +
                              std::to_string(width) + " dimensions",
                     .subtitle = subtitle(encoding, *embedded),
                     .xLabel = "position",
                     .yLabel = "dimension",
                     .valueLabel = "embedding",
                     .xStep = static_cast<double>(step),
                     .yStep = static_cast<double>(dimStep),
                     .colors = chart::HeatmapColors::Signed,
                     .size = 340,
                     .width = chart::kPictureWidth};
  Csv csv({"position", "dimension", "embedding", "reference"});
  chart::HeatmapPanel panel;
  for (int64_t dim = 0; dim < width; dim += dimStep) {
    panel.rows.emplace_back();
    for (int64_t position = 0; position < length; position += step) {
      panel.rows.back().push_back(at(embedded->found, position, dim));
      csv.add({position, dim, panel.rows.back().back(), at(embedded->expected, position, dim)});
    }
  }
  map.panels.push_back(std::move(panel));
  return std::vector<Picture>{{encoding.name() + "-embedding", toSvg(map), csv.text()}};
}

Pictures plotDimensions(const PlottedEncoding &encoding) {
  auto embedded = read(encoding, "dimensions");
  if (!embedded)
    return embedded.takeError();
  const int64_t length = embedded->found.dim(0), step = (length + kMostPoints - 1) / kMostPoints;
  auto dims = dimsOf(encoding, embedded->found.dim(1));
  if (!dims)
    return dims.takeError();
  chart::LineChart chart{.title = encoding.name() + ": dimensions of an embedding of width " +
                                  std::to_string(embedded->found.dim(1)),
                         .subtitle = subtitle(encoding, *embedded),
                         .xLabel = "position",
                         .yLabel = "embedding",
                         .width = chart::kPictureWidth};
  Csv csv({"dimension", "position", "embedding", "reference"});
  for (int64_t dim : *dims) {
    chart::Series series{.name = "dim " + std::to_string(dim)};
    for (int64_t position = 0; position < length; position += step) {
      const double value = at(embedded->found, position, dim);
      series.points.emplace_back(position, value);
      csv.add({dim, position, value, at(embedded->expected, position, dim)});
    }
    chart.series.push_back(std::move(series));
  }
  return std::vector<Picture>{{encoding.name() + "-dimensions", toSvg(chart), csv.text()}};
}

} // namespace pe::cli
