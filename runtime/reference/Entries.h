//===- Entries.h - Calls with lengths per batch entry -----------*- C++ -*-===//
//
// A call may give the number of keys of each batch entry as a tensor `kv_len`. The reference then
// evaluates each entry alone: it slices the arguments, evaluates, and puts the results back
// together. Gradients of arguments without a batch axis are sums over the entries.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_REFERENCE_ENTRIES_H
#define PE_RUNTIME_REFERENCE_ENTRIES_H

#include "pe/Signature.h"
#include "runtime/reference/Reference.h"

namespace pe::reference {

/// Returns true if the inputs contain lengths that are not an argument of the function.
bool hasLengths(const Program &program, const TensorMap &inputs);

/// Returns an error if the results of a batch entry depend on its index in the batch, or if the
/// function has no attention or merges results. `arguments` are those of the entry function.
Status checkEntries(const Program &program, const std::vector<ValueInfo> &arguments);

/// Returns the inputs of each batch entry of a call with lengths.
Expected<std::vector<TensorMap>> splitEntries(const Program &program,
                                              const std::vector<ValueInfo> &arguments,
                                              const TensorMap &inputs);

/// Same as `evaluate`; the inputs may contain lengths.
Expected<Results> evaluateEntries(const Program &program, const std::vector<ValueInfo> &arguments,
                                  const TensorMap &inputs, const Positions &positions, bool grad,
                                  const EvaluateOptions &options = {});

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_ENTRIES_H
