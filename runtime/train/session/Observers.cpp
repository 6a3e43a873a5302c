//===- Observers.cpp - Report the progress of a run -----------------------===//
//
// The progress line and the log file.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/session/Observers.h"
#include "runtime/core/File.h"
#include "runtime/plan/Evaluate.h"
#include "runtime/train/reinit/ReportJson.h"
#include "runtime/train/session/Routing.h"
#include "runtime/train/trainer/Measures.h"
#include "runtime/train/trainer/WarmStart.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>
#include <unistd.h>

namespace pe::train {
namespace {

using Json = nlohmann::ordered_json;

/// Steps between log entries of the encoding's parameters; everything else is logged at every step.
constexpr int64_t kEncodingInterval = 10;
/// The minimum time between updates of the line on a terminal.
constexpr std::chrono::milliseconds kRedraw(200);

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Returns "layer0.attention.bias." for "layer0.attention.bias.slopes".
std::string prefixOf(const Parameter &parameter) {
  return parameter.name.substr(0, parameter.name.rfind('.') + 1);
}

/// Returns the encoding's parameters by name, one set per layer.
std::map<std::string, plan::NamedArrays> encodingParameters(Trainer &trainer) {
  std::map<std::string, plan::NamedArrays> layers;
  for (const Parameter &parameter : trainer.model().layout().all())
    if (parameter.role == Role::Encoding) {
      const float *values = trainer.model().values().at(parameter);
      const std::string prefix = prefixOf(parameter);
      layers[prefix][parameter.name.substr(prefix.size())].assign(values, values + parameter.count);
    }
  return layers;
}

/// Returns every parameter of the encoding, and the values of pe.monitor. If a formula cannot be
/// evaluated, its error is logged instead.
Json encodingOf(Trainer &trainer) {
  Json object = Json::object();
  const auto layers = encodingParameters(trainer);
  for (const Parameter &parameter : trainer.model().layout().all()) {
    if (parameter.role != Role::Encoding)
      continue;
    const float *values = trainer.model().values().at(parameter);
    object[parameter.name] = std::vector<float>(values, values + parameter.count);
    const std::string prefix = prefixOf(parameter);
    for (const auto &[name, formula] : parameter.monitor)
      if (auto value = plan::evaluate(formula, layers.at(prefix)))
        object[prefix + name] = *value;
      else
        object[prefix + name] = value.error().getMessage();
  }
  return object;
}

/// Returns {"256": 2.1}, with values multiplied by `scale`.
Json byLength(const std::map<int64_t, double> &values, double scale = 1) {
  Json object = Json::object();
  for (auto [length, value] : values)
    object[std::to_string(length)] = value * scale;
  return object;
}

/// Formats one line. Directory names need not be UTF-8, but JSON must be.
std::string lineOf(const Json &object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Returns true if a run that continues at `place` repeats the event of a line.
bool isAhead(const std::string &line, const LogPlace &place) {
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer())
    return false;
  const auto step = object["step"].get<int64_t>();
  const std::string event = object.value("event", std::string());
  if (event == "step" || event == "reinit" || event == "dash")
    return step >= place.steps;
  // Evaluations and other events after a step precede the checkpoint, except for the final
  // evaluation.
  return step > place.steps || (event == "evaluation" && step == place.totalSteps);
}

/// Returns the length of a log before its first line that is partial or ahead of `place`.
size_t lengthBefore(const std::string &text, const LogPlace &place) {
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    if (isAhead(text.substr(begin, end - begin), place))
      break;
  return begin;
}

/// Truncates the log at that point.
Status cutBack(const std::string &path, const LogPlace &place) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure))
    return Status::success();
  Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  const size_t whole = lengthBefore(*text, place);
  if (whole < text->size())
    std::filesystem::resize_file(path, whole, failure);
  if (failure)
    return makeError("file '", path, "': cannot continue the log: ", failure.message());
  return Status::success();
}

} // namespace

std::string formatDuration(double seconds) {
  long whole = std::lround(seconds);
  char text[32];
  std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  return text;
}

ProgressLine::ProgressLine(std::FILE *stream, std::string label, int64_t totalSteps,
                           int64_t doneSteps)
    : stream(stream), label(std::move(label)), totalSteps(totalSteps), firstStep(doneSteps),
      onTerminal(isatty(fileno(stream))) {}

