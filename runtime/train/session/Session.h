//===- Session.h - A training run from start to end -------------*- C++ -*-===//
//
// The loop over phases and steps: batches, learning rates, the events between steps (Events.h), and
// the evaluation at the end. Observers (a progress line, a log file, the curves of a comparison)
// are notified of events.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_SESSION_H
#define PE_RUNTIME_TRAIN_SESSION_SESSION_H

#include "runtime/train/session/Events.h"
#include "runtime/train/trainer/FolderLock.h"

#include <functional>

namespace pe::train {

/// The inputs of a run besides its configuration.
struct Environment {
  Kernels kernels;
  AttentionFactory attention;
  ParallelFor &parallel;
  /// Creates an encoding that is added to the token embedding; empty for none.
  EmbeddingFactory embedding = {};
  /// The attention of each phase. An empty or missing entry means `attention`.
  std::vector<AttentionFactory> attentionOfPhases = {};
};

/// Reads the texts of a run's phases; a text that is used twice is read once.
Expected<std::vector<std::shared_ptr<const Corpus>>>
readCorpora(const std::vector<PhaseConfig> &phases, const Vocabulary &vocabulary = {});

class Session {
public:
  static Expected<std::unique_ptr<Session>>
  create(const TrainConfig &config, Environment environment,
         std::vector<std::shared_ptr<const Corpus>> corpora, Metadata identity = {});

  /// Trains the remaining steps of the run and evaluates on the last phase's held-out text. Returns
  /// context length -> bits per character.
  Expected<std::map<int64_t, double>> run(const std::vector<Observer *> &observers);
  /// Runs the first part of `run`: trains until `until` steps of the run are done.
  Status trainUntil(int64_t until, const std::vector<Observer *> &observers);
  /// Sets a function that is called after every step; if it returns true, the run stops. It then
  /// writes a checkpoint, if it has a checkpoint directory, and `run` returns no scores.
  void stopWhen(std::function<bool()> isAsked) { isStopAsked = std::move(isAsked); }
  /// Returns true if the run was stopped this way.
  bool hasStopped() const { return stopped; }
  /// Runs the second part of `run`: the evaluation.
  Expected<std::map<int64_t, double>> evaluateNow(const std::vector<Observer *> &observers);
  /// Writes a checkpoint of the current state.
  Status save(const std::string &directory);

  Trainer &trainer() { return *state; }
  /// Returns the batch of the first step.
  Expected<Batch> firstBatch() const;
  /// Returns the learning rates at step `step` of a phase of `steps` steps.
  Rates rates(int64_t step, int64_t steps) const;
  const TrainConfig &config() const { return settings; }
  /// Returns the rules for all batches.
  BatchRules rules() const;
  /// Returns the text of the last phase.
  const Corpus &corpus() const { return *texts.back(); }
  /// Returns true if the run continues from a checkpoint.
  bool isResumed() const { return resumed; }

private:
  Session(const TrainConfig &config, Environment environment)
      : settings(config), environment(std::move(environment)) {}
  Status runPhase(size_t phase, int64_t begin, int64_t until,
                  const std::vector<Observer *> &observers);
  Status setAttention(size_t phase);
  Status takeFolder();
  Status resume();
  Status allowOtherSteps(Metadata &expected) const;
  Status loadStart();
  Expected<BatchSampler> samplerOf(size_t phase) const;
  Status checkTexts() const;

  TrainConfig settings;
  Environment environment;
  std::vector<std::shared_ptr<const Corpus>> texts;
  Metadata identity;
  std::unique_ptr<Trainer> state;
  Events events;
  bool resumed = false;
  std::function<bool()> isStopAsked;
  bool stopped = false;
  /// Held while the run may write checkpoints.
  FolderLock lock;
  /// True if the sequence length of the first phase differs from that of the run in --from.
  bool changesLength = false;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_SESSION_H
