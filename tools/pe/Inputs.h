//===- Inputs.h - the tensors of one call ---===//
#ifndef PE_TOOLS_PE_INPUTS_H
#define PE_TOOLS_PE_INPUTS_H

#include "pe/Positions.h"
#include "pe/Signature.h"
#include "runtime/core/Tensor.h"
#include "runtime/plan/CallSizes.h"

#include <map>
#include <string>

namespace pe::cli {

/// Sizes by the names of the contract: b, h, hkv, sq, sk, d, dv.
using Sizes = std::map<std::string, int64_t>;

/// "b=1,h=8,sq=1024": unnamed sizes keep their defaults, hkv = h, sk = sq, dv = d. What else may be
/// given are the sizes of the entry's arguments: dm of tokens, and axes that the user has named.
Expected<Sizes> parseShape(const std::string &text, const EntryInfo &entry);

/// The sizes by the names of plans, those of axes that the user has named among them; an error for
/// an axis of an argument without a size.
Expected<plan::SizeValues> sizeValuesOf(const EntryInfo &entry, const Sizes &sizes,
                                        const Positions &positions = {});

/// Random arguments (data standard normal, parameters by pe.init) and cotangents "d_RESULT" of a
/// call at `positions`.
Expected<TensorMap> randomInputs(const EntryInfo &entry, const Sizes &sizes, uint64_t seed,
                                 const Positions &positions = {});

/// Whether the tensor of that name, or whose cotangent it is, has the type of activations: queries,
/// keys, values, tokens and what is made of them.
bool isActivation(const EntryInfo &entry, const std::string &name);

/// The element type of the activations: that of the first argument that is not a parameter.
DType activationsOf(const TensorMap &inputs, const EntryInfo &entry);

/// Reads a safetensors file and keeps the tensors of the entry: every argument must be present with
/// its rank, static sizes and a floating type, and nothing else except cotangents of results.
Expected<TensorMap> readInputs(const std::string &path, const EntryInfo &entry);

/// The sizes of the arguments; an argument that contradicts another is an error at its own line.
Expected<Sizes> sizesOf(const TensorMap &inputs, const EntryInfo &entry);

/// Says that q may be [B, S, H, D] where pe takes [B, H, S, D], if there are more heads than
/// positions, after `before`; or nothing.
std::string layoutHint(const Sizes &sizes, const std::string &before = "");

/// The arguments as the kernels expect them (f32; other types converted), and the cotangents
/// (dropped unless `grad`).
Expected<TensorMap> argumentsOf(const TensorMap &inputs, const EntryInfo &entry);
Expected<TensorMap> cotangentsOf(const TensorMap &inputs, const EntryInfo &entry);

} // namespace pe::cli

#endif // PE_TOOLS_PE_INPUTS_H
