//===- RandomInputs.h - Random inputs for a described function --*- C++ -*-===//

#ifndef PE_TEST_CONFORMANCE_RANDOMINPUTS_H
#define PE_TEST_CONFORMANCE_RANDOMINPUTS_H

#include "conformance/Cases.h"
#include "runtime/core/Tensor.h"
#include "runtime/jit/JitInterface.h"

namespace pe::conformance {

/// Draws the arguments of the entry in f32: q, k, v and other data from a normal distribution (q
/// and k scaled for the call's logits), parameters from their range in the table or around their
/// pe.init, and a normal cotangent "d_NAME" for every result.
Expected<TensorMap> drawInputs(const jit::EntryInfo &entry, const Call &call, uint64_t seed);

} // namespace pe::conformance

#endif // PE_TEST_CONFORMANCE_RANDOMINPUTS_H
