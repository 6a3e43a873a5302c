//===- Passes.td - the last steps before LLVM -----------------------------===//
#ifndef PE_PASSES_PIPELINES_PASSES
#define PE_PASSES_PIPELINES_PASSES

include "mlir/Pass/PassBase.td"

def PEExportPlanPass : Pass<"pe-export-plan", "::mlir::ModuleOp"> {
  let summary = "turns a lowered tile.plan into plain data";
  let description = [{
    Replaces the `tile.plan`, whose stages are `tile.launch` ops by now, by the module attribute
    `pe.plan` (the plan in the JSON form of runtime/plan), and marks the stages' functions with
    `pe.stage`.

    ```mlir
    tile.plan @attention { ... tile.launch @forward forward items "b*hq" (%q, %o) ... }
    ==>
    module attributes {pe.plan = "{...}"} { func.func @forward(...) attributes {pe.stage} ... }
    ```
    Tested by test/passes/Pipelines/export-plan.mlir.
  }];
}

def PEEmitStageEntriesPass : Pass<"pe-emit-stage-entries", "::mlir::ModuleOp"> {
  let summary = "gives every stage the runtime's calling convention";
  let description = [{
    A lowered stage is an `llvm.func` with one pointer per buffer, the frame and the work item. The runtime calls every stage
    the same way, `void(void *const *buffers, const int64_t *frame, int64_t item)`: this pass adds that function under the stage's
    name and makes the stage's own function private, so that LLVM inlines it.

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
    MLIR's conversion to LLVM writes the scalar `math.expm1` as exp(x) - 1 and `math.log1p` as
    log(1 + x), which lose an argument below the rounding of 1 that these functions exist for. They
    become calls of libm here, before that conversion.

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
  let summary = "turns functions of numbers into loops over arrays, forward and backward";
  let description = [{
    Every public function of f32 arguments and one f32 result becomes two over arrays of any length, in vectors of the target's
    lanes: its values, and the gradients of its arguments for a cotangent, derived from it. The number of its arguments is part of
    their names. An array of results may be one of arguments.

    ```mlir
    func.func @activation(%x: f32) -> f32 { ... }
    ==>
    func.func @activation_forward1(%x: memref<1xf32>, %y: memref<1xf32>, %count: index) { ... }
    func.func @activation_backward1(%x: memref<1xf32>, %dy: memref<1xf32>, %dx: memref<1xf32>, %count: index) { ... }
    ```
    Tested by test/passes/Pipelines/elementwise-to-vectors.mlir and test/runtime/train/ActivationsTest.cpp.
  }];
  let options = [Option<"features", "features", "std::string", "\"x86-64-v3\"", "x86-64-v3 or x86-64-v4">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // PE_PASSES_PIPELINES_PASSES