void ProgressLine::onStep(const StepReport &report, Trainer &trainer) {
  int64_t done = report.step + 1;
  bool last = done == totalSteps;
  int64_t tenth = std::max<int64_t>(totalSteps / 10, 1);
  if (onTerminal ? !last && Clock::now() - shown < kRedraw : done % tenth != 0 && !last)
    return;
  shown = Clock::now();
  double perStep = secondsSince(start) / static_cast<double>(done - firstStep);
  double left = perStep * (static_cast<double>(totalSteps - done) +
                           runsAfter * static_cast<double>(totalSteps)) +
                secondsAfter;
  std::fprintf(stream, "%s%s step %lld/%lld  %.3f bits per %s  norm %.2f  %.0f ms a step  %s left",
               onTerminal ? "\r\033[K" : "", label.c_str(), static_cast<long long>(done),
               static_cast<long long>(totalSteps), trainer.meanLoss() / std::numbers::ln2,
               unit.c_str(), report.gradientNorm, 1000 * perStep, formatDuration(left).c_str());
  if (tokens > 0)
    std::fprintf(stream, "  %.0f tokens/s", tokens / perStep);
  if (tokens > 0 && peak > 0)
    std::fprintf(stream, "  %.0f %% of peak", 100 * tokens / perStep * flops / peak);
  if (trainer.skipped())
    std::fprintf(stream, "  (%lld steps skipped: not finite)",
                 static_cast<long long>(trainer.skipped()));
  if (!onTerminal)
    std::fprintf(stream, "\n");
  std::fflush(stream);
}

void ProgressLine::onReinit(int64_t step, const std::vector<reinit::MatrixReport> &reports) {
  clear();
  std::fprintf(stream, "reinit before step %lld\n", static_cast<long long>(step + 1));
  for (const reinit::MatrixReport &report : reports)
    std::fprintf(stream, "  %s\n", reinit::describe(report).c_str());
}

void ProgressLine::onRecycle(int64_t step, const std::vector<DormantNeurons> &layers) {
  if (layers.empty()) // all layers are frozen
    return;
  clear();
  std::fprintf(stream, "dormant neurons after step %lld, recycled:", static_cast<long long>(step));
  for (const DormantNeurons &layer : layers)
    std::fprintf(stream, "  %s %lld of %lld", layer.layer.c_str(),
                 static_cast<long long>(layer.dormant), static_cast<long long>(layer.count));
  std::fprintf(stream, "\n");
}

void ProgressLine::onShrink(int64_t step, Dash kind, const std::vector<ShrunkMatrix> &matrices) {
  double least = 1, mean = 0;
  for (const ShrunkMatrix &matrix : matrices) {
    least = std::min(least, matrix.least);
    mean += matrix.mean / static_cast<double>(matrices.size());
  }
  if (kind == Dash::RowDecay) // too frequent to print
    return;
  clear();
  std::fprintf(
      stream,
      "dash before step %lld: rows of %zu matrices scaled by %.3f on average, at least %.3f\n",
      static_cast<long long>(step + 1), matrices.size(), mean, least);
}

void ProgressLine::clear() {
  if (onTerminal)
    std::fprintf(stream, "\r\033[K");
  std::fflush(stream);
}

Expected<std::unique_ptr<LogWriter>> LogWriter::open(const std::string &path, bool resume,
                                                     LogPlace place) {
  if (resume)
    if (Status status = cutBack(path, place); !status)
      return status.takeError();
  std::FILE *file = std::fopen(path.c_str(), resume ? "a" : "w");
  if (!file)
    return systemError(path, "cannot write the log");
  return std::unique_ptr<LogWriter>(new LogWriter(file, path));
}

void LogWriter::writeLine(const std::string &text) {
  if (failure &&
      (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0))
    failure = systemError(path, "cannot write the log");
}

LogWriter::~LogWriter() { std::fclose(file); }

