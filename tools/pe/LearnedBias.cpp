//===- LearnedBias.cpp - The learned bias of a session's first layer -------===//
#include "tools/pe/LearnedBias.h"

#include "runtime/reference/Reference.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace pe::cli {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
/// The number of queries and keys of a map.
constexpr int64_t kCells = 64;

/// Rounds to six digits, which suffice for plots and keep files small.
double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::strtod(text, nullptr);
}

/// Evaluates a bias query by query, so that long sequences need no matrix.
class BiasReader {
public:
  BiasReader(reference::Program program, TensorMap inputs, int64_t heads, int64_t length)
      : program(std::move(program)), inputs(std::move(inputs)), heads(heads), length(length) {}

  /// Returns the row of a query, [head][key], with NaN for masked pairs.
  Expected<std::vector<std::vector<double>>> rowOf(int64_t query) const {
    auto call = reference::materialize(program, inputs, {.queryStart = query});
    if (!call)
      return call.takeError();
    const double *bias = call->bias.data<double>(), *allowed = call->allowed.data<double>();
    std::vector<std::vector<double>> rows(heads, std::vector<double>(length, kNone));
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t key = 0; key < length; ++key)
        if (allowed[key] != 0)
          rows[head][key] = rounded(bias[head * length + key]);
    return rows;
  }

private:
  reference::Program program;
  TensorMap inputs;
  int64_t heads, length;
};

/// Returns true if the sampled rows are a function of the distance, up to rounding.
class DistanceCheck {
public:
  void add(int64_t query, const std::vector<double> &row) {
    for (size_t key = 0; key < row.size(); ++key) {
      if (!std::isfinite(row[key]))
        continue;
      largest = std::max(largest, std::abs(row[key]));
      auto [seen, isNew] = values.emplace(query - static_cast<int64_t>(key), row[key]);
      difference = std::max(difference, std::abs(seen->second - row[key]));
    }
  }
  bool holds() const { return difference <= 1e-5 * largest; }

private:
  std::map<int64_t, double> values;
  double largest = 0, difference = 0;
};

/// Samples every `step`-th query and key of every head. Drops the maps if one row determines them.
Status addMaps(const BiasReader &reader, int64_t length, train::LearnedBias &bias,
               bool &seesLater) {
  bias.step = std::max<int64_t>(1, length / kCells);
  std::vector<DistanceCheck> checks;
  for (int64_t query = 0; query < length; query += bias.step) {
    auto rows = reader.rowOf(query);
    if (!rows)
      return rows.takeError();
    checks.resize(rows->size());
    bias.maps.resize(rows->size());
    for (size_t head = 0; head < rows->size(); ++head) {
      const std::vector<double> &row = (*rows)[head];
      checks[head].add(query, row);
      std::vector<double> &cells = bias.maps[head].emplace_back();
      for (int64_t key = 0; key < length; key += bias.step) {
        cells.push_back(row[key]);
        seesLater |= key > query && !std::isnan(row[key]);
      }
    }
  }
  if (std::all_of(checks.begin(), checks.end(), [](const auto &check) { return check.holds(); }))
    bias.maps.clear();
  return Status::success();
}

} // namespace

Expected<train::LearnedBias> learnedBiasOf(const train::TrainedEncoding &encoding,
                                           train::Session &session) {
  train::LearnedBias bias;
  const train::TrainedFunction &attention = *encoding.attention;
  if (!attention.data.empty() || !attention.projected.empty() || attention.sets.size() != 1)
    return bias;
  auto program = reference::parseProgram(attention.description->program);
  if (!program)
    return program.takeError();
  train::Decoder &model = session.trainer().model();
  const train::DecoderConfig &shape = model.config();
  bias.trainedLength = session.config().sequence;
  const int64_t length = 2 * bias.trainedLength;
  TensorMap inputs;
  const train::HeadSet &names = attention.sets.front();
  inputs[names.q] = Tensor::zeros(DType::F32, {1, shape.heads, 1, shape.headDim()});
  for (const std::string &name : {names.k, names.v})
    inputs[name] = Tensor::zeros(DType::F32, {1, shape.keyHeads, length, shape.headDim()});
  const train::SelfAttention &layer = model.attention(0);
  const auto &known = layer.attention().parameters();
  for (size_t i = 0; i < known.size(); ++i) {
    const train::Parameter &slot = model.layout()[layer.encodingParameters()[i]];
    inputs[known[i].name] =
        Tensor::borrow(model.values().at(slot), DType::F32, known[i].shape).clone();
  }
  const BiasReader reader(*std::move(program), std::move(inputs), shape.heads, length);
  bool seesLater = false;
  if (Status status = addMaps(reader, length, bias, seesLater); !status)
    return status.takeError();
  bias.query = seesLater ? length / 2 : length - 1;
  auto rows = reader.rowOf(bias.query);
  if (!rows)
    return rows.takeError();
  bias.rows = *std::move(rows);
  return bias.isZero() ? train::LearnedBias() : bias;
}

} // namespace pe::cli
