// RUN: pe-opt %s --pe-expand-biases --split-input-file --verify-diagnostics

!qkv = tensor<?x?x?x?xf32>

// expected-error @below {{expected a value produced by an op with ScalarOpInterface, found a block argument}}
func.func private @argument(%q: !qkv, %b: !pe.bias) -> !qkv {
  %o = pe.attention %q, %q, %q bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @table(%q: !qkv) -> !qkv {
  %x = pe.bucket
  // expected-error-re @below {{expected a parameter to be a{{.*}}found 'tensor<2x1xf32>' with different elements}}
  %t = arith.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %b = pe.table %x, %t : tensor<2x1xf32>
  %o = pe.attention %q, %q, %q bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
