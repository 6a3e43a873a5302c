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
  let parameterParser = "::mlir::pe::parseEnum<" # cppType # ">($_parser, " # cppNamespace # "::"
                        # stringToSymbolFnName # ", {"
                        # !interleave(!foreach(case, enumerants, "\"" # case.str # "\""), ", ")
                        # "})";
}
class PE_EnumAttr<EnumAttrInfo info, string attrMnemonic>
    : EnumAttr<PE_Dialect, info, attrMnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def PE_Normalizer : PE_Enum<"Normalizer", "The map from scores to probabilities", [
  I32EnumAttrCase<"Softmax", 0, "softmax">, I32EnumAttrCase<"StickBreaking", 1, "stick_breaking">,
  I32EnumAttrCase<"Sigmoid", 2, "sigmoid">, I32EnumAttrCase<"Softpick", 3, "softpick">]>;
def PE_NormalizerAttr : PE_EnumAttr<PE_Normalizer, "normalizer"> {
  let summary = "The map from scores to weights: softmax, stick_breaking, sigmoid or softpick";
  let description = [{
    `softmax`: A_ij = exp(z_ij) / sum_l exp(z_il) over unmasked keys; a row without keys yields 0.
    `stick_breaking`: A_ij = sigma(z_ij) * prod_{j<l<i} (1 - sigma(z_il)) over the keys strictly
    before the query. The remaining mass is dropped, unless attributes of the attention change that.
    `sigmoid`: A_ij = sigma(z_ij) (Ramapuram et al. 2024, arXiv 2409.04431). Rows do not sum to 1; the
    scores need an offset of about -log(keys), which is a bias (docs/encodings/normalizers.md).
    `softpick`: A_ij = max(exp(z_ij) - 1, 0) / sum_l |exp(z_il) - 1| over unmasked keys, and 0 if the
    sum is 0 (Zuhri et al. 2025, arXiv 2504.20966). The derivative at z_ij = 0 is taken as 0.

    ```mlir
    #pe.normalizer<stick_breaking>
    ```
  }];
}

def PE_Remainder : PE_Enum<"Remainder", "Use of the mass that remains under stick-breaking", [
  I32EnumAttrCase<"Drop", 0, "drop">, I32EnumAttrCase<"Value", 1, "value">]>;
def PE_RemainderAttr : PE_EnumAttr<PE_Remainder, "remainder"> {
  let summary = "Use of the mass that remains under stick-breaking: drop or value";
  let description = [{
    `drop` discards it. `value` adds v_i times the remaining mass of row i to o_i. Dropout does not
    apply to this term, and it is 0 for a query whose own key is masked.

    ```mlir
    #pe.remainder<value>
    ```
  }];
}

def PE_Direction : PE_Enum<"Direction", "The keys that stick-breaking uses", [
  I32EnumAttrCase<"Before", 0, "before">, I32EnumAttrCase<"Both", 1, "both">]>;
def PE_DirectionAttr : PE_EnumAttr<PE_Direction, "direction"> {
  let summary = "The keys that stick-breaking uses, relative to the query: before or both";
  let description = [{
    `before`: the keys before the query, nearest first. `both`: the mean of this result and of the
    result over the keys after the query, also nearest first.

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
    `geometric`: m_h = 2^(-8(h+1)/H) for any H. `interleaved`: the rule of the original paper if H
    is not a power of two: with n the largest power of two <= H, m_h = 2^(-8(h+1)/n) for h < n, and
    m_h = 2^(-8(2(h-n)+1)/(2n)) for the others. h and H count the heads of the model, not of this
    call.

    ```mlir
    #pe.slope_rule<geometric>
    ```
  }];
}

def PE_RopeScalingKind : PE_Enum<"RopeScalingKind", "The method to extend a rotation", [
  I32EnumAttrCase<"Linear", 0, "linear">, I32EnumAttrCase<"Ntk", 1, "ntk">,
  I32EnumAttrCase<"DynamicNtk", 2, "dynamic_ntk">, I32EnumAttrCase<"Yarn", 3, "yarn">,
  I32EnumAttrCase<"Llama3", 4, "llama3">, I32EnumAttrCase<"LongRope", 5, "longrope">,
  I32EnumAttrCase<"Proportional", 6, "proportional">]>;
