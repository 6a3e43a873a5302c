//===- Reference.h - The float64 reference ----------------------*- C++ -*-===//
//
// An independent float64 implementation of a user's function: each operation of the pe dialect as
// plain loops, forward and backward. It shares no code and no maths with the compiler, so their
// agreement is evidence that both are correct.
//
//   auto program = parseProgram(description.program);
//   auto results = evaluate(*program, tensors, positions, /*grad=*/true);
//   results->outputs.at("o");          // f64 tensor
//   results->gradients.at("d_slopes");
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_REFERENCE_H
#define PE_RUNTIME_REFERENCE_REFERENCE_H

#include "pe/Positions.h"
#include "runtime/reference/ExportedProgram.h"
#include "runtime/reference/Results.h"

namespace pe::reference {

/// Evaluates the function. `inputs` contains its arguments by name and, with `grad`, the cotangents
/// "d_RESULT"; absent cotangents are zero.
Expected<Results> evaluate(const Program &program, const TensorMap &inputs,
                           const Positions &positions, bool grad,
                           const EvaluateOptions &options = {});

/// Returns the number of pairs that the mask of the function's only attention keeps, over all batch
/// entries and heads, by evaluating it at each pair. `threads` is as in EvaluateOptions.
Expected<double> countPairs(const Program &program, const TensorMap &inputs,
                            const Positions &positions, unsigned threads);

/// The bias, the mask, the rotation and the MLP of the function's only attention as dense tensors,
/// in f64.
struct Materialized {
  /// The sum of the biases of each pair, masked or not: [B, Hq, Sq, Sk]; 0 without biases.
  Tensor bias;
  bool hasBias = false;
  /// 1 if attention uses the pair, otherwise 0: [B, Sq, Sk].
  Tensor allowed;
  /// The cosine and sine that rotate the query rows: [Sq, pairs]. Undefined without a rotation.
  Tensor cosine, sine;
  /// The coordinate and the value of the function's only `pe.mlp` at each pair, [B, Hq, Sq, Sk].
  /// Undefined without one.
  Tensor mlpInput, mlpValue;
};
Expected<Materialized> materialize(const Program &program, const TensorMap &inputs,
                                   const Positions &positions);

/// Evaluates the score function of the function's only attention at `scores`, for each head and
/// query of the first batch entry, with the key at the query's position (or the last key, if there
/// is none): [Hq, Sq, scores], in f64. Undefined without a score function.
Expected<Tensor> materializeScores(const Program &program, const TensorMap &inputs,
                                   const Positions &positions, const std::vector<double> &scores);

/// Returns the dense bias of the function's only attention, [B, Hq, Sq, Sk], in f64; 0 without
/// biases.
Expected<Tensor> materializeBias(const Program &program, const TensorMap &inputs,
                                 const Positions &positions);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_REFERENCE_H
