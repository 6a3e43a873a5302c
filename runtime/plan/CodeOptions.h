//===- CodeOptions.h - Options of the code of a function --------*- C++ -*-===//
//
// The part of a request that determines the code, from the API through the compiler library to the
// pipelines of passes.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_CODEOPTIONS_H
#define PE_RUNTIME_PLAN_CODEOPTIONS_H

#include "pe/DType.h"
#include "pe/LoopOptions.h"
#include "runtime/plan/Target.h"

namespace pe::plan {

struct CodeOptions {
  int64_t headDim = 64;
  int64_t valueDim = 64;
  /// The type of queries, keys, values, outputs and their gradients.
  DType dtype = DType::F32;
  /// Also compiles the gradients of every floating argument.
  bool grad = false;
  /// Allows stick-breaking to skip keys that cannot change the result.
  bool earlyExit = true;
  /// GPUs: the most memory for pairs that one kernel stores and another one reads, in MiB.
  int64_t pairsMemory = 1024;
  /// Computes the inputs of the attention kernel instead of attention: results kBias [b, hq, r, c]
  /// and, for a rotation, kCosine and kSine [r, pairs] (runtime/jit/JitInterface.h).
  bool materialize = false;
  Lowering lowering = Lowering::Cpu;
  /// The options of Lowering::Loops.
  LoopOptions loops = {};
  /// GPUs: the PTX names the tile op of every instruction, by .loc directives. Their lines are
  /// those of the tile program that follows the kernels in comments.
  bool lineTables = false;
  /// Fields of the schedules that replace chosen values: NAME=VALUE, forward.NAME=VALUE or
  /// backward.NAME=VALUE, separated by commas.
  std::string schedule = "";
};

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_CODEOPTIONS_H
