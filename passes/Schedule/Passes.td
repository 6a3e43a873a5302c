//===- Passes.td - choices, written as attributes -------------------------===//
#ifndef PE_PASSES_SCHEDULE_PASSES
#define PE_PASSES_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def PEScheduleCpuPass : Pass<"pe-schedule-cpu", "::mlir::ModuleOp"> {
  let summary = "Choose block sizes and register tiles of every stage with a stream";
  let description = [{
    Writes the attributes `cpu_schedule` (passes/Schedule/CpuSchedule.h) and `owner` (dialect/Tile/Owner.h) on every stage
    that has a stream and no such schedule yet: whether rows or columns own the loops; vectors,
    register tiles and exp2 by the target; blocks by the depths. A plan that counts blocks of keys gets
    their size, `key_block`. Stages of loops get `cpu_loops`: on how many lanes loops may run, and how many neighbouring items,
    where these are rows without calls of functions, are one item of the stage's function. `set` overrides single numbers, for measurements and tests:
    `set=key_block=32,query_vectors=3`.

    ```mlir
    tile.stage @forward forward over ["b", "hq"] { ... tile.stream ... }
    ==>
    tile.stage @forward forward over ["b", "hq"] attributes {cpu_schedule = {lanes = 8, query_vectors = 2, ...}, owner = "rows"} { ... }
    ```
    Example: test/passes/Schedule/schedule-cpu.mlir
  }];
  let options = [
    Option<"features", "features", "std::string", "\"x86-64-v3\"", "x86-64-v3 or x86-64-v4">,
    ListOption<"set", "set", "std::string", "entries to use instead, NAME=VALUE">
  ];
}

def PEScheduleGpuPass : Pass<"pe-schedule-gpu", "::mlir::ModuleOp"> {
  let summary = "Choose block sizes and warps of every stage with a stream, for GPUs";
  let description = [{
    Writes the attributes `gpu_schedule` (passes/Schedule/GpuSchedule.h) and `owner` (dialect/Tile/Owner.h) on every stage
    that has a stream and no such schedule yet, and `key_block` on plans that count blocks of keys. A chip whose CTAs may have more shared memory (`shared-bytes`; 99 KiB is what
    all have) gets larger blocks of f32 owners. `set` overrides single numbers, for measurements and tests: `set=warps=8,owner_tiles=2`.

    ```mlir
    tile.stage @forward forward over ["b", "hq"] { ... tile.stream ... }
    ==>
    tile.stage @forward forward over ["b", "hq"] attributes {gpu_schedule = {warps = 4, owner_tiles = 1, inner_block = 64}, owner = "rows"} { ... }
    ```
    Example: test/passes/Schedule/schedule-gpu.mlir
  }];
  let options = [
    ListOption<"set", "set", "std::string", "numbers to use instead, NAME=NUMBER">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "::mlir::tile::kLeastSharedBytes",
           "shared memory of a CTA of the chip">
  ];
}

#endif // PE_PASSES_SCHEDULE_PASSES
