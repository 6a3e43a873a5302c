//===- FedData.h - the data that training feeds to an encoding ---===//
//
// Arguments of an encoding's file that are neither activations nor parameters are data. Training
// knows some by name and makes them from its batches; `pe plot` draws them from the same source.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_TRAIN_API_FEDDATA_H
#define PE_RUNTIME_TRAIN_API_FEDDATA_H

#include "pe/Signature.h"
#include "runtime/train/model/AttentionFunction.h"

namespace pe::train {

/// What training feeds to an argument of data.
enum class FedData : uint8_t {
  /// q_doc, k_doc: the document of each token.
  Documents,
  /// cu_seqlens: where documents begin; sequences are called one by one then.
  Boundaries,
  /// kv_len: the sequence's length.
  Lengths,
  /// prefix: the sequence's prefix.
  Prefixes,
  /// q_pos, k_pos: 0, 1 ...
  Positions,
  /// cos, sin: tables of the usual rotation, base 10000.
  Cosines,
  Sines,
  /// seed: another one for every layer and step.
  Seed,
  /// f, key_bias: projections of the layer's input.
  Projected,
};

/// What training feeds to the argument, by its name, type and rank; none for a parameter, and for
/// data that it does not know.
std::optional<FedData> findFedData(const ValueInfo &argument);
/// The names that it knows.
std::vector<std::string> namesOfFedData();
/// Of an argument that is fed projections: how they are made.
ProjectedInput projectedInputOf(const ValueInfo &argument);

/// The data of one call, for every kind but projections.
Tensor makeFedData(FedData kind, const AttentionInputs &in);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_API_FEDDATA_H
