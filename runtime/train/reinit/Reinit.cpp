//===- Reinit.cpp - Projecting weights onto scaled isometries -------------===//
//
// The scale policies and the report around reinit/Polar.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/reinit/Reinit.h"
#include "runtime/core/Error.h"
#include "runtime/train/reinit/Polar.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace pe::reinit {
namespace {

constexpr std::array<std::pair<Scale, std::string_view>, 4> kScales = {
    {{Scale::Muon, "muon"},
     {Scale::None, "none"},
     {Scale::MeanSigma, "mean-sigma"},
     {Scale::Fro, "fro"}}};

double dot(const std::vector<double> &a, const std::vector<double> &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

double scaleFactor(Scale scale, int64_t rows, int64_t cols, const std::vector<double> &w,
                   const std::vector<double> &factor) {
  double small = static_cast<double>(std::min(rows, cols));
  switch (scale) {
  case Scale::Muon:
    return std::sqrt(static_cast<double>(rows) / static_cast<double>(cols));
  case Scale::None:
    return 1;
  case Scale::MeanSigma:
    // <W, U> = trace of the singular values.
    return dot(w, factor) / small;
  case Scale::Fro:
    return std::sqrt(dot(w, w) / small);
  }
  return 1;
}

} // namespace

std::string_view nameOf(Scale scale) {
  return std::find_if(kScales.begin(), kScales.end(),
                      [&](const auto &entry) { return entry.first == scale; })
      ->second;
}

Expected<Scale> parseScale(std::string_view name) {
  std::vector<std::string> choices;
  for (const auto &[scale, spelling] : kScales) {
    if (spelling == name)
      return scale;
    choices.emplace_back(spelling);
  }
  return makeError("expected a scale of ", joinChoices(choices), ", found '", name, "'");
}

Expected<MatrixReport> projectMatrix(const std::string &name, int64_t rows, int64_t cols, float *w,
                                     Scale scale, uint64_t seed) {
  std::vector<double> before(w, w + rows * cols);
  auto polar = polarFactor(rows, cols, before.data(), seed);
  if (!polar)
    return polar.takeError().within("parameter '" + name + "'");

  double small = static_cast<double>(std::min(rows, cols));
  MatrixReport report{name, {rows, cols}};
  report.norm = std::sqrt(dot(before, before));
  report.dfiBefore = deviationFromIsometry(rows, cols, before.data()) / small;
  report.rank = polar->rank;
  report.iterations = polar->iterations;
  if (polar->factor.empty()) {
    report.dfiAfter = report.dfiBefore;
    report.why = "zero";
    return report;
  }
  report.chosen = true;
  report.why = polar->rank < std::min(rows, cols) ? "rank deficient, completed" : "projected";
  report.scale = scaleFactor(scale, rows, cols, before, polar->factor);
  // The report is about the weights as stored: rounded to float.
  std::vector<double> unscaled(before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    unscaled[i] = static_cast<float>(polar->factor[i]);
    w[i] = static_cast<float>(report.scale * polar->factor[i]);
    double change = before[i] - w[i];
    report.sfe += change * change;
  }
  report.dfiAfter = deviationFromIsometry(rows, cols, unscaled.data()) / small;
  return report;
}

std::string describe(const MatrixReport &report) {
  char text[256];
  std::snprintf(text, sizeof text,
                " %lldx%lld: |W| %.3g, DfI/n %.2e -> %.1e, SFE %.3g, scale %.3g, rank %lld, "
                "%d iterations",
                static_cast<long long>(report.shape[0]), static_cast<long long>(report.shape[1]),
                report.norm, report.dfiBefore, report.dfiAfter, report.sfe, report.scale,
                static_cast<long long>(report.rank), report.iterations);
  std::string line = report.name + text;
  if (report.why != "projected")
    line += " (" + report.why + ")";
  return line;
}

} // namespace pe::reinit
