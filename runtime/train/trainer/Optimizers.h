//===- Optimizers.h - Which optimizer updates which parameter ---*- C++ -*-===//
//
// The optimizers of a run, and the routes of its parameters to them. AdamW is always the first.
// With --optimizer=muon the matrices between embedding and head (attention and feed-forward layers)
// are Muon's; everything else stays AdamW's.
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

  /// Of each optimizer.
  std::vector<double> each;
  /// Of the encoding's parameters; none: that of their optimizer.
  std::optional<double> encoding;

  bool operator==(const Rates &) const = default;
};

/// The way of one parameter.
struct Route {
  /// Of a parameter that no optimizer updates.
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();
  /// Index in Optimizers::all(), or kNone.
  size_t optimizer = 0;
  std::string why;
};

/// Euclidean norms, computed in double.
struct Norms {
  double total = 0;
  /// Of each optimizer's parameters.
  std::vector<double> each;
};

class Optimizers {
public:
  Optimizers(const ParameterLayout &layout, const Kernels &kernels, const OptimizerConfig &config);

  const std::vector<std::unique_ptr<Optimizer>> &all() const { return list; }
  /// By the parameter's index in the layout.
  const std::vector<Route> &routes() const { return ways; }
  /// The name of a parameter's optimizer, or "none".
  std::string_view nameOf(int64_t parameter) const;

  Norms norms(const ParameterBlock &block, ParallelFor &parallel) const;
  /// One update.
  Status step(ParameterBlock &values, const ParameterBlock &gradients, const Norms &norms,
              const Rates &rates, ParallelFor &parallel);

  /// Clears the state and the count of updates of one parameter; every other one keeps its own.
  void reset(int64_t parameter);
  /// Clears the state of some of a parameter's elements; its count of updates stays.
  void reset(int64_t parameter, std::span<const int64_t> elements);
  /// Updates of each parameter since its state was cleared.
  const std::vector<int64_t> &updates() const { return counts; }
  /// A block of a parameter's state, or null if its optimizer has none of this name.
  float *find(std::string_view block, int64_t parameter);

  /// For checkpoints.
  std::vector<StatePart> state();

private:
  struct Slice {
    int64_t parameter, offset, count;
  };

  /// The blocks of a parameter's optimizer; null if it has none.
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
