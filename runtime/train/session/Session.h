//===- Session.h - A training run from start to end -------------*- C++ -*-===//
//
// The loop over phases and steps: batches, learning rates, the events between steps (Events.h),
// evaluation at the end. Observers (a progress line, a log file, a comparison's curves) are
// notified of what happens.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_SESSION_H
#define PE_RUNTIME_TRAIN_SESSION_SESSION_H

#include "runtime/train/session/Events.h"
#include "runtime/train/trainer/FolderLock.h"

#include <functional>

namespace pe::train {

/// What a run needs besides its configuration.
struct Environment {
  Kernels kernels;
  AttentionFactory attention;
  ParallelFor &parallel;
  /// Encodings that are added to the token embedding; empty: none.
  EmbeddingFactory embedding = {};
  /// Of each phase; an empty one, or none: `attention`.
  std::vector<AttentionFactory> attentionOfPhases = {};
};

/// The texts of a run's phases; a text used twice is read once.
Expected<std::vector<std::shared_ptr<const Corpus>>>
readCorpora(const std::vector<PhaseConfig> &phases, const Vocabulary &vocabulary = {});

class Session {
public:
  static Expected<std::unique_ptr<Session>>
  create(const TrainConfig &config, Environment environment,
         std::vector<std::shared_ptr<const Corpus>> corpora, Metadata identity = {});

  /// Trains what is left of the run and evaluates on the last phase's held-out text: context
  /// length -> bits per character.
  Expected<std::map<int64_t, double>> run(const std::vector<Observer *> &observers);
  /// The first part of that: until `until` steps of the run are done.
  Status trainUntil(int64_t until, const std::vector<Observer *> &observers);
  /// After every step the run asks whether it is to stop. It then writes a checkpoint, if there is
  /// a folder for it, and `run` returns no scores.
  void stopWhen(std::function<bool()> isAsked) { isStopAsked = std::move(isAsked); }
  /// Whether it stopped so.
  bool hasStopped() const { return stopped; }
  /// The second part.
  Expected<std::map<int64_t, double>> evaluateNow(const std::vector<Observer *> &observers);
  /// Writes a checkpoint of the run as it is.
  Status save(const std::string &directory);

  Trainer &trainer() { return *state; }
  /// Of the first step.
  Expected<Batch> firstBatch() const;
  /// The learning rates at step `step` of a phase of `steps`.
  Rates rates(int64_t step, int64_t steps) const;
  const TrainConfig &config() const { return settings; }
  /// Of every batch.
  BatchRules rules() const;
  /// The last phase's text.
  const Corpus &corpus() const { return *texts.back(); }
  /// Whether the run goes on from a checkpoint.
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
  /// Whether the first phase has another length than what --from was trained at.
  bool changesLength = false;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_SESSION_H
