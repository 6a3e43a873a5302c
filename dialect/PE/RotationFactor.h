//===- RotationFactor.h - The factor of scaled rotations --------*- C++ -*-===//
#ifndef PE_DIALECT_PE_ROTATIONFACTOR_H
#define PE_DIALECT_PE_ROTATIONFACTOR_H

#include "mlir/IR/Operation.h"

namespace mlir::pe {

/// Replaces the factor of every scaling of a rotation in `root`. The factor must be above 0.
/// Returns false if there is no scaling.
bool setRotationFactor(Operation *root, double factor);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_ROTATIONFACTOR_H
