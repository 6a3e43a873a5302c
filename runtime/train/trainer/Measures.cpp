//===- Measures.cpp - Measures of weights and neurons ---------------------===//
#include "runtime/train/trainer/Measures.h"
#include "runtime/train/blas/Blas.h"
#include "runtime/train/reinit/Dense.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pe::train {
namespace {

double normOf(const float *values, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += static_cast<double>(values[i]) * values[i];
  return std::sqrt(sum);
}

/// Computes the ranks from the squares of the singular values in ascending order.
void addRanks(const std::vector<double> &squares, MatrixMeasures &measures) {
  const double largest = squares.empty() ? 0 : squares.back();
  if (!(largest > 0))
    return;
  double sumOfSquares = 0, sum = 0, entropy = 0;
  for (double square : squares) {
    sumOfSquares += std::max(square, 0.0);
    sum += std::sqrt(std::max(square, 0.0));
  }
  for (double square : squares)
    if (const double share = std::sqrt(std::max(square, 0.0)) / sum; share > 0)
      entropy -= share * std::log(share);
  measures.stableRank = sumOfSquares / largest;
  measures.effectiveRank = std::exp(entropy);
}

} // namespace

MatrixMeasures measureMatrix(std::string name, int64_t rows, int64_t columns, const float *values,
                             const float *gradient) {
  reinit::CallingThread here;
  MatrixMeasures measures{std::move(name), normOf(values, rows * columns),
                          normOf(gradient, rows * columns)};
  const int64_t n = std::min(rows, columns), m = std::max(rows, columns);
  std::vector<double> tall(values, values + rows * columns);
  if (rows < columns)
    tall = reinit::transposed(here, rows, columns, tall.data());
  std::vector<double> gram(n * n);
  reinit::gramUpper(here, m, n, tall.data(), gram);
  measures.dfi = reinit::deviationOfGram(n, gram.data()) / static_cast<double>(n);
  addRanks(blas::symmetricEigenvalues(n, gram.data()), measures);
  return measures;
}

/// Returns the squared distance of weights from older ones.
static double squaredDistance(const float *values, const Tensor &older) {
  double sum = 0;
  const float *before = older.data<float>();
  for (int64_t i = 0; i < older.numel(); ++i) {
    const double difference = static_cast<double>(values[i]) - before[i];
    sum += difference * difference;
  }
  return sum;
}

std::vector<MatrixMeasures> measureMatrices(Trainer &trainer, const NamedWeights *against) {
  Decoder &model = trainer.model();
  std::vector<const Parameter *> chosen;
  for (const Parameter &parameter : model.layout().all())
    if (parameter.shape.size() == 2 &&
        (parameter.role == Role::Attention || parameter.role == Role::Mlp))
      chosen.push_back(&parameter);
  std::vector<MatrixMeasures> measures(chosen.size());
  parallelFor(trainer.parallel(), static_cast<int64_t>(chosen.size()), [&](int64_t item) {
    const Parameter &parameter = *chosen[item];
    measures[item] = measureMatrix(parameter.name, parameter.shape[0], parameter.shape[1],
                                   model.values().at(parameter), model.gradients().at(parameter));
    if (against)
      measures[item].sfe =
          squaredDistance(model.values().at(parameter), against->at(parameter.name));
  });
  return measures;
}

std::vector<DormantShare> dormantShares(Trainer &trainer, double tau) {
  std::vector<DormantShare> shares;
  for (int64_t layer = 0; layer < trainer.model().config().layers; ++layer) {
    const std::vector<double> &activity = trainer.model().activity(layer);
    if (activity.empty())
      return {};
    const auto count = static_cast<double>(activity.size());
    const double mean = std::accumulate(activity.begin(), activity.end(), 0.0) / count;
    const auto dormant = std::count_if(activity.begin(), activity.end(),
                                       [&](double value) { return value <= tau * mean; });
    shares.push_back(
        {"layer" + std::to_string(layer) + ".mlp", static_cast<double>(dormant) / count});
  }
  return shares;
}

} // namespace pe::train
