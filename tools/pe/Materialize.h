//===- Materialize.h - The bias and rotation that a compiled kernel reads ---===//
#ifndef PE_TOOLS_PE_MATERIALIZE_H
#define PE_TOOLS_PE_MATERIALIZE_H

#include "runtime/api/ProgramState.h"
#include "runtime/reference/Compare.h"

namespace pe::cli {

/// The bias of a call and the tables of its rotation, from the reference and from compiled code.
struct MaterializedCall {
  /// The values of the float64 reference.
  reference::Materialized expected;
  /// The values of the tables of compiled code. Without compiled code, and for masked pairs, the
  /// values of the reference, rounded to f32.
  Tensor bias;         ///< [B, Hq, Sq, Sk]
  Tensor cosine, sine; ///< [Sq, pairs], or undefined
  bool isCompiled = false;
  /// The structure that the compiler found, "softmax + affine" (plan::Plan::structure). Empty
  /// without compiled code.
  std::string structure;
  /// The comparison of both on the unmasked pairs. Empty without compiled code.
  reference::Report report;
};

/// Materializes the only attention of `program` for a call with these arguments (f32 and i32, as in
/// the signature). For a source, and for a package with such code, code for the target computes the
/// values. Otherwise they are those of the reference.
Expected<MaterializedCall> materializeCall(const api::ProgramState &program,
                                           const CompileOptions &options,
                                           const TensorMap &arguments, const Positions &positions,
                                           ParallelFor &pool);

/// Reports an error if compiled values differ from the reference by more than the contract allows.
Status checkMaterialized(const MaterializedCall &call);

} // namespace pe::cli

#endif // PE_TOOLS_PE_MATERIALIZE_H
