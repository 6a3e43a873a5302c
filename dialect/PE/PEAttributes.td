//===- PEAttributes.td - Attributes of the pe dialect ----------*- tablegen -*-===//
#ifndef PE_ATTRIBUTES_TD
#define PE_ATTRIBUTES_TD

include "dialect/PE/PEDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class PE_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::pe";
  let genSpecializedAttr = 0;
}
class PE_EnumAttr<EnumAttrInfo info, string attrMnemonic>
    : EnumAttr<PE_Dialect, info, attrMnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def PE_Normalizer : PE_Enum<"Normalizer", "How scores become probabilities", [
  I32EnumAttrCase<"Softmax", 0, "softmax">, I32EnumAttrCase<"StickBreaking", 1, "stick_breaking">]>;
def PE_NormalizerAttr : PE_EnumAttr<PE_Normalizer, "normalizer"> {
  let summary = "How scores become probabilities: softmax or stick_breaking";
  let description = [{
    `softmax`: A_ij = exp(z_ij) / sum_l exp(z_il) over unmasked keys; a row without keys yields 0.
    `stick_breaking`: A_ij = sigma(z_ij) * prod_{j<l<i} (1 - sigma(z_il)), keys strictly before
    the query; the remaining mass is dropped, unless attributes of the attention say otherwise.

    ```mlir
    #pe.normalizer<stick_breaking>
    ```
  }];
}

def PE_Remainder : PE_Enum<"Remainder", "Where the mass goes that stick-breaking leaves", [
  I32EnumAttrCase<"Drop", 0, "drop">, I32EnumAttrCase<"Value", 1, "value">]>;
def PE_RemainderAttr : PE_EnumAttr<PE_Remainder, "remainder"> {
  let summary = "Where the mass goes that stick-breaking leaves: drop or value";
  let description = [{
    `drop`: nowhere. `value`: o_i gains v_i times the mass left of row i. It is not dropped by
    dropout, and a query whose own key the mask leaves out gains nothing.

    ```mlir
    #pe.remainder<value>
    ```
  }];
}

def PE_Direction : PE_Enum<"Direction", "On which side of a query stick-breaking takes keys", [
  I32EnumAttrCase<"Before", 0, "before">, I32EnumAttrCase<"Both", 1, "both">]>;
def PE_DirectionAttr : PE_EnumAttr<PE_Direction, "direction"> {
  let summary = "On which side of a query stick-breaking takes keys: before or both";
  let description = [{
    `before`: the keys before the query, nearest first. `both`: the mean of that and of the same
    over the keys after the query, again nearest first.

    ```mlir
    #pe.direction<both>
    ```
  }];
}

def PE_SlopeRule : PE_Enum<"SlopeRule", "A fixed slope per global head", [
  I32EnumAttrCase<"Geometric", 0, "geometric">, I32EnumAttrCase<"Interleaved", 1, "interleaved">]>;
def PE_SlopeRuleAttr : PE_EnumAttr<PE_SlopeRule, "slope_rule"> {
  let summary = "A fixed slope per global head: geometric or interleaved";
  let description = [{
    `geometric`: m_h = 2^(-8(h+1)/H) for any H. `interleaved`: the rule of the original paper for
    H that is not a power of two: with n the largest power of two <= H, m_h = 2^(-8(h+1)/n) for
    h < n, and m_h = 2^(-8(2(h-n)+1)/(2n)) for the others. h and H count the heads of the model,
    not those of this call.

    ```mlir
    #pe.slope_rule<geometric>
    ```
  }];
}

def PE_RopeScalingKind : PE_Enum<"RopeScalingKind", "How a rotation reaches longer texts", [
  I32EnumAttrCase<"Linear", 0, "linear">, I32EnumAttrCase<"Ntk", 1, "ntk">,
  I32EnumAttrCase<"DynamicNtk", 2, "dynamic_ntk">, I32EnumAttrCase<"Yarn", 3, "yarn">,
  I32EnumAttrCase<"Llama3", 4, "llama3">]>;
