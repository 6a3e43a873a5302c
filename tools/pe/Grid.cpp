//===- Grid.cpp - Several training runs and their table ---===//
//
// Cells, the files of finished runs, workers, and what is made of the results.
//
//===----------------------------------------------------------------------===//
#include "tools/pe/Grid.h"

#include "runtime/core/File.h"
#include "runtime/core/Hash.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/train/api/OpenSession.h"
#include "runtime/train/report/Report.h"
#include "runtime/train/session/Observers.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Run.h"
#include "tools/pe/TrainCommands.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <thread>

namespace pe::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kPrefix = "pe.train.";

/// One combination of values, of all seeds.
struct Row {
  std::string name;
  std::vector<std::pair<std::string, std::string>> values;
};

/// A row with one seed.
struct Cell {
  size_t row;
  std::string seed;
  train::TrainOptions options;
  std::string file;
  std::optional<train::EncodingResult> result;
};

/// What one run found: the curves of its losses.
class Recorder : public train::Observer {
public:
  explicit Recorder(train::EncodingResult &result) : result(result) {}
  void onStep(const train::StepReport &report, train::Trainer &trainer) override {
    constexpr int64_t kInterval = 10;
    const double bits = report.loss / std::numbers::ln2;
    if (!report.skipped)
      smooth = result.curve.empty() && smooth == 0 ? bits : 0.9 * smooth + 0.1 * bits;
    if (trainer.steps() % kInterval == 0)
      result.curve.emplace_back(trainer.steps(), smooth);
  }
  void onAccuracy(const std::map<int64_t, double> &byLength) override {
    result.accuracy = byLength;
  }
  void onEvaluation(int64_t step, const std::map<int64_t, double> &bits) override {
    const auto &shown = result.accuracy.empty() ? bits : result.accuracy;
    if (!shown.empty())
      result.evaluations.emplace_back(step, shown.begin()->second);
    result.bitsPerChar = bits;
  }

private:
  train::EncodingResult &result;
  double smooth = 0;
};

Json pairsOf(const std::map<int64_t, double> &values) {
  Json list = Json::array();
  for (auto [key, value] : values)
    list.push_back({key, value});
  return list;
}

std::string toCellText(const train::EncodingResult &result) {
  Json json = {{"bits", pairsOf(result.bitsPerChar)},
               {"accuracy", pairsOf(result.accuracy)},
               {"curve", result.curve},
               {"evaluations", result.evaluations},
               {"encoding_params", result.encodingParams},
               {"model_params", result.modelParams},
               {"seconds", result.trainSeconds}};
  return json.dump() + "\n";
}

/// The result in a finished run's file; none if it cannot be read as one.
std::optional<train::EncodingResult> fromCellText(const std::string &text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  train::EncodingResult result;
  try {
    for (const auto &[length, value] :
         json.at("bits").get<std::vector<std::pair<int64_t, double>>>())
      result.bitsPerChar[length] = value;
    for (const auto &[length, value] :
         json.at("accuracy").get<std::vector<std::pair<int64_t, double>>>())
      result.accuracy[length] = value;
    json.at("curve").get_to(result.curve);
    json.at("evaluations").get_to(result.evaluations);
    json.at("encoding_params").get_to(result.encodingParams);
    json.at("model_params").get_to(result.modelParams);
    json.at("seconds").get_to(result.trainSeconds);
  } catch (const nlohmann::json::exception &) {
    return std::nullopt;
  }
  return result;
}

/// A file's name from a row's: letters, digits and a few marks.
std::string fileNameOf(std::string name) {
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '=' && c != '.' && c != '-')
      c = '_';
  return name.substr(0, 100);
}

/// The last part of a path without its ending: how encodings are called.
std::string shortOf(const std::string &value) {
  return value.ends_with(".mlir") ? std::filesystem::path(value).stem().string() : value;
}

