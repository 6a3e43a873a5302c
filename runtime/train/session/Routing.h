//===- Routing.h - What happens to each parameter ---------------*- C++ -*-===//
//
// What `pe train` prints before the first step: for every parameter its shape, optimizer, peak
// learning rate, weight decay, whether reinit replaces it, and why it went this way.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_ROUTING_H
#define PE_RUNTIME_TRAIN_SESSION_ROUTING_H

#include "runtime/train/session/Session.h"

namespace pe::train {

std::string routingTable(Session &session);

/// What an optimizer is told about one parameter, by its index in the layout: the peak of the first
/// phase's learning rates, and the weight decay. Both are 0 if it is frozen.
struct UpdateRates {
  double peak = 0, decay = 0;
};
UpdateRates updateRatesOf(Session &session, int64_t parameter);

/// Parameters, and floating-point operations of a token's training step: a matrix of n numbers that
/// a token is multiplied by costs 6 n, 2 forward and 4 backward; attention to the half of a
/// sequence that causal queries see on average, or to all of it, 4 and 10 operations per pair and
/// dimension of a head.
std::string sizeLine(Session &session);
/// The operations alone.
double flopsPerToken(Session &session);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_ROUTING_H
