//===- Run.cpp - Implementation of pe/train.h -----------------------------===//
#include "pe/train.h"

#include "runtime/core/Error.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/train/api/OpenSession.h"
#include "runtime/train/session/Flags.h"
#include "runtime/train/session/Observers.h"
#include "runtime/train/session/Outputs.h"

namespace pe::train {
namespace {

/// Stores the report of the last step.
class LastStep : public Observer {
public:
  void onStep(const StepReport &given, Trainer &) override { report = given; }
  StepReport report;
};

} // namespace

struct Run::State {
  /// Null if the caller provides a pool.
  std::unique_ptr<cpu::ThreadPool> pool;
  std::unique_ptr<Session> session;
  LastStep last;
  std::unique_ptr<LogWriter> log;
  std::vector<Observer *> observers = {&last};
};

Run::Run(std::unique_ptr<State> given) : state(std::move(given)) {}
Run::Run(Run &&) noexcept = default;
Run &Run::operator=(Run &&) noexcept = default;
Run::~Run() = default;

/// Reads "--name=value", and "--name" of the flags that need no value.
static Expected<FlagValues> valuesOf(const std::vector<std::string> &flags) {
  FlagValues values;
  for (const std::string &text : flags) {
    const size_t equals = text.find('=');
    const bool isComplete =
        equals != std::string::npos || std::ranges::any_of(trainFlags(), [&](const Flag &flag) {
          return !flag.needsValue && text == "--" + flag.name;
        });
    if (!text.starts_with("--") || !isComplete)
      return makeError("expected --name=value, found '", text, "'");
    const std::string name = text.substr(2, std::min(equals, text.size()) - 2);
    if (!values.emplace(name, equals < text.size() ? text.substr(equals + 1) : "true").second)
      return makeError("--", name, " is given twice");
  }
  return values;
}

/// Rejects flags that do not apply to a run inside another program.
static Status checkFlags(const TrainOptions &options) {
  const TrainConfig &config = options.config;
  if (config.check != TrainConfig::Check::None)
    return makeError("expected flags of a run, found --check; `pe train --check` checks");
  if (!config.trace.empty())
    return makeError("expected flags of a run, found --trace; `pe train --trace` measures");
  if (!config.sweep.empty() || !config.seeds.empty() || config.jobs > 1)
    return makeError(
        "expected flags of one run, found --sweep, --seeds or --jobs; `pe train` starts "
        "several runs");
  return Status::success();
}

Expected<Run> Run::open(const std::vector<std::string> &flags, ParallelFor *parallel) {
  auto values = valuesOf(flags);
  if (!values)
    return values.takeError();
  auto options = readTrainOptions(*std::move(values));
  if (!options)
    return options.takeError();
  if (Status status = checkFlags(*options); !status)
    return status.takeError();
  if (Status status = checkOutputs(options->config); !status)
    return status.takeError();
  const TrainConfig &config = options->config;
  auto state = std::make_unique<State>();
  if (!parallel) {
    cpu::ThreadPool::Options threads;
    threads.threads = config.threads;
    state->pool = std::make_unique<cpu::ThreadPool>(threads);
    parallel = state->pool.get();
  }
  auto session = openSession(*options, config.encoding, *parallel);
  if (!session)
    return session.takeError();
  state->session = *std::move(session);
  if (!config.log.empty()) {
    auto log = LogWriter::open(config.log, state->session->isResumed(),
                               {state->session->trainer().steps(), config.totalSteps()});
    if (!log)
      return log.takeError();
    state->log = *std::move(log);
    state->log->writeStart(*state->session, options->identity);
    state->observers.push_back(state->log.get());
    if (Status written = state->log->status(); !written)
      return written.takeError();
  }
  return Run(std::move(state));
}

int64_t Run::steps() const { return state->session->trainer().steps(); }
int64_t Run::totalSteps() const { return state->session->config().totalSteps(); }

Expected<StepReport> Run::step() {
  if (steps() >= totalSteps())
    return makeError("expected a remaining step, found all ", totalSteps(),
                     " done; open the run with more --steps");
  if (Status status = state->session->trainUntil(steps() + 1, state->observers); !status)
    return status.takeError();
  return state->last.report;
}

Expected<std::map<int64_t, double>> Run::evaluate() {
  return state->session->evaluateNow(state->observers);
}

Expected<std::vector<reinit::MatrixReport>> Run::reinit(const reinit::Settings &settings,
                                                        std::string_view target) {
  auto chosen = reinit::parseTarget(target);
  if (!chosen)
    return chosen.takeError();
  auto reports = state->session->trainer().reinitialise({.target = *chosen, .settings = settings});
  if (!reports)
    return reports;
  for (Observer *observer : state->observers)
    observer->onReinit(steps(), *reports);
  if (Status status = statusOf(state->observers); !status)
    return status.takeError();
  return reports;
}

Status Run::save(const std::string &directory) { return state->session->save(directory); }

std::vector<View> Run::parameters() {
  Decoder &model = state->session->trainer().model();
  std::vector<View> views;
  for (const Parameter &parameter : model.layout().all())
    views.push_back(viewOf(parameter.name.c_str(), Tensor::borrow(model.values().at(parameter),
                                                                  DType::F32, parameter.shape)));
  return views;
}

} // namespace pe::train
