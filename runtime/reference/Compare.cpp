//===- Compare.cpp - Judging results against the reference ----------------===//

#include "runtime/reference/Compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>

namespace pe::reference {
namespace {

double normOf(const Tensor &tensor) {
  double sum = 0.0;
  for (double x : tensor.values<double>())
    sum += x * x;
  return std::sqrt(sum);
}

double normOf(const TensorMap &tensors, const std::string &name) {
  auto found = tensors.find(name);
  return found == tensors.end() ? 0.0 : normOf(found->second);
}

/// Fills error and norm, or says which element is wrong beyond measure.
void measure(std::span<const double> found, std::span<const double> reference,
             TensorReport &report) {
  double error = 0.0, norm = 0.0;
  for (size_t e = 0; e < reference.size(); ++e) {
    if (!std::isfinite(reference[e])) {
      if (found[e] != reference[e])
        report.problem =
            makeError("element ", e, " expected ", reference[e], ", found ", found[e]).getMessage();
      continue;
    }
    if (!std::isfinite(found[e])) {
      report.problem = makeError("element ", e, " is not finite: ", found[e]).getMessage();
      return;
    }
    error += (found[e] - reference[e]) * (found[e] - reference[e]);
    norm += reference[e] * reference[e];
  }
  report.error = std::sqrt(error);
  report.norm = std::sqrt(norm);
}

class Comparator {
public:
  Comparator(const Results &reference, const Tolerance &tolerance, const CompareOptions &options)
      : reference(reference), tolerance(tolerance), options(options),
        growth(tolerance.perLogit * reference.maxLogit) {}

  void judge(const std::string &name, const Tensor &expected, const TensorMap &found) {
    TensorReport item;
    item.name = name;
    if (auto tensor = found.find(name); tensor == found.end())
      item.problem = "missing";
    else
      judgeTensor(expected, tensor->second, item);
    report.tensors.push_back(std::move(item));
  }

  Report report;

private:
  void judgeTensor(const Tensor &expected, const Tensor &found, TensorReport &item) const {
    if (found.shape() != expected.shape()) {
      item.problem = makeError("expected shape ", toString(expected.shape()), ", found ",
                               toString(found.shape()))
                         .getMessage();
      return;
    }
    auto elements = toDoubles(found);
    if (!elements) {
      item.problem = elements.error().getMessage();
      return;
    }
    measure(*elements, expected.values<double>(), item);
    item.bound = boundOf(item) + 2 * roundingOf(expected, item.name);
  }

  double boundOf(const TensorReport &item) const {
    bool isParameter = reference.magnitudes.contains(item.name);
    double relative = tolerance.relative + growth;
    if (!isParameter)
      relative += options.logitTolerance;
    else if (reference.hasSmoothActivation)
      relative = std::max(relative, tolerance.smoothParameter);
    double bound = relative * item.norm +
                   (tolerance.magnitude + growth) * normOf(reference.magnitudes, item.name);
    return std::max(bound, tolerance.noise * normOf(reference.noise, item.name));
  }

  /// How far the rounded evaluation is from the exact one.
  double roundingOf(const Tensor &expected, const std::string &name) const {
    if (!options.rounded)
      return 0.0;
    for (const TensorMap *tensors : {&options.rounded->outputs, &options.rounded->gradients})
      if (auto found = tensors->find(name); found != tensors->end()) {
        TensorReport rounded;
        measure(found->second.values<double>(), expected.values<double>(), rounded);
        return rounded.error;
      }
    return 0.0;
  }

  const Results &reference;
  const Tolerance &tolerance;
  const CompareOptions &options;
  double growth;
};

} // namespace

Expected<Tolerance> toleranceOf(DType computation) {
  switch (computation) {
  case DType::F32:
    return Tolerance{2e-5, 1e-5, 2e-3, 4.0 * 0x1p-24, 8.0 * 0x1p-24};
  case DType::BF16: // on top of twice the error of rounding
    return Tolerance{1e-3, 5e-4, 2e-3, 4.0 * 0x1p-24, 0x1p-8 / 8};
  case DType::F16:
    return Tolerance{1e-3, 5e-4, 2e-3, 4.0 * 0x1p-24, 0x1p-11 / 8};
  case DType::TF32: // as many bits, but results are not rounded
    return Tolerance{2e-4, 1e-4, 2e-3, 4.0 * 0x1p-24, 0x1p-11 / 8};
  case DType::F64:
    return Tolerance{1e-11, 1e-12, 1e-11, 4.0 * 0x1p-53, 8.0 * 0x1p-53};
  default:
    return makeError("expected a computation in f32, f64, bf16, f16 or tf32, whose tolerances are "
                     "stated, found ",
                     nameOf(computation));
  }
}

bool Report::passes() const {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const TensorReport &tensor) { return tensor.passes(); });
}

double Report::worstShare() const {
  double worst = 0.0;
  for (const TensorReport &tensor : tensors) {
    if (!tensor.problem.empty() || (tensor.bound == 0.0 && tensor.error > 0.0))
      return std::numeric_limits<double>::infinity();
    if (tensor.error > 0.0)
      worst = std::max(worst, tensor.error / tensor.bound);
  }
  return worst;
}

std::string Report::table() const {
  std::string text;
  for (const TensorReport &tensor : tensors) {
    // Relative to the reference, or absolute where the reference is zero.
    bool isZero = tensor.norm == 0.0;
    double unit = isZero ? 1.0 : tensor.norm;
    char numbers[80];
    std::snprintf(numbers, sizeof(numbers), "error %.2e  bound %.2e%s  %s", tensor.error / unit,
                  tensor.bound / unit, isZero ? " (absolute)" : "",
                  tensor.passes() ? "ok" : "FAILED");
    std::string name = tensor.name;
    name.resize(std::max<size_t>(name.size(), 20), ' ');
    text += name + " " + (tensor.problem.empty() ? numbers : tensor.problem + "  FAILED") + "\n";
  }
  return text;
}

Expected<Report> compare(const Results &reference, const TensorMap &found,
                         const CompareOptions &options) {
  auto tolerance = toleranceOf(options.computation);
  if (!tolerance)
    return tolerance.takeError();
  const bool isRounded = options.computation == DType::TF32 || sizeOf(options.computation) == 2;
  if (isRounded && !options.rounded)
    return makeError("expected the rounded evaluation to judge a computation in ",
                     nameOf(options.computation), ", found none");
  Comparator comparator(reference, *tolerance, options);
  for (const TensorMap *expected : {&reference.outputs, &reference.gradients})
    for (const auto &[name, tensor] : *expected)
      comparator.judge(name, tensor, found);
  for (const auto &[name, tensor] : found) {
    if (reference.outputs.contains(name) || reference.gradients.contains(name))
      continue;
    TensorReport item;
    item.name = name;
    item.problem = "not among the reference's results";
    comparator.report.tensors.push_back(std::move(item));
  }
  return std::move(comparator.report);
}

std::string findBitwiseDifference(const TensorMap &a, const TensorMap &b) {
  for (const auto &[name, tensor] : a) {
    auto other = b.find(name);
    if (other == b.end() || other->second.dtype() != tensor.dtype() ||
        other->second.shape() != tensor.shape())
      return name;
    Tensor left = tensor.contiguous(), right = other->second.contiguous();
    if (std::memcmp(left.rawData(), right.rawData(), left.byteSize()) != 0)
      return name;
  }
  for (const auto &[name, tensor] : b)
    if (!a.contains(name))
      return name;
  return {};
}

} // namespace pe::reference
