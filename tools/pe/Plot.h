//===- Plot.h - pictures of encodings and of runs ---===//
//
// A kind of picture is a row of a table (PlotCommand.cpp): its name, what it shows, and the
// function that draws it from an encoding or from a run. Each picture is an SVG and the plotted
// numbers.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_PLOT_H
#define PE_TOOLS_PE_PLOT_H

#include "runtime/chart/Csv.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/train/report/RunFile.h"
#include "tools/pe/Inputs.h"
#include "tools/pe/Materialize.h"

namespace pe::cli {

struct PlotOptions {
  std::string file, entry, out = ".", in, shape;
  uint64_t seed = 1;
  std::vector<std::string> kinds;
  std::vector<int64_t> heads, queries, dims;
  std::optional<int64_t> length;
  int64_t layer = 0;
  int threads = 0;
};

struct Picture {
  std::string name; ///< of both files, without ending
  std::string svg, csv;
};
using Pictures = Expected<std::vector<Picture>>;

/// An encoding with values for its parameters.
class PlottedEncoding {
public:
  static Expected<PlottedEncoding> load(const PlotOptions &options);

  /// The file's name without folder and ending.
  const std::string &name() const { return title; }
  const PlotOptions &options() const { return settings; }
  int64_t headDim() const { return sizes.at("d"); }
  int64_t headCount() const { return sizes.at("h"); }
  /// The heads to draw.
  const std::vector<int64_t> &heads() const { return shown; }
  /// "parameters drawn with seed 1; ", or where they come from, or nothing if there are none.
  const std::string &source() const { return parametersFrom; }
  /// An error at the entry: this kind of picture needs what the function lacks.
  Error lacks(const std::string &what) const;

  /// Bias and rotation of `queries` queries from position `first` on and of the keys at 0 to
  /// `keys` - 1, compared with the reference.
  Expected<MaterializedCall> read(int64_t first, int64_t queries, int64_t keys) const;
  /// The weights of `length` queries and keys, [1, H, length, length]: the compiled attention
  /// applied to the unit vectors as values, and the reference's.
  struct Weights {
    Tensor found, expected, allowed;
  };
  Expected<Weights> weights(int64_t length) const;
  /// What an entry @embed adds to the tokens at positions 0 to `length` - 1, [length, Dm].
  struct Embedded {
    Tensor found, expected;
    bool isCompiled = false;
  };
  Expected<Embedded> embedding(int64_t length) const;
  /// Whether the function embeds tokens and attends to nothing.
  bool isEmbedding() const { return embeds; }
  /// Whether a query sees keys behind it.
  bool seesLaterKeys() const { return looksAhead; }
  bool hasBias() const { return biased; }

private:
  Status readParameters();
  Status findHeads();
  Expected<TensorMap> argumentsFor(int64_t queries, int64_t keys, int64_t valueDim,
                                   bool withData) const;

  PlotOptions settings;
  std::string title, parametersFrom;
  std::shared_ptr<const api::ProgramState> program;
  std::shared_ptr<cpu::ThreadPool> pool;
  Sizes sizes;
  TensorMap given; // from --in
  std::vector<int64_t> shown;
  bool looksAhead = false, biased = false, embeds = false;
};

Pictures plotBias(const PlottedEncoding &encoding);
Pictures plotDistance(const PlottedEncoding &encoding);
Pictures plotQueries(const PlottedEncoding &encoding);
Pictures plotFunction(const PlottedEncoding &encoding);
Pictures plotRotation(const PlottedEncoding &encoding);
Pictures plotWeights(const PlottedEncoding &encoding);
Pictures plotEmbedding(const PlottedEncoding &encoding);
Pictures plotDimensions(const PlottedEncoding &encoding);

/// What a run left behind, and what to call it.
struct PlottedRun {
  std::string name, path;
  train::RunFile file;
};

Pictures plotTraining(const PlottedRun &run);
Pictures plotLengths(const PlottedRun &run);
Pictures plotRoofline(const PlottedRun &run);

} // namespace pe::cli

#endif // PE_TOOLS_PE_PLOT_H
