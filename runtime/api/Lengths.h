//===- Lengths.h - Functions that accept lengths per entry ------*- C++ -*-===//
//
// A call may give the number of keys of each batch entry as a tensor `kv_len`
// (runtime/device/common/BoundEntries.h). This requires a function of attention whose results do
// not depend on the index of an entry in the batch, which its source shows.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_API_LENGTHS_H
#define PE_RUNTIME_API_LENGTHS_H

#include "runtime/device/common/Runner.h"

namespace pe::api {

struct ProgramState;

/// Checks the function if the call has lengths; otherwise success. The first call reads the
/// function, later ones return the same outcome.
Status checkLengths(const ProgramState &program, const device::Runner &runner,
                    std::span<const View> views);
Status checkLengths(const ProgramState &program, const device::Runner &runner,
                    const TensorMap &arguments);

} // namespace pe::api

#endif // PE_RUNTIME_API_LENGTHS_H
