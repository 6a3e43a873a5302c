//===- PEDialect.td - The pe dialect and its op base class ----*- tablegen -*-===//
//
// The dialect that users write. It defines what a positional encoding or attention pattern is, not
// how it is computed.
//
//===--------------------------------------------------------------------------===//
#ifndef PE_DIALECT_TD
#define PE_DIALECT_TD

include "mlir/IR/OpBase.td"

def PE_Dialect : Dialect {
  let name = "pe";
  let cppNamespace = "::mlir::pe";
  let summary = "Positional encodings and attention patterns as values";
  let description = [{
    A positional encoding is a value: a *coordinate* of a (query, key) pair, a *bias* made from it,
    a *rotation* of queries and keys, or a *mask*. Encodings compose, and `pe.attention` consumes
    them. The dialect does not say how they are computed. `docs/spec.md` numbers every constraint.

    Positions are 0-based and global: query row r has position `q_start + r`, key column c has
    `k_start + c`. Magnitudes of positions are below 2^30; differences below 2^24 are exact.

    ```mlir
    func.func @attention(%q: tensor<?x?x?x?xf32> {pe.name = "q"},
                         %k: tensor<?x?x?x?xf32> {pe.name = "k"},
                         %v: tensor<?x?x?x?xf32> {pe.name = "v"})
        -> (tensor<?x?x?x?xf32> {pe.name = "o"}) {
      %d = pe.distance
      %b = pe.linear %d {factor = -1.0, rule = #pe.slope_rule<geometric>}
      %m = pe.causal
      %o = pe.attention %q, %k, %v bias(%b) mask(%m)
          : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
      return %o : tensor<?x?x?x?xf32>
    }
    ```

    Function arguments and results carry these attributes:

    | attribute | on | meaning |
    |---|---|---|
    | `pe.name` | argument, result | the name by which callers pass the tensor; required on an entry |
    | `pe.init` | argument | a number or a rule such as `"normal(0.02)"` (docs/spec.md) |
    | `pe.min` | argument | a lower bound that training enforces |
    | `pe.decay` | argument | whether weight decay applies; default: only to tensors of two or more axes |
    | `pe.monitor` | argument | `{name = "expression", ...}` of the parameters, logged in training |
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
  }];
}

// Rejects attributes that the op does not define and that lack another dialect's prefix (constraint
// attribute-C1). Without this check, a misspelt attribute would silently leave the default in
// effect.
def PE_DefinedAttributes : NativeOpTrait<"DefinedAttributes"> { let cppNamespace = "::mlir::pe"; }

class PE_Op<string mnemonic, list<Trait> traits = []>
    : Op<PE_Dialect, mnemonic, !listconcat([PE_DefinedAttributes], traits)>;

#endif // PE_DIALECT_TD
