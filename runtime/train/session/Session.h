//===- Session.h - A training run from start to end -------------*- C++ -*-===//
//
// The loop over phases and steps: batches, learning rate, reinit at a phase boundary, checkpoints,
// evaluation at the end. Observers (a progress line, a log file, the demo's curves) are notified of
// what happens.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_SESSION_H
#define PE_RUNTIME_TRAIN_SESSION_SESSION_H

#include "runtime/train/data/Corpus.h"
#include "runtime/train/session/Config.h"
#include "runtime/train/trainer/Checkpoint.h"

#include <map>
#include <memory>

namespace pe::train {

/// What a run needs besides its configuration.
struct Environment {
  Kernels kernels;
  AttentionFactory attention;
  ParallelFor &parallel;
};

class Observer {
public:
  virtual ~Observer() = default;
  virtual void onStep(const StepReport &, Trainer &) {}
  virtual void onReinit(int64_t step, const std::vector<reinit::MatrixReport> &) {}
  virtual void onEvaluation(int64_t step, const std::map<int64_t, double> &bitsPerChar) {}
  /// The observer's error so far, if any; an error ends the run.
  virtual Status status() const { return Status::success(); }
};

/// The texts of a run's phases; a text used twice is read once.
Expected<std::vector<std::shared_ptr<const Corpus>>>
readCorpora(const std::vector<PhaseConfig> &phases);

class Session {
public:
  static Expected<std::unique_ptr<Session>>
  create(const TrainConfig &config, Environment environment,
         std::vector<std::shared_ptr<const Corpus>> corpora, Metadata identity = {});

  /// Trains what is left of the run and evaluates on the last phase's held-out text: context
  /// length -> bits per character.
  Expected<std::map<int64_t, double>> run(const std::vector<Observer *> &observers);

  Trainer &trainer() { return *state; }
  const TrainConfig &config() const { return settings; }
  /// The last phase's text.
  const Corpus &corpus() const { return *texts.back(); }

private:
  Session(const TrainConfig &config, Environment environment)
      : settings(config), environment(std::move(environment)) {}
  Status runPhase(size_t phase, int64_t begin, const std::vector<Observer *> &observers);
  Status reinitialise(const std::vector<Observer *> &observers);
  Status checkpointIfDue();

  TrainConfig settings;
  Environment environment;
  std::vector<std::shared_ptr<const Corpus>> texts;
  Metadata identity;
  std::unique_ptr<Trainer> state;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_SESSION_H
