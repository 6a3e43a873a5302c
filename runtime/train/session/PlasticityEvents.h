//===- PlasticityEvents.h - ReDo and DASH between steps ---------*- C++ -*-===//
//
// The events of --redo-interval and --dash (trainer/Plasticity.h).
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_PLASTICITYEVENTS_H
#define PE_RUNTIME_TRAIN_SESSION_PLASTICITYEVENTS_H

#include "runtime/train/session/Event.h"

namespace pe::train {

/// Measures the activity of neurons at every step, and recycles dormant ones every --redo-interval
/// steps. It must observe a step before anything else runs the model.
std::unique_ptr<Event> makeRedoEvent(const TrainConfig &config, Trainer &trainer);

/// Published: shrinks rows at the start of every phase except the first, using the gradients of its
/// first steps. RowDecay: shrinks them every --dash-interval steps.
std::unique_ptr<Event> makeDashEvent(const TrainConfig &config);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_PLASTICITYEVENTS_H
