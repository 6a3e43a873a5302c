//===- Passes.td - pe -> tile ----------------------------------------------===//
#ifndef PE_PASSES_TOTILE_PASSES
#define PE_PASSES_TOTILE_PASSES

include "mlir/Pass/PassBase.td"

def PEToTilePass : Pass<"pe-to-tile", "::mlir::ModuleOp"> {
  let summary = "lowers the entry function to a plan of tile stages";
  let description = [{
    Expects the output of the pe -> pe passes: biases as `pe.term` ops of one class each. Every
    attention becomes one forward stage (softmax or stick-breaking) and, with `grad`, one backward
    stage. Its bias terms become tables, values inside the streams and chains to the parameters
    (passes/ToTile/Terms.h); its rotation becomes two stages before and two after. Activations have
    the element type `dtype`; scores, statistics, tables, parameters and sums are f32 (or f64). Only
    the depths are fixed here (`head-dim`, `value-dim`); every other size stays dynamic. With
    `materialize` the plan builds the tables of its only attention. Instead of running the
    attention, it writes the bias of every pair, masked or not, as a stream reads it from them
    (passes/ToTile/Materialize.h).

    ```mlir
    func.func @attention(%q: tensor<?x?x?x?xf32> {pe.name = "q"}, ...) { %o = pe.attention %q, %k, %v ... }
    ==>
    tile.plan @attention attributes {head_dim = 64, value_dim = 64} { ... tile.stage @attention_forward ... }
    ```
    Tested by test/passes/ToTile.
  }];
  let options = [
    Option<"entry", "entry", "std::string", "\"\"", "Entry function; empty: the only public one">,
    Option<"headDim", "head-dim", "int64_t", "64", "Depth of queries and keys">,
    Option<"valueDim", "value-dim", "int64_t", "64", "Depth of values">,
    Option<"dtype", "dtype", "std::string", "\"f32\"",
           "Type of activations (queries, keys, values, outputs, their gradients): f32, bf16, f16, or tf32 "
           "(f32 with contraction operands rounded to tf32)">,
    Option<"widen", "widen", "bool", "false",
           "Extend bf16 and f16 activations to f32 where they are loaded, and compute in f32">,
    Option<"fewRows", "few-rows", "int64_t", "0",
           "Write a second form of forward stages, for calls with at most this number of rows, which divides "
           "the keys into splits; 0: none">,
    Option<"grad", "grad", "bool", "false", "Also compute the gradients of every floating argument">,
    Option<"ownElements", "own-elements", "bool", "false",
           "Require lengths of captured tensors for which no two pairs add to the same element of a gradient, as GPUs need">,
    Option<"earlyExit", "early-exit", "bool", "true",
           "Let stick-breaking stop at keys that cannot change the result">,
    Option<"materialize", "materialize", "bool", "false",
           "Write the dense bias and the cosines and sines of the rotation instead of attention">];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // PE_PASSES_TOTILE_PASSES