/// Rows of a product of axes, the last axis fastest.
std::vector<Row> rowsOf(const std::vector<Axis> &axes) {
  std::vector<Row> rows = {{}};
  for (const Axis &axis : axes) {
    std::vector<Row> more;
    for (const Row &row : rows)
      for (const std::string &value : axis.values) {
        Row next = row;
        next.values.emplace_back(axis.key, value);
        next.name += (row.name.empty() ? "" : ", ") +
                     (axes.size() == 1 && axis.key == "encoding" ? "" : axis.key + "=") +
                     shortOf(value);
        more.push_back(std::move(next));
      }
    rows = std::move(more);
  }
  if (axes.empty())
    rows[0].name = "all seeds";
  return rows;
}

Status checkSeeds(const std::vector<std::string> &seeds) {
  for (const std::string &text : seeds) {
    uint64_t seed = 0;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (failure != std::errc() || end != text.data() + text.size())
      return makeError("--seeds: expected whole numbers such as 0,1,2, found '", text, "'");
    if (std::count(seeds.begin(), seeds.end(), text) > 1)
      return makeError("--seeds: '", text, "' is given twice");
  }
  return Status::success();
}

class Grid {
public:
  Grid(std::string title, const train::TrainOptions &options)
      : title(std::move(title)), config(options.config) {}

  Status prepare(const std::vector<std::string> &arguments, std::vector<Axis> axes);
  Status run();
  Status write();

private:
  Status name(Cell &cell);
  Expected<train::Kernels> kernelsOf(const std::string &activation);
  Expected<std::vector<std::shared_ptr<const train::Corpus>>>
  corporaOf(const train::TrainConfig &config);
  Status runCell(Cell &cell);
  void work();
  train::EncodingResult summary(size_t row) const;
  void printTable(const std::vector<train::EncodingResult> &rows) const;

  std::string title;
  const train::TrainConfig &config;
  std::vector<Row> rows;
  std::vector<std::string> seeds;
  std::vector<Cell> cells;
  /// What cells share, and what workers tell; one at a time.
  std::mutex lock;
  std::map<std::string, train::Kernels> kernels;
  std::map<std::string, std::shared_ptr<const train::Corpus>> corpora;
  std::shared_ptr<const train::Corpus> lastText;
  std::atomic<size_t> next = 0;
  size_t finished = 0;
  Status failure = Status::success();
  Clock::time_point begin = Clock::now();
};

