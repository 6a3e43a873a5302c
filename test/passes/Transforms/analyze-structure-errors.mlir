// RUN: pe-opt %s --pe-analyze-structure --verify-diagnostics

func.func @not_expanded(%q: tensor<?x?x?x64xf32>, %s: tensor<?xf32>) -> tensor<?x?x?x64xf32> {
  %d = pe.distance
  %bias = pe.linear %d slope(%s : tensor<?xf32>)
  // expected-error@+1 {{'pe.attention' op expected every bias to be a pe.bias_fn, found pe.linear; run pe-expand-biases before}}
  %o = pe.attention %q, %q, %q bias(%bias)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
