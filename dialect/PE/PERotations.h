//===- PERotations.h - Rotations of queries and keys ---------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEROTATIONS_H
#define PE_DIALECT_PE_PEROTATIONS_H

#include "dialect/PE/PEDialect.h"
#include "dialect/PE/PEInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::pe {

/// Emits base^(-2 pair / n) of f64 values.
Value buildRotaryFrequency(OpBuilder &builder, Location loc, Value base, Value pair, int64_t n);

/// Checks that `dims` is positive and even; `label` names the op's constraint.
LogicalResult verifyRotaryDims(Operation *op, std::optional<int64_t> dims, StringRef label);
/// Checks that `trailing` comes with `dims`; `label` names the op's constraint.
LogicalResult verifyTrailing(Operation *op, bool trailing, std::optional<int64_t> dims,
                             StringRef label);
/// Checks that `dims` of `headDim` can be rotated. `labels` name the constraints that `dims` is
/// even and that it is at most `headDim`.
LogicalResult verifyRotaryDimsOfHead(int64_t dims, int64_t headDim,
                                     std::pair<StringRef, StringRef> labels,
                                     function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::pe

#define GET_OP_CLASSES
#include "dialect/PE/PERotations.h.inc"

namespace mlir::pe {

/// Verifies the positions and sections of a rotation by several axes, and the sections for heads
/// with `pairs` rotated pairs.
LogicalResult verifyAxes(RotaryOp op);
LogicalResult verifySections(RotaryOp op, int64_t pairs,
                             function_ref<InFlightDiagnostic()> emitError);
/// Returns the first pair of every axis, if axes are not alternating, and the number of pairs.
SmallVector<int64_t> boundsOfAxes(RotaryOp op, int64_t pairs);
/// Emits the frequency of the f64 value `pair` if frequencies restart at every axis.
Value buildRestartedFrequency(RotaryOp op, OpBuilder &builder, Location loc, Value base, Value pair,
                              int64_t pairs);

/// The index at which the region of a rotation reads an axis of a capture.
enum class AxisIndex { Head, Pair, Other };
/// Returns the index of axis `axis` of capture `capture`; nullopt if some reads are at the head and
/// others at the pair.
std::optional<AxisIndex> findIndexOfAxis(RotationFnOp op, unsigned capture, int64_t axis);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEROTATIONS_H
