//===- Plot.h - Plots of encodings and runs ---===//
//
// A kind of plot is a row of a table (PlotCommand.cpp): its name, a description, and the function
// that draws it from an encoding or a run. Each plot is an SVG and a CSV of the plotted numbers.
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
  /// The side N of an image of N x N tokens.
  std::optional<int64_t> grid;
  bool fullRange = false, sharedScale = false;
};

struct Picture {
  std::string name; ///< of both files, without extension
  std::string svg, csv;
};
using Pictures = Expected<std::vector<Picture>>;

/// The arguments of a bias, according to the classes of its terms.
enum class BiasShape : uint8_t {
  None,
  /// For each query, a function of the distance.
  Distance,
  /// A value per query, a value per key, or the sum of both.
  RowColumn,
  /// Any other bias.
  General,
};

/// Returns the shape of the bias of a function with this structure (plan::Plan::structure).
BiasShape biasShapeOf(const std::string &structure);

/// An encoding with values for its parameters.
class PlottedEncoding {
public:
  static Expected<PlottedEncoding> load(const PlotOptions &options);

  /// The name of the file without directory and extension.
  const std::string &name() const { return title; }
  const PlotOptions &options() const { return settings; }
  int64_t headDim() const { return sizes.at("d"); }
  int64_t headCount() const { return sizes.at("h"); }
  /// The heads to draw.
  const std::vector<int64_t> &heads() const { return shown; }
  /// The source of the parameters, such as "parameters drawn with seed 1; ". Empty if there are
  /// none.
  const std::string &source() const { return parametersFrom; }
  /// Returns an error at the entry: the function lacks `what`, which this kind of plot requires.
  Error lacks(const std::string &what) const;

  /// Computes the bias and rotation of `queries` queries from position `first` on and of the keys
  /// at 0 to `keys` - 1, compared with the reference.
  Expected<MaterializedCall> read(int64_t first, int64_t queries, int64_t keys) const;
  /// The weights of `length` queries and keys, [1, H, length, length], from the compiled attention
  /// applied to unit vectors as values, and from the reference.
  struct Weights {
    Tensor found, expected, allowed;
    /// Softmax of the same queries and keys under the same mask without an encoding, in f64.
    Tensor plain;
    /// Other results of the function with one value per query, [1, H, length], by name.
    TensorMap rows, expectedRows;
  };
  /// Normal: standard normal queries and keys. Equal: zeros, so that all scores are equal.
  enum class Scores : uint8_t { Normal, Equal };
  Expected<Weights> weights(int64_t length, Scores scores) const;
  /// Evaluates the score function at `scores` for these queries and every head, in f64 (the
  /// reference's materializeScores). Undefined without a score function.
  Expected<Tensor> scores(const std::vector<int64_t> &queries,
                          const std::vector<double> &scores) const;
  /// The values that an entry @embed adds to the tokens at positions 0 to `length` - 1, [length,
  /// Dm].
  struct Embedded {
    Tensor found, expected;
    bool isCompiled = false;
  };
  Expected<Embedded> embedding(int64_t length) const;
  /// Returns true if the function embeds tokens and has no attention.
  bool isEmbedding() const { return embeds; }
  /// Returns true if queries attend to later keys.
  bool seesLaterKeys() const { return looksAhead; }
  BiasShape biasShape() const { return shape; }
  /// Returns the number of axes of the positions that rotate, or 0 if a token has one position.
  int64_t axisCount() const { return axisPositions.empty() ? 0 : axisPositions.begin()->second; }
  /// Returns the smallest side of a grid with that many axes that has `length` tokens.
  int64_t gridSide(int64_t length) const;

private:
  Status readParameters();
  Status findHeads();
  Status probe();
  Expected<TensorMap> argumentsFor(int64_t first, int64_t queries, int64_t keys,
                                   int64_t valueDim) const;
  Expected<std::pair<TensorMap, TensorMap>> runBoth(const CompileOptions &options,
                                                    const TensorMap &arguments,
                                                    const Positions &positions,
                                                    const std::string &what) const;
  Status removeConstant(const CompileOptions &options, TensorMap arguments, Tensor &found,
                        Tensor &expected) const;
  Status feedData(int64_t first, int64_t queries, int64_t keys, TensorMap &arguments) const;
  void findAxisPositions(const reference::Program &parsed);
  Tensor gridPositions(int64_t axes, int64_t first, int64_t count, int64_t length) const;

  PlotOptions settings;
  std::string title, parametersFrom;
  std::shared_ptr<const api::ProgramState> program;
  std::shared_ptr<cpu::ThreadPool> pool;
  Sizes sizes;
  TensorMap given; // from --in
  std::map<std::string, int64_t>
      axisPositions; ///< the tensors of positions by axis, with their axes
  std::vector<int64_t> shown;
  bool looksAhead = false, embeds = false;
  BiasShape shape = BiasShape::None;
};

Pictures plotBias(const PlottedEncoding &encoding);
Pictures plotDistance(const PlottedEncoding &encoding);
Pictures plotParts(const PlottedEncoding &encoding);
Pictures plotGrid(const PlottedEncoding &encoding);
Pictures plotQueries(const PlottedEncoding &encoding);
Pictures plotFunction(const PlottedEncoding &encoding);
Pictures plotRotation(const PlottedEncoding &encoding);
Pictures plotScore(const PlottedEncoding &encoding);
Pictures plotMask(const PlottedEncoding &encoding);
Pictures plotWeights(const PlottedEncoding &encoding);
Pictures plotDifference(const PlottedEncoding &encoding);
Pictures plotFlat(const PlottedEncoding &encoding);
Pictures plotRows(const PlottedEncoding &encoding);
Pictures plotEmbedding(const PlottedEncoding &encoding);
Pictures plotDimensions(const PlottedEncoding &encoding);

/// The file of a run, and its name in plots.
struct PlottedRun {
  std::string name, path;
  train::RunFile file;
};

Pictures plotTraining(const PlottedRun &run);
Pictures plotLengths(const PlottedRun &run);
Pictures plotRoofline(const PlottedRun &run);

} // namespace pe::cli

#endif // PE_TOOLS_PE_PLOT_H
