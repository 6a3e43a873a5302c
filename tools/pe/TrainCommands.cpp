//===- TrainCommands.cpp - pe train and pe compare ---===//
#include "tools/pe/TrainCommands.h"

#include "runtime/device/cpu/Peak.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/train/api/OpenSession.h"
#include "runtime/train/session/Checks.h"
#include "runtime/train/session/Flags.h"
#include "runtime/train/session/Observers.h"
#include "runtime/train/session/Outputs.h"
#include "runtime/train/session/Routing.h"
#include "runtime/train/session/Trace.h"
#include "tools/pe/CommandLine.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Grid.h"
#include "tools/pe/Interrupt.h"
#include "tools/pe/Memory.h"
#include "tools/pe/Run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <new>

namespace pe::cli {

static Expected<int> exitStatusOf(Status status) {
  if (!status)
    return status.takeError();
  return 0;
}

/// Runs --check instead of training.
static Status runCheck(train::Session &session) {
  if (session.config().check == train::TrainConfig::Check::Gradients) {
    auto checks = train::checkGradients(session);
    return checks ? train::printGradientChecks(*checks, stdout) : Status(checks.takeError());
  }
  auto check = train::overfitOneBatch(session);
  return check ? train::printOverfitCheck(*check, stdout) : Status(check.takeError());
}

/// Records the share of correct answers of the last evaluation.
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

/// Prints the share of correct answers for a task, and bits for a text.
static void printScores(const train::Session &session, const std::map<int64_t, double> &bits,
                        const std::map<int64_t, double> &accuracy) {
  if (!accuracy.empty()) {
    printByLength("share of correct answers in the second half, by length", accuracy);
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

/// Opens the log of a run, if any.
static Expected<std::unique_ptr<train::LogWriter>> openLog(train::Session &session,
                                                           const train::Metadata &identity) {
  const train::TrainConfig &config = session.config();
  if (config.log.empty())
    return std::unique_ptr<train::LogWriter>();
  auto log = train::LogWriter::open(config.log, session.isResumed(),
                                    {session.trainer().steps(), config.totalSteps()});
  if (!log)
    return log;
  (*log)->writeStart(session, identity);
  if (Status written = (*log)->status(); !written)
    return written.takeError();
  return log;
}

/// Reports, after a signal, the saved step and how to continue.
static int tellStop(train::Session &session) {
  const auto step = static_cast<long long>(session.trainer().steps());
  const std::string &folder = session.config().checkpoint;
  if (folder.empty())
    std::fprintf(stderr, "stopped at step %lld; nothing is saved (--checkpoint=DIR saves)\n", step);
  else
    std::fprintf(stderr, "stopped at step %lld; %s/step-%lld is saved; continue with --resume\n",
                 step, folder.c_str(), step);
  return interruptStatus();
}

/// Reports an error if the loss is not finite.
static Status checkScores(const train::Session &session, const std::map<int64_t, double> &bits,
                          int64_t skipped) {
  for (auto [length, value] : bits)
    if (!std::isfinite(value))
      return makeError("expected a finite loss on held-out text, found ", value, " at length ",
                       length, "; ", skipped, " of ", session.config().totalSteps(),
                       " steps were skipped as not finite; lower --lr or check the data");
  return Status::success();
}

/// Trains with a progress line and, if requested, a log and a trace. Returns the exit status.
static Expected<int> runSession(train::Session &session, cpu::ThreadPool &pool,
                                const train::Metadata &identity) {
  const train::TrainConfig &config = session.config();
  std::vector<train::Observer *> observers;
  train::ProgressLine progress(stderr, "train", config.totalSteps(), session.trainer().steps());
  progress.setUnit(session.corpus().training.task ? "answer"
                                                  : std::string(config.vocabulary.unitName()));
  progress.setThroughput(
      static_cast<double>(config.accumulate * config.batch * config.sequenceOf(0)),
      train::flopsPerToken(session),
      cpu::measureProductPeak(pool, cpu::hostCpu().machine, DType::F32, /*repeats=*/2) * 1e9);
  observers.push_back(&progress);
  auto log = openLog(session, identity);
  if (!log)
    return log.takeError();
  if (*log)
    observers.push_back(log->get());
  ScoreKeeper scores;
  observers.push_back(&scores);
  train::Stopwatch watch;
  if (!config.trace.empty())
    session.trainer().setWatch(&watch);
  catchInterrupts();
  session.stopWhen(isInterrupted);
  auto bits = session.run(observers);
  progress.clear();
  session.trainer().setWatch(nullptr);
  if (!bits)
    return bits.takeError();
  if (!session.hasStopped())
    printScores(session, *bits, scores.accuracy);
  if (!config.trace.empty()) {
    std::fprintf(stderr, "%s", train::timeLine(watch).c_str());
    if (Status written = train::writeTrace(config.trace, watch); !written)
      return written.takeError();
  }
  if (session.hasStopped())
    return tellStop(session);
  if (Status good = checkScores(session, *bits, session.trainer().skipped()); !good)
    return good.takeError();
  return 0;
}

/// Prints "text: DIR, 12 files, 1 of them held out".
static void printData(const train::Corpus &corpus) {
  const std::string files = train::filesOf(corpus);
  std::fprintf(stderr, "%s: %s%s%s\n", files.empty() ? "data" : "text", corpus.directory.c_str(),
               files.empty() ? "" : ", ", files.c_str());
}

/// Warns about flags that have no effect or an unexpected one.
static void warn(train::Session &session) {
  const train::TrainConfig &config = session.config();
  if ((config.usesDash(train::Dash::Published) || config.usesDash(train::Dash::RowDecay)) &&
      config.plasticity.dashScope == train::DashScope::All &&
      config.optimizer.kind == train::OptimizerKind::Muon)
    std::fprintf(stderr, "pe train: warning: --dash also shrinks the matrices of Muon, but not "
                         "their steps; --dash-scope=adamw excludes them\n");
  const auto &parameters = session.trainer().model().layout().all();
  const bool decays =
      std::any_of(parameters.begin(), parameters.end(), [](const train::Parameter &parameter) {
        return parameter.role == train::Role::Encoding && parameter.decay;
      });
  if (config.optimizer.adamw.encodingDecay && !decays)
    std::fprintf(stderr, "pe train: warning: --encoding-decay has no effect, because no parameter "
                         "of the encoding decays; scalars and vectors need pe.decay = true\n");
}

static Status checkEncoding(const std::string &file, const std::string &flag) {
  Status exists = file == "none" ? Status::success() : checkFile(findFile(file));
  return exists ? Status::success() : Status(exists.takeError().within(flag));
}

static Expected<int> train(const train::FlagValues &values) {
  keepFreedMemory();
  auto options = train::readTrainOptions(values);
  if (!options)
    return options.takeError();
  const train::TrainConfig &config = options->config;
  if (!config.sweep.empty() || !config.seeds.empty())
    return runGrid(values, *options, {.title = "A sweep of training runs"});
  if (config.jobs > 1)
    return makeError("expected --sweep or --seeds with --jobs, found neither");
  if (!config.against.empty() && config.log.empty())
    return makeError("expected --log=FILE with --against, found none");
  if (Status fits = checkOutput("--trace", config.trace); !fits)
    return fits.takeError();
  if (config.check == train::TrainConfig::Check::None)
    if (Status isNew = train::checkOutputs(config); !isNew)
      return isNew.takeError();
  cpu::ThreadPool::Options threads;
  threads.threads = config.threads;
  cpu::ThreadPool pool(threads);
  const std::string encoding = findFile(config.encoding);
  if (Status exists = checkEncoding(encoding, "--encoding"); !exists)
    return exists.takeError();
  auto session = train::openSession(*options, encoding, pool);
  if (!session)
    return session.takeError();
  printData((*session)->corpus());
  std::fprintf(stderr, "%s%s", train::routingTable(**session).c_str(),
               train::sizeLine(**session).c_str());
  warn(**session);
  if (config.check != train::TrainConfig::Check::None)
    return exitStatusOf(runCheck(**session));
  return runSession(**session, pool, options->identity);
}

/// The options of `pe compare` in addition to the flags of `pe train`.
struct Comparison {
  std::string name, encodings;
  bool quick = false;
};

static Status check(const Comparison &given) {
  if (given.name.empty() && given.encodings.empty())
    return makeError("expected an experiment or --encodings=A,B,..., found none; see pe compare "
                     "--help");
  if (!given.name.empty() && !given.encodings.empty())
    return makeError("expected an experiment or --encodings, found both");
  if (given.quick && given.name.empty())
    return makeError("expected an experiment with --quick, found none");
  return given.name.empty() ? Status::success() : checkExperiment(findExperiment(given.name));
}

/// Returns the experiment of --encodings, with a row for each.
static Expected<Experiment> experimentOf(const std::string &encodings) {
  Experiment experiment;
  experiment.title = "Positional encodings, compared";
  for (const std::string &name : train::splitList(encodings)) {
    if (name.empty())
      return makeError("--encodings: expected names between commas, found '", encodings, "'");
    const std::string file = encodingFileOf(name);
    if (Status exists = checkEncoding(file, "--encodings"); !exists)
      return exists.takeError();
    for (const NamedFlags &row : experiment.rows)
      if (row.values.at("encoding") == file)
        return makeError("--encodings: '", file, "' is given twice");
    experiment.rows.push_back(
        {name.ends_with(".mlir") ? std::filesystem::path(name).stem().string() : name,
         {{"encoding", file}}});
  }
  return experiment;
}

static Expected<int> compare(const Comparison &given, train::FlagValues values) {
  if (Status good = check(given); !good)
    return good.takeError();
  const std::string file = experimentFileOf(given.name);
  auto experiment =
      file.empty() ? experimentOf(given.encodings) : readExperiment(file, given.quick);
  if (!experiment)
    return experiment.takeError();
  experiment->claimsMayLackLengths = values.contains("eval-lengths") || values.contains("config");
  // The command line overrides the file.
  values.insert(experiment->flags.begin(), experiment->flags.end());
  if (!values.contains("out")) {
    const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
    const std::string name = path.filename() == "experiment.json" && path.has_parent_path()
                                 ? path.parent_path().filename().string()
                                 : path.stem().string();
    values["out"] = "build/" + (file.empty() ? "compare" : name) + (given.quick ? "-quick" : "");
  }
  auto options = train::readTrainOptions(values);
  if (!options)
    return options.takeError();
  return runGrid(values, *options, *std::move(experiment));
}

/// Reports sizes that exceed memory as an error.
int runTraining(const std::string &name, const std::function<Expected<int>()> &command) {
  try {
    Expected<int> status = command();
    return status ? *status : reportError(name, status.error());
  } catch (const std::bad_alloc &) {
    return reportError(name, Error("expected a run that fits into memory, found none left; lower "
                                   "--batch, --seq, --dim or --eval-lengths"));
  }
}

/// Adds the flags of pe train in a group of the help; "" hides them.
static void addTrainFlags(CLI::App &app, const std::string &group) {
  for (const train::Flag &flag : train::trainFlags()) {
    CLI::Option *option = flag.needsValue ? app.add_option("--" + flag.name, flag.help)
                                                ->type_name("TEXT")
                                                ->default_str(flag.preset)
                                          : app.add_flag("--" + flag.name, flag.help);
    option->group(group);
  }
  app.get_option("--sweep")->join(';'); // may be repeated
  app.add_option("--config", "JSON object with these flags as keys")
      ->type_name("FILE")
      ->group(group);
}

/// Returns the values of the flags that addTrainFlags has added.
static train::FlagValues trainValuesOf(const CLI::App &app) {
  train::FlagValues values;
  for (const CLI::Option *option : app.get_options())
    if (const std::string name = option->get_single_name();
        option->count() > 0 && (name == "config" || train::checkFlagName(name)))
      values[name] = option->as<std::string>();
  return values;
}

Action addTrain(CLI::App &app) {
  addTrainFlags(app, "Options");
  app.footer("Example: pe train --encoding=FILE.mlir --steps=200 --log=run.jsonl");
  return [&app] { return runTraining("train", [&] { return train(trainValuesOf(app)); }); };
}

Action addCompare(CLI::App &app) {
  auto given = std::make_shared<Comparison>();
  app.add_option("EXPERIMENT", given->name, "A directory such as examples/flip-flop, or FILE.json");
  app.add_option("--encodings", given->encodings,
                 ".mlir files or names of pe's examples, A,B,...; none: no encoding");
  addSwitch(app, "--quick", given->quick, "The smaller size that the experiment defines");
  addTrainFlags(app, "");
  app.remove_option(app.get_option("--encoding"));
  app.get_option("--data")->group("Options");
  app.get_option("--out")
      ->group("Options")
      ->default_str("build/compare")
      ->description("Directory for results.json, report.html and finished runs; default for an "
                    "experiment: build/NAME or build/NAME-quick");
  app.footer("All flags of pe train except --encoding are also accepted, such as --steps=200 "
             "--seeds=0,1,2\n"
             "--eval-interval=50 --jobs=2 --sweep=lr=0.001,0.003. An interrupted comparison "
             "continues with\n"
             "the missing runs.");
  return [&app, given] {
    return runTraining("compare", [&] { return compare(*given, trainValuesOf(app)); });
  };
}

} // namespace pe::cli
