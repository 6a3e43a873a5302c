//===- Events.cpp - Events between two steps ------------------------------===//
//
// Evaluation, reinit and checkpoints.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/session/Events.h"
#include "runtime/train/session/PlasticityEvents.h"
#include "runtime/train/session/Plateau.h"

namespace pe::train {
namespace {

/// Evaluates every --eval-interval steps, except after the last, when the session evaluates anyway.
class EvaluationEvent : public Event {
public:
  explicit EvaluationEvent(const TrainConfig &config) : config(config) {}

  Status afterStep(const Moment &moment) override {
    const int64_t steps = moment.trainer.steps();
    if (steps % config.evaluationInterval != 0 || steps == config.totalSteps())
      return Status::success();
    auto bits = evaluateAt(moment, config.evaluation);
    return bits ? Status::success() : Status(bits.takeError());
  }

private:
  const TrainConfig &config;
};

/// Changes weights before one step, at the start of every phase except the first, or on a plateau.
class ReinitEvent : public Event {
public:
  explicit ReinitEvent(const TrainConfig &config)
      : config(config), watch(config.reinit.plateauWindow) {}

  Status afterStep(const Moment &moment) override {
    const int64_t steps = moment.trainer.steps();
    if (config.reinit.when != ReinitTime::Plateau || steps % config.reinit.plateauInterval != 0)
      return Status::success();
    Evaluation evaluation = config.evaluation;
    evaluation.lengths = {config.sequenceOf(moment.phase)};
    auto bits = evaluate(moment.trainer.model(), moment.corpus.heldOut, moment.rules, evaluation,
                         moment.trainer.parallel());
    if (!bits)
      return bits.takeError();
    watch.add(bits->begin()->second);
    return Status::success();
  }

  Status beforeStep(const Moment &moment) override {
    // The loss on another text does not continue that of the previous phase.
    if (moment.phaseBegins)
      watch.clear();
    if (!isDue(moment))
      return Status::success();
    watch.clear();
    ReinitChange change = config.reinit.change;
    change.settings.seed = config.seed;
    if (config.reinit.when == ReinitTime::Phase)
      change.target = *config.reinitAt(moment.phase, moment.lengthChanges);
    auto reports = moment.trainer.reinitialise(change);
    if (!reports)
      return reports.takeError();
    for (Observer *observer : moment.observers)
      observer->onReinit(moment.trainer.steps(), *reports);
    return statusOf(moment.observers);
  }

  std::vector<StatePart> state() override { return watch.state(); }

private:
  bool isDue(const Moment &moment) const {
    switch (config.reinit.when) {
    case ReinitTime::Phase:
      return moment.isBoundary(config) && config.reinitAt(moment.phase, moment.lengthChanges);
    case ReinitTime::Step:
      return moment.trainer.steps() == config.reinit.step;
    case ReinitTime::Plateau:
      return watch.onPlateau();
    }
    return false;
  }

  const TrainConfig &config;
  PlateauWatch watch;
};

/// Saves every --checkpoint-interval steps, after the last step, and when the run stops.
class CheckpointEvent : public Event {
public:
  CheckpointEvent(const TrainConfig &config, const Metadata &identity,
                  std::vector<StatePart> others)
      : config(config), identity(identity), others(std::move(others)) {}

  Status afterStep(const Moment &moment) override {
    const int64_t steps = moment.trainer.steps();
    if (steps % config.checkpointInterval != 0 && steps != config.totalSteps() && !moment.stops)
      return Status::success();
    return saveCheckpoint(config.checkpoint, moment.trainer, identity, others,
                          config.keepCheckpoints);
  }

private:
  const TrainConfig &config;
  const Metadata &identity;
  std::vector<StatePart> others;
};

} // namespace

Expected<std::map<int64_t, double>> evaluateAt(const Moment &moment, const Evaluation &evaluation) {
  std::map<int64_t, double> accuracy;
  auto bits = evaluate(moment.trainer.model(), moment.corpus.heldOut, moment.rules, evaluation,
                       moment.trainer.parallel(), &accuracy);
  if (!bits)
    return bits;
  for (Observer *observer : moment.observers) {
    if (!accuracy.empty())
      observer->onAccuracy(accuracy);
    observer->onEvaluation(moment.trainer.steps(), *bits);
  }
  if (Status status = statusOf(moment.observers); !status)
    return status.takeError();
  return bits;
}

Events makeEvents(const TrainConfig &config, const Metadata &identity, Trainer &trainer) {
  Events events;
  if (config.usesRedo())
    events.push_back(makeRedoEvent(config, trainer));
  if (config.usesDash(Dash::Published) || config.usesDash(Dash::RowDecay))
    events.push_back(makeDashEvent(config));
  if (config.evaluationInterval > 0)
    events.push_back(std::make_unique<EvaluationEvent>(config));
  if (config.reinit.enabled)
    events.push_back(std::make_unique<ReinitEvent>(config));
  if (!config.checkpoint.empty())
    events.push_back(std::make_unique<CheckpointEvent>(config, identity, stateOf(events)));
  return events;
}

std::vector<StatePart> stateOf(const Events &events) {
  std::vector<StatePart> parts;
  for (const std::unique_ptr<Event> &event : events)
    for (StatePart &part : event->state())
      parts.push_back(std::move(part));
  return parts;
}

} // namespace pe::train
