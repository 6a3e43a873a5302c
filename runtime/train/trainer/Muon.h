//===- Muon.h - The optimizer Muon ------------------------------*- C++ -*-===//
//
// Muon (Jordan et al. 2024): the step of a matrix is its momentum made orthogonal, so that every
// direction moves alike. For weights W[outputs, inputs], gradient G and learning rate r:
//
//   m = beta m + (1 - beta) G          u = orthogonal(beta m + (1 - beta) G)
//   W = (1 - r decay) W - r adjust u
//
// State: the momentum "momentum". A matrix is one item of work, computed in float32 (qdwh: float64)
// on one thread. The step's size does not depend on the gradient's, so there is no clipping.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_MUON_H
#define PE_RUNTIME_TRAIN_TRAINER_MUON_H

#include "runtime/train/kernels/Kernels.h"
#include "runtime/train/trainer/Optimizer.h"

namespace pe::train {

/// How the momentum is made orthogonal: five steps of a polynomial, or the exact polar factor.
enum class MuonOrthogonal : uint8_t { Quintic, PolarExpress, Qdwh };
Expected<MuonOrthogonal> parseMuonOrthogonal(std::string_view name);

/// Original: sqrt(max(1, outputs / inputs)). MatchRms: 0.2 sqrt(max(outputs, inputs)), steps about
/// as large as AdamW's, so that one learning rate suits both (Liu et al. 2025, "Moonlight").
enum class MuonAdjust : uint8_t { Original, MatchRms };
Expected<MuonAdjust> parseMuonAdjust(std::string_view name);

struct MuonConfig {
  /// The peak.
  double learningRate = 0.02;
  double momentum = 0.95;
  MuonOrthogonal orthogonal = MuonOrthogonal::Quintic;
  MuonAdjust adjust = MuonAdjust::Original;
  double weightDecay = 0.1;
};

class Muon : public Optimizer {
public:
  /// Every parameter is a matrix. Needs blas::load().
  Muon(const ParameterLayout &layout, std::vector<int64_t> parameters, const Kernels &kernels,
       const MuonConfig &config);

  std::string_view name() const override { return "muon"; }
  Status step(const UpdateInputs &inputs) override;

private:
  Status update(const UpdateInputs &inputs, int64_t parameter);
  Status makeOrthogonal(const Parameter &parameter, float *matrix) const;

  Kernels kernels;
  MuonConfig config;
  /// The largest matrices first, so that no thread begins one when the others are done.
  std::vector<int64_t> order;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_MUON_H
