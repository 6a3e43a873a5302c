//===- Plasticity.h - Dormant neurons and direction-aware shrinking -*- C++ -*-===//
//
// ReDo (Sokar et al. 2023, arXiv 2302.12902) recycles a neuron whose activity is small relative to
// its layer's mean. Its input weights are drawn again as at initialization, and its output weights
// and the optimizer state of both become zero. For a neuron that was silent, this does not change
// the function.
//
// DASH (Shin et al. 2024, arXiv 2410.23495): before training on new data, every row of a weight
// matrix is multiplied by its cosine with the negative gradient on that data, but by at least 0.3.
// RowDecay is a different rule from the sources of this project: rows that point along the last
// gradient shrink slightly at regular intervals.
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_PLASTICITY_H
#define PE_RUNTIME_TRAIN_TRAINER_PLASTICITY_H

#include "runtime/train/trainer/Trainer.h"

namespace pe::train {

/// The exponentially smoothed mean |activation| of every neuron in the feed-forward layers.
class Activity {
public:
  explicit Activity(const Decoder &model);

  /// Adds the activity of the model's last forward call, which must have recorded it.
  void add(const Decoder &model);
  /// Returns the activity of a layer's neurons divided by their mean, or 0 if all are silent or
  /// nothing was added.
  std::vector<double> scores(int64_t layer) const;
  void clear();
  StatePart state() { return {"redo.activity", viewOf(values), 0, /*required=*/false}; }

private:
  int64_t hidden;
  /// The values of all layers, followed by the total weight of what was added.
  std::vector<double> values;
};

struct DormantNeurons {
  /// "layer0.mlp".
  std::string layer;
  int64_t dormant = 0, count = 0;
};

/// Recycles neurons whose score is at most `tau`. Layers with a frozen matrix are skipped.
std::vector<DormantNeurons> recycleDormant(Trainer &trainer, const Activity &activity, double tau,
                                           uint64_t seed);

enum class Dash : uint8_t { Off, Published, RowDecay };
/// Parses "off", "published" or "rowdecay".
Expected<Dash> parseDash(std::string_view name);

/// The matrices that shrink: all of attention, feed-forward layers, output head and gates, or only
/// those that AdamW updates.
enum class DashScope : uint8_t { All, AdamW };
/// Parses "all" or "adamw".
Expected<DashScope> parseDashScope(std::string_view name);

struct ShrunkMatrix {
  std::string name;
  /// The mean and the smallest of the factors of its rows.
  double mean = 1, least = 1;
};

/// Parameters of Published: the weight of the newest -gradient in the moving average, the number of
/// steps it averages, and the smallest factor.
inline constexpr double kDashShare = 0.3;
inline constexpr int64_t kDashGradients = 16;
inline constexpr double kDashLeast = 0.3;
/// RowDecay: rows whose cosine with the gradient exceeds the first shrink by at most the second.
inline constexpr double kDecayCosine = 0.05, kDecayRate = 0.005;

/// Averages -gradient over the batches of several steps and shrinks rows by their cosine with it.
/// After an error, only the model's gradients have changed.
class DirectionShrink {
public:
  DirectionShrink(Trainer &trainer, DashScope scope);

  Status add(std::span<const Batch> step);
  Expected<std::vector<ShrunkMatrix>> apply();

private:
  Trainer &trainer;
  std::vector<int64_t> chosen;
  std::vector<std::vector<double>> averages;
};

/// Shrinks rows by the gradients of the last step. Rows whose gradient is not finite are unchanged.
std::vector<ShrunkMatrix> decayRows(Trainer &trainer, DashScope scope);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_PLASTICITY_H
