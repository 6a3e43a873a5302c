//===- Demo.cpp - pe demo
//-----------------------------------------------------------------------===//
//
// The main job: one small language model per encoding on real text, scored with growing
// context on the same targets ("char-256", docs/training.md).
//
//===----------------------------------------------------------------------===//
#include "runtime/core/File.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/reference/Reference.h"
#include "runtime/train/api/TrainedEncoding.h"
#include "runtime/train/report/Report.h"
#include "runtime/train/session/Observers.h"
#include "tools/pe/CommandLine.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Run.h"
#include "tools/pe/TrainCommands.h"

#include <chrono>
#include <cmath>
#include <filesystem>

namespace pe::cli {
namespace {

struct DemoOptions {
  std::string encodings = findExamples(), out = "build/demo", data;
  std::vector<std::string> names = {"nope",       "alibi", "rope",           "t5",
                                    "kerple_log", "fire",  "stick_breaking", "rse"};
  int64_t steps = 600;
  int threads = 0;
  uint64_t seed = 0;
  bool quick = false;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The training loss in bits, smoothed, at every tenth step.
class CurveRecorder : public train::Observer {
public:
  void onStep(const train::StepReport &report, train::Trainer &trainer) override {
    double bits = report.loss / std::log(2.0);
    smooth = trainer.steps() <= 1 ? bits : 0.9 * smooth + 0.1 * bits;
    if (trainer.steps() % 10 == 0)
      curve.emplace_back(trainer.steps(), smooth);
  }
  std::vector<std::pair<double, double>> curve;

private:
  double smooth = 0;
};

class Demo {
public:
  explicit Demo(DemoOptions options) : options(std::move(options)) {}
  Status run();

private:
  Status prepare();
  Status trainOne(const std::string &name, size_t left);
  Status drawBias(const std::string &name, const train::TrainedEncoding &encoding,
                  train::Session &session);
  void printHeader() const;
  void printRow(const train::EncodingResult &row) const;
  Status write();

