//===- PECoordinates.td - Coordinates of a (query, key) pair ---*- tablegen -*-===//
//
// i: global query position, j: global key position, d = |i - j|.
//
//===--------------------------------------------------------------------------===//
#ifndef PE_COORDINATES_TD
#define PE_COORDINATES_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class PE_CoordinateOp<string mnemonic, list<Trait> traits = []>
    : PE_Op<mnemonic, !listconcat(
        [Pure, DeclareOpInterfaceMethods<PE_ScalarOpInterface>], traits)> {
  let results = (outs PE_CoordinateType:$result);
}

def PE_DistanceOp : PE_CoordinateOp<"distance"> {
  let summary = "The distance |i - j|";
  let description = [{
    d(i, j) = |i - j|. Example:

    ```mlir
    %d = pe.distance
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def PE_RelativeOp : PE_CoordinateOp<"relative"> {
  let summary = "The signed difference i - j";
  let description = [{
    Positive for keys before the query. Example:

    ```mlir
    %r = pe.relative
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def PE_QueryPositionOp : PE_CoordinateOp<"query_position"> {
  let summary = "The global position i of the query";
  let description = [{
    Exact below 2^24. Example:

    ```mlir
    %i = pe.query_position
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def PE_KeyPositionOp : PE_CoordinateOp<"key_position"> {
  let summary = "The global position j of the key";
  let description = [{
    Exact below 2^24. Example:

    ```mlir
    %j = pe.key_position
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def PE_LogDistanceOp : PE_CoordinateOp<"log_distance"> {
  let summary = "log(|c d| + 1)";
  let description = [{
    log(|c * |i - j|| + 1), with one learnable c for all heads or one per head. The logarithmic bias
    of Kerple (Chi et al. 2022, arXiv 2205.09921) is a linear function of it. Example:

    ```mlir
    %x = pe.log_distance c(%c : tensor<?xf32>)
    ```
  }];
  let arguments = (ins PE_Parameter:$c);
  let assemblyFormat = "`c` `(` $c `:` type($c) `)` attr-dict";
}

def PE_ProgressiveOp : PE_CoordinateOp<"progressive", [AttrSizedOperandSegments]> {
  let summary = "Progressive interpolation: the distance normalized by the query's position";
  let description = [{
    t = u(|i - j|) / U(i) with u(x) = log(|c x| + 1), U(i) = log(|c n_i| + 1) + epsilon,
    n_i = max(i, L) and L = |threshold * initial_length| (Li et al. 2023, arXiv 2310.04418,
    Eq. 4 and 21-23, and the code of App. E). Without `c`: u(x) = x and U(i) = n_i + epsilon.
    Without `threshold`: n_i = i. If i = L exactly, half of the gradient goes to L. Without a
    threshold, row 0 has t = 0 for its only key. Example:

    ```mlir
    %t = pe.progressive c(%c : tensor<f32>) threshold(%m : tensor<f32>) {initial_length = 512.0}
    ```
  }];
  let arguments = (ins Optional<PE_Parameter>:$c, Optional<PE_Parameter>:$threshold,
                       DefaultValuedAttr<F64Attr, "512.0">:$initial_length,
                       DefaultValuedAttr<F64Attr, "1e-6">:$epsilon);
  let assemblyFormat = [{
    (`c` `(` $c^ `:` type($c) `)`)?
    (`threshold` `(` $threshold^ `:` type($threshold) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def PE_BucketOp : PE_CoordinateOp<"bucket"> {
  let summary = "The logarithmic bucket of the distance";
  let description = [{
    The bucket of Raffel et al. 2020 (T5, arXiv 1910.10683, section 2.1 and its code), an integer in
    [0, buckets). Causal: with x = max(i - j, 0) and e = buckets / 2, it is x if x < e, and
    otherwise min(e + floor(log(x / e) / log(max_distance / e) * (buckets - e)), buckets - 1), with
    the logarithms computed in f32. `bidirectional` halves the number of buckets: keys after the
    query use the upper half, with x = |i - j|. Example:

    ```mlir
    %x = pe.bucket {buckets = 32, max_distance = 128}
    ```
  }];
  let arguments = (ins DefaultValuedAttr<I64Attr, "32">:$buckets,
                       DefaultValuedAttr<I64Attr, "128">:$max_distance,
                       DefaultValuedAttr<BoolAttr, "false">:$bidirectional);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def PE_ClampedLogOp : PE_CoordinateOp<"clamped_log"> {
  let summary = "clamp(log(1 + d) / log(1 + L), 0, 1)";
  let description = [{
    L = exp(log_threshold), one for all heads or one per head. The coordinate is logarithmic below L
    and 1 above. The clamp passes the gradient at its bounds. This is the clamped variant of FIRE;
    it follows the code of the paper, not its text (docs/encodings/fire.md). Example:

    ```mlir
    %t = pe.clamped_log threshold(%log_threshold : tensor<?xf32>)
    ```
  }];
  let arguments = (ins PE_Parameter:$log_threshold);
  let assemblyFormat = "`threshold` `(` $log_threshold `:` type($log_threshold) `)` attr-dict";
}

#endif // PE_COORDINATES_TD
