//===- Passes.td - choices, written as attributes -------------------------===//
#ifndef PE_PASSES_SCHEDULE_PASSES
#define PE_PASSES_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def PEScheduleCpuPass : Pass<"pe-schedule-cpu", "::mlir::ModuleOp"> {
  let summary = "Choose the block sizes and register tiles of stages for CPUs";
  let description = [{
    Writes the schedule `#step.cpu` (dialect/Step/CpuSchedule.h) on every stage that has a stream and no schedule yet. The
    owner of the loops is rows or columns; the machine determines vectors, register tiles and exp2, and the depths determine
    the blocks. A plan with buffers per block of keys gets their size, `key_block`. Stages without a stream get
    `#step.loops`: the number of lanes of their loops, and the number of consecutive items that one call of the stage's
    function computes, which is more than one for rows without function calls. `set` sets fields of `#step.cpu`, for
    measurements and tests: `set=key_block=32,query_vectors=3`; `forward.NAME` and `backward.NAME` set those of one phase.

    ```mlir
    tile.stage @forward forward over ["b", "hq"] { ... tile.stream ... }
    ==>
    tile.stage @forward forward over ["b", "hq"] schedule #step.cpu<owner = rows, lanes = 8, query_vectors = 2, ...> { ... }
    ```
    Example: test/passes/Schedule/schedule-cpu.mlir
  }];
  let options = [
    Option<"machine", "machine", "std::string", "\"x86-64-v3\"", "a CPU of runtime/plan/Machine.h">,
    ListOption<"set", "set", "std::string", "fields to set, NAME=VALUE">
  ];
  let dependentDialects = ["::mlir::step::StepDialect"];
}

def PEScheduleGpuPass : Pass<"pe-schedule-gpu", "::mlir::ModuleOp"> {
  let summary = "Choose the block sizes and warps of stages with a stream for GPUs";
  let description = [{
    Writes the schedule `#step.gpu` (dialect/Step/GpuSchedule.h) on every stage that has a stream and no schedule yet, and
    `key_block` on plans with buffers per block of keys. The `machine` is a chip of runtime/plan/Machine.h; one with less
    shared memory than sm_80 gets smaller blocks of f32 owners. `set` sets fields of `#step.gpu`, for measurements and
    tests: `set=warps=8,forward.ahead=1`. passes/Schedule/StepPrograms.h derives the step program.

    Shared memory is allocated when a kernel is lowered. If a kernel takes more than the machine has, the compiler lowers
    the program again with `smaller-forward` or `smaller-backward` increased by 1, the number of steps by which the chosen
    schedules shrink: one late slot, then smaller inner blocks, fewer owner tiles and fewer warps. The key block, which stages
    with snapshots share, is halved by `smaller-key-block`.

    ```mlir
    tile.stage @forward forward over ["b", "hq"] { ... tile.stream ... }
    ==>
    tile.stage @forward forward over ["b", "hq"] schedule #step.gpu<owner = rows, warps = 4, ...> { ... }
    ```
    Example: test/passes/Schedule/schedule-gpu.mlir
  }];
  let options = [
    ListOption<"set", "set", "std::string", "fields to set, NAME=VALUE">,
    Option<"machine", "machine", "std::string", "\"sm_86\"", "a GPU of runtime/plan/Machine.h">,
    Option<"smallerForward", "smaller-forward", "int64_t", "0", "steps by which forward stages shrink">,
    Option<"smallerBackward", "smaller-backward", "int64_t", "0", "steps by which backward stages shrink">,
    Option<"smallerKeyBlock", "smaller-key-block", "int64_t", "0", "the number of times that the key block is halved">
  ];
  let dependentDialects = ["::mlir::step::StepDialect"];
}

#endif // PE_PASSES_SCHEDULE_PASSES
