//===- Trace.h - Time profile of a run --------------------------*- C++ -*-===//

#ifndef PE_RUNTIME_TRAIN_SESSION_TRACE_H
#define PE_RUNTIME_TRAIN_SESSION_TRACE_H

#include "pe/Error.h"
#include "runtime/train/model/Stopwatch.h"

namespace pe::train {

/// Writes the spans in the trace event format of Perfetto and chrome://tracing, with an additional
/// member "seconds" with the sums by part.
Status writeTrace(const std::string &path, const Stopwatch &watch);

/// Returns a line with the parts by their share of the time, longest first.
std::string timeLine(const Stopwatch &watch);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_TRACE_H
