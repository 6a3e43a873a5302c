//===- ForwardTime.h - The time of a model's forward pass ---===//
#ifndef PE_TOOLS_PE_FORWARDTIME_H
#define PE_TOOLS_PE_FORWARDTIME_H

#include "runtime/train/session/Session.h"

namespace pe::cli {

/// Returns, for each length of the evaluation, the milliseconds of a forward pass per sequence in a
/// batch of --batch: the median of several calls.
Expected<std::map<int64_t, double>> timeForward(train::Session &session);

} // namespace pe::cli

#endif // PE_TOOLS_PE_FORWARDTIME_H
