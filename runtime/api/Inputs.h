//===- Inputs.h - Random arguments of a function ----------------*- C++ -*-===//
//
// Shapes come from the signature and the sizes of a call, values from one random stream per tensor:
// the same seed gives a tensor the same values whatever the other tensors are.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_API_INPUTS_H
#define PE_RUNTIME_API_INPUTS_H

#include "pe/Signature.h"
#include "runtime/core/Tensor.h"
#include "runtime/plan/CallSizes.h"

namespace pe::api {

/// The shape of an argument or result in a call with these sizes.
Expected<Shape> shapeOf(const ValueInfo &value, const plan::SizeValues &sizes);

/// `sizes` and, for each further name that the entry requires to be of some size, the smallest one.
Expected<plan::SizeValues> withRequired(const EntryInfo &entry, plan::SizeValues sizes);

/// What the entry requires of an argument whose numbers ascend; null for another one.
const ValueRequirement *findAscending(const EntryInfo &entry, const std::string &argument);
/// Random numbers that fulfil it.
Expected<Tensor> drawAscending(const ValueInfo &value, const ValueRequirement &required,
                               uint64_t seed, const plan::SizeValues &sizes);

/// Every argument: parameters by their `pe.init`, other floating tensors standard normal.
Expected<TensorMap> randomArguments(const EntryInfo &entry, uint64_t seed,
                                    const plan::SizeValues &sizes);

/// "d_RESULT" of every floating result, standard normal.
Expected<TensorMap> randomCotangents(const EntryInfo &entry, uint64_t seed,
                                     const plan::SizeValues &sizes);

} // namespace pe::api

#endif // PE_RUNTIME_API_INPUTS_H
