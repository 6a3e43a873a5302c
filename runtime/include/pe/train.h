//===- train.h - Training of a small language model -------------*- C++ -*-===//
//
// Runs the training of `pe train` (docs/training.md) inside another program, step by step: a
// transformer with an encoding, on the CPU in float32. Results are bitwise equal for any number of
// threads.
//
//   auto run = pe::train::Run::open({"--encoding=FILE.mlir", "--steps=100"});
//   if (!run) ...                                          // such as an unknown flag
//   while (run->steps() < run->totalSteps())
//     if (auto step = run->step(); step)
//       std::printf("%g\n", step->loss);
//   auto bits = run->evaluate();                  // bits per character for each context length
//
// The code is in libpe_train.a, next to libpe.so, and requires OpenBLAS (package
// libopenblas0-pthread). Example: examples/train-embed.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TRAIN_H
#define PE_TRAIN_H

#include "pe/Parallel.h"
#include "pe/View.h"
#include "pe/reinit.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pe::train {

/// One optimizer's part of a step.
struct OptimizerReport {
  std::string_view name;
  /// The norm of the gradients of its parameters, before clipping.
  double gradientNorm = 0;
  double learningRate = 0;
};

/// The outcome of one step.
struct StepReport {
  /// Counts from 0.
  int64_t step = 0;
  /// The weighted mean over the targets of the step, in nats.
  double loss = 0;
  /// The norm of all gradients, before clipping.
  double gradientNorm = 0;
  /// The rate of the first optimizer, AdamW.
  double learningRate = 0;
  /// The rate of the encoding's parameters: `learningRate`, or the rate given by --encoding-lr at
  /// this step.
  double encodingRate = 0;
  std::vector<OptimizerReport> optimizers;
  /// True if the loss or the norm was not finite; the step then changed nothing.
  bool skipped = false;
};

/// A training run between two steps: model, optimizers, data and progress. Not thread-safe: calls
/// must not overlap.
class Run {
public:
  /// Reads the text, compiles the encoding and draws the initial weights or reads a checkpoint
  /// (--resume). `flags` are the flags of `pe train`; "--config=FILE" reads them from a JSON file.
  /// Flags that concern the command line only (--check, --trace, --help) are errors. Runs on
  /// `parallel`, which must outlive the run; by default on --threads threads created by pe.
  static Expected<Run> open(const std::vector<std::string> &flags, ParallelFor *parallel = nullptr);

  Run(Run &&) noexcept;
  Run &operator=(Run &&) noexcept;
  ~Run();

  /// The number of completed steps, and of all steps of the run.
  int64_t steps() const;
  int64_t totalSteps() const;

  /// Runs the next step, including everything that the flags schedule before and after it: reinit,
  /// evaluation, ReDo, DASH, checkpoints, the log. Returns an error after the last step.
  Expected<StepReport> step();

  /// Returns the bits per character (or byte) of held-out text for each context length. The targets
  /// are the same in every call.
  Expected<std::map<int64_t, double>> evaluate();

  /// Projects the matrices of attention and feed-forward layers (`target`: "all", "attention" or
  /// "mlp") and resets their optimizer states. Weights that are not finite are an error that names
  /// them; after any error nothing has changed.
  Expected<std::vector<reinit::MatrixReport>> reinit(const reinit::Settings &settings = {},
                                                     std::string_view target = "all");

  /// Writes a checkpoint to a directory, which is created if necessary. `pe train` with the same
  /// flags, --checkpoint=DIRECTORY and --resume continues from it.
  Status save(const std::string &directory);

  /// Returns a view of each parameter in place, f32, with its name in checkpoints. The caller may
  /// write the values between steps. Names and memory are valid as long as the run.
  std::vector<View> parameters();

private:
  struct State;
  explicit Run(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace pe::train

#endif // PE_TRAIN_H
