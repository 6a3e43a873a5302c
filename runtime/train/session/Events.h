//===- Events.h - What happens between two steps ----------------*- C++ -*-===//
//
// A run is steps with events between them: evaluation, the watch for a plateau, reinit,
// checkpoints. Each event decides for itself whether it is due. All `afterStep` are called in the
// order of the list after every step, all `beforeStep` before the next; the checkpoint is the last
// after a step, so what it saves is the state of every event at that point, and a resumed run goes
// on with the calls of `beforeStep`.
//
// To add one: a class here or in a file of its own, and a line in makeEvents.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_EVENTS_H
#define PE_RUNTIME_TRAIN_SESSION_EVENTS_H

#include "runtime/train/data/Corpus.h"
#include "runtime/train/session/Config.h"
#include "runtime/train/trainer/Checkpoint.h"

#include <map>
#include <memory>

namespace pe::train {

class Observer {
public:
  virtual ~Observer() = default;
  virtual void onStep(const StepReport &, Trainer &) {}
  virtual void onReinit(int64_t step, const std::vector<reinit::MatrixReport> &) {}
  /// After `step` steps: the dormant neurons of every layer, which are new now.
  virtual void onRecycle(int64_t step, const std::vector<DormantNeurons> &) {}
  virtual void onShrink(int64_t step, Dash, const std::vector<ShrunkMatrix> &) {}
  /// Of a task, before onEvaluation: the share of right answers by length.
  virtual void onAccuracy(const std::map<int64_t, double> &) {}
  virtual void onEvaluation(int64_t step, const std::map<int64_t, double> &bitsPerChar) {}
  /// The observer's error so far, if any; an error ends the run.
  virtual Status status() const { return Status::success(); }
};

/// Where a run is between two steps.
struct Moment {
  Trainer &trainer;
  const std::vector<Observer *> &observers;
  /// The phase of the step before (afterStep) or after (beforeStep), and its text.
  size_t phase = 0;
  const Corpus &corpus;
  const BatchRules &rules;
  /// beforeStep: the next step is the first of its phase.
  bool phaseBegins = false;
  /// And it has another length of sequences than what came before.
  bool lengthChanges = false;
  /// afterStep: the run stops here, before its end.
  bool stops = false;

  /// Whether something was trained before the phase that begins.
  bool isBoundary(const TrainConfig &config) const {
    return phaseBegins && (phase > 0 || !config.from.empty());
  }
};

class Event {
public:
  virtual ~Event() = default;
  virtual Status beforeStep(const Moment &) { return Status::success(); }
  virtual Status afterStep(const Moment &) { return Status::success(); }
  /// What a resumed run needs; none of it is required, for checkpoints of versions without the
  /// event belong to runs without it.
  virtual std::vector<StatePart> state() { return {}; }
};

/// Evaluates on the held-out text of that moment, and tells the observers.
Expected<std::map<int64_t, double>> evaluateAt(const Moment &moment, const Evaluation &evaluation);

using Events = std::vector<std::unique_ptr<Event>>;

/// The events of a run in their order. `identity` goes into checkpoints.
Events makeEvents(const TrainConfig &config, const Metadata &identity, Trainer &trainer);

/// The state of all events.
std::vector<StatePart> stateOf(const Events &events);

/// The error of the first observer that has one.
Status statusOf(const std::vector<Observer *> &observers);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_EVENTS_H
