//===- Muon.cpp - The Muon optimizer --------------------------------------===//
//
// Updates one matrix per work item, on one thread.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/trainer/Muon.h"
#include "runtime/core/Error.h"
#include "runtime/train/reinit/NewtonSchulz.h"
#include "runtime/train/reinit/Polar.h"

#include <algorithm>
#include <cmath>

namespace pe::train {

Expected<MuonOrthogonal> parseMuonOrthogonal(std::string_view name) {
  if (name == "quintic")
    return MuonOrthogonal::Quintic;
  if (name == "polar-express")
    return MuonOrthogonal::PolarExpress;
  if (name == "qdwh")
    return MuonOrthogonal::Qdwh;
  return makeError("expected ", joinChoices({"quintic", "polar-express", "qdwh"}), ", found '",
                   name, "'");
}

Expected<MuonAdjust> parseMuonAdjust(std::string_view name) {
  if (name == "original")
    return MuonAdjust::Original;
  if (name == "match-rms")
    return MuonAdjust::MatchRms;
  return makeError("expected ", joinChoices({"original", "match-rms"}), ", found '", name, "'");
}

Muon::Muon(const ParameterLayout &layout, std::vector<int64_t> parameters, const Kernels &kernels,
           const MuonConfig &config)
    : Optimizer(layout, std::move(parameters)), kernels(kernels), config(config),
      order(this->parameters()) {
  addState("momentum");
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::pair(-layout[a].count, a) < std::pair(-layout[b].count, b);
  });
}

Status Muon::makeOrthogonal(const Parameter &parameter, float *matrix) const {
  const int64_t rows = parameter.shape[0], cols = parameter.shape[1];
  if (config.orthogonal != MuonOrthogonal::Qdwh) {
    reinit::newtonSchulz(rows, cols, matrix,
                         config.orthogonal == MuonOrthogonal::Quintic
                             ? reinit::muonSteps()
                             : reinit::polarExpressSteps());
    return Status::success();
  }
  const std::vector<double> wide(matrix, matrix + parameter.count);
  reinit::CallingThread thread;
  auto polar = reinit::polarFactor(rows, cols, wide.data(), {}, thread, DType::F32);
  if (!polar)
    return polar.takeError().within("momentum of '" + parameter.name + "'");
  // A zero matrix has no factor and stays zero.
  std::transform(polar->factor.begin(), polar->factor.end(), matrix,
                 [](double value) { return static_cast<float>(value); });
  return Status::success();
}

Status Muon::update(const UpdateInputs &inputs, int64_t index) {
  const Parameter &parameter = layout[index];
  std::vector<float> direction(parameter.extent);
  kernels.muonMomentum(inputs.gradients.at(parameter), state()[0].at(index), direction.data(),
                       parameter.extent, static_cast<float>(config.momentum));
  if (Status status = makeOrthogonal(parameter, direction.data()); !status)
    return status;
  const double rows = static_cast<double>(parameter.shape[0]);
  const double cols = static_cast<double>(parameter.shape[1]);
  const double adjust = config.adjust == MuonAdjust::Original
                            ? std::sqrt(std::max(1.0, rows / cols))
                            : 0.2 * std::sqrt(std::max(rows, cols));
  const double keep = parameter.decay ? 1 - inputs.learningRate * config.weightDecay : 1;
  kernels.muonUpdate(inputs.values.at(parameter), direction.data(), parameter.extent,
                     static_cast<float>(keep), static_cast<float>(inputs.learningRate * adjust));
  return Status::success();
}

Status Muon::step(const UpdateInputs &inputs) {
  std::vector<Status> results(order.size());
  parallelFor(inputs.parallel, static_cast<int64_t>(order.size()),
              [&](int64_t item) { results[item] = update(inputs, order[item]); });
  for (Status &result : results)
    if (!result)
      return std::move(result);
  return Status::success();
}

} // namespace pe::train
