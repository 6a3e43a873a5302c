//===- Routing.h - What happens to each parameter ---------------*- C++ -*-===//
//
// The table that `pe train` prints before the first step: for every parameter its shape, optimizer,
// weight decay, whether reinit replaces it, and why it went this way.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_ROUTING_H
#define PE_RUNTIME_TRAIN_SESSION_ROUTING_H

#include "runtime/train/session/Session.h"

namespace pe::train {

std::string routingTable(Session &session);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_ROUTING_H
