//===- PlotRun.cpp - Plots of training and of speed ---===//
#include "runtime/chart/LineChart.h"
#include "runtime/chart/Smoothing.h"
#include "runtime/chart/SvgWriter.h"
#include "tools/pe/Plot.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace pe::cli {

using chart::Csv;

namespace {

/// The number of drawn steps of a curve; more steps would not be visible.
constexpr size_t kMostSteps = 1500;

Error lacks(const PlottedRun &run, const std::string &what) {
  return makeError(run.path, ": expected ", what, ", found none");
}

} // namespace

/// Plots the loss of every step, faint, and its mean over the surrounding steps.
Pictures plotTraining(const PlottedRun &run) {
  constexpr double kDecay = 0.9;
  chart::LineChart chart{
      .title = run.name + ": training loss",
      .subtitle = "thin: every step; thick: mean over the steps around it, weighted 0.9^distance",
      .xLabel = "step",
      .yLabel = "loss (bits per character)",
      .width = chart::kPictureWidth};
  Csv csv({"run", "step", "bits_per_char", "running_mean"});
  int color = 0;
  for (const train::RunRecord &record : run.file.runs) {
    if (record.loss.empty())
      continue;
    std::vector<double> losses;
    for (const auto &[step, bits] : record.loss)
      losses.push_back(bits);
    const std::vector<double> means = chart::smoothed(losses, kDecay);
    chart::Series raw{.color = color, .faint = true};
    chart::Series mean{.name = record.name, .color = color++};
    const size_t every = (record.loss.size() + kMostSteps - 1) / kMostSteps;
    for (size_t n = 0; n < record.loss.size(); ++n) {
      if (n % every && n + 1 < record.loss.size())
        continue;
      const auto [step, bits] = record.loss[n];
      raw.points.emplace_back(step, bits);
      mean.points.emplace_back(step, means[n]);
      csv.add({record.name, step, bits, means[n]});
    }
    chart.series.push_back(std::move(raw));
    chart.series.push_back(std::move(mean));
  }
  if (chart.series.empty())
    return lacks(run, "steps of pe train --log");
  return std::vector<Picture>{{run.name + "-training", toSvg(chart), csv.text()}};
}

Pictures plotLengths(const PlottedRun &run) {
  chart::LineChart chart{.title = run.name + ": bits per character by context length",
                         .subtitle =
                             "lower is better; the same held-out characters at every length",
                         .xLabel = "context (characters)",
                         .yLabel = "bits per character",
                         .x = chart::Scale::Kind::Log2,
                         .width = chart::kPictureWidth};
  Csv csv({"run", "length", "bits_per_char"});
  for (const train::RunRecord &record : run.file.runs) {
    chart::Series series{.name = record.name, .marker = chart::Marker::Circle};
    for (auto [length, bits] : record.bitsPerChar) {
      series.points.emplace_back(static_cast<double>(length), bits);
      csv.add({record.name, length, bits});
    }
    if (!series.points.empty())
      chart.series.push_back(std::move(series));
  }
  if (chart.series.empty())
    return lacks(run, "bits per character by length");
  return std::vector<Picture>{{run.name + "-lengths", toSvg(chart), csv.text()}};
}

namespace {

/// Returns the limit of the machine: the minimum of its arithmetic peak and its memory bandwidth
/// times the intensity.
chart::Series roofOf(double peak, double bandwidth, double low, double high) {
  chart::Series roof{.name = "limit", .color = 6};
  const double ridge = bandwidth > 0 ? peak / bandwidth : low;
  for (double x : {low, ridge, high})
    if (x >= low && x <= high)
      roof.points.emplace_back(x, std::min(peak, bandwidth > 0 ? x * bandwidth : peak) * 1e-9);
  return roof;
}

} // namespace

/// Plots rates by operations per byte, below the limits of arithmetic and memory.
Pictures plotRoofline(const PlottedRun &run) {
  Csv csv({"encoding", "length", "half", "flops_per_byte", "gflops_per_second",
           "peak_gflops_per_second", "copy_gigabytes_per_second"});
  std::map<std::string, chart::Series> forward, backward;
  double peak = 0;
  chart::Range intensities;
  for (const train::BenchRecord &record : run.file.bench) {
    if (!(record.flops > 0 && record.bytes > 0 && record.seconds > 0))
      continue;
    const double rate = record.flops / record.seconds, intensity = record.flops / record.bytes;
    const double machine = record.share > 0 ? rate / record.share : 0;
    peak = std::max(peak, machine);
    intensities.add(intensity);
    (record.half == "forward" ? forward : backward)[record.encoding].points.emplace_back(
        intensity, rate * 1e-9);
    csv.add({record.encoding, record.length, record.half, intensity, rate * 1e-9, machine * 1e-9,
             run.file.copyBytesPerSecond * 1e-9});
  }
  if (intensities.isEmpty() || !(peak > 0))
    return lacks(run, "rows of pe bench --json with seconds, flops, bytes and a share of peak");
  const double bandwidth = run.file.copyBytesPerSecond;
  const double ridge = bandwidth > 0 ? peak / bandwidth : intensities.low;
  chart::LineChart chart{.title = run.name + ": rates below the machine's limit",
                         .subtitle = run.file.cpu + ", " + std::to_string(run.file.threads) +
                                     " thread(s); filled: forward, hollow: backward",
                         .xLabel = "useful operations per byte of tensors read and written",
                         .yLabel = "GFLOP/s",
                         .x = chart::Scale::Kind::Log10,
                         .y = chart::Scale::Kind::Log10,
                         .width = chart::kPictureWidth};
  chart.series.push_back(roofOf(peak, bandwidth, std::min(intensities.low, ridge) / 4,
                                std::max(intensities.high, ridge) * 2));
  int color = 0;
  for (auto &[name, series] : forward) {
    for (auto [half, marker] :
         {std::pair(&series, chart::Marker::Circle), {&backward[name], chart::Marker::Square}}) {
      half->name = half == &series ? name : "";
      half->color = color;
      half->line = false;
      half->marker = marker;
      chart.series.push_back(*half);
    }
    ++color;
  }
  return std::vector<Picture>{{run.name + "-roofline", toSvg(chart), csv.text()}};
}

} // namespace pe::cli
