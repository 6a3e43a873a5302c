//===- Trace.h - A file with the time by part -------------------*- C++ -*-===//

#ifndef PE_RUNTIME_TRAIN_SESSION_TRACE_H
#define PE_RUNTIME_TRAIN_SESSION_TRACE_H

#include "pe/Error.h"
#include "runtime/train/model/Stopwatch.h"

namespace pe::train {

/// Writes the spans in the trace event format, which Perfetto and chrome://tracing show, with a
/// member "seconds" of sums by part.
Status writeTrace(const std::string &path, const Stopwatch &watch);

/// One line: the parts by their share of the time, the longest first.
std::string timeLine(const Stopwatch &watch);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_TRACE_H
