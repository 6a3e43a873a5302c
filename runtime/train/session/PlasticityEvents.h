//===- PlasticityEvents.h - ReDo and DASH between steps ---------*- C++ -*-===//
//
// The events of --redo-interval and --dash (trainer/Plasticity.h).
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_PLASTICITYEVENTS_H
#define PE_RUNTIME_TRAIN_SESSION_PLASTICITYEVENTS_H

#include "runtime/train/session/Events.h"

namespace pe::train {

/// Watches neurons at every step, and makes dormant ones new every --redo-interval steps. It has to
/// see a step before anything else runs the model.
std::unique_ptr<Event> makeRedoEvent(const TrainConfig &config, Trainer &trainer);

/// Published: at the start of every phase but the first, from the gradients of its first steps.
/// RowDecay: every --dash-interval steps.
std::unique_ptr<Event> makeDashEvent(const TrainConfig &config);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_PLASTICITYEVENTS_H
