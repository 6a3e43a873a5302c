//===- Session.cpp - A training run from start to end ---------------------===//
//
// Phases, steps, and what happens between them.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/session/Session.h"
#include "runtime/train/model/InitialValues.h"
#include "runtime/train/trainer/Checkpoint.h"

namespace pe::train {

Expected<std::vector<std::shared_ptr<const Corpus>>>
readCorpora(const std::vector<PhaseConfig> &phases) {
  std::map<std::string, std::shared_ptr<const Corpus>> known;
  std::vector<std::shared_ptr<const Corpus>> result;
  for (const PhaseConfig &phase : phases) {
    std::shared_ptr<const Corpus> &corpus = known[phase.data];
    if (!corpus) {
      Expected<CorpusSource> source = CorpusSource{phase.data, {}};
      if (phase.data.empty())
        source = defaultCorpus();
      if (!source)
        return source.takeError();
      auto read = readCorpus(*source);
      if (!read)
        return read.takeError();
      corpus = std::make_shared<const Corpus>(std::move(*read));
    }
    result.push_back(corpus);
  }
  return result;
}

/// The error of the first observer that has one.
static Status statusOf(const std::vector<Observer *> &observers) {
  for (const Observer *observer : observers)
    if (Status status = observer->status(); !status)
      return status;
  return Status::success();
}

Expected<std::unique_ptr<Session>>
Session::create(const TrainConfig &config, Environment environment,
                std::vector<std::shared_ptr<const Corpus>> corpora, Metadata identity) {
  auto model = Decoder::create(config.model, environment.kernels, environment.attention);
  if (!model)
    return model.takeError();
  if (Status status = setInitialValues(**model, config.seed); !status)
    return status.takeError();
  std::unique_ptr<Session> session(new Session(config, std::move(environment)));
  session->texts = std::move(corpora);
  session->identity = std::move(identity);
  session->state = std::make_unique<Trainer>(std::move(*model), session->environment.kernels,
                                             config.optimizer, session->environment.parallel);
  if (config.resume) {
    if (!hasCheckpoint(config.checkpoint))
      return makeError("expected a checkpoint to resume from in '", config.checkpoint,
                       "', found none; leave out --resume to start afresh");
    if (Status status = loadCheckpoint(config.checkpoint, *session->state, session->identity);
        !status)
      return status.takeError();
    if (session->state->steps() > config.totalSteps())
      return makeError("expected a checkpoint of at most ", config.totalSteps(),
                       " steps, which is the whole run, found one of ", session->state->steps(),
                       " in '", config.checkpoint, "'");
    removeLeftovers(config.checkpoint);
  }
  // Outputs that cannot be written are reported before the first step, not after the last.
  if (!config.checkpoint.empty())
    if (Status made = makeCheckpointFolder(config.checkpoint); !made)
      return made.takeError();
  return session;
}

Status Session::reinitialise(const std::vector<Observer *> &observers) {
  ReinitChange change = settings.reinit.change;
  change.settings.seed = settings.seed;
  auto reports = state->reinitialise(change);
  if (!reports)
    return reports.takeError();
  for (Observer *observer : observers)
    observer->onReinit(state->steps(), *reports);
  return statusOf(observers);
}

Status Session::checkpointIfDue() {
  bool due =
      state->steps() % settings.checkpointInterval == 0 || state->steps() == settings.totalSteps();
  if (settings.checkpoint.empty() || !due)
    return Status::success();
  return saveCheckpoint(settings.checkpoint, *state, identity);
}

/// Trains the steps of one phase, whose first is step `begin` of the run, that are not done yet.
Status Session::runPhase(size_t phase, int64_t begin, const std::vector<Observer *> &observers) {
  int64_t steps = settings.phases[phase].steps;
  Schedule schedule{settings.decay, settings.learningRate, settings.warmup, steps};
  auto sampler = BatchSampler::create(texts[phase]->training, settings.batch, settings.sequence,
                                      settings.seed);
  if (!sampler)
    return sampler.takeError();
  Batch batch;
  for (int64_t step = state->steps(); step < begin + steps; ++step) {
    bool boundary = phase > 0 && step == begin;
    if (settings.reinit.enabled &&
        (settings.reinit.step ? *settings.reinit.step == step : boundary))
      if (Status status = reinitialise(observers); !status)
        return status;
    sampler->fill(step, batch);
    auto report = state->step(batch, schedule.at(step - begin));
    if (!report)
      return report.takeError();
    for (Observer *observer : observers)
      observer->onStep(*report, *state);
    if (Status status = statusOf(observers); !status)
      return status;
    if (Status status = checkpointIfDue(); !status)
      return status;
  }
  return Status::success();
}

Expected<std::map<int64_t, double>> Session::run(const std::vector<Observer *> &observers) {
  int64_t begin = 0;
  for (size_t phase = 0; phase < settings.phases.size(); ++phase) {
    if (Status status = runPhase(phase, begin, observers); !status)
      return status.takeError();
    begin += settings.phases[phase].steps;
  }
  auto bits = evaluate(state->model(), corpus().heldOut, settings.evaluation, environment.parallel);
  if (!bits)
    return bits;
  for (Observer *observer : observers)
    observer->onEvaluation(state->steps(), *bits);
  if (Status status = statusOf(observers); !status)
    return status.takeError();
  return bits;
}

} // namespace pe::train
