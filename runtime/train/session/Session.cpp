//===- Session.cpp - A training run from start to end ---------------------===//
//
// Phases, steps, and the calls of the events between them.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/session/Session.h"
#include "runtime/train/model/InitialValues.h"
#include "runtime/train/session/Options.h"
#include "runtime/train/trainer/WarmStart.h"

#include <algorithm>
#include <charconv>

namespace pe::train {

Expected<std::vector<std::shared_ptr<const Corpus>>>
readCorpora(const std::vector<PhaseConfig> &phases, const Vocabulary &vocabulary) {
  std::map<std::string, std::shared_ptr<const Corpus>> known;
  std::vector<std::shared_ptr<const Corpus>> result;
  for (const PhaseConfig &phase : phases) {
    std::shared_ptr<const Corpus> &corpus = known[phase.data];
    if (!corpus) {
      auto read = readData(phase.data, vocabulary);
      if (!read)
        return read.takeError();
      corpus = std::make_shared<const Corpus>(std::move(*read));
    }
    result.push_back(corpus);
  }
  return result;
}

Expected<std::unique_ptr<Session>>
Session::create(const TrainConfig &config, Environment environment,
                std::vector<std::shared_ptr<const Corpus>> corpora, Metadata identity) {
  DecoderConfig shape = config.model;
  shape.vocabulary = config.tokenCount();
  auto model =
      Decoder::create(shape, environment.kernels, environment.attention, environment.embedding);
  if (!model)
    return model.takeError();
  if (Status status = setInitialValues(**model, config.seed, config.initialValues); !status)
    return status.takeError();
  if (Status status = (*model)->freeze(config.freeze); !status)
    return status.takeError().within("--freeze");
  if (config.objective == Objective::Causal)
    if (Status status = (*model)->checkCausal(); !status)
      return status.takeError();
  std::unique_ptr<Session> session(new Session(config, std::move(environment)));
  session->texts = std::move(corpora);
  session->identity = std::move(identity);
  session->state = std::make_unique<Trainer>(std::move(*model), session->environment.kernels,
                                             config.optimizer, session->environment.parallel);
  session->state->setMaxSkips(config.maxSkips);
  session->events = makeEvents(session->settings, session->identity, *session->state);
  session->resumed = config.resume && !(config.resumeIfAny && !hasCheckpoint(config.checkpoint));
  Status ready = session->resumed ? session->resume() : session->loadStart();
  if (!ready)
    return ready.takeError();
  // Detects outputs that cannot be written before the first step, not after the last.
  if (!session->resumed && !config.checkpoint.empty())
    if (Status made = session->takeFolder(); !made)
      return made.takeError();
  return session;
}

/// Creates the checkpoint directory if it is missing, and locks it.
Status Session::takeFolder() {
  if (Status made = makeCheckpointFolder(settings.checkpoint); !made)
    return made;
  auto taken = FolderLock::take(settings.checkpoint, "another pe train");
  if (!taken)
    return taken.takeError();
  lock = *std::move(taken);
  return Status::success();
}

/// Loads the weights of --from.
Status Session::loadStart() {
  if (settings.from.empty())
    return Status::success();
  auto start = loadWarmStart(settings.from, settings.keepsOptimizer, *state);
  if (!start)
    return start.takeError().within("--from");
  const auto length = start->find("pe.train.seq");
  // Events compare with the sequence length that the weights were trained at, if it is known.
  changesLength =
      length != start->end() && length->second != std::to_string(settings.sequenceOf(0));
  return Status::success();
}

Status Session::resume() {
  const std::string &directory = settings.checkpoint;
  if (!hasCheckpoint(directory))
    return makeError("expected a checkpoint to resume from in '", directory,
                     "', found none; omit --resume to start a new run, or use --resume=if-any");
  if (Status status = takeFolder(); !status)
    return status;
  Metadata expected = identity;
  if (Status status = allowOtherSteps(expected); !status)
    return status;
  if (Status status = loadCheckpoint(directory, *state, expected, trainDefaults(), stateOf(events));
      !status)
    return status;
  if (state->steps() > settings.totalSteps())
    return makeError("expected a checkpoint of at most ", settings.totalSteps(),
                     " steps, the length of the run, found one of ", state->steps(), " in '",
                     directory, "'");
  removeLeftovers(directory, settings.keepCheckpoints);
  return Status::success();
}

/// Allows a resumed run to become longer or shorter if the completed steps would have had the same
/// learning rates: it then ends with the same bits as a run with these --steps from the start. Sets
/// the steps in `expected` to those of the checkpoint.
Status Session::allowOtherSteps(Metadata &expected) const {
  constexpr const char *kSteps = "pe.train.steps";
  const auto given = expected.find(kSteps);
  if (settings.phases.size() != 1 || given == expected.end())
    return Status::success();
  auto saved = readSavedRun(settings.checkpoint);
  if (!saved)
    return saved.takeError();
  const std::string text = saved->metadata[kSteps];
  TrainConfig before = settings;
  auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), before.phases[0].steps);
  if (failure != std::errc() || before.phases[0].steps == settings.phases[0].steps)
    return Status::success();
  given->second = text;
  // Once two schedules differ, they differ in every later step, so checking the last steps
  // suffices.
  constexpr int64_t kLooksBack = 1000;
  for (int64_t step = std::max<int64_t>(saved->steps - kLooksBack, 0); step < saved->steps; ++step)
    if (before.ratesAt(0, step) != settings.ratesAt(0, step))
      return makeError("--steps: expected ", text, " as in the first run, whose ", saved->steps,
                       " steps had the learning rates of --schedule for that number, found ",
                       settings.phases[0].steps, "; --from=", settings.checkpoint,
                       " --from-optimizer=keep continues from there as a new run");
  return Status::success();
}

