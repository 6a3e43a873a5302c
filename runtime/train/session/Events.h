//===- Events.h - Events between two steps ----------------------*- C++ -*-===//
//
// A run consists of steps with events between them: evaluation, detection of a plateau, reinit,
// checkpoints. Each event decides itself whether it is due. After every step, `afterStep` is called
// on all events in list order, and `beforeStep` is called before the next step. The checkpoint is
// last after a step, so it saves the state of every event at that point, and a resumed run
// continues with the calls of `beforeStep`.
//
// To add an event: add a class (Event.h) in its own file, and a line in makeEvents.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_EVENTS_H
#define PE_RUNTIME_TRAIN_SESSION_EVENTS_H

#include "runtime/train/session/Event.h"

namespace pe::train {

/// Evaluates on the held-out text of the current phase, and notifies the observers.
Expected<std::map<int64_t, double>> evaluateAt(const Moment &moment, const Evaluation &evaluation);

using Events = std::vector<std::unique_ptr<Event>>;

/// Creates the events of a run in order. `identity` is stored in checkpoints.
Events makeEvents(const TrainConfig &config, const Metadata &identity, Trainer &trainer);

/// Returns the state of all events.
std::vector<StatePart> stateOf(const Events &events);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_EVENTS_H
