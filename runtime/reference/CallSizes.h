//===- CallSizes.h - Inference of sizes from tensors ------------*- C++ -*-===//
#ifndef PE_RUNTIME_REFERENCE_CALLSIZES_H
#define PE_RUNTIME_REFERENCE_CALLSIZES_H

#include "pe/Positions.h"
#include "runtime/plan/CallSizes.h"
#include "runtime/reference/ExportedProgram.h"
#include "runtime/reference/GraphBuilder.h"

namespace pe::reference {

/// The exact values of 64-bit integer tensors.
using SeedValues = std::map<ValueId, std::vector<int64_t>>;

/// Returns the dimensions of "tensor<2x?xf32>" with -1 for "?", or nullopt for another type.
std::optional<Shape> dimensionsOf(std::string_view type);

/// Returns true if some attention has a mask, a bias, a prologue, a rotation, or a score function
/// that reads i or j. Otherwise no query counts as being at a negative position. Dropout depends on
/// positions too, but its default q_start is at least 0.
bool readsPositions(const Program &program);

/// Returns the number of axes of an argument that is the positions of tokens by axis, [axes, batch,
/// rows], for a rotation, or 0.
int64_t axesOfPositions(const Program &program, const Argument &argument);

/// Returns the table of pages of an attention, or nothing.
std::optional<ValueId> pagesOf(const Operation &operation);
/// Returns true if keys and values of an attention are in pages, so that no tensor determines their
/// number.
bool hasPages(const Program &program);

/// Returns the sizes of a call, from the queries, keys and values of the attention `operation` and
/// from all other arguments. Tensors that disagree are an error.
Expected<plan::CallSizes> bindSizes(const Program &program, const Operation &operation,
                                    const TensorValues &tensors, const SeedValues &seeds,
                                    const Positions &positions);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_CALLSIZES_H
