//===- Muon.h - The Muon optimizer ------------------------------*- C++ -*-===//
//
// Muon (Jordan et al. 2024): the update of a matrix is its orthogonalized momentum, so that the
// step has the same size in every direction. For weights W[outputs, inputs], gradient G and
// learning rate r:
//
//   m = beta m + (1 - beta) G          u = orthogonal(beta m + (1 - beta) G)
//   W = (1 - r decay) W - r adjust u
//
// State: the momentum "momentum". A matrix is one work item, computed in float32 (qdwh: float64) on
// one thread. The size of a step does not depend on that of the gradient, so there is no clipping.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_MUON_H
#define PE_RUNTIME_TRAIN_TRAINER_MUON_H

#include "runtime/train/kernels/Kernels.h"
#include "runtime/train/trainer/Optimizer.h"

namespace pe::train {

/// The method of orthogonalization: five steps of a polynomial, or the exact polar factor.
enum class MuonOrthogonal : uint8_t { Quintic, PolarExpress, Qdwh };
Expected<MuonOrthogonal> parseMuonOrthogonal(std::string_view name);

/// The factor `adjust`. Original: sqrt(max(1, outputs / inputs)). MatchRms: 0.2 sqrt(max(outputs,
/// inputs)), which makes steps about as large as AdamW's, so that one learning rate suits both (Liu
/// et al. 2025, "Moonlight").
enum class MuonAdjust : uint8_t { Original, MatchRms };
Expected<MuonAdjust> parseMuonAdjust(std::string_view name);

struct MuonConfig {
  /// The peak learning rate.
  double learningRate = 0.02;
  double momentum = 0.95;
  MuonOrthogonal orthogonal = MuonOrthogonal::Quintic;
  MuonAdjust adjust = MuonAdjust::Original;
  double weightDecay = 0.1;
};

class Muon : public Optimizer {
public:
  /// All parameters must be matrices. Requires blas::load().
  Muon(const ParameterLayout &layout, std::vector<int64_t> parameters, const Kernels &kernels,
       const MuonConfig &config);

  std::string_view name() const override { return "muon"; }
  Status step(const UpdateInputs &inputs) override;

private:
  Status update(const UpdateInputs &inputs, int64_t parameter);
  Status makeOrthogonal(const Parameter &parameter, float *matrix) const;

  Kernels kernels;
  MuonConfig config;
  /// The largest matrices first, so that no thread starts one when the others have finished.
  std::vector<int64_t> order;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_MUON_H