BatchRules Session::rules() const {
  return {settings.objective, state->model().attention(0).attention().readsPrefixes(),
          static_cast<int32_t>(settings.vocabulary.size())};
}

Rates Session::rates(int64_t step, int64_t steps) const {
  TrainConfig one = settings;
  one.phases.resize(1);
  one.phases[0].steps = steps;
  return one.ratesAt(0, step);
}

Expected<BatchSampler> Session::samplerOf(size_t phase) const {
  return BatchSampler::create(texts[phase]->training, settings.batch, settings.sequenceOf(phase),
                              settings.seed, rules());
}

Expected<Batch> Session::firstBatch() const {
  auto sampler = samplerOf(0);
  if (!sampler)
    return sampler.takeError();
  Batch batch;
  sampler->fill(0, batch);
  return batch;
}

/// Sets the phase's own attention, if it has one. Its parameters must be the same.
Status Session::setAttention(size_t phase) {
  const auto &own = environment.attentionOfPhases;
  if (phase >= own.size() || !own[phase])
    return Status::success();
  Status status = state->model().setAttention(own[phase]);
  return status ? std::move(status)
                : Status(status.takeError().within("--phases: phase " + std::to_string(phase + 1)));
}

/// Trains the remaining steps of one phase that come before step `until` of the run. The phase
/// begins at step `begin` of the run.
Status Session::runPhase(size_t phase, int64_t begin, int64_t until,
                         const std::vector<Observer *> &observers) {
  const int64_t steps = settings.phases[phase].steps;
  if (state->steps() >= begin + steps && phase + 1 < settings.phases.size())
    return Status::success();
  if (Status status = setAttention(phase); !status)
    return status;
  const BatchRules batchRules = rules();
  auto sampler = samplerOf(phase);
  if (!sampler)
    return sampler.takeError();
  std::vector<Batch> batches(settings.accumulate);
  Moment moment{*state, observers, phase, *texts[phase], batchRules};
  for (int64_t step = state->steps(); step < std::min(begin + steps, until); ++step) {
    moment.phaseBegins = step == begin;
    moment.lengthChanges =
        phase == 0 ? changesLength : settings.sequenceOf(phase) != settings.sequenceOf(phase - 1);
    startPart(state->watch(), "events");
    for (const std::unique_ptr<Event> &event : events)
      if (Status status = event->beforeStep(moment); !status)
        return status;
    startPart(state->watch(), "text");
    for (int64_t part = 0; part < settings.accumulate; ++part)
      sampler->fill(step * settings.accumulate + part, batches[part]);
    auto report = state->step(batches, settings.ratesAt(phase, step - begin));
    if (!report)
      return report.takeError();
    startPart(state->watch(), "events");
    for (Observer *observer : observers)
      observer->onStep(*report, *state);
    if (Status status = statusOf(observers); !status)
      return status;
    moment.stops = stopped = isStopAsked && isStopAsked();
    for (const std::unique_ptr<Event> &event : events)
      if (Status status = event->afterStep(moment); !status)
        return status;
    if (stopped)
      break;
  }
  startPart(state->watch(), nullptr);
  return Status::success();
}

Status Session::trainUntil(int64_t until, const std::vector<Observer *> &observers) {
  int64_t begin = 0;
  for (size_t phase = 0; phase < settings.phases.size() && !stopped; ++phase) {
    if (Status status = runPhase(phase, begin, until, observers); !status)
      return status;
    begin += settings.phases[phase].steps;
  }
  return Status::success();
}

Expected<std::map<int64_t, double>> Session::evaluateNow(const std::vector<Observer *> &observers) {
  const Moment now{*state, observers, settings.phases.size() - 1, corpus(), rules()};
  return evaluateAt(now, settings.evaluation);
}

/// Checks that the texts are long enough for the remaining steps and for the last evaluation.
Status Session::checkTexts() const {
  for (size_t phase = 0; phase < settings.phases.size(); ++phase)
    if (auto sampler = samplerOf(phase); !sampler)
      return sampler.takeError();
  const std::vector<int64_t> &lengths = settings.evaluation.lengths;
  if (lengths.empty() || corpus().heldOut.task)
    return Status::success();
  auto windows = evaluationWindows(corpus().heldOut, settings.evaluation.windows,
                                   *std::max_element(lengths.begin(), lengths.end()));
  return windows ? Status::success() : Status(windows.takeError());
}

Expected<std::map<int64_t, double>> Session::run(const std::vector<Observer *> &observers) {
  if (Status status = checkTexts(); !status)
    return status.takeError();
  if (Status status = trainUntil(settings.totalSteps(), observers); !status)
    return status.takeError();
  if (stopped)
    return std::map<int64_t, double>();
  return evaluateNow(observers);
}

Status Session::save(const std::string &directory) {
  return saveCheckpoint(directory, *state, identity, stateOf(events), settings.keepCheckpoints);
}

} // namespace pe::train