/// Every cell's flags are read before the first run, so that a mistake costs no time.
Status Grid::prepare(const std::vector<std::string> &arguments, std::vector<Axis> axes) {
  for (const auto &[flag, given] : {std::pair("--checkpoint", !config.checkpoint.empty()),
                                    {"--log", !config.log.empty()},
                                    {"--trace", !config.trace.empty()},
                                    {"--resume", config.resume},
                                    {"--check", config.check != train::TrainConfig::Check::None}})
    if (given)
      return makeError("expected no ", flag,
                       " with several runs (finished ones are kept in --out), "
                       "found one");
  auto swept = parseSweep(config.sweep);
  if (!swept)
    return swept.takeError();
  axes.insert(axes.end(), swept->begin(), swept->end());
  for (size_t i = 0; i < axes.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (axes[i].key == axes[j].key)
        return makeError("--sweep: '", axes[i].key, "' is given twice");
  rows = rowsOf(axes);
  seeds = train::splitList(config.seeds);
  if (Status status = checkSeeds(seeds); !status)
    return status;
  if (seeds.empty())
    seeds = {std::to_string(config.seed)};
  for (size_t row = 0; row < rows.size(); ++row)
    for (const std::string &seed : seeds) {
      std::map<std::string, std::string> values(rows[row].values.begin(), rows[row].values.end());
      values["seed"] = seed;
      auto options = train::parseTrainOptions(arguments, values);
      if (!options)
        return options.takeError().within(rows[row].name);
      cells.push_back({row, seed, *std::move(options), "", {}});
    }
  std::error_code code;
  std::filesystem::create_directories(config.out + "/cells", code);
  if (code)
    return makeError("--out: cannot make the folder '", config.out, "': ", code.message());
  return Status::success();
}

Expected<train::Kernels> Grid::kernelsOf(const std::string &activation) {
  if (auto found = kernels.find(activation); found != kernels.end())
    return found->second;
  auto made = train::prepareTraining(activation);
  if (made)
    kernels[activation] = *made;
  return made;
}

Expected<std::vector<std::shared_ptr<const train::Corpus>>>
Grid::corporaOf(const train::TrainConfig &own) {
  std::vector<std::shared_ptr<const train::Corpus>> result;
  for (const train::PhaseConfig &phase : own.phases) {
    auto &corpus = corpora[std::string(own.vocabulary.unitName()) +
                           std::to_string(own.vocabulary.size()) + ":" + phase.data];
    if (!corpus) {
      auto read = train::readData(phase.data, own.vocabulary);
      if (!read)
        return read.takeError();
      corpus = std::make_shared<const train::Corpus>(*std::move(read));
    }
    result.push_back(corpus);
  }
  lastText = result.back();
  return result;
}

/// The file of a cell's result, by everything that decides it.
Status Grid::name(Cell &cell) {
  const train::TrainConfig &own = cell.options.config;
  auto texts = corporaOf(own);
  if (!texts)
    return texts.takeError();
  train::Metadata identity = cell.options.identity;
  auto encoding = train::compileEncoding(findFile(own.encoding), own);
  if (!encoding)
    return encoding.takeError().within(rows[cell.row].name);
  if (Status status = train::addContentHashes(own, *encoding, *texts, identity); !status)
    return status;
  std::string all;
  for (const auto &[key, value] : identity)
    if (!identity.count(key + ".sha256"))
      all += key + "=" + value + "\n";
  for (int64_t length : own.evaluation.lengths)
    all += std::to_string(length) + ",";
  all += std::to_string(own.evaluationInterval);
  cell.file = config.out + "/cells/" + fileNameOf(rows[cell.row].name) + "-seed" + cell.seed + "-" +
              sha256(all).substr(0, 12) + ".json";
  if (auto text = readFile(cell.file))
    cell.result = fromCellText(*text);
  return Status::success();
}

Status Grid::runCell(Cell &cell) {
  const train::TrainConfig &own = cell.options.config;
  const Clock::time_point start = Clock::now();
  cpu::ThreadPool::Options threads;
  threads.threads = own.threads;
  if (config.jobs > 1 && own.threads == 0)
    threads.threads =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / config.jobs);
  cpu::ThreadPool pool(threads);
  std::unique_ptr<train::Session> session;
  {
    std::lock_guard guard(lock);
    auto texts = corporaOf(own);
    auto compute = kernelsOf(own.activation);
    auto encoding = train::compileEncoding(findFile(own.encoding), own);
    if (!texts || !compute || !encoding)
      return !texts ? texts.takeError() : !compute ? compute.takeError() : encoding.takeError();
    auto phases = train::attentionOfPhases(own, *encoding, findFile(own.encoding), pool);
    if (!phases)
      return phases.takeError();
    auto made = train::Session::create(own,
                                       {*compute, encoding->attentionFactory(pool), pool,
                                        encoding->embeddingFactory(pool), *std::move(phases)},
                                       *std::move(texts));
    if (!made)
      return made.takeError();
    session = *std::move(made);
  }
  train::EncodingResult result;
  result.name = rows[cell.row].name;
  const train::ParameterLayout &layout = session->trainer().model().layout();
  result.encodingParams = layout.count(train::Role::Encoding);
  result.modelParams = layout.count();
  Recorder recorder(result);
  train::ProgressLine progress(stderr, result.name + " seed " + cell.seed, own.totalSteps());
  std::vector<train::Observer *> observers = {&recorder};
  if (config.jobs == 1)
    observers.push_back(&progress);
  auto bits = session->run(observers);
  if (config.jobs == 1)
    progress.clear();
  if (!bits)
    return bits.takeError();
  result.trainSeconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (Status status = writeFileAtomically(cell.file, toCellText(result), Durability::Disk); !status)
    return status;
  cell.result = std::move(result);
  return Status::success();
}

