//===- Event.h - An event between two steps ---------------------*- C++ -*-===//
#ifndef PE_RUNTIME_TRAIN_SESSION_EVENT_H
#define PE_RUNTIME_TRAIN_SESSION_EVENT_H

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
  /// Called with the dormant neurons of every layer after `step` steps, when they have been
  /// recycled.
  virtual void onRecycle(int64_t step, const std::vector<DormantNeurons> &) {}
  virtual void onShrink(int64_t step, Dash, const std::vector<ShrunkMatrix> &) {}
  /// Called before onEvaluation for a task: the share of correct answers by length.
  virtual void onAccuracy(const std::map<int64_t, double> &) {}
  virtual void onEvaluation(int64_t step, const std::map<int64_t, double> &bitsPerChar) {}
  /// Returns the first error of the observer, which ends the run.
  virtual Status status() const { return Status::success(); }
};

/// Returns the first error of an observer.
inline Status statusOf(const std::vector<Observer *> &observers) {
  for (const Observer *observer : observers)
    if (Status status = observer->status(); !status)
      return status;
  return Status::success();
}

/// The state of a run between two steps.
struct Moment {
  Trainer &trainer;
  const std::vector<Observer *> &observers;
  /// The phase of the previous step (afterStep) or of the next one (beforeStep), and its text.
  size_t phase = 0;
  const Corpus &corpus;
  const BatchRules &rules;
  /// beforeStep: the next step is the first of its phase.
  bool phaseBegins = false;
  /// The new phase has a different sequence length than the previous one.
  bool lengthChanges = false;
  /// afterStep: the run stops here, before its end.
  bool stops = false;

  /// Returns true if a phase begins and something was trained before it.
  bool isBoundary(const TrainConfig &config) const {
    return phaseBegins && (phase > 0 || !config.from.empty());
  }
};

class Event {
public:
  virtual ~Event() = default;
  virtual Status beforeStep(const Moment &) { return Status::success(); }
  virtual Status afterStep(const Moment &) { return Status::success(); }
  /// Returns the state that a resumed run needs. All of it is optional, because checkpoints of
  /// versions without the event belong to runs without it.
  virtual std::vector<StatePart> state() { return {}; }
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_EVENT_H
