//===- StepAttributes.td - The step dialect: choices of schedules ---------===//
#ifndef PE_DIALECT_STEP_STEPATTRIBUTES
#define PE_DIALECT_STEP_STEPATTRIBUTES

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "../Tile/TileInterfaces.td"

def Step_Dialect : Dialect {
  let name = "step";
  let cppNamespace = "::mlir::step";
  let summary = "The choices of a schedule: blocks, tiles, lanes, warps";
  let description = [{
    A `tile` program states which numbers are computed. An attribute of this dialect on a
    `tile.stage` states in which blocks, in which order and where. passes/Schedule writes it, and
    lowerings apply it; it has no operations.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Step_Attr<string name, string attrMnemonic, string fields>
    : AttrDef<Step_Dialect, name, [DeclareAttrInterfaceMethods<Tile_ScheduleAttrInterface>]> {
  let mnemonic = attrMnemonic;
  let parameters = (ins AttrParameter<fields, "the fields", "const " # fields # " &">:$fields);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Step_CpuAttr : Step_Attr<"Cpu", "cpu", "::mlir::tile::CpuSchedule"> {
  let summary = "the choices for a stage with a stream on a CPU";
  let description = [{
    The fields are those of dialect/Step/CpuSchedule.h. Absent fields have their defaults.

    ```mlir
    #step.cpu<owner = rows, lanes = 16, query_vectors = 2, key_rows = 8, exp2 = scalef>
    ```
    Constraints: step-C1, a field exists and its value is of its kind; step-C2, a number is in its
    range; step-C3, `key_block` and `query_block` are multiples of their tiles.
  }];
}

def Step_LoopsAttr : Step_Attr<"Loops", "loops", "::mlir::tile::CpuLoops"> {
  let summary = "the choices for a stage without a stream on a CPU";
  let description = [{
    `lanes` elements of the innermost loop are a vector; a call computes `group` items.

    ```mlir
    #step.loops<lanes = 16, group = 8>
    ```
    Constraints: step-C1 and step-C2.
  }];
}

def Step_GpuAttr : Step_Attr<"Gpu", "gpu", "::mlir::tile::GpuSchedule"> {
  let summary = "the choices for a stage with a stream on a GPU";
  let description = [{
    The fields are those of dialect/Step/GpuSchedule.h. Absent fields have their defaults.

    ```mlir
    #step.gpu<owner = columns, warps = 4, owner_tiles = 1, inner_block = 64, ahead = 1, late_slots = 1>
    ```
    Constraints: step-C1 and step-C2. The lowering also requires that the step program that follows
    from the choices (passes/Schedule/StepPrograms.h) has no fault, step-C4, and that the sums and
    scores of a stage with `ahead` fit the registers of a thread, step-C5. The compiler requires
    that the kernel's shared memory fits the chip, step-C6.
  }];
}

#endif // PE_DIALECT_STEP_STEPATTRIBUTES
