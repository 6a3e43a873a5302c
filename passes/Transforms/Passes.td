//===- Passes.td - Passes from pe to pe ------------------------*- tablegen -*-===//
#ifndef PE_TRANSFORMS_PASSES_TD
#define PE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def PECheckEncodingsPass : Pass<"pe-check-encodings", "::mlir::ModuleOp"> {
  let summary = "Refuses programs that are no encodings, at the user's own line";
  let description = [{
    First in every pipeline. Op verifiers are local; this pass checks what holds between ops
    (program-C1 to program-C12 of docs/spec.md): one entry function whose arguments and results
    are named, unique and tensors; encoding values that stay inside functions and never pass
    through control flow or public function boundaries; calls of private functions only, without
    recursion; and no op that is not part of an encoding program. Nothing is changed.

    ```mlir
    // error: expected a name, found none; write %q: ... {pe.name = "q"} (program-C3)
    func.func @attention(%q: tensor<?x?x?x?xf32>) { ... }
    ```
  }];
  let options = [Option<"entry", "entry", "std::string", "\"\"",
                        "The public function to compile; default: the only one">];
}

def PEExpandBiasesPass : Pass<"pe-expand-biases", "::mlir::func::FuncOp"> {
  let summary = "Makes every bias of an attention one region of scalar code";
  let description = [{
    Every bias an attention consumes becomes one `pe.bias_fn` whose region is the scalar value of
    the bias and of every coordinate below it (ScalarOpInterface), simplified, with the parameter
    tensors as captures in the order of their first use. A bias that several attentions share
    stays one value. Afterwards no pass needs to know an encoding's op.

    ```mlir
    %d = pe.distance
    %b = pe.linear %d slope(%s : tensor<?xf32>) {factor = -1.0}
    // ==>
    %b = pe.bias_fn(%s : tensor<?xf32>) {
    ^bb0(%batch: index, %h: index, %i: index, %j: index, %slope: tensor<?xf32>):
      %minus_one = arith.constant -1.0 : f32
      %0 = arith.subi %i, %j : index
      %1 = arith.index_cast %0 : index to i32
      %2 = arith.sitofp %1 : i32 to f32
      %3 = math.absf %2 : f32
      %4 = pe.read %slope[%h] : tensor<?xf32>
      %5 = arith.mulf %4, %3 : f32
      %6 = arith.mulf %5, %minus_one : f32
      pe.yield %6 : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::pe::PEDialect"];
}

def PEExportProgramPass : Pass<"pe-export-program", "::mlir::ModuleOp"> {
  let summary = "Prints the neutral form of the public functions, as the reference reads it";
  let description = [{
    For tests and curiosity: `exportProgram` of dialect/PE/ExportProgram.h on stdout, indented.

    ```mlir
    %d = pe.distance
    // {"op": "pe.distance", "operands": [], "results": [3], "types": ["!pe.coordinate"], ...}
    ```
  }];
}

#endif // PE_TRANSFORMS_PASSES_TD
