//===- Routing.h - The table of all parameters ------------------*- C++ -*-===//
//
// Prints the table that `pe train` shows before the first step: for every parameter its shape,
// optimizer, peak learning rate, weight decay, whether reinit changes it, and the reason for the
// choice of its optimizer.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_ROUTING_H
#define PE_RUNTIME_TRAIN_SESSION_ROUTING_H

#include "runtime/train/session/Session.h"

namespace pe::train {

std::string routingTable(Session &session);

/// The peak learning rate of the first phase and the weight decay of one parameter, given by its
/// index in the layout. Both are 0 if it is frozen.
struct UpdateRates {
  double peak = 0, decay = 0;
};
UpdateRates updateRatesOf(Session &session, int64_t parameter);

/// Returns a line with the number of parameters and the floating-point operations of a training
/// step per token. A matrix with n elements costs 6 n, of which 2 n forward and 4 n backward.
/// Attention costs 4 operations forward and 10 backward per pair and head dimension, over half of
/// the sequence for causal queries (their average), otherwise over all of it.
std::string sizeLine(Session &session);
/// Returns the operations per token.
double flopsPerToken(Session &session);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_ROUTING_H
