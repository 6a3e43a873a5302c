//===- TrainCommands.cpp - pe train ---===//
#include "tools/pe/TrainCommands.h"

#include "runtime/core/Hash.h"
#include "runtime/device/cpu/Peak.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/train/session/Checks.h"
#include "runtime/train/session/Observers.h"
#include "runtime/train/session/Options.h"
#include "runtime/train/session/Routing.h"
#include "runtime/train/session/Trace.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Run.h"
#include "tools/pe/TrainedEncoding.h"

namespace pe::cli {

/// Texts and files are the same by their content, wherever they lie and however that is spelled.
static Status addContentHashes(const train::TrainConfig &config, const TrainedEncoding &encoding,
                               const std::vector<std::shared_ptr<const train::Corpus>> &corpora,
                               train::Metadata &identity) {
  std::string texts, steps;
  for (size_t phase = 0; phase < corpora.size(); ++phase) {
    texts += corpora[phase]->sha256 + "\n";
    steps += std::to_string(config.phases[phase].steps) + "\n";
  }
  identity["pe.train.data.sha256"] = sha256(texts);
  if (!identity["pe.train.phases"].empty())
    identity["pe.train.phases.sha256"] = sha256(steps);
  identity["pe.train.encoding.sha256"] = sha256(encoding.text);
  auto activation = readActivation(config.activation);
  if (!activation)
    return activation.takeError();
  identity["pe.train.activation.sha256"] = sha256(*activation);
  return Status::success();
}

/// What --check asks for in place of training.
static Status runCheck(train::Session &session) {
  if (session.config().check == train::TrainConfig::Check::Gradients) {
    auto checks = train::checkGradients(session);
    return checks ? train::printGradientChecks(*checks, stdout) : Status(checks.takeError());
  }
  auto check = train::overfitOneBatch(session);
  return check ? train::printOverfitCheck(*check, stdout) : Status(check.takeError());
}

/// Keeps the last evaluation's share of right answers.
struct ScoreKeeper : train::Observer {
  void onAccuracy(const std::map<int64_t, double> &byLength) override { accuracy = byLength; }
  std::map<int64_t, double> accuracy;
};

static void printByLength(const char *title, const std::map<int64_t, double> &values,
                          double scale = 1) {
  std::printf("%s:", title);
  for (auto [length, value] : values)
    std::printf("  %lld: %.3f", static_cast<long long>(length), value * scale);
  std::printf("\n");
}

/// Of a task the answers, of a text bits.
static void printScores(const train::Session &session, const std::map<int64_t, double> &bits,
                        const std::map<int64_t, double> &accuracy) {
  if (!accuracy.empty()) {
    printByLength("share of right answers in the second half, by length", accuracy);
    return printByLength("bits per answer", bits);
  }
  const train::Vocabulary &vocabulary = session.config().vocabulary;
  const std::string unit(vocabulary.unitName());
  printByLength(("bits per " + unit + " on held-out text (same targets, growing context)").c_str(),
                bits);
  const double perByte = session.corpus().tokensPerByte;
  if (perByte > 0 && perByte != 1)
    printByLength("bits per byte", bits, perByte);
}

/// Trains, with a progress line, and the log and the trace if there are any.
static Status runSession(train::Session &session, cpu::ThreadPool &pool,
                         const train::Metadata &identity) {
  const train::TrainConfig &config = session.config();
  std::vector<train::Observer *> observers;
  train::ProgressLine progress(stderr, "train", config.totalSteps(), session.trainer().steps());
  progress.setUnit(session.corpus().training.task ? "answer"
                                                  : std::string(config.vocabulary.unitName()));
  progress.setThroughput(static_cast<double>(config.accumulate * config.batch * config.sequence),
                         train::flopsPerToken(session),
                         cpu::measureFmaPeak(pool, cpu::hostCpu().level, /*repeats=*/2) * 1e9);
  observers.push_back(&progress);
  std::unique_ptr<train::LogWriter> log;
  if (!config.log.empty()) {
    auto opened = train::LogWriter::open(config.log, session.isResumed(),
                                         {session.trainer().steps(), config.totalSteps()});
    if (!opened)
      return opened.error();
    log = std::move(*opened);
    log->writeStart(session, identity);
    if (Status written = log->status(); !written)
      return written;
    observers.push_back(log.get());
  }
  ScoreKeeper scores;
  observers.push_back(&scores);
  train::Stopwatch watch;
  if (!config.trace.empty())
    session.trainer().setWatch(&watch);
  auto bits = session.run(observers);
  progress.clear();
  session.trainer().setWatch(nullptr);
  if (!bits)
    return bits.error();
  printScores(session, *bits, scores.accuracy);
  if (config.trace.empty())
    return Status::success();
  std::fprintf(stderr, "%s", train::timeLine(watch).c_str());
  return train::writeTrace(config.trace, watch);
}

static Status train(const std::vector<std::string> &arguments) {
  auto options = train::parseTrainOptions(arguments);
  if (!options)
    return options.error();
  if (options->help) {
    std::printf("%s", train::trainHelp().c_str());
    return Status::success();
  }
  const train::TrainConfig &config = options->config;
  if (Status fits = checkOutput("--trace", config.trace); !fits)
    return fits;
  auto encoding = compileEncoding(findFile(config.encoding), config);
  if (!encoding)
    return encoding.error();
  auto kernels = prepareTraining(config.activation);
  if (!kernels)
    return kernels.error();
  auto corpora = train::readCorpora(config.phases, config.vocabulary);
  if (!corpora)
    return corpora.error();
  cpu::ThreadPool::Options threads;
  threads.threads = config.threads;
  cpu::ThreadPool pool(threads);
  if (Status added = addContentHashes(config, *encoding, *corpora, options->identity); !added)
    return added;
  auto session = train::Session::create(
      config, {*kernels, encoding->attentionFactory(pool), pool, encoding->embeddingFactory(pool)},
      *corpora, options->identity);
  if (!session)
    return session.error();
  std::fprintf(stderr, "%s%s", train::routingTable(**session).c_str(),
               train::sizeLine(**session).c_str());
  if (config.plasticity.dash != train::Dash::Off &&
      config.plasticity.dashScope == train::DashScope::All &&
      config.optimizer.kind == train::OptimizerKind::Muon)
    std::fprintf(stderr, "pe train: warning: --dash shrinks Muon's matrices too, whose steps do "
                         "not shrink with them; --dash-scope=adamw leaves them alone\n");
  if (config.check != train::TrainConfig::Check::None)
    return runCheck(**session);
  return runSession(**session, pool, options->identity);
}

std::optional<int> runTrainCommand(const std::string &name,
                                   const std::vector<std::string> &arguments) {
  if (name == "demo")
    return runDemo(arguments);
  if (name != "train")
    return std::nullopt;
  Status status = train(arguments);
  return status ? 0 : reportError("train", status.error());
}

} // namespace pe::cli
