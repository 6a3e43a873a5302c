//===- CallSizes.h - The sizes of a call from its tensors -------*- C++ -*-===//
#ifndef PE_RUNTIME_REFERENCE_CALLSIZES_H
#define PE_RUNTIME_REFERENCE_CALLSIZES_H

#include "runtime/plan/CallSizes.h"
#include "runtime/reference/GraphBuilder.h"
#include "runtime/reference/Reference.h"

namespace pe::reference {

/// Tensors of 64-bit integers, exactly.
using SeedValues = std::map<ValueId, std::vector<int64_t>>;

/// The dimensions of "tensor<2x?xf32>" with -1 for "?", or nothing for another type.
std::optional<Shape> dimensionsOf(std::string_view type);

/// Whether some attention has a mask, a bias, a prologue, a rotation, or a function of the score
/// that reads i or j. Otherwise no query counts as being at a negative position; with dropout,
/// which is drawn by positions, this is so by default, as q_start is then at least 0.
bool readsPositions(const Program &program);

/// The sizes of a call, from the queries, keys and values of the attention `operation` and from all
/// other arguments. Fails where tensors disagree.
Expected<plan::CallSizes> bindSizes(const Program &program, const Operation &operation,
                                    const TensorValues &tensors, const SeedValues &seeds,
                                    const Positions &positions);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_CALLSIZES_H