def PE_RopeScalingAttr : AttrDef<PE_Dialect, "RopeScaling"> {
  let mnemonic = "rope_scaling";
  let summary = "Frequencies of a rotation for sequences longer than in training";
  let description = [{
    `factor` is the ratio of the new length to the training length. `original_length` (dynamic_ntk,
    yarn, llama3, longrope) is the training length. `yarn` also takes `beta_fast` (32) and
    `beta_slow` (1): a frequency with more than `beta_fast` rotations within the original length is
    unchanged, and one with fewer than `beta_slow` is divided by the factor. `llama3` takes `high`
    (4) and `low` (1) with the same meaning.

    `longrope` divides each frequency by the number of its pair in one of two lists: `short_factor`
    if the keys of the call end at the original length or before, otherwise `long_factor`. Cosines
    and sines are multiplied by `attention_factor`, by default sqrt(1 + ln(factor) /
    ln(original_length)) for factors above 1. `proportional` divides the frequencies by the factor
    and rotates only the first pairs, a share `partial_rotary_factor` (1) of all pairs, rounded
    down: `<longrope, factor = 32.0, original_length = 4096, short_factor = [1.0, 1.1], long_factor =
    [1.0, 24.5]>`, `<proportional, factor = 1.0, partial_rotary_factor = 0.25>`.
    docs/encodings/rotations.md has the formulas and sources.

    ```mlir
    #pe.rope_scaling<yarn, factor = 4.0, original_length = 2048>
    ```
  }];
  let parameters = (ins EnumParameter<PE_RopeScalingKind>:$kind, "::mlir::FloatAttr":$factor,
    OptionalParameter<"::mlir::IntegerAttr">:$original_length,
    OptionalParameter<"::mlir::FloatAttr">:$first, OptionalParameter<"::mlir::FloatAttr">:$second,
    OptionalParameter<"::mlir::DenseF64ArrayAttr">:$short_factor,
    OptionalParameter<"::mlir::DenseF64ArrayAttr">:$long_factor);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Emits the f64 frequency of pair `pair` of a rotation with n rotated dims and this base.
    /// `base` and `pair` are f64 values; `length`, an `index` value, is the end of the keys.
    ::mlir::Value buildFrequency(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                 ::mlir::Value base, ::mlir::Value pair, ::mlir::Value length,
                                 int64_t n);
    /// The factor on cosines and sines.
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
    x / (1 + exp(-x)). `step` is 1 for x > 0 and 0 otherwise; its derivative is 0.

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
  let summary = "The class of a bias term, with the reason for it";
  let description = [{
    `pe-split-terms` sets it on every `pe.term`. With batch b, head h, query position i and key
    position j: `row` f(b, h, i); `column` f(b, h, j); `row_column` a sum of both; `affine`
    c(b, h) * (i - j); `distance` f(h, i - j); `segments` a piecewise linear function of
    u(h, i - j) times r(h, i); `general` anything else. Every class is exact.

    ```mlir
    #pe.term<distance, "depends on i and j only through i - j">
    ```
  }];
  let parameters = (ins EnumParameter<PE_TermClass>:$cls, StringRefParameter<"why">:$reason);
  let assemblyFormat = "`<` $cls `,` $reason `>`";
}

def PE_ContentClass : PE_Enum<"ContentClass", "The cheapest exact way to compute a content term", [
  I32EnumAttrCase<"Near", 0, "near">, I32EnumAttrCase<"Angles", 1, "angles">,
  I32EnumAttrCase<"Panel", 2, "panel">]>;
def PE_ContentAttr : AttrDef<PE_Dialect, "Content"> {
  let mnemonic = "content";
  let summary = "The class of a content term, with the reason for it";
  let description = [{
    `pe-classify-functions` sets it on every `pe.content_fn` of an attention. P(i - j) is the vector
    of a pair:

    - `near`: every pair that the mask keeps has the vector of a distance in [low, high], because
      P does not change outside of it, as in `rel_k[clamp(i - j, -16, 16) + 16, d]`. The products of
      a query with these vectors are computed once per query.
    - `angles`: the elements are sines and cosines of (i - j) w, with one w for elements 2n and
      2n + 1, and factors that do not depend on i - j. By the addition theorem the term is the
      product of a rotated query with features of the key.
    - `panel`: any other function, as in `er[2047 - (i - j), d]`.

    Every class is exact. low and high are only present for `near`.

    ```mlir
    #pe.content<near [-16, 16], "has 33 different vectors">
    ```
  }];
  let parameters = (ins EnumParameter<PE_ContentClass>:$cls, "int64_t":$low, "int64_t":$high,
                        StringRefParameter<"why">:$reason);
  let assemblyFormat = "`<` $cls `` custom<Distances>(ref($cls), $low, $high) `,` $reason `>`";
  let genVerifyDecl = 1;
}

#endif // PE_ATTRIBUTES_TD
