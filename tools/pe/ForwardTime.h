//===- ForwardTime.h - How long a model's forward pass takes ---===//
#ifndef PE_TOOLS_PE_FORWARDTIME_H
#define PE_TOOLS_PE_FORWARDTIME_H

#include "runtime/train/session/Session.h"

namespace pe::cli {

/// Milliseconds of a forward pass over one sequence of each of the evaluation's lengths, in a batch
/// of --batch: the median of several calls.
Expected<std::map<int64_t, double>> timeForward(train::Session &session);

} // namespace pe::cli

#endif // PE_TOOLS_PE_FORWARDTIME_H