void Grid::work() {
  for (size_t index; (index = next++) < cells.size();) {
    Cell &cell = cells[index];
    if (cell.result)
      continue;
    Status status = runCell(cell);
    std::lock_guard guard(lock);
    const std::string what = rows[cell.row].name + ", seed " + cell.seed;
    if (!status) {
      if (failure)
        failure = status.takeError().within(what);
      next = cells.size(); // others end their runs
      return;
    }
    std::fprintf(stderr, "run %zu of %zu: %s: %.1f seconds\n", ++finished, cells.size(),
                 what.c_str(), cell.result->trainSeconds);
  }
}

Status Grid::run() {
  for (Cell &cell : cells)
    if (Status status = name(cell); !status)
      return status;
  for (const Cell &cell : cells)
    finished += cell.result.has_value();
  if (finished > 0)
    std::fprintf(stderr, "%zu of %zu runs are in '%s' already\n", finished, cells.size(),
                 config.out.c_str());
  std::vector<std::thread> workers;
  for (int job = 1; job < config.jobs; ++job)
    workers.emplace_back([this] { work(); });
  work();
  for (std::thread &worker : workers)
    worker.join();
  return std::move(failure);
}

/// The mean over seeds and the sample's standard deviation.
std::pair<double, double> meanOf(const std::vector<double> &values) {
  double sum = 0, squares = 0;
  for (double value : values)
    sum += value;
  const double count = static_cast<double>(values.size()), mean = sum / count;
  for (double value : values)
    squares += (value - mean) * (value - mean);
  return {mean, values.size() < 2 ? 0 : std::sqrt(squares / (count - 1))};
}

using Curve = std::vector<std::pair<double, double>>;

Curve meanCurve(const std::vector<Curve> &curves) {
  std::map<double, std::vector<double>> points;
  for (const Curve &curve : curves)
    for (auto [step, value] : curve)
      points[step].push_back(value);
  Curve result;
  for (const auto &[step, values] : points)
    result.emplace_back(step, meanOf(values).first);
  return result;
}

train::EncodingResult Grid::summary(size_t row) const {
  train::EncodingResult result;
  std::vector<Curve> curves, evaluations;
  std::map<int64_t, std::vector<double>> bits, accuracy;
  for (const Cell &cell : cells) {
    if (cell.row != row)
      continue;
    const train::EncodingResult &one = *cell.result;
    result.encodingParams = one.encodingParams;
    result.modelParams = one.modelParams;
    result.trainSeconds += one.trainSeconds;
    curves.push_back(one.curve);
    evaluations.push_back(one.evaluations);
    for (auto [length, value] : one.bitsPerChar)
      bits[length].push_back(value);
    for (auto [length, value] : one.accuracy)
      accuracy[length].push_back(value);
  }
  result.name = rows[row].name;
  result.seeds = static_cast<int64_t>(curves.size());
  result.trainSeconds /= static_cast<double>(curves.size()); // of a run
  for (const auto &[length, values] : bits)
    std::tie(result.bitsPerChar[length], result.deviation[length]) = meanOf(values);
  for (const auto &[length, values] : accuracy)
    std::tie(result.accuracy[length], result.accuracyDeviation[length]) = meanOf(values);
  result.curve = meanCurve(curves);
  result.evaluations = meanCurve(evaluations);
  return result;
}

