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
#include "tools/pe/Run.h"

namespace pe::cli {

/// What --check asks for in place of training.
static Status runCheck(train::Session &session) {
  if (session.config().check == train::TrainConfig::Check::Gradients) {
    auto checks = train::checkGradients(session);
    return checks ? train::printGradientChecks(*checks, stdout) : Status(checks.takeError());
  }
  auto check = train::overfitOneBatch(session);
  return check ? train::printOverfitCheck(*check, stdout) : Status(check.takeError());
}

/// Trains, with a progress line, and the log and the trace if there are any.
static Status runSession(train::Session &session, cpu::ThreadPool &pool,
                         const train::Metadata &identity) {
  const train::TrainConfig &config = session.config();
  std::vector<train::Observer *> observers;
  train::ProgressLine progress(stderr, "train", config.totalSteps(), session.trainer().steps());
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
  train::Stopwatch watch;
  if (!config.trace.empty())
    session.trainer().setWatch(&watch);
  auto bits = session.run(observers);
  progress.clear();
  session.trainer().setWatch(nullptr);
  if (!bits)
    return bits.error();
  std::printf("bits per %s on held-out text (same targets, growing context):",
              std::string(config.vocabulary.unitName()).c_str());
  for (auto [length, value] : *bits)
    std::printf("  %lld: %.3f", static_cast<long long>(length), value);
  std::printf("\n");
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
  cpu::ThreadPool::Options threads;
  threads.threads = config.threads;
  cpu::ThreadPool pool(threads);
  auto session = train::openSession(*options, findFile(config.encoding), pool);
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
