//===- FormulaLoss.h - Where a formula loses digits in float32 ---*- C++ -*-===//
//
// Some formulas cannot be computed in float32: sin(i * j) needs more digits of i * j than float32
// has, and a difference of large squares has only few correct digits. This finds the pair at which
// a formula is furthest from its float64 value if every intermediate value is rounded to float32,
// and the operation that loses the digits there.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_REFERENCE_FORMULALOSS_H
#define PE_RUNTIME_REFERENCE_FORMULALOSS_H

#include "runtime/reference/Reference.h"

namespace pe::reference {

struct FormulaLoss {
  /// The error of a bias, a factor or an embedding; infinity if its value is not finite.
  double difference = 0.0;
  std::string location; ///< "FILE:LINE:COL" of the operation
  /// "at i = 5000, j = 4999, 'math.sin' of 2.4995e+07 is 0.9 instead of 0.3: float32 numbers near
  /// 2.4995e+07 are 2 apart"
  std::string message;
};

/// The largest loss among the biases, factors and embeddings of the function, at pairs that the
/// mask keeps; its difference is 0 if there is none. Score functions are not searched.
Expected<FormulaLoss> findFormulaLoss(const Program &program, const TensorMap &inputs,
                                      const Positions &positions);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_FORMULALOSS_H
