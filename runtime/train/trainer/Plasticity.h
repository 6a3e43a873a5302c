//===- Plasticity.h - Dormant neurons, and weights shrunk by direction ----===//
//
// ReDo (Sokar et al. 2023, arXiv 2302.12902): a neuron whose activity is small beside its layer's
// becomes new. Its weights are drawn as at first, what reads it becomes zero, and so does what the
// optimizer remembers of both: a neuron that was silent leaves the function as it was.
//
// DASH (Shin et al. 2024, arXiv 2410.23495): before training on new data every row of a weight
// matrix is multiplied by its cosine with the direction in which that data pulls it, but by no less
// than 0.3. RowDecay is another rule under the same name, of this project's sources: rows that
// point along the last gradient shrink a little, again and again.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_PLASTICITY_H
#define PE_RUNTIME_TRAIN_TRAINER_PLASTICITY_H

#include "runtime/train/trainer/Trainer.h"

namespace pe::train {

/// The smoothed mean |activation| of every neuron of the feed-forward layers.
class Activity {
public:
  explicit Activity(const Decoder &model);

  /// Takes in the model's last forward call, which recorded its activity.
  void add(const Decoder &model);
  /// The activity of a layer's neurons over their mean; 0 where all are silent or nothing was
  /// added.
  std::vector<double> scores(int64_t layer) const;
  void clear();
  StatePart state() { return {"redo.activity", viewOf(values), 0, /*required=*/false}; }

private:
  int64_t hidden;
  /// Of all layers, and last the weight of what was added.
  std::vector<double> values;
};

struct DormantNeurons {
  /// "layer0.mlp".
  std::string layer;
  int64_t dormant = 0, count = 0;
};

/// Makes neurons whose score is at most `tau` new. Layers with a frozen matrix are left alone.
std::vector<DormantNeurons> recycleDormant(Trainer &trainer, const Activity &activity, double tau,
                                           uint64_t seed);

enum class Dash : uint8_t { Off, Published, RowDecay };
/// "off", "published" or "rowdecay".
Expected<Dash> parseDash(std::string_view name);

/// Which matrices: of attention, feed-forward layers, output head and gates all, or those that
/// AdamW updates.
enum class DashScope : uint8_t { All, AdamW };
/// "all" or "adamw".
Expected<DashScope> parseDashScope(std::string_view name);

struct ShrunkMatrix {
  std::string name;
  /// Of the factors of its rows.
  double mean = 1, least = 1;
};

/// What Published takes from the data: -gradient, averaged with this share of the newest, over so
/// many steps' batches.
inline constexpr double kDashShare = 0.3;
inline constexpr int64_t kDashGradients = 16;
inline constexpr double kDashLeast = 0.3;
/// RowDecay: rows whose cosine with the gradient is above the first shrink by at most the second.
inline constexpr double kDecayCosine = 0.05, kDecayRate = 0.005;

/// Averages -gradient over the batches of several steps and shrinks rows by their cosine with it.
/// After an error nothing has changed but the model's gradients.
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

/// Of the gradients of the last step; rows whose gradient is not finite stay.
std::vector<ShrunkMatrix> decayRows(Trainer &trainer, DashScope scope);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_PLASTICITY_H
