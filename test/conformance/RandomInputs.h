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

/// Returns true for tensors in the type of activations: queries, keys, values, tokens, outputs and
/// their cotangents, whose last axis is a depth of the entry. Other data is f32.
bool isActivation(const jit::EntryInfo &entry, const std::string &name);

} // namespace pe::conformance

#endif // PE_TEST_CONFORMANCE_RANDOMINPUTS_H