  DemoOptions options;
  train::TrainConfig config;
  train::Kernels kernels{};
  std::unique_ptr<cpu::ThreadPool> pool;
  std::vector<std::shared_ptr<const train::Corpus>> corpora;
  train::ReportContent report;
};

Status Demo::prepare() {
  config.seed = options.seed;
  config.phases = {{options.data, options.steps}};
  config.threads = options.threads;
  cpu::ThreadPool::Options threads;
  threads.threads = options.threads;
  pool = std::make_unique<cpu::ThreadPool>(threads);
  auto compiled = train::prepareTraining(config.activation);
  if (!compiled)
    return compiled.error();
  kernels = *compiled;
  auto read = train::readCorpora(config.phases);
  if (!read)
    return read.error();
  corpora = std::move(*read);
  const train::Corpus &corpus = *corpora.back();
  report.corpusDirectory = corpus.directory;
  report.corpusSha256 = corpus.sha256;
  report.corpusBytes = corpus.bytes;
  report.corpusFiles = corpus.files;
  report.threads = pool->threads();
  report.trainedLength = config.sequence;
  report.setup = sizeText(config.model) + ", trained for " + countText(options.steps, "step") +
                 " of " + countText(config.batch, "sequence") + " of " +
                 countText(config.sequence, "character") + " with AdamW; seed " +
                 std::to_string(options.seed) + ".";
  report.limits = {
      "A longer context brings no gain at this size: the models are too small to use it. The table "
      "shows which encodings survive contexts they were not trained on.",
      "FIRE is trained at length 256, below its initial threshold L of 512, so that its "
      "interpolation is hardly trained; the setting of its paper (125 M parameters) is out of "
      "reach here.",
      "One seed: differences of a few hundredths between encodings mean nothing."};
  return Status::success();
}

void Demo::printHeader() const {
  std::printf("text: %s (%lld files, %.1f MB, sha256 %.12s...), every 10th file held out\n",
              report.corpusDirectory.c_str(), static_cast<long long>(report.corpusFiles),
              report.corpusBytes * 1e-6, report.corpusSha256.c_str());
  std::printf("model: %s %d threads\n\n", report.setup.c_str(), report.threads);
  std::printf("bits per character of the same held-out targets, by length of context\n");
  std::printf("%-16s %8s %8s %8s %8s %8s %8s\n", "encoding", "256", "512", "1024", "2048", "params",
              "seconds");
  std::fflush(stdout);
}

void Demo::printRow(const train::EncodingResult &row) const {
  std::printf("%-16s", row.name.c_str());
  for (auto [length, bits] : row.bitsPerChar)
    std::printf(" %8.3f", bits);
  std::printf(" %8lld %8.1f\n", static_cast<long long>(row.encodingParams), row.trainSeconds);
  std::fflush(stdout);
}

/// Layer 0's learned bias: against distance (the last query's row), and as a picture.
Status Demo::drawBias(const std::string &name, const train::TrainedEncoding &encoding,
                      train::Session &session) {
  constexpr int64_t kLength = 512;
  auto program = reference::parseProgram(encoding.attention->description->program);
  if (!program)
    return program.error();
  train::Decoder &model = session.trainer().model();
  const train::DecoderConfig &shape = model.config();
  TensorMap inputs;
  for (const char *data : {"q", "k", "v"})
    inputs[data] = Tensor::zeros(DType::F32, {1, shape.heads, kLength, shape.headDim()});
  const train::SelfAttention &layer = model.attention(0);
  const auto &known = layer.attention().parameters();
  for (size_t i = 0; i < known.size(); ++i) {
    const train::Parameter &slot = model.layout()[layer.encodingParameters()[i]];
    inputs[known[i].name] =
        Tensor::borrow(model.values().at(slot), DType::F32, known[i].shape).clone();
  }
  auto bias = reference::materializeBias(*program, inputs, {});
  if (!bias)
    return bias.error();
  std::span<const double> values = bias->values<double>();
  auto at = [&](int64_t head, int64_t i, int64_t j) {
    return values[(head * kLength + i) * kLength + j];
  };
  chart::LineChart chart;
  chart.title = name + ": bias of layer 0 against distance";
  chart.xLabel = "distance";
  chart.yLabel = "bias (logits)";
  bool any = false;
  for (int64_t head = 0; head < shape.heads; ++head) {
    chart::Series series{.name = "head " + std::to_string(head)};
    for (int64_t distance = 0; distance < kLength; ++distance) {
      series.points.emplace_back(distance, at(head, kLength - 1, kLength - 1 - distance));
      any |= series.points.back().second != 0;
    }
    chart.series.push_back(std::move(series));
  }
  if (any)
    report.biasCharts.push_back(std::move(chart));
  if (name != "fire")
    return Status::success();
  constexpr int64_t kStep = 8;
  chart::Heatmap map{.title = name + ": bias of layer 0",
                     .xLabel = "key",
                     .yLabel = "query",
                     .valueLabel = "bias (logits)"};
  map.xStep = map.yStep = kStep;
  for (int64_t head = 0; head < shape.heads; ++head) {
    chart::HeatmapPanel panel{.title = "head " + std::to_string(head)};
    for (int64_t i = 0; i < kLength; i += kStep) {
      std::vector<double> row;
      for (int64_t j = 0; j < kLength; j += kStep)
        row.push_back(j <= i ? at(head, i, j) : std::nan(""));
      panel.rows.push_back(std::move(row));
    }
    map.panels.push_back(std::move(panel));
  }
  report.heatmaps.push_back(std::move(map));
  return Status::success();
}

Status Demo::trainOne(const std::string &name, size_t left) {
  double begin = now();
  config.encoding = options.encodings + "/" + name + ".mlir";
  auto encoding = train::compileEncoding(config.encoding, config);
  if (!encoding)
    return encoding.error();
  auto session = train::Session::create(
      config,
      {kernels, encoding->attentionFactory(*pool), *pool, encoding->embeddingFactory(*pool)},
      corpora);
  if (!session)
    return session.error();
  train::ProgressLine progress(stderr, name, config.totalSteps());
  if (!report.results.empty())
    progress.setSecondsAfter(left * report.seconds / report.results.size());
  CurveRecorder curve;
  auto bits = (*session)->run({&progress, &curve});
  progress.clear();
  if (!bits)
    return bits.error();
  train::EncodingResult row;
  row.name = name;
  const train::ParameterLayout &layout = (*session)->trainer().model().layout();
  row.encodingParams = layout.count(train::Role::Encoding);
  row.modelParams = layout.count();
  row.bitsPerChar = *bits;
  row.curve = std::move(curve.curve);
  row.trainSeconds = now() - begin;
  report.seconds += row.trainSeconds;
  report.results.push_back(row);
  printRow(row);
  // A bias that depends on the text has no picture of its own.
  if (!encoding->attention->data.empty() || encoding->attention->sets.size() != 1)
    return Status::success();
  return drawBias(name, *encoding, **session);
}

Status Demo::write() {
  std::error_code code;
  std::filesystem::create_directories(options.out, code);
  if (code)
    return makeError("cannot make the folder ", options.out, ": ", code.message());
  if (Status status = writeFileAtomically(options.out + "/results.json", train::toJson(report));
      !status)
    return status;
  return writeFileAtomically(options.out + "/report.html", train::toHtml(report));
}

Status Demo::run() {
  if (Status ready = prepare(); !ready)
    return ready;
  printHeader();
  for (size_t i = 0; i < options.names.size(); ++i)
    if (Status trained = trainOne(options.names[i], options.names.size() - 1 - i); !trained)
      return trained;
  if (Status written = write(); !written)
    return written;
  std::printf("\nwhat this does not show:\n");
  for (const std::string &limit : report.limits)
    std::printf("- %s\n", limit.c_str());
  std::printf(
      "\n%.0f seconds in all; %s/report.html has the pictures, %s/results.json the numbers\n",
      report.seconds, options.out.c_str(), options.out.c_str());
  return Status::success();
}

} // namespace

int runDemo(const std::vector<std::string> &arguments) {
  DemoOptions options;
  CLI::App app("Train one small language model per encoding on real text and compare them at "
               "growing context",
               "pe demo");
  app.add_option("--encodings", options.encodings, "Folder of the encoding files")
      ->capture_default_str();
  app.add_option("--out", options.out, "Folder for results.json and report.html")
      ->capture_default_str();
  app.add_option("--data", options.data,
                 "Folder of text; default: the machine's Python standard library");
  app.add_option("--with", options.names, "Encodings by file name")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--steps", options.steps, "Training steps of each model")->capture_default_str();
  app.add_option("--threads", options.threads, "Threads; default: one per core");
  app.add_option("--seed", options.seed, "Of initial values and batches")->capture_default_str();
  addSwitch(app, "--quick", options.quick, "Two encodings and fewer steps: under 90 seconds");
  if (Status mistake = findMistake(app, "demo", arguments); !mistake)
    return reportError("demo", mistake.error());
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    return reportError("demo", describe(error, "demo"));
  }
  if (options.steps < 1)
    return reportError("demo", makeError("--steps: expected at least 1, found ", options.steps));
  if (options.threads < 0 || options.threads > cpu::ThreadPool::Options::kMaxThreads)
    return reportError("demo",
                       makeError("--threads: expected 1 to ", cpu::ThreadPool::Options::kMaxThreads,
                                 " (0: one per core), found ", options.threads));
  if (options.quick) {
    options.names = {"alibi", "fire"};
    options.steps = 200;
  }
  Status status = Demo(std::move(options)).run();
  return status ? 0 : reportError("demo", status.error());
}

} // namespace pe::cli