void Grid::printTable(const std::vector<train::EncodingResult> &table) const {
  size_t width = 8;
  for (const train::EncodingResult &row : table)
    width = std::max(width, row.name.size());
  const bool asks = !table[0].accuracy.empty();
  std::printf("%s; %zu seed%s%s\n%-*s",
              asks ? "share of right answers in the second half, by length"
                   : "bits of the same held-out targets, by length of context",
              seeds.size(), seeds.size() == 1 ? "" : "s",
              seeds.size() == 1 ? "" : ", mean ± standard deviation", static_cast<int>(width), "");
  const int column = seeds.size() == 1 ? 8 : 16;
  for (const auto &[length, value] : asks ? table[0].accuracy : table[0].bitsPerChar)
    std::printf(" %*lld", column, static_cast<long long>(length));
  std::printf(" %10s %8s\n", "parameters", "seconds");
  for (const train::EncodingResult &row : table) {
    std::printf("%-*s", static_cast<int>(width), row.name.c_str());
    for (const auto &[length, value] : asks ? row.accuracy : row.bitsPerChar) {
      if (seeds.size() == 1)
        std::printf(" %*.3f", column, value);
      else
        std::printf(" %*.3f ± %.3f", column - 8, value,
                    (asks ? row.accuracyDeviation : row.deviation).at(length));
    }
    std::printf(" %10lld %8.1f\n", static_cast<long long>(row.modelParams), row.trainSeconds);
  }
}

Status Grid::write() {
  train::ReportContent report;
  for (size_t row = 0; row < rows.size(); ++row)
    report.results.push_back(summary(row));
  printTable(report.results);
  report.title = title;
  report.isTask = lastText->training.task != nullptr;
  report.unit = config.vocabulary.unitName();
  report.corpusDirectory = lastText->directory;
  report.corpusSha256 = lastText->sha256;
  report.corpusBytes = lastText->bytes;
  report.corpusFiles = lastText->files;
  report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  report.threads =
      config.threads ? config.threads : static_cast<int>(std::thread::hardware_concurrency());
  report.trainedLength = config.sequence;
  report.setup = sizeText(config.model) + ", " + std::to_string(config.totalSteps()) +
                 " steps of " + std::to_string(config.batch) + " sequences of " +
                 std::to_string(config.sequence) + " tokens, unless a row says otherwise; " +
                 std::to_string(seeds.size()) + (seeds.size() == 1 ? " seed." : " seeds.");
  if (seeds.size() == 1)
    report.limits.emplace_back(
        "One seed: small differences between rows mean nothing; --seeds=0,1,2 "
        "shows how large the spread of seeds is.");
  else
    report.limits.emplace_back("The deviation is that of seeds: of initial values and of the order "
                               "of the data. It says nothing of other data or sizes.");
  if (Status status = writeFileAtomically(config.out + "/results.json", train::toJson(report));
      !status)
    return status;
  if (Status status = writeFileAtomically(config.out + "/report.html", train::toHtml(report));
      !status)
    return status;
  std::printf("%s/report.html has the pictures, %s/results.json the numbers\n", config.out.c_str(),
              config.out.c_str());
  return Status::success();
}

} // namespace

Expected<std::vector<Axis>> parseSweep(const std::string &text) {
  std::vector<Axis> axes;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0)
      return makeError("--sweep: expected KEY=A,B,C, found '", part, "'");
    Axis axis{part.substr(0, equals), train::splitList(part.substr(equals + 1))};
    std::vector<std::string> known;
    for (const auto &[key, preset] : train::trainDefaults())
      if (key != "pe.train.seed" && key != "pe.train.dtype")
        known.push_back(key.substr(kPrefix.size()));
    if (std::find(known.begin(), known.end(), axis.key) == known.end())
      return makeError("--sweep: expected a flag that decides the result, found '", axis.key, "'",
                       axis.key == "seed" ? "; use --seeds=0,1,2" : suggestChoice(axis.key, known));
    for (const std::string &value : axis.values)
      if (value.empty() || std::count(axis.values.begin(), axis.values.end(), value) > 1)
        return makeError("--sweep: expected different values of '", axis.key, "', found '", value,
                         "' ", value.empty() ? "" : "twice");
    if (axis.values.empty())
      return makeError("--sweep: expected values of '", axis.key, "', found none");
    axes.push_back(std::move(axis));
  }
  return axes;
}

Status runGrid(const std::string &title, const std::vector<std::string> &arguments,
               const train::TrainOptions &options, std::vector<Axis> axes) {
  Grid grid(title, options);
  if (Status status = grid.prepare(arguments, std::move(axes)); !status)
    return status;
  if (Status status = grid.run(); !status)
    return status;
  return grid.write();
}

} // namespace pe::cli
