//===- Materialize.h - what a compiled kernel reads, beside the reference's ---===//
#ifndef PE_TOOLS_PE_MATERIALIZE_H
#define PE_TOOLS_PE_MATERIALIZE_H

#include "runtime/api/ProgramState.h"
#include "runtime/reference/Compare.h"

namespace pe::cli {

/// The bias of a call and the tables of its rotation, twice.
struct MaterializedCall {
  /// In float64.
  reference::Materialized expected;
  /// From the compiled code's own tables; the reference's, rounded to f32, where there is no
  /// compiled code for this, and for pairs that attention leaves out.
  Tensor bias;         ///< [B, Hq, Sq, Sk]
  Tensor cosine, sine; ///< [Sq, pairs], or undefined
  bool isCompiled = false;
  /// What the compiler found, "softmax + affine" (plan::Plan::structure); empty without compiled
  /// code.
  std::string structure;
  /// Both compared, on the pairs that attention takes into account. Empty without compiled code.
  reference::Report report;
};

/// Materialises the only attention of `program` for a call with these arguments (f32 and i32, as
/// the signature says). Code for the target writes them: of a source, and of a package that holds
/// such code. Elsewhere the values are the reference's.
Expected<MaterializedCall> materializeCall(const api::ProgramState &program,
                                           const CompileOptions &options,
                                           const TensorMap &arguments, const Positions &positions,
                                           ParallelFor &pool);

/// An error if compiled values differ from the reference beyond the contract's bounds.
Status checkMaterialized(const MaterializedCall &call);

} // namespace pe::cli

#endif // PE_TOOLS_PE_MATERIALIZE_H
