//===- Reinit.cpp - Projecting weights onto scaled isometries -------------===//
//
// Scales and reports around reinit/Polar, and conversion of elements of every floating-point type.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/reinit/Reinit.h"
#include "runtime/core/DType.h"
#include "runtime/train/reinit/Elements.h"
#include "runtime/train/reinit/Polar.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace pe::reinit {
namespace {

using Values = std::span<const double>;

double dot(ParallelFor &pool, Values a, Values b) {
  return sumOfChunks(pool, static_cast<int64_t>(a.size()), [&](int64_t begin, int64_t end) {
    return sumOf(begin, end, [&](int64_t i) { return a[i] * b[i]; });
  });
}

double squaredDistance(ParallelFor &pool, Values a, Values b) {
  return sumOfChunks(pool, static_cast<int64_t>(a.size()), [&](int64_t begin, int64_t end) {
    return sumOf(begin, end, [&](int64_t i) { return (a[i] - b[i]) * (a[i] - b[i]); });
  });
}

double scaleFactor(const Settings &settings, int64_t rows, int64_t cols, Values w, Values factor,
                   ParallelFor &pool) {
  const double small = static_cast<double>(std::min(rows, cols));
  const double ratio = static_cast<double>(rows) / static_cast<double>(cols);
  switch (settings.scale) {
  case Scale::Muon:
    return std::sqrt(settings.layout == Layout::OutIn ? ratio : 1 / ratio);
  case Scale::None:
    return 1;
  case Scale::MeanSigma:
    // <W, U> = trace of the singular values.
    return dot(pool, w, factor) / small;
  case Scale::Fro:
    return std::sqrt(dot(pool, w, w) / small);
  }
  return 1;
}

} // namespace

void readValues(DType dtype, const void *from, std::span<double> to) {
  const auto *bytes = static_cast<const char *>(from);
  for (double &value : to) {
    if (dtype == DType::F64) {
      std::memcpy(&value, bytes, sizeof value);
    } else if (dtype == DType::F32) {
      float single;
      std::memcpy(&single, bytes, sizeof single);
      value = single;
    } else {
      uint16_t bits;
      std::memcpy(&bits, bytes, sizeof bits);
      value = dtype == DType::BF16 ? bf16ToFloat(bits) : f16ToFloat(bits);
    }
    bytes += sizeOf(dtype);
  }
}

void writeValues(DType dtype, std::span<const double> from, void *to) {
  auto *bytes = static_cast<char *>(to);
  for (double value : from) {
    const float single = static_cast<float>(value);
    if (dtype == DType::F64) {
      std::memcpy(bytes, &value, sizeof value);
    } else if (dtype == DType::F32) {
      std::memcpy(bytes, &single, sizeof single);
    } else {
      const uint16_t bits = dtype == DType::BF16 ? floatToBf16(single) : floatToF16(single);
      std::memcpy(bytes, &bits, sizeof bits);
    }
    bytes += sizeOf(dtype);
  }
}

Expected<MatrixReport> projectValues(const std::string &name, int64_t rows, int64_t cols,
                                     std::span<double> w, DType stored, const Settings &settings,
                                     ParallelFor &pool, std::span<const double> against) {
  auto polar = polarFactor(rows, cols, w.data(), settings, pool, stored);
  if (!polar)
    return polar.takeError().within("parameter '" + name + "'");

  const int64_t small = std::min(rows, cols);
  MatrixReport report{name, {rows, cols}};
  report.norm = std::sqrt(dot(pool, w, w));
  report.dfiBefore = polar->deviationBefore / static_cast<double>(small);
  report.rank = polar->rank;
  report.iterations = polar->iterations;
  if (polar->factor.empty()) {
    report.dfiAfter = report.dfiBefore;
    report.why = "zero";
    return report;
  }
  report.chosen = true;
  report.why = "projected";
  if (polar->rank < small)
    report.why = settings.engine == Engine::Cubic ? "rank deficient" : "rank deficient, completed";
  report.scale = scaleFactor(settings, rows, cols, w, polar->factor, pool);
  report.dfiAfter = polar->deviation / static_cast<double>(small);
  const std::span<double> factor = polar->factor;
  forChunks(pool, rows * cols, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      factor[i] *= report.scale;
    roundAll(stored, factor.subspan(begin, end - begin));
  });
  report.sfe = squaredDistance(pool, against.empty() ? Values(w) : against, factor);
  forChunks(pool, rows * cols, [&](int64_t begin, int64_t end) {
    std::copy(factor.begin() + begin, factor.begin() + end, w.begin() + begin);
  });
  return report;
}

Expected<MatrixReport> projectMatrix(const std::string &name, int64_t rows, int64_t cols, float *w,
                                     const Settings &settings, ParallelFor &pool) {
  std::vector<double> values(w, w + rows * cols);
  auto report = projectValues(name, rows, cols, values, DType::F32, settings, pool);
  if (report && report->chosen)
    std::transform(values.begin(), values.end(), w,
                   [](double value) { return static_cast<float>(value); });
  return report;
}

Expected<MatrixReport> projectMatrix(const std::string &name, int64_t rows, int64_t cols, float *w,
                                     Scale scale, uint64_t seed) {
  CallingThread pool;
  Settings settings;
  settings.scale = scale;
  settings.seed = seed;
  return projectMatrix(name, rows, cols, w, settings, pool);
}

Expected<MatrixReport> shrinkMatrix(const std::string &name, int64_t rows, int64_t cols, float *w,
                                    std::span<const float> fresh, double shrink) {
  std::vector<double> before(w, w + rows * cols), after(before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    if (!std::isfinite(before[i]))
      return makeError("parameter '", name, "': expected finite weights, found ", before[i],
                       " at [", i / cols, ", ", i % cols, "]");
    after[i] = static_cast<float>(shrink * before[i] + (1 - shrink) * fresh[i]);
  }
  const double small = static_cast<double>(std::min(rows, cols));
  MatrixReport report{name, {rows, cols}, true, shrink == 0 ? "fresh" : "shrunk and perturbed"};
  report.dfiBefore = deviationFromIsometry(rows, cols, before.data()) / small;
  report.dfiAfter = deviationFromIsometry(rows, cols, after.data()) / small;
  CallingThread pool;
  report.sfe = squaredDistance(pool, before, after);
  report.norm = std::sqrt(dot(pool, before, before));
  report.scale = shrink;
  report.rank = std::min(rows, cols);
  std::copy(after.begin(), after.end(), w);
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