def PE_RopeScalingAttr : AttrDef<PE_Dialect, "RopeScaling"> {
  let mnemonic = "rope_scaling";
  let summary = "Frequencies of a rotation for texts longer than those of training";
  let description = [{
    `factor` is how much longer, `original_length` (dynamic_ntk, yarn, llama3) the length of
    training. `yarn` also takes `beta_fast` (32) and `beta_slow` (1), rotations within the original
    length above which a frequency stays as it is and below which it is divided by the factor;
    `llama3` takes `high` (4) and `low` (1) with the same meaning. Formulas and sources are in
    docs/encodings/rotations.md.

    ```mlir
    #pe.rope_scaling<yarn, factor = 4.0, original_length = 2048>
    ```
  }];
  let parameters = (ins EnumParameter<PE_RopeScalingKind>:$kind, "::mlir::FloatAttr":$factor,
    OptionalParameter<"::mlir::IntegerAttr">:$original_length,
    OptionalParameter<"::mlir::FloatAttr">:$fast, OptionalParameter<"::mlir::FloatAttr">:$slow);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Frequency number `pair` (an f64 value) of the n rotated dims of a rotation with this base
    /// (f64), as f64; `length` is the end of the keys, an `index` value.
    ::mlir::Value buildFrequency(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                 ::mlir::Value base, ::mlir::Value pair, ::mlir::Value length,
                                 int64_t n);
    /// What cosines and sines are multiplied by (YaRN's attention factor).
    double getMagnitude();
  }];
}

def PE_Activation : PE_Enum<"Activation", "The nonlinearity of an MLP", [
  I32EnumAttrCase<"Identity", 0, "identity">, I32EnumAttrCase<"Relu", 1, "relu">,
  I32EnumAttrCase<"Gelu", 2, "gelu">, I32EnumAttrCase<"Tanh", 3, "tanh">,
  I32EnumAttrCase<"Silu", 4, "silu">, I32EnumAttrCase<"Cos", 5, "cos">,
  I32EnumAttrCase<"Step", 6, "step">]>;
def PE_ActivationAttr : PE_EnumAttr<PE_Activation, "activation"> {
  let summary = "The nonlinearity of an MLP: identity, relu, gelu, tanh, silu, cos or step";
  let description = [{
    relu'(0) = 0. `gelu` is x/2 * (1 + erf(x / sqrt(2))), not the tanh approximation; `silu` is
    x / (1 + exp(-x)). `step` is 1 where x > 0 and 0 elsewhere; its derivative is 0.

    ```mlir
    #pe.activation<relu>
    ```
  }];
}

def PE_TermClass : PE_Enum<"TermClass", "The cheapest exact way to compute a bias term", [
  I32EnumAttrCase<"Row", 0, "row">, I32EnumAttrCase<"Column", 1, "column">,
  I32EnumAttrCase<"RowColumn", 2, "row_column">, I32EnumAttrCase<"Affine", 3, "affine">,
  I32EnumAttrCase<"Distance", 4, "distance">, I32EnumAttrCase<"Segments", 5, "segments">,
  I32EnumAttrCase<"General", 6, "general">]>;
def PE_TermAttr : AttrDef<PE_Dialect, "Term"> {
  let mnemonic = "term";
  let summary = "The class of one bias term, and why";
  let description = [{
    Set on every `pe.term` by `pe-split-terms`. With b batch, h head, i query and j key
    position: `row` f(b, h, i); `column` f(b, h, j); `row_column` a sum of both; `affine`
    c(b, h) * (i - j); `distance` f(h, i - j); `segments` a piecewise linear function of
    u(h, i - j) times r(h, i); `general` anything else. Every class is exact.

    ```mlir
    #pe.term<distance, "depends on i and j only through i - j">
    ```
  }];
  let parameters = (ins EnumParameter<PE_TermClass>:$cls, StringRefParameter<"why">:$reason);
  let assemblyFormat = "`<` $cls `,` $reason `>`";
}

#endif // PE_ATTRIBUTES_TD
