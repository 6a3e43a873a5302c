//===- Compare.cpp - Comparison of results with the reference -------------===//

#include "runtime/reference/Compare.h"

#include "runtime/plan/JsonReader.h"
#include "runtime/reference/Rounding.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>

namespace pe::reference {
namespace {

/// The relative tolerance of gradients of the parameters of an approximated function.
constexpr double kApproximatedGradient = 2e-3;

double normOf(const Tensor &tensor) {
  double sum = 0.0;
  for (double x : tensor.values<double>())
    sum += x * x;
  return std::sqrt(sum);
}

/// Returns the norm of the elements of `name` at which `expected` is finite, or of the only element
/// if there is one for the entire tensor.
double normOf(const TensorMap &tensors, const std::string &name, const Tensor &expected) {
  auto found = tensors.find(name);
  if (found == tensors.end())
    return 0.0;
  if (found->second.shape() != expected.shape()) // one element for the entire tensor
    return normOf(found->second);
  const auto values = found->second.values<double>(), bounded = expected.values<double>();
  double sum = 0.0;
  for (size_t e = 0; e < values.size(); ++e)
    if (std::isfinite(bounded[e]))
      sum += values[e] * values[e];
  return std::sqrt(sum);
}

/// Formats a value; NaN without its sign, which is meaningless.
std::string textOf(double x) { return std::isnan(x) ? "nan" : makeError(x).getMessage(); }

/// Returns true if the values are equal or both are NaN.
bool isSame(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Sets error and norm, or the problem of the first element that cannot be compared.
void measure(std::span<const double> found, std::span<const double> reference,
             TensorReport &report) {
  double error = 0.0, norm = 0.0;
  report.notFinite = 0;
  report.elements = static_cast<int64_t>(reference.size());
  for (size_t e = 0; e < reference.size(); ++e) {
    if (!std::isfinite(reference[e])) {
      ++report.notFinite;
      if (isSame(found[e], reference[e]))
        continue;
      report.problem = makeError("element ", e, ": expected ", textOf(reference[e]), ", found ",
                                 textOf(found[e]))
                           .getMessage();
      return;
    }
    if (!std::isfinite(found[e])) {
      report.problem = makeError("element ", e, " is not finite: ", textOf(found[e])).getMessage();
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
    item.isLogarithm = reference.logarithms.contains(name);
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
    setBound(item, expected, 2 * roundingOf(expected, item.name));
    if (options.computation == DType::F32 && sizeOf(found.dtype()) == 2)
      addStorage(item, found.dtype());
    const Tensor *rounded = findRounded(item.name);
    if (rounded && item.problem.empty() && !item.isBounded())
      judgeByRounded(*elements, *rounded, item);
  }

  /// Adds one rounding of every element to the bound. An f16 below 2^-14 is a multiple of 2^-24.
  static void addStorage(TensorReport &item, DType storage) {
    const double least =
        storage == DType::F16 ? 0x1p-25 * std::sqrt(static_cast<double>(item.elements)) : 0.0;
    item.bound += roundoffOf(storage) * item.norm + least;
    if (item.norm <= 2 * least)
      item.scale = std::max(item.scale, item.bound);
  }

  /// Compares with the rounded evaluation, because rounding to the type moves the result by more
  /// than its size. The result may differ by one rounding.
  void judgeByRounded(std::span<const double> found, const Tensor &rounded,
                      TensorReport &item) const {
    const double roundoff = 8.0 * tolerance.noise;
    measure(found, rounded.values<double>(), item);
    item.bound = (roundoff + tolerance.relative + growth) * item.norm;
    item.scale = item.norm;
    item.isAgainstRounded = true;
  }

  void setBound(TensorReport &item, const Tensor &expected, double rounding) const {
    const double magnitude = normOf(reference.magnitudes, item.name, expected);
    const double noise = normOf(reference.noise, item.name, expected);
    // A parameter whose gradient has its own terms is judged by these.
    const double terms = magnitude > 0.0 ? 0.0 : normOf(reference.terms, item.name, expected);
    const double relative = approximated(item.name, tolerance.relative + growth);
    item.bound = relative * item.norm + (tolerance.magnitude + growth) * magnitude;
    item.bound = std::max(item.bound, tolerance.noise * noise);
    // The norm is only the float64 rounding error of terms that cancel.
    if (item.norm <= 0x1p-40 * terms)
      item.bound = std::max(item.bound, tolerance.noise * terms);
    item.bound += tolerance.perLogit * normOf(reference.logitErrors, item.name, expected);
    item.bound += rounding;
    item.scale = item.norm;
    // A relative factor above 1 bounds nothing, even if terms cancelled.
    if (item.bound > item.norm && relative <= 1.0)
      item.scale = std::max({item.norm, magnitude, noise, terms});
    if (item.norm > 0.0 && item.norm <= tolerance.smallest) {
      item.bound = std::max(item.bound, tolerance.smallest);
      item.scale = std::max(item.scale, item.bound);
    }
  }

  /// Returns the relative factor plus the error that approximations may add.
  double approximated(const std::string &name, double relative) const {
    bool isParameter = false;
    for (const Approximation &approximation : options.approximations) {
      relative += approximation.logits;
      for (const std::string &parameter : approximation.parameters)
        isParameter |= name == "d_" + parameter;
    }
    return isParameter ? std::max(relative, kApproximatedGradient) : relative;
  }

  /// Returns the distance of the rounded evaluation from the exact one, or the distance that its
  /// rounding errors can cause, if that is larger because they happen to cancel.
  double roundingOf(const Tensor &expected, const std::string &name) const {
    const Tensor *found = findRounded(name);
    if (!found)
      return 0.0;
    TensorReport rounded;
    measure(found->values<double>(), expected.values<double>(), rounded);
    return std::max(rounded.error, normOf(options.rounded->rounding, name, expected));
  }

  const Tensor *findRounded(const std::string &name) const {
    if (!options.rounded)
      return nullptr;
    for (const TensorMap *tensors : {&options.rounded->outputs, &options.rounded->gradients})
      if (auto found = tensors->find(name); found != tensors->end())
        return &found->second;
    return nullptr;
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
    return Tolerance{2e-5, 1e-5, 4.0 * 0x1p-24, 8.0 * 0x1p-24, 0x1p-100};
  case DType::BF16: // in addition to twice the error of rounding
    return Tolerance{1e-3, 5e-4, 4.0 * 0x1p-24, 0x1p-8 / 8, 0x1p-100};
  case DType::F16:
    return Tolerance{1e-3, 5e-4, 4.0 * 0x1p-24, 0x1p-11 / 8, 0x1p-100};
  case DType::TF32: // the mantissa of f16, but results are not rounded
    return Tolerance{2e-4, 1e-4, 4.0 * 0x1p-24, 0x1p-11 / 8, 0x1p-100};
  case DType::F64:
    return Tolerance{1e-11, 1e-12, 4.0 * 0x1p-53, 8.0 * 0x1p-53, 0x1p-1000};
  default:
    return makeError("expected a computation in f32, f64, bf16, f16 or tf32, found ",
                     nameOf(computation));
  }
}

std::string TensorReport::line() const {
  std::string text = name;
  text.resize(std::max<size_t>(text.size(), 20), ' ');
  if (!problem.empty())
    return text + " " + problem + "  FAILED";
  const double unit = isAbsolute() ? 1.0 : norm;
  char numbers[120];
  std::snprintf(numbers, sizeof(numbers), " %serror %.2e  bound %.2e", isAbsolute() ? "abs " : "",
                error / unit, bound / unit);
  text += numbers;
  if (isAbsolute() && scale > 0.0) {
    std::snprintf(numbers, sizeof(numbers), " (terms of %.2e cancel)", scale);
    text += numbers;
  }
  if (isAgainstRounded)
    text += " (against the rounded evaluation)";
  if (hasNothingFinite() && !isLogarithm)
    return text + " (none of " + std::to_string(elements) +
           " elements is finite, as in the reference)  FAILED";
  if (notFinite > 0)
    text += " (" + std::to_string(notFinite) + " elements are not finite, as in the reference)";
  if (!isBounded())
    return text + "  NO BOUND";
  return text + (error <= bound ? "  ok" : "  FAILED");
}

const TensorReport *Report::findNothingFinite() const {
  auto found = std::find_if(tensors.begin(), tensors.end(), [](const TensorReport &tensor) {
    return tensor.problem.empty() && tensor.hasNothingFinite() && !tensor.isLogarithm;
  });
  return found == tensors.end() ? nullptr : &*found;
}

std::string Report::findUnbounded() const {
  for (const TensorReport &tensor : tensors)
    if (tensor.problem.empty() && !tensor.isBounded())
      return tensor.name;
  return {};
}

bool Report::passes() const {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const TensorReport &tensor) { return tensor.passes(); });
}

double Report::worstShare() const {
  double worst = 0.0;
  for (const TensorReport &tensor : tensors) {
    if (!tensor.problem.empty() || !tensor.isBounded() ||
        (tensor.bound == 0.0 && tensor.error > 0.0))
      return std::numeric_limits<double>::infinity();
    if (tensor.error > 0.0)
      worst = std::max(worst, tensor.error / tensor.bound);
  }
  return worst;
}

std::string Report::table() const {
  std::string text;
  for (const TensorReport &tensor : tensors)
    text += tensor.line() + "\n";
  return text;
}

Expected<std::vector<Approximation>> approximationsOf(std::string_view explainJson) {
  using plan::Json;
  auto json = plan::parseJson(explainJson, "explanation");
  if (!json)
    return json.takeError();
  std::vector<Approximation> approximations;
  if (!json->is_object())
    return makeError("expected the explanation of a function, found ", explainJson);
  for (const Json &attention : json->value("attentions", Json::array()))
    for (const Json &term : attention.value("terms", Json::array())) {
      auto tolerance = term.find("tolerance");
      if (tolerance == term.end() || !tolerance->is_number())
        continue;
      Approximation approximation{*tolerance, {}};
      for (const Json &name : term.value("parameters", Json::array()))
        approximation.parameters.push_back(name);
      approximations.push_back(std::move(approximation));
    }
  return approximations;
}

Expected<Report> compare(const Results &reference, const TensorMap &found,
                         const CompareOptions &options) {
  auto tolerance = toleranceOf(options.computation);
  if (!tolerance)
    return tolerance.takeError();
  const bool isRounded = options.computation == DType::TF32 || sizeOf(options.computation) == 2;
  if (isRounded && !options.rounded)
    return makeError("expected a rounded evaluation to compare a computation in ",
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