void LogWriter::writeStart(Session &session, const Metadata &identity) {
  measured = &session;
  session.trainer().model().recordActivity(true);
  if (const std::string &older = session.config().against; !older.empty()) {
    auto weights = readWeights(older, session.trainer());
    if (weights)
      against = *std::move(weights);
    else
      failure = weights.takeError().within("--against");
  }
  const ParameterLayout &layout = session.trainer().model().layout();
  const Corpus &corpus = session.corpus();
  Json parameters = Json::array();
  const Optimizers &optimizers = session.trainer().optimizers();
  for (int64_t index = 0; index < layout.size(); ++index) {
    const Parameter &parameter = layout[index];
    const Route &route = optimizers.routes()[index];
    const UpdateRates rates = updateRatesOf(session, index);
    parameters.push_back({{"name", parameter.name},
                          {"shape", parameter.shape},
                          {"role", nameOf(parameter.role)},
                          {"decay", parameter.decay},
                          {"weight_decay", rates.decay},
                          {"peak_lr", rates.peak},
                          {"optimizer", optimizers.nameOf(index)},
                          {"why", route.why}});
  }
  writeLine(lineOf({{"event", "start"},
                    {"flags", identity},
                    {"step", session.trainer().steps()},
                    {"corpus",
                     {{"directory", corpus.directory},
                      {"sha256", corpus.sha256},
                      {"bytes", corpus.bytes},
                      {"files", corpus.files},
                      {"left_out", corpus.leftOut}}},
                    {"model_params", layout.count()},
                    {"encoding_params", layout.count(Role::Encoding)},
                    {"parameters", parameters}}));
}

void LogWriter::onStep(const StepReport &report, Trainer &trainer) {
  Json line = {{"event", "step"},
               {"step", report.step},
               {"loss", report.loss},
               {"bits_per_char", report.loss / std::numbers::ln2},
               {"grad_norm", report.gradientNorm},
               {"weight_norm", trainer.weightNorm()},
               {"lr", report.learningRate},
               {"encoding_lr", report.encodingRate},
               {"skipped", trainer.skipped()},
               {"seconds", secondsSince(start)}};
  for (const OptimizerReport &optimizer : report.optimizers)
    line["optimizers"][std::string(optimizer.name)] = {{"grad_norm", optimizer.gradientNorm},
                                                       {"lr", optimizer.learningRate}};
  if (report.step % kEncodingInterval == 0)
    line["encoding"] = encodingOf(trainer);
  writeLine(lineOf(line));
}

void LogWriter::onReinit(int64_t step, const std::vector<reinit::MatrixReport> &reports) {
  Json list = Json::array();
  for (const reinit::MatrixReport &report : reports)
    list.push_back(reinit::toJson(report));
  writeLine(lineOf({{"event", "reinit"}, {"step", step}, {"matrices", list}}));
}

void LogWriter::onRecycle(int64_t step, const std::vector<DormantNeurons> &layers) {
  Json list = Json::array();
  for (const DormantNeurons &layer : layers)
    list.push_back({{"name", layer.layer}, {"dormant", layer.dormant}, {"count", layer.count}});
  writeLine(lineOf({{"event", "redo"}, {"step", step}, {"layers", list}}));
}

void LogWriter::onShrink(int64_t step, Dash kind, const std::vector<ShrunkMatrix> &matrices) {
  Json list = Json::array();
  for (const ShrunkMatrix &matrix : matrices)
    list.push_back({{"name", matrix.name}, {"mean", matrix.mean}, {"least", matrix.least}});
  // The names tell a resumed run whether the event comes before or after its step.
  writeLine(lineOf({{"event", kind == Dash::Published ? "dash" : "rowdecay"},
                    {"step", step},
                    {"matrices", list}}));
}

void LogWriter::onEvaluation(int64_t step, const std::map<int64_t, double> &bitsPerChar) {
  Json line = {{"event", "evaluation"}, {"step", step}, {"bits_per_char", byLength(bitsPerChar)}};
  if (!accuracy.empty())
    line["accuracy"] = byLength(accuracy);
  accuracy.clear();
  if (const double perByte = measured ? measured->corpus().tokensPerByte : 0; perByte > 0)
    line["bits_per_byte"] = byLength(bitsPerChar, perByte);
  if (measured) {
    Trainer &trainer = measured->trainer();
    for (const MatrixMeasures &matrix : measureMatrices(trainer, against ? &*against : nullptr)) {
      line["matrices"][matrix.name] = {{"norm", matrix.norm},
                                       {"grad_norm", matrix.gradientNorm},
                                       {"dfi_per_dim", matrix.dfi},
                                       {"stable_rank", matrix.stableRank},
                                       {"effective_rank", matrix.effectiveRank}};
      if (matrix.sfe)
        line["matrices"][matrix.name]["sfe"] = *matrix.sfe;
    }
    for (const DormantShare &layer : dormantShares(trainer, measured->config().plasticity.redoTau))
      line["dormant"][layer.layer] = layer.share;
    line["encoding"] = encodingOf(trainer);
  }
  writeLine(lineOf(line));
}

} // namespace pe::train
