//===- Inputs.h - The tensors of a call ---===//
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

/// Parses "b=1,h=8,sq=1024". Other sizes have their defaults: hkv = h, sk = sq, dv = d. The text
/// may also set sizes of the entry's arguments: dm of tokens, and user-defined axes.
Expected<Sizes> parseShape(const std::string &text, const EntryInfo &entry);

/// Returns the sizes by their names in plans, including user-defined axes. Reports an error if an
/// axis of an argument has no size.
Expected<plan::SizeValues> sizeValuesOf(const EntryInfo &entry, const Sizes &sizes,
                                        const Positions &positions = {});

/// Draws arguments (standard normal data, parameters by pe.init) and cotangents "d_RESULT" of a
/// call at `positions`.
Expected<TensorMap> randomInputs(const EntryInfo &entry, const Sizes &sizes, uint64_t seed,
                                 const Positions &positions = {});

/// Returns true if the tensor, or the tensor of which it is the cotangent, has the type of
/// activations: queries, keys, values, tokens and results computed from them.
bool isActivation(const EntryInfo &entry, const std::string &name);

/// Returns the element type of the activations: the type of the first argument that is not a
/// parameter.
DType activationsOf(const TensorMap &inputs, const EntryInfo &entry);

/// Returns true if the tensor gives lengths per batch entry: the entry has no argument of its name.
bool isLengths(const EntryInfo &entry, const std::string &name);

/// Parses the lengths of --kv-len, such as "5,9,12".
Expected<Tensor> parseLengths(const std::string &text);

/// Reads a safetensors file and keeps the tensors of the entry: every argument must be present with
/// its rank, static sizes and a floating type, and nothing else except cotangents of results and
/// lengths.
Expected<TensorMap> readInputs(const std::string &path, const EntryInfo &entry);

/// Returns the sizes of the arguments. Reports an argument that contradicts another one at its
/// line.
Expected<Sizes> sizesOf(const TensorMap &inputs, const EntryInfo &entry);

/// If there are more heads than positions, returns `before` and the hint that q may be [B, S, H, D]
/// instead of [B, H, S, D]; otherwise an empty string.
std::string layoutHint(const Sizes &sizes, const std::string &before = "");

/// Return the arguments (with lengths, if there are any) and the cotangents in the types that
/// kernels expect (f32; other types are converted).
Expected<TensorMap> argumentsOf(const TensorMap &inputs, const EntryInfo &entry);
Expected<TensorMap> cotangentsOf(const TensorMap &inputs, const EntryInfo &entry);

} // namespace pe::cli

#endif // PE_TOOLS_PE_INPUTS_H
