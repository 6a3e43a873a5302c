//===- Inputs.h - Random arguments of a function ----------------*- C++ -*-===//
//
// Shapes come from the signature and the sizes of a call. Values come from one random stream per
// tensor, so that the values of a tensor depend only on the seed and not on the other tensors.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_INPUTS_H
#define PE_RUNTIME_API_INPUTS_H

#include "pe/Signature.h"
#include "runtime/core/Tensor.h"
#include "runtime/plan/CallSizes.h"

namespace pe::api {

/// Returns the shape of an argument or result in a call with these sizes.
Expected<Shape> shapeOf(const ValueInfo &value, const plan::SizeValues &sizes);

/// Returns `sizes` and the smallest valid value of every other size that the entry has a
/// requirement for.
Expected<plan::SizeValues> withRequired(const EntryInfo &entry, plan::SizeValues sizes);

/// Returns the requirement that the elements of the argument ascend, or null if there is none.
const ValueRequirement *findAscending(const EntryInfo &entry, const std::string &argument);
/// Draws a tensor that meets the requirement.
Expected<Tensor> drawRequired(const ValueInfo &value, const ValueRequirement &required,
                              uint64_t seed, const plan::SizeValues &sizes);

/// Draws the required arguments: parameters by their `pe.init`, other floating tensors from the
/// standard normal distribution.
Expected<TensorMap> randomArguments(const EntryInfo &entry, uint64_t seed,
                                    const plan::SizeValues &sizes);

/// Draws the cotangent "d_RESULT" of every floating result from the standard normal distribution.
Expected<TensorMap> randomCotangents(const EntryInfo &entry, uint64_t seed,
                                     const plan::SizeValues &sizes);

} // namespace pe::api

#endif // PE_RUNTIME_API_INPUTS_H
