//===- Passes.td - plan export and the last steps before LLVM -------------===//
#ifndef PE_PASSES_PIPELINES_PASSES
#define PE_PASSES_PIPELINES_PASSES

include "mlir/Pass/PassBase.td"

def PEExportPlanPass : Pass<"pe-export-plan", "::mlir::ModuleOp"> {
  let summary = "converts a lowered tile.plan to plain data";
  let description = [{
    Replaces a `tile.plan` whose stages are lowered to `tile.launch` ops by the module attribute
    `pe.plan` (the plan in the JSON form of runtime/plan), and marks the functions of the stages with
    `pe.stage`.

    ```mlir
    tile.plan @attention { ... tile.launch @forward forward items "b*hq" (%q, %o) ... }
    ==>
    module attributes {pe.plan = "{...}"} { func.func @forward(...) attributes {pe.stage} ... }
    ```
    Tested by test/passes/Pipelines/export-plan.mlir.
  }];
}

def PELocateTileOpsPass : Pass<"pe-locate-tile-ops", "::mlir::ModuleOp"> {
  let summary = "gives every tile op its line in the printed program as location";
  let description = [{
    Prints the module, replaces the location of each op by `"tile":LINE:COLUMN` in that text, and keeps the text as the module
    attribute `pe.listing`. The lowering to kernels copies locations, so that the line tables of PTX name the tile op of
    every instruction.

    ```mlir
    tile.plan @attention { ... tile.stage @forward { ... } }
    ==>
    module attributes {pe.listing = "tile.plan @attention {
 ..."} { tile.plan @attention { ... } loc("tile":1:1) }
    ```
    Tested by test/passes/Pipelines/locate-tile-ops.mlir.
  }];
}

def PEEmitStageEntriesPass : Pass<"pe-emit-stage-entries", "::mlir::ModuleOp"> {
  let summary = "gives every stage the runtime's calling convention";
  let description = [{
    A lowered stage is an `llvm.func` with one pointer per buffer, the frame and the work item. The runtime calls all stages
    through one signature, `void(void *const *buffers, const int64_t *frame, int64_t item)`. This pass adds a function with that
    signature under the stage's name and makes the original function internal, so that LLVM inlines it.

    ```mlir
    llvm.func @forward(%q: !llvm.ptr, %o: !llvm.ptr, %frame: !llvm.ptr, %item: i64) attributes {pe.stage}
    ==>
    llvm.func internal @forward_body(...)
    llvm.func @forward(%buffers: !llvm.ptr, %frame: !llvm.ptr, %item: i64) {
      %q = llvm.load %buffers ... llvm.call @forward_body(%q, %o, %frame, %item)
    }
    ```
    Tested by test/passes/Pipelines/emit-stage-entries.mlir.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def PECallLibmNearZeroPass : Pass<"pe-call-libm-near-zero", "::mlir::ModuleOp"> {
  let summary = "calls libm for expm1 and log1p";
  let description = [{
    MLIR's conversion to LLVM computes the scalar `math.expm1` as exp(x) - 1 and `math.log1p` as
    log(1 + x), which lose all accuracy near zero. This pass runs before that conversion and replaces
    the ops by calls of libm.

    ```mlir
    %y = math.expm1 %x : f64
    ==>
    %y = func.call @expm1(%x) : (f64) -> f64
    ```
    Tested by test/passes/Pipelines/call-libm-near-zero.mlir.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def PEElementwiseToVectorsPass : Pass<"pe-elementwise-to-vectors", "::mlir::ModuleOp"> {
  let summary = "lowers scalar functions to loops over arrays, forward and backward";
  let description = [{
    Replaces every public function with f32 arguments and one f32 result by two functions over arrays of any length, vectorized
    for the target: one computes the values, the other the gradients of the arguments from a cotangent, by the derivative of the
    function. Their names end in the number of arguments. A result array may alias an argument array.

    ```mlir
    func.func @activation(%x: f32) -> f32 { ... }
    ==>
    func.func @activation_forward1(%x: memref<1xf32>, %y: memref<1xf32>, %count: index) { ... }
    func.func @activation_backward1(%x: memref<1xf32>, %dy: memref<1xf32>, %dx: memref<1xf32>, %count: index) { ... }
    ```
    Tested by test/passes/Pipelines/elementwise-to-vectors.mlir and test/runtime/train/ActivationsTest.cpp.
  }];
  let options = [Option<"machine", "machine", "std::string", "\"x86-64-v3\"", "a CPU of runtime/plan/Machine.h">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // PE_PASSES_PIPELINES_PASSES
