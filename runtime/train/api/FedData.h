//===- FedData.h - The data that training feeds to an encoding --*- C++ -*-===//
//
// The arguments of an encoding file that are neither activations nor parameters are data. Training
// recognizes some of them by name and computes them from its batches; `pe plot` uses the same
// values.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_TRAIN_API_FEDDATA_H
#define PE_RUNTIME_TRAIN_API_FEDDATA_H

#include "pe/Signature.h"
#include "runtime/train/model/AttentionFunction.h"

namespace pe::train {

/// The kind of data that training feeds to an argument.
enum class FedData : uint8_t {
  /// q_doc, k_doc: the document of each token.
  Documents,
  /// cu_seqlens: the offsets at which documents begin; sequences are then processed one by one.
  Boundaries,
  /// kv_len: the length of the sequence.
  Lengths,
  /// prefix: the length of the sequence's prefix.
  Prefixes,
  /// q_pos, k_pos: 0, 1 ...
  Positions,
  /// cos, sin: the tables of the standard rotation with base 10000.
  Cosines,
  Sines,
  /// seed: a different value for every layer and step.
  Seed,
  /// f, key_bias: projections of the layer's input.
  Projected,
};

/// Returns the kind of data that training feeds to the argument, determined by its name, type and
/// rank. Returns nothing for a parameter and for data that training does not recognize.
std::optional<FedData> findFedData(const ValueInfo &argument);
/// Returns the names of the data arguments that training recognizes.
std::vector<std::string> namesOfFedData();
/// Returns how the projection fed to the argument is computed.
ProjectedInput projectedInputOf(const ValueInfo &argument);

/// Returns the data of one call, for every kind except projections.
Tensor makeFedData(FedData kind, const AttentionInputs &in);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_API_FEDDATA_H
