//===- TrainCommands.cpp - pe train ---===//
#include "tools/pe/TrainCommands.h"

#include "runtime/device/cpu/Peak.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/train/api/OpenSession.h"
#include "runtime/train/session/Checks.h"
#include "runtime/train/session/Observers.h"
#include "runtime/train/session/Routing.h"
#include "runtime/train/session/Trace.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Grid.h"
#include "tools/pe/Run.h"

#include <algorithm>
#include <new>

namespace pe::cli {

std::string sizeText(const train::DecoderConfig &model) {
  auto count = [](int64_t number, const std::string &what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  return count(model.layers, "layer") + ", " + std::to_string(model.dim) + " wide, " +
         count(model.heads, "head") + " of " + std::to_string(model.headDim());
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
  progress.setThroughput(
      static_cast<double>(config.accumulate * config.batch * config.sequenceOf(0)),
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
  if (!config.sweep.empty() || !config.seeds.empty())
    return runGrid("A sweep of training runs", arguments, *options);
  if (config.jobs > 1)
    return makeError("expected --sweep or --seeds with --jobs, found neither");
  if (Status fits = checkOutput("--trace", config.trace); !fits)
    return fits;
  cpu::ThreadPool::Options threads;
  threads.threads = config.threads;
  cpu::ThreadPool pool(threads);
  auto session = train::openSession(*options, findFile(config.encoding), pool);
  if (!session)
    return session.error();
  std::fprintf(stderr, "%s%s", train::routingTable(**session).c_str(),
               train::sizeLine(**session).c_str());
  if ((config.usesDash(train::Dash::Published) || config.usesDash(train::Dash::RowDecay)) &&
      config.plasticity.dashScope == train::DashScope::All &&
      config.optimizer.kind == train::OptimizerKind::Muon)
    std::fprintf(stderr, "pe train: warning: --dash shrinks Muon's matrices too, whose steps do "
                         "not shrink with them; --dash-scope=adamw leaves them alone\n");
  if (config.check != train::TrainConfig::Check::None)
    return runCheck(**session);
  return runSession(**session, pool, options->identity);
}

constexpr const char *kCompareHelp =
    "pe compare: trains the same model with several encodings and compares them\n\n"
    "  --encodings=A,B,...   .mlir files, or names of pe's own in examples/encodings; none: "
    "without\n"
    "  --data=DIR            text, tokens or a task; by default Python's library\n"
    "  --out=build/compare   folder for results.json, report.html and each finished run\n\n"
    "and every flag of pe train but --encoding, such as --steps=200 --seeds=0,1,2 "
    "--eval-interval=50\n"
    "--jobs=2 --sweep=lr=0.001,0.003. A comparison that was stopped goes on with what is "
    "missing.\n";

static Status compare(std::vector<std::string> arguments) {
  Axis axis{"encoding", {}};
  bool hasOut = false;
  for (const std::string &argument : arguments) {
    if (argument == "--help") {
      std::printf("%s", kCompareHelp);
      return Status::success();
    }
    hasOut |= argument.starts_with("--out=");
    if (argument.starts_with("--encoding="))
      return makeError("expected --encodings=A,B, found ", argument);
  }
  constexpr std::string_view flag = "--encodings=";
  for (auto at = arguments.begin(); at != arguments.end();) {
    if (!at->starts_with(flag)) {
      ++at;
      continue;
    }
    if (!axis.values.empty())
      return makeError("--encodings is given twice");
    axis.values = train::splitList(at->substr(flag.size()));
    at = arguments.erase(at);
  }
  if (axis.values.empty())
    return makeError("expected --encodings=A,B,..., found none; see pe compare --help");
  for (std::string &value : axis.values) {
    if (value != "none" && !value.ends_with(".mlir")) // one of pe's own
      value = "examples/encodings/" + value + ".mlir";
    if (std::count(axis.values.begin(), axis.values.end(), value) > 1)
      return makeError("--encodings: '", value, "' is given twice");
  }
  if (!hasOut)
    arguments.emplace_back("--out=build/compare");
  auto options = train::parseTrainOptions(arguments);
  if (!options)
    return options.takeError();
  return runGrid("Positional encodings, compared", arguments, *options, {std::move(axis)});
}

/// Sizes that no memory holds end in a message like other mistakes.
template <typename Command> static int report(const std::string &name, Command command) {
  try {
    Status status = command();
    return status ? 0 : reportError(name, status.error());
  } catch (const std::bad_alloc &) {
    return reportError(name, Error("expected a run that fits into memory, found none left; lower "
                                   "--batch, --seq, --dim or --eval-lengths"));
  }
}

std::optional<int> runTrainCommand(const std::string &name,
                                   const std::vector<std::string> &arguments) {
  if (name == "demo")
    return runDemo(arguments);
  if (name == "compare")
    return report(name, [&] { return compare(arguments); });
  if (name == "train")
    return report(name, [&] { return train(arguments); });
  return std::nullopt;
}

} // namespace pe::cli
