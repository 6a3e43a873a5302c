//===- Means.cpp - The mean of several runs -------------------------------===//
#include "runtime/train/report/Report.h"

#include <tuple>

namespace pe::train {
namespace {

using Curve = std::vector<std::pair<double, double>>;
using BySeed = std::map<int64_t, std::vector<double>>;

/// Averages each point over the runs that have it.
Curve meanCurve(const std::vector<const EncodingResult *> &runs, Curve EncodingResult::*curve) {
  std::map<double, std::vector<double>> points;
  for (const EncodingResult *run : runs)
    for (auto [step, value] : run->*curve)
      points[step].push_back(value);
  Curve result;
  for (const auto &[step, values] : points)
    result.emplace_back(step, meanOf(values).first);
  return result;
}

BySeed collect(const std::vector<const EncodingResult *> &runs,
               std::map<int64_t, double> EncodingResult::*byLength) {
  BySeed values;
  for (const EncodingResult *run : runs)
    for (auto [length, value] : run->*byLength)
      values[length].push_back(value);
  return values;
}

} // namespace

EncodingResult meanOf(const std::vector<const EncodingResult *> &runs, Measure measure) {
  EncodingResult result;
  const EncodingResult &first = *runs.front();
  result.name = first.name;
  result.encodingParams = first.encodingParams;
  result.modelParams = first.modelParams;
  result.bias = first.bias;
  result.seeds = static_cast<int64_t>(runs.size());
  for (const EncodingResult *run : runs) {
    result.trainSeconds += run->trainSeconds / static_cast<double>(runs.size());
    for (const auto &[column, values] : run->more)
      result.more[column].push_back(values[0]);
  }
  const BySeed bits = collect(runs, &EncodingResult::bitsPerChar);
  const BySeed accuracy = collect(runs, &EncodingResult::accuracy);
  const BySeed milliseconds = collect(runs, &EncodingResult::milliseconds);
  for (const auto &[length, values] : bits)
    std::tie(result.bitsPerChar[length], result.deviation[length]) = meanOf(values);
  for (const auto &[length, values] : accuracy)
    std::tie(result.accuracy[length], result.accuracyDeviation[length]) = meanOf(values);
  for (const auto &[length, values] : milliseconds)
    result.milliseconds[length] = meanOf(values).first;
  result.bySeed = measure == Measure::Accuracy ? accuracy
                  : measure == Measure::Bits   ? bits
                                               : milliseconds;
  result.curve = meanCurve(runs, &EncodingResult::curve);
  result.evaluations = meanCurve(runs, &EncodingResult::evaluations);
  return result;
}

} // namespace pe::train
