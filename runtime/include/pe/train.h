//===- train.h - Training a small language model ----------------*- C++ -*-===//
//
// What `pe train` does, a step at a time and inside another program (docs/training.md): a
// transformer with an encoding, on the CPU in float32, the same bits on any number of threads.
//
//   auto run = pe::train::Run::open({"--encoding=FILE.mlir", "--steps=100"});
//   if (!run) ...                                          // an unknown flag, no text: named
//   while (run->steps() < run->totalSteps())
//     if (auto step = run->step(); step)
//       std::printf("%g\n", step->loss);
//   auto bits = run->evaluate();                           // context length -> bits per character
//
// The code is in libpe_train.a beside libpe.so, and needs OpenBLAS (package libopenblas0-pthread).
// Example: examples/train-embed.
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

/// What one optimizer did in a step.
struct OptimizerReport {
  std::string_view name;
  /// Of its parameters' gradients, before clipping.
  double gradientNorm = 0;
  double learningRate = 0;
};

struct StepReport {
  /// Counted from 0.
  int64_t step = 0;
  /// Mean over the step's targets by their weights, in nats.
  double loss = 0;
  /// Norm of all gradients, before clipping.
  double gradientNorm = 0;
  /// Of the first optimizer, AdamW.
  double learningRate = 0;
  /// Of the encoding's parameters: the same, or --encoding-lr at this step.
  double encodingRate = 0;
  std::vector<OptimizerReport> optimizers;
  /// True if the loss or the norm was not finite; then nothing was changed.
  bool skipped = false;
};

/// A training run: model, optimizers, text, and where between two steps it is. Calls come from one
/// thread at a time.
class Run {
public:
  /// Reads the text, compiles the encoding and draws the initial weights, or reads a checkpoint
  /// (--resume). `flags` are those of `pe train`; "--config=FILE" reads them from a JSON file.
  /// Flags of what the program `pe` does around a run (--check, --trace, --help) are refused. Work
  /// runs on `parallel`, which outlives the run; by default on --threads threads of pe's own.
  static Expected<Run> open(const std::vector<std::string> &flags, ParallelFor *parallel = nullptr);

  Run(Run &&) noexcept;
  Run &operator=(Run &&) noexcept;
  ~Run();

  /// Steps done, and steps of the whole run.
  int64_t steps() const;
  int64_t totalSteps() const;

  /// The next step, with all that the flags place before and after it: reinit, evaluation, ReDo,
  /// DASH, checkpoints, the log. After the last step, an error.
  Expected<StepReport> step();

  /// Context length -> bits per character (or byte) of held-out text, the same targets each time.
  Expected<std::map<int64_t, double>> evaluate();

  /// Projects the matrices of attention and feed-forward layers (`target`: "all", "attention" or
  /// "mlp") and clears what the optimizers remember of them. After an error (weights that are not
  /// finite, named) nothing has been changed.
  Expected<std::vector<reinit::MatrixReport>> reinit(const reinit::Settings &settings = {},
                                                     std::string_view target = "all");

  /// Writes a checkpoint to a folder, which is made if it is missing. `pe train` with the same
  /// flags, --checkpoint=DIRECTORY and --resume goes on from it.
  Status save(const std::string &directory);

  /// Every parameter where it lies, f32, by its name in checkpoints. Values may be written between
  /// steps. Names and memory live as long as the run.
  std::vector<View> parameters();

private:
  struct State;
  explicit Run(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace pe::train

#endif // PE_TRAIN_H
