// RUN: pe-opt %s --pe-simplify-under-normalizer --verify-diagnostics

func.func @argument(%q: tensor<?x?x?x64xf32>, %bias: !pe.bias) -> tensor<?x?x?x64xf32> {
  // expected-error@+1 {{'pe.attention' op expected every bias to be a pe.term, found a block argument}}
  %o = pe.attention %q, %q, %q bias(%bias)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
