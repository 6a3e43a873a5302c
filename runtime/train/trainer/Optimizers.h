//===- Optimizers.h - Assignment of parameters to optimizers ----*- C++ -*-===//
//
// The optimizers of a run, and the routes of its parameters to them. AdamW is always first. With
// --optimizer=muon, Muon updates the matrices between embedding and head (attention and
// feed-forward layers), and AdamW everything else.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_OPTIMIZERS_H
#define PE_RUNTIME_TRAIN_TRAINER_OPTIMIZERS_H

#include "runtime/train/trainer/AdamW.h"
#include "runtime/train/trainer/Muon.h"
#include "runtime/train/trainer/State.h"

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

namespace pe::train {

enum class OptimizerKind : uint8_t { AdamW, Muon };
Expected<OptimizerKind> parseOptimizer(std::string_view name);

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::AdamW;
  AdamWConfig adamw = {};
  MuonConfig muon = {};
};

/// The learning rates of one step.
struct Rates {
  Rates(std::initializer_list<double> each) : each(each) {}
  Rates(std::vector<double> each) : each(std::move(each)) {}

  /// The rate of each optimizer.
  std::vector<double> each;
  /// The rate of the encoding's parameters. The default is that of their optimizer.
  std::optional<double> encoding;

  bool operator==(const Rates &) const = default;
};

/// The optimizer of one parameter, and the reason.
struct Route {
  /// The value for a parameter that no optimizer updates.
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();
  /// Index in Optimizers::all(), or kNone.
  size_t optimizer = 0;
  std::string why;
};

/// Euclidean norms, computed in double.
struct Norms {
  double total = 0;
  /// The norm of each optimizer's parameters.
  std::vector<double> each;
};

class Optimizers {
public:
  Optimizers(const ParameterLayout &layout, const Kernels &kernels, const OptimizerConfig &config);

  const std::vector<std::unique_ptr<Optimizer>> &all() const { return list; }
  /// Routes by the parameter's index in the layout.
  const std::vector<Route> &routes() const { return ways; }
  /// Returns the name of a parameter's optimizer, or "none".
  std::string_view nameOf(int64_t parameter) const;

  Norms norms(const ParameterBlock &block, ParallelFor &parallel) const;
  /// Performs one update.
  Status step(ParameterBlock &values, const ParameterBlock &gradients, const Norms &norms,
              const Rates &rates, ParallelFor &parallel);

  /// Clears the state and the update count of one parameter, and no other.
  void reset(int64_t parameter);
  /// Clears the state of some elements of a parameter. Its update count stays.
  void reset(int64_t parameter, std::span<const int64_t> elements);
  /// Returns the number of updates of each parameter since its state was cleared.
  const std::vector<int64_t> &updates() const { return counts; }
  /// Returns a block of a parameter's state, or null if its optimizer has no block of this name.
  float *find(std::string_view block, int64_t parameter);

  /// Returns the state for checkpoints.
  std::vector<StatePart> state();

private:
  struct Slice {
    int64_t parameter, offset, count;
  };

  /// Returns the blocks of a parameter's optimizer, or null if it has no optimizer.
  std::vector<StateBlock> *stateOf(int64_t parameter);

  const ParameterLayout &layout;
  Kernels kernels;
  std::vector<Route> ways;
  std::vector<std::unique_ptr<Optimizer>> list;
  std::vector<Slice> slices;
  std::vector<int64_t> counts;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_OPTIMIZERS_H
